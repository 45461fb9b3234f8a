//! `define_schedule`, `drop_schedule`, `pause_schedule`, `resume_schedule`, `next_runs`: what the clock shall fire.
//!
//! What can never fire is refused here. The row's next time is computed at definition; workers only follow it.

use super::call::{Call, returned};
use super::route::check_label;
use crate::error::ApiError;
use crate::flow::schedule::{CatchUp, ScheduleError, Timer};
use crate::store::{self, Clock, StoreError, schedule, statements};
use crate::worker::board::Seat;
use crate::worker::wake;
use crate::{guc, sql_function};
use chrono::{DateTime, TimeDelta, Utc};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::{IntoDatum, pg_sys};

sql_function!(rea_define_schedule, pg_finfo_rea_define_schedule, define_schedule);
sql_function!(rea_drop_schedule, pg_finfo_rea_drop_schedule, drop_schedule);
sql_function!(rea_pause_schedule, pg_finfo_rea_pause_schedule, pause_schedule);
sql_function!(rea_resume_schedule, pg_finfo_rea_resume_schedule, resume_schedule);
sql_function!(rea_next_runs, pg_finfo_rea_next_runs, next_runs);

/// Catch-ups never fire more events than this at once.
const MOST_CAUGHT_UP: i32 = 1_000;
/// Rows of `next_runs`.
const MOST_RUNS: i32 = 1_000;
/// A tick that is due already stays due over a change of the expression, if it is not older than this.
const STILL_DUE: TimeDelta = TimeDelta::seconds(60);

struct Stored {
    cron: String,
    timezone: String,
    paused: bool,
    next: Option<DateTime<Utc>>,
}

struct Wanted {
    name: String,
    cron: String,
    timezone: String,
    event_type: String,
    biz_key: String,
    catch_up: String,
    catch_up_limit: i32,
    timer: Timer,
}

fn define_schedule(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let wanted = wanted(call)?;
    let now = Clock::now();
    if wanted.timer.next_after(now).is_none() {
        return Err(never(&wanted.cron));
    }
    let next = call.caller.as_owner(|| {
        let stored = stored(&wanted.name)?;
        let paused = stored.as_ref().is_some_and(|stored| stored.paused);
        let next = if paused { None } else { first_tick(&wanted, stored.as_ref(), now) };
        define(call, &wanted, paused, next, now)?;
        Ok(next)
    })?;
    wake::at_commit(Seat::CLOCK);
    time(next)
}

fn wanted(call: &Call) -> Result<Wanted, ApiError> {
    let name: String = call.required(0, "schedule_name")?;
    let cron: String = call.required(1, "cron")?;
    let timezone: String = call.required(2, "timezone")?;
    let event_type: String = call.required(3, "event_type")?;
    let biz_key = call.value(4).unwrap_or_else(|| name.clone());
    let catch_up: String = call.required(6, "catch_up")?;
    let catch_up_limit: i32 = call.required(7, "catch_up_limit")?;
    check_label("schedule_name", &name)?;
    check_label("event_type", &event_type)?;
    catch_up.parse::<CatchUp>().map_err(refused)?;
    check_range("catch_up_limit", catch_up_limit, MOST_CAUGHT_UP, "Choose the largest catch-up that does no harm.")?;
    for (field, bytes, limit) in [
        ("biz_key", biz_key.len(), 1_024),
        ("payload", json_size(call, 5, "payload")?, guc::max_payload_bytes()),
        ("attributes", json_size(call, 8, "attributes")?, 64 << 10),
    ] {
        if bytes > limit {
            return Err(ApiError::TooLong { field, bytes, limit });
        }
    }
    if !call.json(8).is_some_and(|text| text.starts_with('{')) {
        return Err(ApiError::BadArgument {
            field: "attributes",
            problem: "must be a JSON object".into(),
            hint: "Pass key-value pairs, for example {\"channel\": \"nightly\"}.",
        });
    }
    let timer = Timer::parse(&cron, &timezone).map_err(refused)?;
    Ok(Wanted { name, cron, timezone, event_type, biz_key, catch_up, catch_up_limit, timer })
}

fn json_size(call: &Call, index: usize, field: &'static str) -> Result<usize, ApiError> {
    call.json(index).map(|text| text.len()).ok_or(ApiError::NullArgument(field))
}

fn check_range(field: &'static str, value: i32, most: i32, hint: &'static str) -> Result<(), ApiError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(ApiError::BadArgument { field, problem: format!("must be from 1 to {most}, not {value}"), hint })
}

fn refused(error: ScheduleError) -> ApiError {
    let (field, hint) = match &error {
        ScheduleError::Cron { .. } | ScheduleError::TooLong => (
            "cron",
            "Fields are minutes, hours, day of month, month, day of week, for example 30 2 * * MON-FRI; a sixth goes first and is seconds. rea.next_runs shows what an expression means.",
        ),
        ScheduleError::TimeZone { .. } => {
            ("timezone", "Use a name of the IANA database, for example Europe/Berlin or UTC.")
        }
        ScheduleError::CatchUp(_) => {
            ("catch_up", "Leave it out for one event after a downtime, however many ticks were missed.")
        }
    };
    ApiError::BadArgument { field, problem: error.to_string(), hint }
}

fn never(cron: &str) -> ApiError {
    ApiError::BadArgument {
        field: "cron",
        problem: format!("\"{cron}\" never fires: no such date comes any more"),
        hint: "Look at day of month, month and year.",
    }
}

fn stored(name: &str) -> Result<Option<Stored>, StoreError> {
    let rows = statements::LOCK_SCHEDULE.run(&[name.into()])?;
    rows.first()
        .map(|row| {
            let next = row.maybe::<TimestampWithTimeZone>(4)?.map(store::utc);
            Ok(Stored { cron: row.get(1)?, timezone: row.get(2)?, paused: row.get(3)?, next })
        })
        .transpose()
}

/// A tick that is due at this very moment is fired by the old or by the new expression, not by both or none.
fn first_tick(wanted: &Wanted, stored: Option<&Stored>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let due = stored.and_then(|stored| stored.next.filter(|next| *next <= now).map(|next| (stored, next)));
    match due {
        Some((stored, next)) if stored.cron == wanted.cron && stored.timezone == wanted.timezone => Some(next),
        Some((_, next)) => wanted.timer.next_after((next - TimeDelta::seconds(1)).max(now - STILL_DUE)),
        None => wanted.timer.next_after(now),
    }
}

fn define(
    call: &Call,
    wanted: &Wanted,
    paused: bool,
    next: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    statements::DEFINE_SCHEDULE
        .run(&[
            wanted.name.as_str().into(),
            wanted.cron.as_str().into(),
            wanted.timezone.as_str().into(),
            wanted.event_type.as_str().into(),
            wanted.biz_key.as_str().into(),
            call.parameter(5, pg_sys::JSONBOID),
            call.parameter(8, pg_sys::JSONBOID),
            wanted.catch_up.as_str().into(),
            wanted.catch_up_limit.into(),
            paused.into(),
            next.map(store::pg_time).into(),
            call.caller.role.into(),
            store::pg_time(now).into(),
        ])
        .map(|_| ())
}

fn time(time: Option<DateTime<Utc>>) -> Result<Option<pg_sys::Datum>, ApiError> {
    match time {
        Some(time) => returned(store::pg_time(time)),
        None => Ok(None),
    }
}

fn drop_schedule(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "schedule_name")?;
    let found = call.caller.as_owner(|| Ok(statements::DROP_SCHEDULE.run(&[name.as_str().into()])?.processed == 1))?;
    if found { Ok(None) } else { Err(unknown(name)) }
}

fn pause_schedule(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "schedule_name")?;
    let found = call.caller.as_owner(|| schedule::pause(&name, None, Clock::now()))?;
    if found { Ok(None) } else { Err(unknown(name)) }
}

fn resume_schedule(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "schedule_name")?;
    let now = Clock::now();
    let next = call.caller.as_owner(|| {
        let Some(stored) = stored(&name)? else { return Ok(Err(unknown(name))) };
        let timer = match Timer::parse(&stored.cron, &stored.timezone) {
            Ok(timer) => timer,
            Err(error) => return Ok(Err(refused(error))),
        };
        let next = timer.next_after(now);
        let resumed = statements::RESUME_SCHEDULE.run(&[
            name.as_str().into(),
            next.map(store::pg_time).into(),
            store::pg_time(now).into(),
        ])?;
        Ok(Ok(if resumed.processed == 1 { next } else { stored.next }))
    })??;
    wake::at_commit(Seat::CLOCK);
    time(next)
}

fn unknown(name: String) -> ApiError {
    ApiError::NotFound { kind: "schedule", name, hint: "The view rea.schedules lists them." }
}

fn next_runs(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let cron: String = call.required(0, "cron")?;
    let timezone: String = call.required(1, "timezone")?;
    let n: i32 = call.required(2, "n")?;
    let after: TimestampWithTimeZone = call.required(3, "after")?;
    check_range("n", n, MOST_RUNS, "Ask for fewer; the last one can be passed as after to go on.")?;
    if after.is_infinity() || after.is_neg_infinity() {
        let hint = "Leave it out to begin now.";
        return Err(ApiError::BadArgument { field: "after", problem: "must be a finite time".into(), hint });
    }
    let timer = Timer::parse(&cron, &timezone).map_err(refused)?;
    let first = timer.next_after(store::utc(after));
    let runs = std::iter::successors(first, |tick| timer.next_after(*tick)).take(n as usize);
    super::return_column(call, runs.map(|tick| store::pg_time(tick).into_datum()));
    Ok(None)
}
