//! What the clock fires: events that were to fire later, and the ticks of schedules. The router does it, in
//! transactions of its own before its turn, and only puts events into the inbox.
//!
//! A tick's event, its key and the schedule's next time are written in one transaction under the schedule's lock, so a
//! crash or a second worker neither loses nor doubles one. A schedule that cannot be fired is paused and says why.

use super::board::Seat;
use super::serve::Worker;
use crate::flow::schedule::{CatchUp, Plan, Policy, ScheduleError, Timer};
use crate::guc;
use crate::store::schedule::{self, Due};
use crate::store::{self, Clock, StoreError, subtransaction};
use chrono::{DateTime, TimeDelta, Utc};
use std::time::Duration;

/// Delayed events in one transaction.
const MOST_EVENTS: usize = 1_000;
/// Schedules in one transaction.
const MOST_SCHEDULES: usize = 50;
/// A tick this old is missed, or the poll interval if that is longer (requirement: being a little late is normal).
const GRACE: Duration = Duration::from_secs(60);
/// Pause when something is due but locked by others.
const PAUSE_WHEN_LOCKED: TimeDelta = TimeDelta::seconds(1);

/// When the clock fires next, as far as this worker knows.
#[derive(Debug, Default)]
pub struct Timetable {
    /// The earliest time known; read anew at each poll.
    pub next: Option<DateTime<Utc>>,
}

impl Timetable {
    /// After a commit that may have brought an earlier time: look at once.
    pub fn hear(&mut self, hints: u32) {
        if hints & Seat::CLOCK != 0 {
            self.next = Some(DateTime::<Utc>::MIN_UTC);
        }
    }
}

impl Worker {
    /// When this worker has to fire by the clock; `None` when another one does or nothing may begin.
    pub fn clock_time(&self) -> Option<DateTime<Utc>> {
        self.timetable.next.filter(|_| self.is_router() && !self.only_concludes())
    }

    /// Fires what is due, at most one batch; the rest follows in the next round of the loop.
    pub fn fire_by_clock(&mut self) -> Result<(), StoreError> {
        let now = Clock::now();
        if self.clock_time().is_none_or(|time| time > now) {
            return Ok(());
        }
        // Until told better, so that a failure here does not keep the loop busy.
        self.timetable.next = Some(now + PAUSE_WHEN_LOCKED);
        let (fired, next) = store::transaction(|| {
            if !store::extension_is_present(self.extension) {
                return Ok((0, None));
            }
            let fired = schedule::move_delayed(now, MOST_EVENTS)? + fire_schedules(now)?;
            Ok((fired, schedule::next_clock_time()?))
        })?;
        let locked = fired == 0 && next.is_some_and(|next| next <= now);
        self.timetable.next = if locked { Some(now + PAUSE_WHEN_LOCKED) } else { next };
        self.inbox_has_more |= fired > 0;
        Ok(())
    }
}

/// Fires the due schedules; returns how many there were.
fn fire_schedules(now: DateTime<Utc>) -> Result<usize, StoreError> {
    let due = schedule::due(now, MOST_SCHEDULES)?;
    for schedule in &due {
        let fired = subtransaction(|| fire(schedule, now));
        if let Some(problem) = unusable(fired)? {
            pgrx::warning!("rea paused schedule \"{}\": {problem}", schedule.name);
            schedule::pause(&schedule.name, Some(&problem), now)?;
        }
    }
    Ok(due.len())
}

/// Why the schedule cannot be fired, unless it is an error that may pass.
fn unusable(fired: Result<Result<(), ScheduleError>, StoreError>) -> Result<Option<String>, StoreError> {
    match fired {
        Ok(Ok(())) => Ok(None),
        Ok(Err(problem)) => Ok(Some(problem.to_string())),
        Err(error) if error.is_transient() => Err(error),
        Err(error) => Ok(Some(error.to_string())),
    }
}

fn fire(due: &Due, now: DateTime<Utc>) -> Result<Result<(), ScheduleError>, StoreError> {
    match plan(due, now) {
        Ok(plan) => {
            schedule::fire_ticks(&due.name, &plan.fire, now)?;
            schedule::note_fired(&due.name, &plan)?;
            Ok(Ok(()))
        }
        Err(problem) => Ok(Err(problem)),
    }
}

fn plan(due: &Due, now: DateTime<Utc>) -> Result<Plan, ScheduleError> {
    let catch_up: CatchUp = due.catch_up.parse()?;
    let timer = Timer::parse(&due.cron, &due.timezone)?;
    let grace = TimeDelta::from_std(GRACE.max(guc::poll_interval())).unwrap_or(TimeDelta::MAX);
    Ok(timer.plan(due.next_time, now, Policy { catch_up, limit: due.catch_up_limit, grace }))
}
