//! `retry_instance`, `resume_instance`: a person moves an instance on, from the action it stopped at (requirement A18).

use super::call::{Call, returned};
use crate::error::ApiError;
use crate::flow::instance::Status;
use crate::flow::parse;
use crate::sql_function;
use crate::store::{self, Clock, Row, StoreError, statements, work};
use crate::worker::board::Seat;
use crate::worker::wake;
use chrono::{DateTime, Utc};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;

sql_function!(rea_retry_instance, pg_finfo_rea_retry_instance, retry_instance);
sql_function!(rea_resume_instance, pg_finfo_rea_resume_instance, resume_instance);

/// Lane of an instance whose URL is known only when rendered.
const UNRENDERED: &str = "http";

struct ResumePoint {
    status: Status,
    version: i32,
    workflow: (String, i32),
    action_index: i32,
    attempts: i32,
    paused: Option<DateTime<Utc>>,
    deadline: Option<DateTime<Utc>>,
}

fn retry_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let fresh_key: bool = call.required(1, "fresh_key")?;
    move_on(call, "retry_instance", fresh_key, |status| {
        matches!(status, Status::Failed | Status::Dead | Status::Paused)
    })
}

fn resume_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    move_on(call, "resume_instance", false, |status| status == Status::Paused)
}

fn move_on(
    call: &Call,
    cause: &'static str,
    fresh_key: bool,
    allowed: fn(Status) -> bool,
) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let id: pgrx::Uuid = call.required(0, "instance_id")?;
    call.caller.as_owner(|| {
        let Some(point) = resume_point(call, id)? else {
            let hint = "Only instances of events that your role fired can be seen; rea.query_instance lists them.";
            return Ok(Err(ApiError::NotFound { kind: "instance", name: store::uuid(id).to_string(), hint }));
        };
        if !allowed(point.status) {
            return Ok(Err(refused(&point, cause)));
        }
        if !resume(id, &point, cause, fresh_key)? {
            return Ok(Err(ApiError::WrongState {
                message: "instance was changed at the same moment".into(),
                hint: "Look at it with rea.query_instance and try again.",
            }));
        }
        Ok(Ok(()))
    })??;
    wake::at_commit(Seat::QUEUE);
    returned(Status::Pending.as_str())
}

fn refused(point: &ResumePoint, cause: &'static str) -> ApiError {
    let hint = if cause == "retry_instance" {
        "Only instances that are FAILED, DEAD or PAUSED can be retried; rea.query_instance tells why this one does not move."
    } else {
        "Only instances that are PAUSED can be resumed."
    };
    ApiError::WrongState { message: format!("instance is {}", point.status.as_str()), hint }
}

fn resume_point(call: &Call, id: pgrx::Uuid) -> Result<Option<ResumePoint>, StoreError> {
    let rows = statements::RESUME_POINT.run(&[id.into(), call.caller.role.into()])?;
    rows.first().map(|row| read(&row)).transpose()
}

fn read(row: &Row<'_>) -> Result<ResumePoint, StoreError> {
    let time = |column| -> Result<Option<DateTime<Utc>>, StoreError> {
        Ok(row.maybe::<TimestampWithTimeZone>(column)?.map(store::utc))
    };
    Ok(ResumePoint {
        status: row.get::<String>(1)?.parse().unwrap_or(Status::Running),
        version: row.get(2)?,
        workflow: (row.get(3)?, row.get(4)?),
        action_index: row.get(5)?,
        attempts: row.get(6)?,
        paused: time(7)?,
        deadline: time(8)?,
    })
}

/// False when somebody else was faster.
fn resume(id: pgrx::Uuid, point: &ResumePoint, cause: &str, fresh_key: bool) -> Result<bool, StoreError> {
    let now = Clock::now();
    let lane = lane_of(point)?;
    let deadline = new_deadline(point, now)?;
    let resumed = statements::RESUME_INSTANCE.run(&[
        id.into(),
        point.version.into(),
        cause.into(),
        store::pg_time(now).into(),
        deadline.map(store::pg_time).into(),
        point.attempts.into(),
        lane.into(),
        fresh_key.into(),
    ])?;
    Ok(resumed.processed == 1)
}

/// Time spent paused does not count; after an end the whole time starts anew.
fn new_deadline(point: &ResumePoint, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
    if let (Some(paused), Some(deadline)) = (point.paused, point.deadline) {
        return Ok(deadline.checked_add_signed(now - paused));
    }
    let timeout = definition(point)?.and_then(|workflow| workflow.timeout);
    Ok(timeout
        .and_then(|timeout| chrono::TimeDelta::from_std(timeout).ok())
        .and_then(|timeout| now.checked_add_signed(timeout)))
}

fn lane_of(point: &ResumePoint) -> Result<String, StoreError> {
    let workflow = definition(point)?;
    let action = workflow.as_ref().and_then(|workflow| workflow.actions.get(point.action_index.max(0) as usize));
    Ok(action.and_then(|action| action.lane.name()).unwrap_or(UNRENDERED).to_owned())
}

fn definition(point: &ResumePoint) -> Result<Option<crate::flow::definition::Workflow>, StoreError> {
    let text = work::load_definition(&point.workflow.0, point.workflow.1)?;
    Ok(text.and_then(|(text, _)| parse::parse(&text).0))
}
