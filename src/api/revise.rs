//! `diff_workflow`, `read_definitions`, `rerun_event`: what a person does who changes rules while instances run.

use super::call::{Call, returned};
use crate::error::ApiError;
use crate::flow::difference::{Difference, differences};
use crate::flow::parse::bundle::{self, Entry};
use crate::flow::problem::Problem;
use crate::sql_function;
use crate::store::{self, Argument, Clock, StoreError, statements, work};
use crate::worker::board::Seat;
use crate::worker::wake;
use pgrx::{IntoDatum, JsonB, pg_sys};
use serde_json::Value;

sql_function!(rea_diff_workflow, pg_finfo_rea_diff_workflow, diff_workflow);
sql_function!(rea_read_definitions, pg_finfo_rea_read_definitions, read_definitions);
sql_function!(rea_rerun_event, pg_finfo_rea_rerun_event, rerun_event);

fn diff_workflow(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let name: String = call.required(0, "workflow_name")?;
    let old: i32 = call.required(1, "v1")?;
    let new = match call.value(2) {
        Some(version) => version,
        None => call.caller.as_owner(|| current_version(&name))?.ok_or_else(|| super::route::no_workflow(&name))?,
    };
    let rows = differences(&version(call, &name, old)?, &version(call, &name, new)?);
    super::return_rows(call, rows.into_iter().map(row));
    Ok(None)
}

fn row(found: Difference) -> [Option<pg_sys::Datum>; 5] {
    [
        found.pointer.into_datum(),
        found.change.as_str().into_datum(),
        found.action.into_datum(),
        found.old.map(JsonB).into_datum(),
        found.new.map(JsonB).into_datum(),
    ]
}

fn current_version(name: &str) -> Result<Option<i32>, StoreError> {
    let rows = statements::CURRENT_WORKFLOW.run(&[name.into(), Argument::null_oid(pg_sys::JSONBOID)])?;
    rows.first().map(|row| row.get(1)).transpose()
}

fn version(call: &Call, name: &str, version: i32) -> Result<Value, ApiError> {
    let text = call.caller.as_owner(|| work::load_definition(name, version))?;
    text.and_then(|(text, _)| serde_json::from_str(&text).ok()).ok_or_else(|| ApiError::NotFound {
        kind: "workflow version",
        name: format!("{name} {version}"),
        hint: "The view rea.workflows lists all versions.",
    })
}

fn read_definitions(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let text = call.json(0).ok_or(ApiError::NullArgument("definitions"))?;
    let document = serde_json::from_str(&text).map_err(|error| ApiError::BadArgument {
        field: "definitions",
        problem: format!("could not be read: {error}"),
        hint: "JSON may be nested 127 levels deep.",
    })?;
    super::return_rows(call, bundle::read(&document).into_iter().map(entry));
    Ok(None)
}

fn entry(entry: Entry) -> [Option<pg_sys::Datum>; 4] {
    let (body, problem) = match entry.body {
        Ok(body) => (Some(JsonB(body)), None),
        Err(problem) => (None, Some(told(&problem))),
    };
    [entry.kind.as_str().into_datum(), entry.name.into_datum(), body.into_datum(), problem.into_datum()]
}

fn told(problem: &Problem) -> String {
    let place = if problem.pointer.is_empty() { "the top level" } else { &problem.pointer };
    match &problem.hint {
        Some(hint) => format!("at {place}: {} ({}) — {hint}", problem.message, problem.code),
        None => format!("at {place}: {} ({})", problem.message, problem.code),
    }
}

fn rerun_event(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let event_id: String = call.required(0, "event_id")?;
    let source: String = call.required(1, "source")?;
    let uid = super::event::next_uid();
    let fired = call.caller.as_owner(|| {
        let found = statements::FIND_EVENT.run(&[event_id.as_str().into(), source.as_str().into()])?;
        let Some(event) = found.first() else { return Ok(0) };
        let fired = statements::RERUN_EVENT.run(&[
            event.get::<pgrx::Uuid>(1)?.into(),
            store::pg_uuid(uid).into(),
            store::pg_time(Clock::now()).into(),
            call.caller.role.into(),
        ])?;
        Ok(fired.processed)
    })?;
    if fired == 0 {
        let hint = "Pass the id that fire_event returned, and the source if one was given.";
        return Err(ApiError::NotFound { kind: "event", name: event_id, hint });
    }
    wake::at_commit(Seat::INBOX);
    returned(uid.to_string())
}
