//! Lanes in the memory of the worker that serves them: how much is in flight, when to look again, how they fare.
//!
//! Plain bookkeeping, no PostgreSQL: a turn works on a [`Ledger`], which is applied only after its commit.

use crate::flow::definition::{FLOW_LANE, SQL_LANE};
use chrono::{DateTime, Utc};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// The lane of instances that lost a worker: one at a time, so that a poison action takes nobody down with it.
pub const SOLO: &str = "~lost";
/// The lane of instances that wait for something other than a place on a lane.
pub const WAITING: &str = "~wait";
/// Attempts kept for the percentile.
const RECENT: usize = 128;

/// One lane.
#[derive(Default)]
pub struct Lane {
    /// Attempts running or handed to the pool.
    pub in_flight: usize,
    /// When a free row of it may be due; `None`: not before somebody says so.
    pub wake: Option<DateTime<Utc>>,
    /// Attempts that succeeded since the worker started.
    pub successes: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Whether the receiver answered 410.
    pub gone: bool,
    /// Whether anything changed since the last report.
    pub changed: bool,
    recent_ms: VecDeque<u32>,
}

/// All lanes of a worker.
pub struct Lanes {
    by_name: HashMap<Rc<str>, Lane>,
    /// Attempts in flight over all lanes.
    pub in_flight: usize,
    bound: usize,
    threads: usize,
    /// Whether more than one lane wants threads in this turn.
    contended: bool,
    turn: usize,
}

impl Lanes {
    /// Lanes with this bound on each one's attempts in flight, and this many threads for all.
    pub fn new(bound: usize, threads: usize) -> Lanes {
        Lanes { by_name: HashMap::new(), in_flight: 0, bound, threads, contended: false, turn: 0 }
    }

    /// Changes the bounds; what is in flight stays in flight.
    pub fn set_bounds(&mut self, bound: usize, threads: usize) {
        (self.bound, self.threads) = (bound, threads);
    }

    /// Finds out whether lanes have to share the threads.
    pub fn begin_turn(&mut self, now: DateTime<Utc>) {
        let wants = |(name, lane): &(&Rc<str>, &Lane)| {
            !is_internal(name) && (lane.in_flight > 0 || lane.wake.is_some_and(|wake| wake <= now))
        };
        self.contended = self.by_name.iter().filter(wants).nth(1).is_some();
    }

    /// The bound of a lane.
    pub fn bound(&self, lane: &str) -> usize {
        if lane == SOLO { 1 } else { self.bound }
    }

    /// Lanes that need no downstream and have due rows.
    pub fn internal_due(&self, now: DateTime<Utc>) -> Vec<Rc<str>> {
        let due = |lane: &Lane| lane.wake.is_some_and(|wake| wake <= now);
        [FLOW_LANE, WAITING]
            .into_iter()
            .filter_map(|name| self.by_name.get_key_value(name))
            .filter(|(_, lane)| due(lane))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Free places of a lane.
    pub fn room(&self, lane: &str) -> usize {
        Ledger::default().room(self, lane)
    }

    /// The lane's shared name.
    pub fn name(&mut self, lane: &str) -> Rc<str> {
        match self.by_name.get_key_value(lane) {
            Some((name, _)) => name.clone(),
            None => {
                let name: Rc<str> = lane.into();
                self.by_name.insert(name.clone(), Lane::default());
                name
            }
        }
    }

    /// Notes that a free row of the lane is due at that time.
    pub fn await_due(&mut self, lane: &str, due: DateTime<Utc>) {
        let lane = self.by_name.entry(lane.into()).or_default();
        lane.wake = Some(lane.wake.map_or(due, |wake| wake.min(due)));
    }

    /// Sets when to look at a lane again.
    pub fn set_wake(&mut self, lane: &str, wake: Option<DateTime<Utc>>) {
        self.by_name.entry(lane.into()).or_default().wake = wake;
    }

    /// Forgets all wake times, before a full scan or when lanes change hands.
    pub fn forget_wakes(&mut self) {
        self.by_name.values_mut().for_each(|lane| lane.wake = None);
    }

    /// Lanes with due rows and room, with at most `total` places together; a different one comes first each time.
    pub fn due(&mut self, now: DateTime<Utc>, ledger: &Ledger, total: usize) -> Vec<(Rc<str>, usize)> {
        let mut due: Vec<(Rc<str>, usize)> = self
            .by_name
            .iter()
            .filter(|(name, lane)| lane.wake.is_some_and(|wake| wake <= now) && !is_internal(name))
            .map(|(name, _)| (name.clone(), ledger.room(self, name)))
            .filter(|(_, room)| *room > 0)
            .collect();
        if due.is_empty() {
            return due;
        }
        self.turn = self.turn.wrapping_add(1);
        let first = self.turn % due.len();
        due.rotate_left(first);
        share(&mut due, total);
        due
    }

    /// The earliest future moment at which a lane with room may have due rows; without room in the worker only those
    /// that need no downstream count.
    pub fn next_wake(&self, has_room: bool) -> Option<DateTime<Utc>> {
        let ready = |name: &Rc<str>| is_internal(name) || (has_room && self.room(name) > 0);
        self.by_name.iter().filter(|(name, _)| ready(name)).filter_map(|(_, lane)| lane.wake).min()
    }

    /// One more attempt in flight.
    pub fn take_off(&mut self, lane: &Rc<str>) {
        self.in_flight += 1;
        let lane = self.by_name.entry(lane.clone()).or_default();
        lane.in_flight += 1;
        lane.changed = true;
    }

    /// One attempt less in flight.
    pub fn land(&mut self, lane: &Rc<str>) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let lane = self.by_name.entry(lane.clone()).or_default();
        lane.in_flight = lane.in_flight.saturating_sub(1);
        lane.changed = true;
    }

    /// Notes how an attempt went.
    pub fn note(&mut self, lane: &Rc<str>, succeeded: bool, gone: bool, took: Duration) {
        let lane = self.by_name.entry(lane.clone()).or_default();
        if succeeded {
            lane.successes += 1;
            lane.gone = false;
        } else {
            lane.failures += 1;
            lane.gone |= gone;
        }
        if lane.recent_ms.len() == RECENT {
            lane.recent_ms.pop_front();
        }
        lane.recent_ms.push_back(took.as_millis().min(u128::from(u32::MAX)) as u32);
        lane.changed = true;
    }

    /// Lanes that changed since the last call; forgets those that are idle and have nothing planned.
    pub fn take_changed(&mut self) -> Vec<(Rc<str>, LaneReport)> {
        let bound = self.bound;
        let mut changed = Vec::new();
        self.by_name.retain(|name, lane| {
            if lane.changed {
                lane.changed = false;
                let max_in_flight = if &**name == SOLO { 1 } else { bound };
                changed.push((name.clone(), lane.report(max_in_flight)));
                return true;
            }
            lane.in_flight > 0 || lane.wake.is_some() || !lane.recent_ms.is_empty()
        });
        changed
    }
}

/// What the view `lanes` shows of a lane.
pub struct LaneReport {
    /// Attempts in flight.
    pub in_flight: usize,
    /// Bound on them.
    pub max_in_flight: usize,
    /// Attempts that succeeded.
    pub successes: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// 95th percentile of recent durations, in ms.
    pub p95_ms: Option<u32>,
    /// Whether the receiver answered 410.
    pub gone: bool,
}

impl Lane {
    fn report(&self, max_in_flight: usize) -> LaneReport {
        let mut recent: Vec<u32> = self.recent_ms.iter().copied().collect();
        recent.sort_unstable();
        let p95_ms = recent.get((recent.len() * 95).div_ceil(100).saturating_sub(1)).copied();
        LaneReport {
            in_flight: self.in_flight,
            max_in_flight,
            successes: self.successes,
            failures: self.failures,
            p95_ms,
            gone: self.gone,
        }
    }
}

/// Cuts the rooms down so that together they do not exceed `total`; every lane gets one place before any gets a second
/// helping.
fn share(due: &mut Vec<(Rc<str>, usize)>, total: usize) {
    if due.iter().map(|(_, room)| *room).sum::<usize>() <= total {
        return;
    }
    due.truncate(total);
    let mut left = total;
    let lanes = due.len();
    for (index, (_, room)) in due.iter_mut().enumerate() {
        *room = (*room).min((left / (lanes - index)).max(1));
        left = left.saturating_sub(*room);
    }
}

/// What a turn would change, applied to [`Lanes`] only after the commit.
#[derive(Default)]
pub struct Ledger {
    change: HashMap<Rc<str>, isize>,
    total: isize,
}

impl Ledger {
    /// A place of the lane becomes free.
    pub fn free(&mut self, lane: &Rc<str>) {
        *self.change.entry(lane.clone()).or_default() -= 1;
        self.total -= 1;
    }

    /// Takes a place of the lane whatever its bound, for rows that were claimed within it.
    pub fn take(&mut self, lane: &Rc<str>) {
        *self.change.entry(lane.clone()).or_default() += 1;
        self.total += 1;
    }

    /// Takes a place if the lane has one and the worker holds fewer than `capacity` attempts.
    pub fn try_take(&mut self, lanes: &Lanes, lane: &Rc<str>, capacity: usize) -> bool {
        let fits = self.room(lanes, lane) > 0 && self.held(lanes) < capacity;
        if fits {
            self.take(lane);
        }
        fits
    }

    /// Places the lane would have free.
    ///
    /// While lanes contend, none may hold more threads than are left free for the others (the dynamic threshold of
    /// Choudhury and Hahne): one stuck receiver after the other gets half of what is left, and a healthy lane always
    /// finds a thread. Alone, a lane may fill the pool and have more prefetched.
    pub fn room(&self, lanes: &Lanes, lane: &str) -> usize {
        let in_flight = lanes.by_name.get(lane).map_or(0, |lane| lane.in_flight) as isize;
        let held = in_flight + self.change.get(lane).copied().unwrap_or(0);
        let own = lanes.bound(lane) as isize - held;
        let shared = if lanes.contended { lanes.threads as isize - self.held(lanes) as isize - held } else { own };
        own.min(shared).max(0) as usize
    }

    /// Attempts the worker would hold.
    pub fn held(&self, lanes: &Lanes) -> usize {
        (lanes.in_flight as isize + self.total).max(0) as usize
    }

    /// Carries the changes out.
    pub fn apply(self, lanes: &mut Lanes) {
        for (lane, change) in self.change {
            for _ in 0..change.max(0) {
                lanes.take_off(&lane);
            }
            for _ in 0..(-change).max(0) {
                lanes.land(&lane);
            }
        }
    }
}

/// Whether the steps on the lane need no downstream, so that no bound holds.
pub fn is_internal(lane: &str) -> bool {
    lane == FLOW_LANE || lane == WAITING
}

/// Whether the lane is for SQL workers.
pub fn is_local(lane: &str) -> bool {
    lane.strip_prefix(SQL_LANE).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Which of the live workers serves a lane: rendezvous hashing, so that a worker's coming or going moves only its own.
fn server(lane: &str, workers: &[u32]) -> Option<u32> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    workers.iter().copied().max_by_key(|worker| {
        let mut hasher = DefaultHasher::new();
        (lane, worker).hash(&mut hasher);
        hasher.finish()
    })
}

/// Whether the worker of that number serves the lane.
pub fn serves(lane: &str, worker: u32, workers: &[u32]) -> bool {
    !is_local(lane) && (workers.len() < 2 || server(lane, workers) == Some(worker))
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
