//! The loop of an SQL worker: it makes the calls of local actions and messages, one at a time.
//!
//! Each call runs in the transaction that records its success and claims the next instance; so it is done exactly once,
//! whatever ends when. A call whose success cannot be recorded is rolled back, and the attempt recorded as failed in a
//! transaction of its own. User code may run for hours: others see that this worker lives by its process.

use super::board::{Board, Seat, board, monotonic_ms};
use super::definition::Definitions;
use super::effects::Effects;
use super::held::Held;
use super::lane::{Lanes, Ledger, is_local};
use super::maintenance::report_lanes;
use super::serve::Leave;
use super::task::{LocalTask, Task};
use super::turn::{Intake, Kind, Settings, Turn};
use super::{launcher, process, wake};
use crate::action::Completion;
use crate::store::{self, Clock, StoreError, claim, work};
use crate::{guc, local};
use chrono::{DateTime, Utc};
use pgrx::prelude::*;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often lanes are reported while they change.
const REPORT_EVERY: Duration = Duration::from_secs(5);
/// Pause after a transaction that failed.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// An SQL worker's memory.
pub(super) struct SqlWorker {
    board: &'static Board,
    pub(super) seat: &'static Seat,
    database: pg_sys::Oid,
    extension: pg_sys::Oid,
    worker_no: u32,
    generation: i64,
    lanes: Lanes,
    definitions: Definitions,
    next_poll: Instant,
    next_report: Instant,
}

/// Entry point of an SQL worker process; the argument is the index of its seat.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rea_sql_worker_main(argument: pg_sys::Datum) {
    let Some((seat, extension)) = launcher::take_seat(argument) else { return };
    let Some(mut worker) = SqlWorker::start(seat, extension) else { return };
    let reason = worker.serve();
    pgrx::debug1!("rea SQL worker leaves: {reason:?}");
}

impl SqlWorker {
    /// Takes a generation. `None` when the extension is gone.
    fn start(seat: &'static Seat, extension: pg_sys::Oid) -> Option<SqlWorker> {
        let board = board()?;
        // SAFETY: plain globals of this process.
        let (database, pid) = unsafe { (pg_sys::MyDatabaseId, pg_sys::MyProcPid) };
        let worker_no = seat.worker_no.load(Ordering::Acquire);
        let registered = store::transaction(|| {
            if !store::extension_is_present(extension) {
                return Ok(None);
            }
            let generation = work::new_generation(worker_no as i32, pid)?;
            // Before the commit: a worker that sees the row must find its owner alive.
            seat.generation.store(generation, Ordering::Release);
            Ok(Some(generation))
        });
        let generation = match registered {
            Ok(generation) => generation?,
            Err(error) => pgrx::error!("rea SQL worker could not register: {error}"),
        };
        local::of_generation(generation);
        let now = Instant::now();
        Some(SqlWorker {
            board,
            seat,
            database,
            extension,
            worker_no,
            generation,
            lanes: Lanes::new(1, 1),
            definitions: Definitions::default(),
            next_poll: now,
            next_report: now + REPORT_EVERY,
        })
    }

    fn serve(&mut self) -> Leave {
        loop {
            if let Some(reason) = self.reason_to_leave() {
                return reason;
            }
            match self.listen() {
                Ok(true) => {}
                Ok(false) => return Leave::NoExtension,
                Err(error) => {
                    self.complain(&error);
                    process::wait(None, PAUSE_AFTER_FAILURE);
                }
            }
            if !self.has_work() {
                self.rest();
            } else if !self.work() {
                return Leave::NoExtension;
            }
            process::attend();
        }
    }

    pub(super) fn reason_to_leave(&self) -> Option<Leave> {
        if self.seat.generation.load(Ordering::Acquire) != self.generation {
            return Some(Leave::Deposed);
        }
        if self.board.is_kept_away(self.database.to_u32()) {
            return Some(Leave::KeptAway);
        }
        (self.worker_no as usize >= guc::sql_workers()).then_some(Leave::NotNeeded)
    }

    /// Whether another call may begin.
    fn may_begin(&self) -> bool {
        guc::enabled() && self.reason_to_leave().is_none()
    }

    fn has_work(&mut self) -> bool {
        self.may_begin() && !self.lanes.due(Clock::now(), &Ledger::default(), 1).is_empty()
    }

    fn rest(&self) {
        let now = Clock::now();
        let until = |time: DateTime<Utc>| (time - now).to_std().unwrap_or(Duration::ZERO);
        let lane = self.lanes.next_wake(true).filter(|_| self.may_begin()).map_or(Duration::MAX, until);
        let poll = self.next_poll.saturating_duration_since(Instant::now());
        process::report(pg_sys::BackendState::STATE_IDLE, c"");
        process::wait(None, lane.min(poll).max(Duration::from_millis(1)));
    }

    /// Shows a sign of life, and looks at the queue when somebody says so, and now and then. False when the extension is
    /// gone.
    fn listen(&mut self) -> Result<bool, StoreError> {
        self.seat.heartbeat.store(monotonic_ms(), Ordering::Release);
        let (told, now) = (self.seat.take_hints() & Seat::QUEUE != 0, Instant::now());
        if !told && now < self.next_poll {
            return Ok(true);
        }
        let report = self.worker_no == 0 && now >= self.next_report;
        let SqlWorker { lanes, extension, .. } = self;
        let present = store::transaction(|| {
            if !store::extension_is_present(*extension) {
                return Ok(false);
            }
            work::lanes_due()?
                .into_iter()
                .filter(|(lane, _)| is_local(lane))
                .for_each(|(lane, due)| lanes.await_due(&lane, due));
            if report {
                report_lanes(lanes)?;
            }
            Ok(true)
        })?;
        self.next_poll = now + guc::poll_interval();
        if report {
            self.next_report = now + REPORT_EVERY;
        }
        // SAFETY: tells autovacuum what this long-lived session did; outside of a transaction.
        unsafe { pg_sys::pgstat_report_stat(true) };
        Ok(present)
    }

    /// Claims an instance, makes its call, and goes on as long as there is one to make. False when the extension is gone.
    fn work(&mut self) -> bool {
        process::report(pg_sys::BackendState::STATE_RUNNING, c"rea turn");
        let mut next = match self.turn_alone(&[]) {
            Ok(Some(effects)) => self.apply(effects),
            Ok(None) => return false,
            Err(error) => {
                self.complain(&error);
                process::wait(None, PAUSE_AFTER_FAILURE);
                return true;
            }
        };
        while let Some((held, task)) = next {
            self.seat.heartbeat.store(monotonic_ms(), Ordering::Release);
            process::attend();
            next = match self.carry_out(&held, &task) {
                Some(effects) => self.apply(effects),
                None => return false,
            };
        }
        true
    }

    pub(super) fn turn_alone(&mut self, completed: &[(Held, Completion)]) -> Result<Option<Effects>, StoreError> {
        store::transaction(|| self.turn(completed))
    }

    /// One turn inside the current transaction. `None` when the extension is gone.
    pub(super) fn turn(&mut self, completed: &[(Held, Completion)]) -> Result<Option<Effects>, StoreError> {
        if !store::extension_is_present(self.extension) {
            return Ok(None);
        }
        let wanted: HashMap<_, _> = match completed {
            [] => HashMap::new(),
            _ => claim::requests_in_hand(self.generation)?.into_iter().collect(),
        };
        let capacity = usize::from(self.may_begin());
        let turn = Turn {
            now: Clock::now(),
            generation: self.generation,
            worker_no: self.worker_no,
            peers: &[],
            lanes: &mut self.lanes,
            definitions: &mut self.definitions,
            capacity,
            threads: 1,
            bytes: 0,
            begun: Instant::now(),
            seat: self.seat,
            careful: true,
            ledger: Ledger::default(),
            drafts: Vec::new(),
            noted: Vec::new(),
            settings: Settings::now(),
            unrouted: Vec::new(),
            kind: Kind::Sql,
            wanted: &wanted,
            completed_waits: false,
            cancels: false,
            failure: None,
            born: Vec::new(),
        };
        let intake = Intake {
            inbox: None,
            dead_generation: None,
            expired: false,
            signalled: false,
            requested: false,
            batch: capacity,
        };
        turn.run(completed, &intake).map(Some)
    }

    /// Applies what a turn means for this worker and for others. Returns the call to make next.
    fn apply(&mut self, effects: Effects) -> Option<(Held, LocalTask)> {
        self.announce(&effects);
        effects.ledger.apply(&mut self.lanes);
        for (lane, succeeded, gone, took) in &effects.noted {
            self.lanes.note(lane, *succeeded, *gone, *took);
        }
        let empty: Vec<Rc<str>> = effects.claimed.into_iter().filter(|(_, more)| !more).map(|(lane, _)| lane).collect();
        self.look_at_lanes(&empty);
        for (lane, due) in &effects.parked {
            if is_local(lane) {
                self.lanes.await_due(lane, *due);
            }
        }
        let calls = effects.sends.into_iter().filter_map(|(held, task)| match task {
            Task::Local(task) => Some((held, task)),
            Task::Http(_) | Task::Script(_) => None,
        });
        calls.last()
    }

    /// Asks when these lanes are due next: a claim found nothing there.
    fn look_at_lanes(&mut self, lanes: &[Rc<str>]) {
        if lanes.is_empty() {
            return;
        }
        let extension = self.extension;
        let asked = store::transaction(|| {
            if store::extension_is_present(extension) { work::next_due(lanes) } else { Ok(Vec::new()) }
        });
        match asked {
            Ok(found) => found.into_iter().for_each(|(lane, due)| self.lanes.set_wake(&lane, due)),
            Err(error) => self.complain(&error),
        }
    }

    /// Tells those whom the turn concerns.
    fn announce(&self, effects: &Effects) {
        let hints =
            [(effects.signalled, Seat::SIGNAL), (effects.requested, Seat::REQUEST), (effects.emitted, Seat::INBOX)];
        hints.iter().filter(|(told, _)| *told).for_each(|(_, hint)| wake::workers(self.database, *hint));
        let (own, others): (Vec<_>, Vec<_>) = effects.parked.iter().partition(|(lane, _)| is_local(lane));
        if !others.is_empty() {
            wake::main_workers(self.database);
        }
        if !own.is_empty() && guc::sql_workers() > 1 {
            wake::sql_workers(self.database);
        }
        wake::waiters(&effects.ended);
    }

    pub(super) fn complain(&self, error: &StoreError) {
        pgrx::warning!("rea SQL worker {} could not finish a turn and tries again: {error}", self.worker_no);
    }
}
