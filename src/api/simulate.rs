//! `simulate`: a workflow played on a virtual clock. It reads definitions and writes nothing.

use super::call::Call;
use super::define::{check, refused, refused_as};
use super::route::no_workflow;
use crate::error::ApiError;
use crate::flow::definition::Workflow;
use crate::flow::emit::Bounds;
use crate::flow::instance::Limits;
use crate::flow::parse;
use crate::flow::parse::mocks::{self, Callee, GivenEvent, Mocks};
use crate::flow::perform::Perform;
use crate::flow::simulation::{Database, Fault, Line, MOST_STEPS, Settings, Subject, simulate};
use crate::guc;
use crate::sql_function;
use crate::store::simulation::Documents;
use crate::store::{Clock, StoreError, statements, work};
use pgrx::datum::{Interval, JsonB};
use pgrx::{IntoDatum, pg_sys};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

sql_function!(rea_simulate_definition, pg_finfo_rea_simulate_definition, simulate_definition);
sql_function!(rea_simulate_stored, pg_finfo_rea_simulate_stored, simulate_stored);

fn simulate_definition(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let definition = call.json(0).ok_or(ApiError::NullArgument("workflow"))?;
    let (workflow, problems) = check(call, &definition)?;
    let Some(workflow) = workflow else { return Err(refused(&problems)) };
    let version = call.caller.as_owner(|| coming_version(call, &workflow.name))?;
    play(call, workflow, version)
}

/// The version that the definition has, or would get.
fn coming_version(call: &Call, name: &str) -> Result<i32, StoreError> {
    let definition = call.parameter(0, pg_sys::JSONBOID);
    let rows = statements::CURRENT_WORKFLOW.run(&[name.into(), definition])?;
    let Some(row) = rows.first() else { return Ok(1) };
    let (current, same): (i32, bool) = (row.get(1)?, row.get(3)?);
    Ok(if same { current } else { current + 1 })
}

fn simulate_stored(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let name: String = call.required(0, "workflow_name")?;
    let current = call.caller.as_owner(|| work::workflow_state(&name))?.ok_or_else(|| no_workflow_of_name(&name))?.0;
    let version = call.value(3).unwrap_or(current);
    let (text, _) =
        call.caller.as_owner(|| work::load_definition(&name, version))?.ok_or_else(|| no_version(&name, version))?;
    let (workflow, problems) = parse::parse(&text);
    play(call, workflow.ok_or_else(|| refused(&problems))?, version)
}

fn no_workflow_of_name(name: &str) -> ApiError {
    match name.trim_start().starts_with('{') {
        true => ApiError::NotFound {
            kind: "workflow",
            name: name.chars().take(30).collect::<String>() + "…",
            hint: "A definition is given as jsonb: write '{…}'::jsonb.",
        },
        false => no_workflow(name),
    }
}

fn no_version(name: &str, version: i32) -> ApiError {
    let hint = "The view rea.workflows lists all versions.";
    ApiError::NotFound { kind: "workflow version", name: format!("{name} {version}"), hint }
}

fn play(call: &Call, workflow: Workflow, version: i32) -> Result<Option<pg_sys::Datum>, ApiError> {
    let event = event(call)?;
    let callees = call.caller.as_owner(|| callees(&workflow))?;
    let mocks = mocked(call, &callees)?;
    let subject = Subject { workflow, version, event, mocks };
    let now = Clock::now();
    let played = call.caller.as_owner(|| match simulate(&mut Documents, &subject, &settings(), now) {
        Err(Fault::Database(error)) => Err(error),
        Err(Fault::TooManySteps) => Ok(None),
        Ok(story) => Ok(Some(story)),
    })?;
    let story = played.ok_or(ApiError::TooManySteps(MOST_STEPS))?;
    super::return_rows(call, story.into_iter().map(row));
    Ok(None)
}

fn event(call: &Call) -> Result<GivenEvent, ApiError> {
    let text = call.json(1).ok_or(ApiError::NullArgument("event"))?;
    let (event, problems) = mocks::read_event(&document("event", &text)?);
    event.ok_or_else(|| refused_as("event", &problems))
}

fn mocked(call: &Call, callees: &BTreeMap<String, Callee>) -> Result<Mocks, ApiError> {
    let text = call.json(2).ok_or(ApiError::NullArgument("mocks"))?;
    let (mocks, problems) = mocks::read(&document("mocks", &text)?, callees);
    if problems.is_empty() { Ok(mocks) } else { Err(refused_as("mocks", &problems)) }
}

fn document(field: &'static str, text: &str) -> Result<Value, ApiError> {
    serde_json::from_str(text).map_err(|error| ApiError::BadArgument {
        field,
        problem: format!("could not be read: {error}"),
        hint: "JSON may be nested 127 levels deep.",
    })
}

/// The actions that mocks may name: those of the workflow and of the workflows that it starts.
fn callees(workflow: &Workflow) -> Result<BTreeMap<String, Callee>, StoreError> {
    let mut callees = mocks::callees(workflow);
    let mut known: BTreeSet<String> = BTreeSet::from([workflow.name.clone()]);
    let mut open = started(workflow);
    while let Some(name) = open.pop() {
        if !known.insert(name.clone()) {
            continue;
        }
        if let Some(inner) = Documents.workflow(&name)?.and_then(|stored| stored.workflow) {
            // Where both have an action of a name, a mock is for both; the outer one says of which kind.
            for (action, callee) in mocks::callees(&inner) {
                callees.entry(action).or_insert(callee);
            }
            open.extend(started(&inner));
        }
    }
    Ok(callees)
}

fn started(workflow: &Workflow) -> Vec<String> {
    let name = |perform: &Perform| match perform {
        Perform::Workflow(child) => Some(child.workflow_name.clone()),
        _ => None,
    };
    workflow.all_actions().filter_map(|action| name(&action.perform)).collect()
}

fn settings() -> Settings {
    Settings {
        limits: Limits { max_retry_after: guc::max_retry_after(), ..Limits::default() },
        bounds: Bounds { max_causation_depth: guc::max_causation_depth(), max_payload_bytes: guc::max_payload_bytes() },
        max_output_bytes: guc::max_output_bytes(),
        max_context_bytes: guc::max_context_bytes(),
        action_timeout_ms: guc::action_timeout().as_millis().clamp(1, u128::from(u32::MAX)) as u32,
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn row(line: Line) -> [Option<pg_sys::Datum>; 11] {
    let at = line.at.num_microseconds().unwrap_or(i64::MAX);
    [
        Interval::from_micros(at).into_datum(),
        line.path.into_datum(),
        line.kind.as_str().into_datum(),
        line.subject.into_datum(),
        line.status.into_datum(),
        line.attempt_no.map(|number| number as i32).into_datum(),
        line.error_code.into_datum(),
        line.detail.into_datum(),
        line.cost_ms.into_datum(),
        json(line.request),
        json(line.output),
    ]
}

fn json(text: Option<String>) -> Option<pg_sys::Datum> {
    text.and_then(|text| serde_json::from_str(&text).ok()).map(JsonB).into_datum()
}
