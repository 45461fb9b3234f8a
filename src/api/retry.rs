//! `retry_instance`, `resume_instance`: a person moves an instance on, from the action it stopped at (requirement A18).

use super::call::{Call, returned};
use super::point::Point;
use crate::error::ApiError;
use crate::flow::definition::FLOW_LANE;
use crate::flow::instance::Status;
use crate::sql_function;
use crate::store::{self, Clock, StoreError, statements};
use crate::worker::board::Seat;
use crate::worker::wake;
use chrono::{DateTime, TimeDelta, Utc};
use pgrx::pg_sys;

sql_function!(rea_retry_instance, pg_finfo_rea_retry_instance, retry_instance);
sql_function!(rea_resume_instance, pg_finfo_rea_resume_instance, resume_instance);

fn retry_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let fresh_key: bool = call.required(1, "fresh_key")?;
    move_on(call, "retry_instance", fresh_key, |point| match point.status {
        Status::Paused => Ok(()),
        Status::Failed | Status::Dead => retriable(point),
        _ => Err(refused(
            point,
            "Only instances that are FAILED, DEAD or PAUSED can be retried; rea.query_instance tells why this one does not move.",
        )),
    })
}

fn retriable(point: &Point) -> Result<(), ApiError> {
    if point.undoes {
        return Err(ApiError::WrongState {
            message: "what the instance did was undone".into(),
            hint: "Start anew with rea.rerun_event: it makes a new instance with new idempotency keys.",
        });
    }
    match point.parent {
        None => Ok(()),
        Some(parent) => Err(ApiError::WrongState {
            message: format!("instance is a part of instance {parent}"),
            hint: "Retry that one: its failed branches go on where they failed.",
        }),
    }
}

fn resume_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    move_on(call, "resume_instance", false, |point| match point.status {
        Status::Paused => Ok(()),
        _ if point.pause_is_asked_for => Ok(()),
        _ => Err(refused(point, "Only instances that are PAUSED can be resumed.")),
    })
}

fn refused(point: &Point, hint: &'static str) -> ApiError {
    ApiError::WrongState { message: format!("instance is {}", point.status.as_str()), hint }
}

fn move_on(
    call: &Call,
    cause: &'static str,
    fresh_key: bool,
    allowed: fn(&Point) -> Result<(), ApiError>,
) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let id: pgrx::Uuid = call.required(0, "instance_id")?;
    let status = call.caller.as_owner(|| {
        let point = match Point::lock(call, id)? {
            Ok(point) => point,
            Err(unknown) => return Ok(Err(unknown)),
        };
        if let Err(refused) = allowed(&point) {
            return Ok(Err(refused));
        }
        if point.pause_is_asked_for {
            statements::WITHDRAW_PAUSE.run(&[id.into()])?;
        }
        if matches!(point.status, Status::Paused | Status::Failed | Status::Dead) {
            return resume(id, &point, cause, fresh_key);
        }
        Ok(Ok(point.status))
    })??;
    wake::at_commit(Seat::QUEUE);
    returned(status.as_str())
}

fn resume(id: pgrx::Uuid, point: &Point, cause: &str, fresh_key: bool) -> Result<Result<Status, ApiError>, StoreError> {
    let now = Clock::now();
    let workflow = point.definition()?;
    let action = workflow.as_ref().and_then(|workflow| point.action(workflow));
    let timeout = workflow.as_ref().and_then(|workflow| workflow.timeout);
    let resumed = statements::RESUME_INSTANCE.run(&[
        id.into(),
        point.version.into(),
        cause.into(),
        store::pg_time(now).into(),
        new_deadline(point, timeout, now).map(store::pg_time).into(),
        action.map(|action| action.name.as_str()).unwrap_or_default().into(),
        action.and_then(|action| action.lane.name()).unwrap_or(FLOW_LANE).into(),
        fresh_key.into(),
    ])?;
    if resumed.processed != 1 {
        return Ok(Err(ApiError::WrongState {
            message: "instance was changed at the same moment".into(),
            hint: "Look at it with rea.query_instance and try again.",
        }));
    }
    statements::RESUME_CHILDREN.run(&[id.into(), cause.into(), store::pg_time(now).into()])?;
    Ok(Ok(Status::Pending))
}

/// Time spent paused does not count; after an end the whole time starts anew.
fn new_deadline(point: &Point, timeout: Option<std::time::Duration>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    if let Some(paused) = point.paused {
        return point.deadline?.checked_add_signed(now - paused);
    }
    now.checked_add_signed(TimeDelta::from_std(timeout?).ok()?)
}
