//! `cancel_instance`, `pause_instance`: a person stops an instance, between two actions.
//!
//! The request is stored; the worker that has the instance in hand carries it out, and tells its children.

use super::call::{Call, returned};
use super::point::Point;
use crate::error::ApiError;
use crate::flow::instance::Status;
use crate::sql_function;
use crate::store::{self, Clock, StoreError, statements};
use crate::worker::board::Seat;
use crate::worker::wake;
use pgrx::pg_sys;

sql_function!(rea_cancel_instance, pg_finfo_rea_cancel_instance, cancel_instance);
sql_function!(rea_pause_instance, pg_finfo_rea_pause_instance, pause_instance);

fn cancel_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let compensate: bool = call.required(1, "compensate")?;
    let reason: Option<String> = call.value(2);
    ask(call, "cancel", compensate, reason.unwrap_or_else(|| "cancel_instance".to_owned()))
}

fn pause_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let reason: Option<String> = call.value(1);
    ask(call, "pause", false, reason.unwrap_or_else(|| "pause_instance".to_owned()))
}

fn ask(call: &Call, request: &'static str, compensate: bool, cause: String) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let id: pgrx::Uuid = call.required(0, "instance_id")?;
    let status = call.caller.as_owner(|| stop(call, id, request, compensate, &cause))??;
    returned(status.as_str())
}

/// Stores the request, in the caller's name; runs as the owner. Returns the status that the instance had.
pub(super) fn stop(
    call: &Call,
    id: pgrx::Uuid,
    request: &'static str,
    compensate: bool,
    cause: &str,
) -> Result<Result<Status, ApiError>, StoreError> {
    let point = match Point::lock(call, id)? {
        Ok(point) => point,
        Err(unknown) => return Ok(Err(unknown)),
    };
    let ends = point.status.is_final() || point.undoes;
    if ends || (request == "pause" && point.status == Status::Paused) {
        let message = format!("instance is {}", point.status.as_str());
        let hint = "Only an instance that has not ended and is not being undone can be stopped.";
        return Ok(Err(ApiError::WrongState { message, hint }));
    }
    let arguments = [
        id.into(),
        request.into(),
        compensate.into(),
        cause.into(),
        call.caller.role.into(),
        store::pg_time(Clock::now()).into(),
    ];
    statements::REQUEST_INSERT.run(&arguments)?;
    wake::at_commit(Seat::REQUEST);
    Ok(Ok(point.status))
}
