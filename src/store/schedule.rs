//! What waits for the clock: events that fire later, and schedules.

use super::{StoreError, pg_time, pg_uuid, statements, utc};
use crate::flow::schedule::{Plan, Tick};
use chrono::{DateTime, SecondsFormat, Utc};
use pgrx::datum::TimestampWithTimeZone;
use uuid::Uuid;

/// A schedule with a due tick.
pub struct Due {
    /// Its name.
    pub name: String,
    /// Its cron expression.
    pub cron: String,
    /// Time zone of that.
    pub timezone: String,
    /// What happens to missed ticks.
    pub catch_up: String,
    /// Events at most in a catch-up.
    pub catch_up_limit: usize,
    /// The first due tick.
    pub next_time: DateTime<Utc>,
}

/// Moves the events whose time has come to the inbox; returns how many.
pub fn move_delayed(now: DateTime<Utc>, limit: usize) -> Result<usize, StoreError> {
    Ok(statements::MOVE_DELAYED.run(&[pg_time(now).into(), (limit as i64).into()])?.processed)
}

/// When the clock fires next.
pub fn next_clock_time() -> Result<Option<DateTime<Utc>>, StoreError> {
    let rows = statements::NEXT_CLOCK_TIME.run(&[])?;
    let time = rows.first().map(|row| row.maybe::<TimestampWithTimeZone>(1)).transpose()?;
    Ok(time.flatten().map(utc))
}

/// Locks schedules with a due tick.
pub fn due(now: DateTime<Utc>, limit: usize) -> Result<Vec<Due>, StoreError> {
    let rows = statements::DUE_SCHEDULES.run(&[pg_time(now).into(), (limit as i64).into()])?;
    rows.iter()
        .map(|row| {
            Ok(Due {
                name: row.get(1)?,
                cron: row.get(2)?,
                timezone: row.get(3)?,
                catch_up: row.get(4)?,
                catch_up_limit: row.get::<i32>(5)?.max(1) as usize,
                next_time: utc(row.get(6)?),
            })
        })
        .collect()
}

/// Puts the events of a schedule's ticks into the inbox. The id `name@time` keeps a tick from firing twice.
pub fn fire_ticks(name: &str, ticks: &[Tick], now: DateTime<Utc>) -> Result<(), StoreError> {
    if ticks.is_empty() {
        return Ok(());
    }
    let id = |tick: &Tick| format!("{name}@{}", tick.time.to_rfc3339_opts(SecondsFormat::Secs, true));
    statements::FIRE_TICKS
        .run(&[
            name.into(),
            ticks.iter().map(|_| pg_uuid(Uuid::now_v7())).collect::<Vec<_>>().into(),
            ticks.iter().map(id).collect::<Vec<_>>().into(),
            ticks.iter().map(|tick| pg_time(tick.time)).collect::<Vec<_>>().into(),
            ticks.iter().map(|tick| tick.missed as i64).collect::<Vec<_>>().into(),
            pg_time(now).into(),
        ])
        .map(|_| ())
}

/// Notes what a schedule has fired and when it fires next.
pub fn note_fired(name: &str, plan: &Plan) -> Result<(), StoreError> {
    statements::SCHEDULE_FIRED
        .run(&[
            name.into(),
            plan.next.map(pg_time).into(),
            plan.fire.last().map(|tick| pg_time(tick.time)).into(),
            (plan.misfires as i64).into(),
        ])
        .map(|_| ())
}

/// Keeps a schedule from firing: a person's wish, or for a problem. False when there is none of that name.
pub fn pause(name: &str, problem: Option<&str>, now: DateTime<Utc>) -> Result<bool, StoreError> {
    let rows = statements::PAUSE_SCHEDULE.run(&[name.into(), problem.into(), pg_time(now).into()])?;
    Ok(rows.processed == 1)
}
