//! Functions that only read: the rows of one statement file, passed through as they are.
//!
//! The statement gets the function's arguments in order and, where it decides what the caller may see, his oid last.

use super::call::Call;
use crate::error::ApiError;
use crate::sql_function;
use crate::store::{Argument, Statement, StoreError, statements};
use pgrx::pg_sys;

sql_function!(rea_query_instance, pg_finfo_rea_query_instance, query_instance);
sql_function!(rea_operation_of_event, pg_finfo_rea_operation_of_event, operation_of_event);
sql_function!(rea_operation_of_instance, pg_finfo_rea_operation_of_instance, operation_of_instance);
sql_function!(rea_timeline, pg_finfo_rea_timeline, timeline);
sql_function!(rea_match_event, pg_finfo_rea_match_event, match_event);

fn query_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    rows(call, &statements::QUERY_INSTANCE, &seen_by_caller(call, &[pg_sys::TEXTOID]))
}

fn operation_of_event(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    one(call, &statements::OPERATION_OF_EVENT, &seen_by_caller(call, &[pg_sys::TEXTOID, pg_sys::TEXTOID]))
}

fn operation_of_instance(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    one(call, &statements::OPERATION_OF_INSTANCE, &seen_by_caller(call, &[pg_sys::UUIDOID]))
}

fn timeline(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    rows(call, &statements::TIMELINE, &seen_by_caller(call, &[pg_sys::TEXTOID]))
}

fn match_event(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let types = [pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::JSONBOID, pg_sys::JSONBOID];
    rows(call, &statements::MATCH_EVENT, &given(call, &types))
}

fn given<'a>(call: &'a Call, types: &[pg_sys::Oid]) -> Vec<Argument<'a>> {
    types.iter().enumerate().map(|(index, oid)| call.parameter(index, *oid)).collect()
}

fn seen_by_caller<'a>(call: &'a Call, types: &[pg_sys::Oid]) -> Vec<Argument<'a>> {
    let mut arguments = given(call, types);
    arguments.push(call.caller.role.into());
    arguments
}

/// Returns the first column of the first row.
fn one(
    call: &Call,
    statement: &'static Statement,
    arguments: &[Argument<'_>],
) -> Result<Option<pg_sys::Datum>, ApiError> {
    let datum = call.caller.as_owner(|| {
        let rows = statement.run(arguments)?;
        Ok(rows.first().and_then(|row| row.copied(1)))
    })?;
    Ok(datum)
}

/// Returns all rows as the function's result set.
fn rows(
    call: &Call,
    statement: &'static Statement,
    arguments: &[Argument<'_>],
) -> Result<Option<pg_sys::Datum>, ApiError> {
    let fcinfo = call.fcinfo();
    // SAFETY: raises an SQL error itself when the caller cannot take a set.
    unsafe { pg_sys::InitMaterializedSRF(fcinfo, 0) };
    call.caller.as_owner(|| {
        let rows = statement.run(arguments)?;
        // SAFETY: InitMaterializedSRF was called for this call above.
        unsafe { rows.copy_into_result(fcinfo) };
        Ok::<(), StoreError>(())
    })?;
    Ok(None)
}
