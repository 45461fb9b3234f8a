//! One turn of a worker: one short transaction that records what ended, takes what is new, and prepares what goes out.
//!
//! A turn only reads the worker's memory; what it would change there is returned as [`Effects`] and applied after the
//! commit. So a turn that fails can be run again: first as it is, then carefully, each instance by itself, so that one
//! row that cannot be handled ends alone and never stops the others.

use super::board::Seat;
use super::definition::Definitions;
use super::draft::{Course, Draft};
use super::effects::{Effects, unrecordable};
use super::held::Held;
use super::lane::{Lanes, Ledger, is_local, serves};
use crate::action::Completion;
use crate::flow::instance::Limits;
use crate::flow::outcome::Failure;
use crate::guc;
use crate::store::claim::Wanted;
use crate::store::record::Record;
use crate::store::{StoreError, subtransaction, work, write};
use chrono::{DateTime, Utc};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What a turn works on.
pub struct Turn<'w> {
    /// The moment that all its rows carry.
    pub now: DateTime<Utc>,
    /// Own generation.
    pub generation: i64,
    /// Own number, and those of all live workers: a lane is served by one of them.
    pub worker_no: u32,
    /// See `worker_no`.
    pub peers: &'w [u32],
    /// Lanes as they are.
    pub lanes: &'w mut Lanes,
    /// Parsed definitions.
    pub definitions: &'w mut Definitions,
    /// Attempts that may be held at once, prefetched ones included.
    pub capacity: usize,
    /// Attempts that may run at once: what must not be repeated is never prefetched.
    pub threads: usize,
    /// Bytes of the bodies in flight and of those that this turn adds.
    pub bytes: usize,
    /// When it began to prepare, by the monotonic clock.
    pub begun: Instant,
    /// Own seat, where the turn shows that it is alive.
    pub seat: &'w Seat,
    /// Whether each instance is handled by itself.
    pub careful: bool,
    /// Changes to the lanes.
    pub ledger: Ledger,
    /// The instances touched.
    pub drafts: Vec<Draft>,
    /// Attempts that ended: place, success, gone, duration.
    pub noted: Vec<(Rc<str>, bool, bool, Duration)>,
    /// Settings read once.
    pub settings: Settings,
    /// Events that nothing matched.
    pub unrouted: Vec<Uuid>,
    /// What kind of worker runs it.
    pub kind: Kind,
    /// What others want of the instances in flight.
    pub wanted: &'w HashMap<Uuid, Wanted>,
    /// Whether events completed waits.
    pub completed_waits: bool,
    /// Whether events ask for cancellations.
    pub cancels: bool,
    /// Why the last of the concluded attempts failed.
    pub failure: Option<Failure>,
    /// Children that began in this turn.
    pub born: Vec<Draft>,
}

/// What kind of worker runs a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One that routes events and has a pool for requests and scripts.
    Main,
    /// One that calls functions in the database.
    Sql,
}

/// Settings that a turn needs.
pub struct Settings {
    /// Bounds for the decision after an attempt.
    pub limits: Limits,
    /// Characters kept in logs.
    pub summary_chars: usize,
    /// Largest output of one action.
    pub max_output_bytes: usize,
    /// Largest collection of outputs.
    pub max_context_bytes: usize,
    /// Time for an attempt of a local or lua action that states none.
    pub action_timeout: Duration,
}

impl Settings {
    /// Attempts that may be lost before the instance is DEAD.
    const MAX_LOST: u32 = 3;

    /// The settings as they are now.
    pub fn now() -> Settings {
        Settings {
            limits: Limits { max_retry_after: guc::max_retry_after(), max_lost: Self::MAX_LOST },
            summary_chars: guc::summary_chars(),
            max_output_bytes: guc::max_output_bytes(),
            max_context_bytes: guc::max_context_bytes(),
            action_timeout: guc::action_timeout(),
        }
    }
}

/// What to take in this turn.
pub struct Intake {
    /// The inbox mark, when this worker routes.
    pub inbox: Option<i64>,
    /// A dead generation to rescue from.
    pub dead_generation: Option<i64>,
    /// Whether a deadline may have passed.
    pub expired: bool,
    /// Whether waiting instances may have been signalled.
    pub signalled: bool,
    /// Whether something may be wanted of free instances.
    pub requested: bool,
    /// Rows per statement.
    pub batch: usize,
}

impl Turn<'_> {
    /// Bodies in flight beyond which nothing more is rendered until some have ended.
    pub const BODY_BYTES: usize = 128 << 20;
    /// Time after which a turn prepares nothing more: what is left is released and comes again.
    const LONGEST: Duration = Duration::from_millis(100);

    /// Everything between begin and commit.
    pub fn run(mut self, completed: &[(Held, Completion)], intake: &Intake) -> Result<Effects, StoreError> {
        self.lanes.begin_turn(self.now);
        self.definitions.begin_turn();
        self.conclude(completed)?;
        let taken_over = self.rescue(intake)?;
        let expired = self.claim_expired(intake)?;
        self.claim_requested(intake)?;
        let more_signals = self.claim_signalled(intake)?;
        let mut claimed = self.claim(intake.batch)?;
        let routed = match intake.inbox {
            Some(mark) => self.route(mark, intake.batch)?,
            None => 0,
        };
        self.prepare()?;
        if self.kind == Kind::Sql {
            claimed.extend(self.claim_next(intake.batch)?);
        }
        let (completed_waits, cancels) = (self.completed_waits, self.cancels);
        let mut effects = self.write()?;
        (effects.claimed, effects.routed, effects.taken_over, effects.expired) = (claimed, routed, taken_over, expired);
        effects.more_signals = more_signals;
        effects.signalled |= completed_waits;
        effects.requested |= cancels;
        Ok(effects)
    }

    /// Takes the next instance in hand once nothing is left to call for the one before: its call can follow this turn's
    /// commit at once.
    fn claim_next(&mut self, batch: usize) -> Result<Vec<(Rc<str>, bool)>, StoreError> {
        for draft in &mut self.drafts {
            if matches!(draft.course, Course::Send(_)) {
                return Ok(Vec::new());
            }
            if let Some(place) = draft.place.take() {
                self.ledger.free(&place);
            }
        }
        let found = self.claim(batch)?;
        self.prepare()?;
        Ok(found)
    }

    /// Whether new work may begin at all.
    pub fn may_begin(&self) -> bool {
        self.capacity > 0
    }

    /// Whether this worker serves the lane; on others it sends nothing, or their bound would not hold.
    pub fn serves(&self, lane: &str) -> bool {
        match self.kind {
            Kind::Main => serves(lane, self.worker_no, self.peers),
            Kind::Sql => is_local(lane),
        }
    }

    /// Whether the turn has to come to its end: it took its time, or bodies fill the memory.
    pub fn is_over(&self) -> bool {
        self.bytes >= Self::BODY_BYTES || self.begun.elapsed() > Self::LONGEST
    }

    /// Attempts that may be taken in hand besides.
    pub fn spare(&self) -> usize {
        if self.bytes >= Self::BODY_BYTES {
            return 0;
        }
        self.capacity.saturating_sub(self.ledger.held(self.lanes))
    }

    fn write(mut self) -> Result<Effects, StoreError> {
        work::insert_unrouted(&self.unrouted, self.now)?;
        let mut records = Vec::with_capacity(self.drafts.len());
        let mut outcomes = Vec::with_capacity(self.drafts.len());
        for draft in std::mem::take(&mut self.drafts) {
            let place = draft.place.clone();
            let (record, held, task) = draft.into_record(self.settings.summary_chars, self.now);
            if task.is_none()
                && let Some(place) = &place
            {
                self.ledger.free(place);
            }
            records.push(record);
            outcomes.push((held, task));
        }
        let lost = if self.careful {
            self.write_each(&mut records)?
        } else {
            write::write(&records, self.generation, self.now)?
        };
        let mut effects = Effects::new(self.ledger, self.noted);
        (effects.failure, effects.refused) = (self.failure, lost.len());
        for (record, (held, task)) in records.iter().zip(outcomes) {
            effects.add(record, held, task, &lost);
        }
        Ok(effects)
    }

    /// Writes each record by itself; one that cannot be written ends as FAILED without what could not be stored.
    fn write_each(&mut self, records: &mut [Record]) -> Result<HashSet<Uuid>, StoreError> {
        let mut lost = HashSet::new();
        for record in records {
            let single = std::slice::from_ref(&*record);
            match subtransaction(|| write::write(single, self.generation, self.now)) {
                Ok(refused) => lost.extend(refused),
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    *record = unrecordable(record, &error, self.now);
                    self.failure = Some(Failure::permanent("unrecordable", error.to_string()));
                    lost.extend(write::write(std::slice::from_ref(&*record), self.generation, self.now)?);
                }
            }
        }
        Ok(lost)
    }
}

/// Whether the draft still has to be prepared.
pub fn is_open(draft: &Draft) -> bool {
    matches!(draft.course, Course::Open | Course::Ending)
}
