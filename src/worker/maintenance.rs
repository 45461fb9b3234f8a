//! What a worker does now and then: the safety poll, rescue of dead generations, alerts, lane reports.
//!
//! Everything here is for what no hint announced: a commit that could not wake anybody, a worker that died, a clock.

use super::board::{Seat, monotonic_ms};
use super::inbox::InboxMark;
use super::lane::Lanes;
use super::serve::Worker;
use crate::guc;
use crate::store::upkeep::{self, LaneRow};
use crate::store::{self, Clock, StoreError, schedule, script, work};
use pgrx::prelude::*;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often lanes are reported while they change.
const REPORT_EVERY: Duration = Duration::from_secs(5);
/// Groups that one alert names; the rest is counted.
const MOST_GROUPS: usize = 100;
/// How many polls pass between two scans of all lanes.
const POLLS_PER_SCAN: u32 = 10;

/// When each task is due.
pub struct Maintenance {
    next_poll: Instant,
    next_report: Instant,
    last_alert: Option<Instant>,
    polls: u32,
}

impl Maintenance {
    /// Everything is due at once, alerts after their interval.
    pub fn new() -> Maintenance {
        let now = Instant::now();
        Maintenance { next_poll: now, next_report: now, last_alert: Some(now), polls: 0 }
    }

    /// Time until something is due.
    pub fn due_in(&self, now: Instant) -> Duration {
        self.next_poll.saturating_duration_since(now)
    }

    /// Does what is due.
    pub fn run(&mut self, worker: &mut Worker) -> Result<(), StoreError> {
        let now = Instant::now();
        if now < self.next_poll {
            return Ok(());
        }
        self.next_poll = now + guc::poll_interval();
        if !guc::enabled() {
            return Ok(());
        }
        worker.inbox_has_more = true;
        worker.signalled = true;
        worker.look_at_requests.get_or_insert(now);
        meet_peers(worker);
        let (scan, report) = (self.polls.is_multiple_of(POLLS_PER_SCAN), now >= self.next_report);
        self.polls = self.polls.wrapping_add(1);
        let alert = worker.is_router() && self.last_alert.is_none_or(|last| now - last >= guc::alert_interval());
        store::transaction(|| {
            if !store::extension_is_present(worker.extension) {
                return Ok(());
            }
            poll(worker, scan)?;
            if report {
                report_lanes(&mut worker.lanes)?;
                if worker.is_router() {
                    script::kv_expire(Clock::now())?;
                }
            }
            if alert { announce() } else { Ok(()) }
        })?;
        if report {
            self.next_report = now + REPORT_EVERY;
        }
        if alert {
            self.last_alert = Some(now);
        }
        // SAFETY: tells autovacuum what this long-lived session did; outside of a transaction.
        unsafe { pg_sys::pgstat_report_stat(true) };
        Ok(())
    }

    /// Looks at the whole queue: somebody changed it.
    pub fn look_at_queue(worker: &mut Worker) {
        meet_peers(worker);
        let looked =
            store::transaction(
                || {
                    if store::extension_is_present(worker.extension) { poll(worker, true) } else { Ok(()) }
                },
            );
        if let Err(error) = looked {
            pgrx::warning!("rea worker could not look at the queue: {error}");
        }
    }

    /// Asks when these lanes are due next: a claim found fewer rows than it had room for.
    pub fn look_at_lanes(worker: &mut Worker, lanes: &[Rc<str>]) {
        if lanes.is_empty() {
            return;
        }
        let asked = store::transaction(|| {
            if store::extension_is_present(worker.extension) { work::next_due(lanes) } else { Ok(Vec::new()) }
        });
        match asked {
            Ok(found) => found.into_iter().for_each(|(lane, due)| worker.lanes.set_wake(&lane, due)),
            Err(error) => pgrx::warning!("rea worker could not look at its lanes: {error}"),
        }
    }

    /// Forgets the first dead generation: it holds nothing any more.
    pub fn bury(worker: &mut Worker) {
        let generation = worker.dead.remove(0);
        let buried = store::transaction(|| {
            if store::extension_is_present(worker.extension) { work::forget_generation(generation) } else { Ok(()) }
        });
        if let Err(error) = buried {
            pgrx::warning!("rea worker could not forget generation {generation}: {error}");
        }
    }
}

/// Which workers are alive; one that has not moved for long is deposed, so that its work can be taken over.
fn meet_peers(worker: &mut Worker) {
    let (now, silence) = (monotonic_ms(), guc::heartbeat_timeout().as_millis() as i64);
    for seat in &worker.board.seats {
        let ours = seat.is_of(worker.database.to_u32(), Seat::MAIN);
        let silent = seat.state.load(Ordering::Acquire) == Seat::RUNNING
            && seat.generation.load(Ordering::Acquire) != worker.generation
            && now - seat.heartbeat.load(Ordering::Acquire) >= silence;
        if ours && silent {
            seat.generation.store(0, Ordering::Release);
        }
    }
    let live = worker.board.live_seats(worker.database);
    // Those that are to leave serve no lane any more.
    let staying = |worker_no: &u32| (*worker_no as usize) < guc::workers();
    let peers: Vec<u32> = live.iter().map(|seat| seat.worker_no.load(Ordering::Acquire)).filter(staying).collect();
    if peers != worker.peers {
        worker.peers = peers;
        worker.lanes.forget_wakes();
        super::wake::workers(worker.database, Seat::QUEUE);
    }
}

fn poll(worker: &mut Worker, scan: bool) -> Result<(), StoreError> {
    worker.timetable.next = if worker.is_router() { schedule::next_clock_time()? } else { None };
    worker.deadline = if worker.is_router() { work::next_deadline()? } else { None };
    if scan {
        // Rows with ids of their own, as a restore writes them, follow no sequence: look at all of them now and then.
        worker.inbox = InboxMark::default();
    }
    worker.inbox.note_last_id(work::inbox_last_id()?);
    let (xmin, xmax, smallest) = work::inbox_horizon(worker.inbox.mark)?;
    worker.inbox.observe(xmin, xmax, smallest);
    let alive = worker.board.live_generations(worker.database);
    let others = work::other_generations(worker.generation, !worker.has_polled)?;
    worker.has_polled = true;
    worker.dead = others.into_iter().filter(|g| !alive.contains(g)).collect();
    if scan {
        for (lane, due) in work::lanes_due()? {
            if worker.serves(&lane) {
                worker.lanes.await_due(&lane, due);
            }
        }
    }
    Ok(())
}

/// Writes how the lanes fare that changed since the last report.
pub fn report_lanes(lanes: &mut Lanes) -> Result<(), StoreError> {
    let rows: Vec<LaneRow> = lanes
        .take_changed()
        .into_iter()
        .map(|(lane, report)| LaneRow {
            lane: lane.to_string(),
            in_flight: report.in_flight as i32,
            max_in_flight: report.max_in_flight as i32,
            successes: report.successes as i64,
            failures: report.failures as i64,
            p95_ms: report.p95_ms.map(|ms| ms.min(i32::MAX as u32) as i32),
            gone: report.gone,
        })
        .collect();
    if rows.is_empty() { Ok(()) } else { upkeep::report_lanes(&rows, Clock::now()) }
}

fn announce() -> Result<(), StoreError> {
    let now = Clock::now();
    let news = upkeep::announce_dead_letters(now)?.into_iter().chain(upkeep::announce_unrouted(now)?);
    let groups: Vec<upkeep::News> = news.collect();
    for group in groups.iter().take(MOST_GROUPS) {
        pgrx::warning!("rea: {}", group.text);
        upkeep::notify_alert(&group.json)?;
    }
    if groups.len() > MOST_GROUPS {
        pgrx::warning!("rea: {} more groups of dead letters or unrouted events", groups.len() - MOST_GROUPS);
    }
    Ok(())
}
