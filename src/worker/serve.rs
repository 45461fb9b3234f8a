//! The loop of a worker: wait, take what is there, run a turn, apply its effects, hand requests to the pool.

use super::board::{Board, Seat, board, monotonic_ms};
use super::clock::Timetable;
use super::definition::Definitions;
use super::effects::Effects;
use super::held::Held;
use super::inbox::InboxMark;
use super::lane::{Lanes, Ledger, WAITING, serves};
use super::maintenance::Maintenance;
use super::pool::start_pool;
use super::turn::{Intake, Kind, Settings, Turn};
use super::{inquiry, process};
use crate::action::{Completion, Pool};
use crate::guc;
use crate::store::claim::Wanted;
use crate::store::{self, Clock, StoreError, work};
use chrono::{DateTime, Utc};
use pgrx::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Attempts that may wait in the pool's queue beside those that run.
const PREFETCH: usize = 256;
/// How long queued jobs wait for the threads that are awake before more are woken.
const PATIENCE: Duration = Duration::from_millis(1);
/// Pause after a turn that failed even when careful.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A worker's memory.
pub struct Worker {
    /// Shared memory.
    pub board: &'static Board,
    /// Its seat there.
    pub seat: &'static Seat,
    /// Its database.
    pub database: pg_sys::Oid,
    /// Oid of the extension.
    pub extension: pg_sys::Oid,
    /// Its number in the database.
    pub worker_no: u32,
    /// Its generation.
    pub generation: i64,
    /// Lanes that it serves.
    pub lanes: Lanes,
    /// The inbox mark.
    pub inbox: InboxMark,
    /// Whether it has looked at the whole queue for owners since its start.
    pub has_polled: bool,
    /// Dead generations still to be rescued from.
    pub dead: Vec<i64>,
    /// Earliest deadline known.
    pub deadline: Option<DateTime<Utc>>,
    /// When the clock fires next.
    pub timetable: Timetable,
    /// Whether there may be events in the inbox.
    pub inbox_has_more: bool,
    /// Whether waiting instances may have been signalled.
    pub signalled: bool,
    /// When to look at what others want of instances; `None`: when somebody says so.
    pub look_at_requests: Option<Instant>,
    /// What others want of the instances in flight.
    pub(super) wanted: HashMap<Uuid, Wanted>,
    /// Numbers of the live workers, for the choice of lanes.
    pub peers: Vec<u32>,
    /// When the pool gets more threads, if jobs are still queued then.
    reinforce_at: Option<Instant>,
    pub(super) pool: Pool,
    definitions: Definitions,
    pub(super) flights: HashMap<u64, Held>,
    /// Bytes of the bodies in flight.
    pub(super) body_bytes: usize,
    pub(super) next_token: u64,
    completed: Vec<(Held, Completion)>,
    arrivals: Vec<Completion>,
}

/// Why a worker leaves.
#[derive(Debug, PartialEq)]
pub enum Leave {
    /// The extension is not there (any more).
    NoExtension,
    /// There are fewer workers now.
    NotNeeded,
    /// Another worker took this one for dead.
    Deposed,
    /// A command wants the database to itself.
    KeptAway,
}

/// A turn's result: `None` when the extension is gone.
type TurnResult = Result<Option<Effects>, StoreError>;

impl Worker {
    /// Starts the pool and takes a generation.
    pub fn start(seat: &'static Seat, extension: pg_sys::Oid) -> Option<Worker> {
        let board = board()?;
        // SAFETY: plain globals of this process.
        let (database, pid) = unsafe { (pg_sys::MyDatabaseId, pg_sys::MyProcPid) };
        let worker_no = seat.worker_no.load(Ordering::Acquire);
        seat.heartbeat.store(monotonic_ms(), Ordering::Release);
        let registered = store::transaction(|| {
            let generation = work::new_generation(worker_no as i32, pid)?;
            // Before the commit: another worker that sees the row must find its owner alive.
            seat.generation.store(generation, Ordering::Release);
            Ok(generation)
        });
        let generation = match registered {
            Ok(generation) => generation,
            Err(error) => pgrx::error!("rea worker could not register: {error}"),
        };
        let pool = start_pool();
        Some(Worker {
            board,
            seat,
            database,
            extension,
            worker_no,
            generation,
            lanes: Lanes::new(guc::lane_max_in_flight(), guc::http_threads()),
            inbox: InboxMark::default(),
            has_polled: false,
            dead: Vec::new(),
            deadline: None,
            timetable: Timetable::default(),
            inbox_has_more: true,
            signalled: true,
            look_at_requests: Some(Instant::now()),
            wanted: HashMap::new(),
            peers: vec![worker_no],
            reinforce_at: None,
            pool,
            definitions: Definitions::default(),
            flights: HashMap::new(),
            body_bytes: 0,
            next_token: 0,
            completed: Vec::new(),
            arrivals: Vec::new(),
        })
    }

    /// Works until there is a reason to leave.
    pub fn serve(&mut self) -> Leave {
        let mut maintenance = Maintenance::new();
        loop {
            if let Some(reason) = self.reason_to_leave() {
                return reason;
            }
            self.listen();
            if let Err(error) = maintenance.run(self).and_then(|()| self.fire_by_clock()) {
                self.complain(&error);
                process::wait(None, PAUSE_AFTER_FAILURE);
            }
            let busy = self.has_work();
            if busy && !self.turn() {
                return Leave::NoExtension;
            }
            let reloaded = if busy && self.has_work() { process::attend() } else { self.rest(&maintenance) };
            if reloaded {
                self.reconfigure();
            }
        }
    }

    fn reason_to_leave(&self) -> Option<Leave> {
        if self.seat.generation.load(Ordering::Acquire) != self.generation {
            return Some(Leave::Deposed);
        }
        if self.board.is_kept_away(self.database.to_u32()) {
            return Some(Leave::KeptAway);
        }
        (self.is_retiring() && self.flights.is_empty() && self.completed.is_empty()).then_some(Leave::NotNeeded)
    }

    /// Takes hints from others and answers from the pool; shows a sign of life.
    fn listen(&mut self) {
        self.seat.heartbeat.store(monotonic_ms(), Ordering::Release);
        let hints = self.seat.take_hints();
        self.inbox_has_more |= hints & Seat::INBOX != 0;
        self.signalled |= hints & Seat::SIGNAL != 0;
        self.timetable.hear(hints);
        if hints & Seat::REQUEST != 0 {
            self.look_at_requests = Some(Instant::now());
        }
        if hints & Seat::QUEUE != 0 {
            Maintenance::look_at_queue(self);
        }
        if self.reinforce_at.is_some_and(|time| Instant::now() >= time) {
            self.reinforce_at = None;
            self.pool.reinforce();
        }
        self.pool.take(&mut self.arrivals);
        let workflow_of = |token| self.flights.get(&token).map(|held| held.definition.name.to_string());
        inquiry::answer(self.pool.inquiries(), self.extension, workflow_of);
        for completion in self.arrivals.drain(..) {
            if let Some(held) = self.flights.remove(&completion.token) {
                self.body_bytes -= held.sent.as_ref().map_or(0, |sent| sent.body_bytes);
                self.completed.push((held, completion));
            }
        }
    }

    /// Whether there are fewer workers now: this one records what it has in flight and leaves.
    fn is_retiring(&self) -> bool {
        self.worker_no as usize >= guc::workers()
    }

    /// Whether nothing new may begin.
    pub fn only_concludes(&self) -> bool {
        !guc::enabled() || self.is_retiring()
    }

    /// What ended is recorded even while nothing new may begin.
    fn has_work(&mut self) -> bool {
        if !self.completed.is_empty() || self.only_concludes() {
            return !self.completed.is_empty();
        }
        let now = Clock::now();
        !self.dead.is_empty()
            || (self.inbox_has_more && self.is_router())
            || (self.signalled && self.serves(WAITING))
            || self.look_at_requests.is_some_and(|time| time <= Instant::now())
            || !self.lanes.internal_due(now).is_empty()
            || self.deadline.is_some_and(|deadline| deadline <= now)
            || !self.lanes.due(now, &Ledger::default(), self.spare()).is_empty()
    }

    /// Whether this worker empties the inbox: the live one with the lowest number does.
    pub fn is_router(&self) -> bool {
        self.peers.first() == Some(&self.worker_no)
    }

    fn capacity(&self) -> usize {
        if self.only_concludes() {
            return 0;
        }
        self.pool.capacity() + PREFETCH
    }

    fn spare(&self) -> usize {
        if self.body_bytes >= Turn::BODY_BYTES {
            return 0;
        }
        self.capacity().saturating_sub(self.lanes.in_flight)
    }

    fn rest(&self, maintenance: &Maintenance) -> bool {
        let now = Clock::now();
        let until = |time: DateTime<Utc>| (time - now).to_std().unwrap_or(Duration::ZERO);
        let lane = self.lanes.next_wake(self.spare() > 0).filter(|_| !self.only_concludes());
        // A deadline that may not be acted on must not keep the worker awake.
        let deadline = self.deadline.filter(|_| !self.only_concludes());
        let wake = [lane, deadline, self.clock_time()].into_iter().flatten().min().map(until);
        let timeout = wake.unwrap_or(Duration::MAX).min(maintenance.due_in(Instant::now()));
        let timeout = if self.reinforce_at.is_some() { timeout.min(PATIENCE) } else { timeout };
        let requests = self.look_at_requests.filter(|_| !self.only_concludes());
        let timeout = requests.map_or(timeout, |time| timeout.min(time.saturating_duration_since(Instant::now())));
        process::report(pg_sys::BackendState::STATE_IDLE, c"");
        process::wait(Some(self.pool.wake_fd()), timeout.max(Duration::from_millis(1)))
    }

    /// Runs a turn, again carefully if it fails. False when the extension is gone.
    fn turn(&mut self) -> bool {
        process::report(pg_sys::BackendState::STATE_RUNNING, c"rea turn");
        let enabled = !self.only_concludes();
        let intake = Intake {
            inbox: (enabled && self.inbox_has_more && self.is_router()).then_some(self.inbox.mark),
            dead_generation: self.dead.first().copied().filter(|_| enabled),
            expired: enabled && self.deadline.is_some_and(|deadline| deadline <= Clock::now()),
            signalled: enabled && self.signalled && self.serves(WAITING),
            requested: enabled && self.look_at_requests.is_some_and(|time| time <= Instant::now()),
            batch: guc::claim_batch(),
        };
        let mut result = self.attempt(&intake, false);
        if let Err(error) = &result
            && !error.is_transient()
        {
            result = self.attempt(&intake, true);
        }
        match result {
            Ok(Some(effects)) => self.apply(effects, &intake),
            Ok(None) => return false,
            Err(error) => {
                self.complain(&error);
                process::wait(None, PAUSE_AFTER_FAILURE);
            }
        }
        true
    }

    fn attempt(&mut self, intake: &Intake, careful: bool) -> TurnResult {
        let (capacity, threads) = (self.capacity(), self.pool.capacity());
        let Worker {
            lanes,
            definitions,
            completed,
            extension,
            generation,
            worker_no,
            peers,
            body_bytes,
            seat,
            wanted,
            ..
        } = self;
        store::transaction(|| {
            if !store::extension_is_present(*extension) {
                return Ok(None);
            }
            let turn = Turn {
                now: Clock::now(),
                generation: *generation,
                worker_no: *worker_no,
                peers,
                lanes,
                definitions,
                capacity,
                threads,
                bytes: *body_bytes,
                begun: Instant::now(),
                seat,
                careful,
                ledger: Ledger::default(),
                drafts: Vec::new(),
                noted: Vec::new(),
                settings: Settings::now(),
                unrouted: Vec::new(),
                kind: Kind::Main,
                wanted,
                completed_waits: false,
                cancels: false,
                failure: None,
                born: Vec::new(),
            };
            turn.run(completed, intake).map(Some)
        })
    }

    fn apply(&mut self, effects: Effects, intake: &Intake) {
        self.completed.clear();
        if intake.signalled {
            self.signalled = effects.more_signals;
        }
        self.announce(&effects);
        effects.ledger.apply(&mut self.lanes);
        for (lane, succeeded, gone, took) in &effects.noted {
            self.lanes.note(lane, *succeeded, *gone, *took);
        }
        let jobs = effects.sends.into_iter().filter_map(|(held, task)| self.depart(held, task)).collect();
        self.pool.submit(jobs);
        self.reinforce_at = match self.reinforce_at {
            _ if self.pool.queued() == 0 => None,
            // Not put off by later turns: jobs may have been queued since the first.
            waiting => waiting.or_else(|| Some(Instant::now() + PATIENCE)),
        };
        if intake.inbox.is_some() {
            self.inbox_has_more = effects.routed > 0;
        }
        if intake.requested {
            self.attend_to_requests();
        }

        if intake.dead_generation.is_some() && effects.taken_over == 0 {
            Maintenance::bury(self);
        }
        if intake.expired && effects.expired < intake.batch {
            self.deadline = None;
        }
        self.deadline = [self.deadline, effects.deadline].into_iter().flatten().min();
        let exhausted: Vec<_> = effects.claimed.into_iter().filter(|(_, more)| !more).map(|(lane, _)| lane).collect();
        Maintenance::look_at_lanes(self, &exhausted);
        self.note_parked(&effects.parked);
        super::wake::waiters(&effects.ended);
    }

    /// Whether this worker serves the lane.
    pub fn serves(&self, lane: &str) -> bool {
        serves(lane, self.worker_no, &self.peers)
    }

    pub(super) fn complain(&self, error: &StoreError) {
        pgrx::warning!("rea worker {} could not finish a turn and tries again: {error}", self.worker_no);
    }
}
