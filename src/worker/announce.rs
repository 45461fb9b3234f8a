//! Whom a turn concerns besides its own worker: they are told after its commit.

use super::board::Seat;
use super::effects::Effects;
use super::lane::{WAITING, is_local};
use super::serve::{PAUSE_AFTER_FAILURE, Worker};
use super::wake;
use crate::store::{self, claim};
use chrono::{DateTime, Utc};
use std::time::{Duration, Instant};

/// How soon workers look again at what is wanted of instances in flight.
const REQUESTS_AGAIN: Duration = Duration::from_millis(100);

impl Worker {
    /// Tells those whom the turn concerns.
    pub(super) fn announce(&mut self, effects: &Effects) {
        if effects.signalled {
            self.signalled |= self.serves(WAITING);
            if !self.serves(WAITING) {
                wake::workers(self.database, Seat::SIGNAL);
            }
        }
        if effects.requested {
            wake::workers(self.database, Seat::REQUEST);
        }
        if effects.emitted {
            self.inbox_has_more = true;
            if !self.is_router() {
                wake::workers(self.database, Seat::INBOX);
            }
        }
    }

    /// Notes what is wanted of the instances in flight. While something is left to be carried out, all workers look again.
    pub(super) fn attend_to_requests(&mut self) {
        let looked = store::transaction(|| {
            if !store::extension_is_present(self.extension) {
                return Ok((Vec::new(), 0));
            }
            Ok((claim::requests_in_hand(self.generation)?, claim::forget_requests(&[])?))
        });
        match looked {
            Ok((wanted, left)) => {
                self.wanted = wanted.into_iter().collect();
                self.look_at_requests = (left > 0).then(|| Instant::now() + REQUESTS_AGAIN);
            }
            Err(error) => {
                self.complain(&error);
                self.look_at_requests = Some(Instant::now() + PAUSE_AFTER_FAILURE);
            }
        }
    }

    pub(super) fn note_parked(&mut self, parked: &[(std::rc::Rc<str>, DateTime<Utc>)]) {
        let (mut foreign, mut local) = (false, false);
        for (lane, due) in parked {
            if self.serves(lane) {
                self.lanes.await_due(lane, *due);
            } else if is_local(lane) {
                local = true;
            } else {
                foreign = true;
            }
        }
        if foreign {
            wake::main_workers(self.database);
        }
        if local {
            wake::sql_workers(self.database);
        }
    }
}
