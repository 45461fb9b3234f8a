//! `define_workflow`, `validate_workflow`, `disable_workflow`, `enable_workflow`: definitions enter here and nowhere else.
//!
//! A definition is checked by the pure parser, its paths by PostgreSQL, what it names against the database; only then is
//! a version stored. Versions are immutable; the same definition again is the same version.

use super::call::{Call, returned};
use super::resolve;
use super::route::{self, RouteRow};
use crate::error::ApiError;
use crate::flow::definition::Workflow;
use crate::flow::parse::{self, PathUse};
use crate::flow::problem::{Problem, Severity};
use crate::sql_function;
use crate::store::{StoreError, statements, subtransaction};
use pgrx::{IntoDatum, pg_sys};

sql_function!(rea_define_workflow, pg_finfo_rea_define_workflow, define_workflow);
sql_function!(rea_validate_workflow, pg_finfo_rea_validate_workflow, validate_workflow);
sql_function!(rea_disable_workflow, pg_finfo_rea_disable_workflow, disable_workflow);
sql_function!(rea_enable_workflow, pg_finfo_rea_enable_workflow, enable_workflow);

fn define_workflow(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let definition = call.json(0).ok_or(ApiError::NullArgument("definition"))?;
    let expected: Option<i32> = call.value(1);
    let (workflow, problems) = check(call, &definition)?;
    let Some(workflow) = workflow else { return Err(refused(&problems)) };
    let version = call.caller.as_owner(|| store(call, &workflow, expected))??;
    // What is advice for the author and not a surprise in what was stored is left to validate_workflow.
    for warning in problems.iter().filter(|problem| problem.code != parse::COMPENSATION_UNSAID) {
        pgrx::warning!("{}: {}", place(warning), warning.message);
    }
    returned(version)
}

/// Parses the definition, has PostgreSQL parse its paths, and looks for what it names.
pub fn check(call: &Call, definition: &str) -> Result<(Option<Workflow>, Vec<Problem>), ApiError> {
    let (workflow, mut problems) = parse::parse(definition);
    let Some(workflow) = workflow else { return Ok((None, problems)) };
    problems.extend(path_problems(call, parse::path_uses(&workflow))?);
    problems.extend(resolve::problems(call, &workflow)?);
    let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(((!refused).then_some(workflow), problems))
}

/// What PostgreSQL has against these paths.
pub fn path_problems(call: &Call, paths: Vec<PathUse>) -> Result<Vec<Problem>, ApiError> {
    let problems = call.caller.as_owner(|| {
        let mut problems = Vec::new();
        for path in paths {
            match subtransaction(|| is_predicate(&path.path)) {
                Err(StoreError::Postgres { message, .. }) => problems.push(
                    Problem::error(
                        path.pointer,
                        "invalid_path",
                        format!("invalid SQL/JSON path \"{}\": {message}", path.path),
                    )
                    .hint("Try the path in psql with jsonb_path_query."),
                ),
                Err(other) => return Err(other),
                Ok(false) if path.predicate => problems.push(
                    Problem::error(
                        path.pointer,
                        "not_a_predicate",
                        format!("path \"{}\" is not a predicate", path.path),
                    )
                    .hint("Compare something, for example $.payload.amount > 100."),
                ),
                Ok(_) => {}
            }
        }
        Ok(problems)
    })?;
    Ok(problems)
}

fn is_predicate(path: &str) -> Result<bool, StoreError> {
    let rows = statements::CHECK_PATH.run(&[path.into()])?;
    rows.first().map_or(Ok(false), |row| row.get(1))
}

/// All problems as one SQL error.
pub fn refused(problems: &[Problem]) -> ApiError {
    refused_as("definition", problems)
}

/// All problems of that kind of document as one SQL error.
pub fn refused_as(what: &str, problems: &[Problem]) -> ApiError {
    let errors: Vec<&Problem> = problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    let line = |problem: &&Problem| match &problem.hint {
        Some(hint) => format!("{}: {} ({}) — {hint}", place(problem), problem.message, problem.code),
        None => format!("{}: {} ({})", place(problem), problem.message, problem.code),
    };
    let first = errors.first();
    ApiError::BadDefinition {
        message: first
            .map_or_else(String::new, |problem| format!("invalid {what} at {}: {}", place(problem), problem.message)),
        detail: errors.iter().map(line).collect::<Vec<_>>().join("\n"),
        hint: first.and_then(|problem| problem.hint.clone()),
    }
}

fn place(problem: &Problem) -> &str {
    if problem.pointer.is_empty() { "the top level" } else { &problem.pointer }
}

/// Stores the definition as a version, unless it is the one in force, and makes its route follow.
fn store(call: &Call, workflow: &Workflow, expected: Option<i32>) -> Result<Result<i32, ApiError>, StoreError> {
    statements::LOCK_DEFINITIONS.run(&[])?;
    let definition = call.parameter(0, pg_sys::JSONBOID);
    let rows = statements::CURRENT_WORKFLOW.run(&[workflow.name.as_str().into(), definition])?;
    let (current, enabled, same) = match rows.first() {
        Some(row) => (row.get(1)?, row.get(2)?, row.get(3)?),
        None => (0, false, false),
    };
    if let Some(expected) = expected.filter(|expected| *expected != current) {
        return Ok(Err(ApiError::WrongState {
            message: format!("workflow \"{}\" is at version {current}, not {expected}", workflow.name),
            hint: "Somebody else changed it: read the current definition in the view rea.workflows, then define yours again.",
        }));
    }
    let version = if same { current } else { current + 1 };
    if !same {
        let definition = call.parameter(0, pg_sys::JSONBOID);
        statements::INSERT_WORKFLOW_VERSION.run(&[
            workflow.name.as_str().into(),
            version.into(),
            definition,
            call.caller.role.into(),
        ])?;
    } else if !enabled {
        statements::SET_WORKFLOW_ENABLED.run(&[workflow.name.as_str().into(), true.into()])?;
    }
    Ok(follow(call, workflow)?.map(|()| version))
}

/// The route that `triggerEvent` makes has the workflow's name and follows its definition.
fn follow(call: &Call, workflow: &Workflow) -> Result<Result<(), ApiError>, StoreError> {
    match &workflow.trigger_event {
        Some(event_type) => {
            let row = RouteRow {
                name: &workflow.name,
                event_type,
                workflow: &workflow.name,
                group: &workflow.route_group,
                priority: workflow.priority,
                matching: workflow.matching.as_ref(),
                from_workflow: true,
            };
            Ok(route::store(call, &row, None)?.map(|_| ()))
        }
        None => {
            route::drop_own(&workflow.name)?;
            Ok(Ok(()))
        }
    }
}

fn validate_workflow(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let definition = call.json(0).ok_or(ApiError::NullArgument("definition"))?;
    let (_, problems) = check(call, &definition)?;
    let rows = problems.into_iter().map(|problem| {
        [
            problem.severity.as_str().into_datum(),
            problem.pointer.into_datum(),
            problem.code.into_datum(),
            problem.message.into_datum(),
            problem.hint.into_datum(),
        ]
    });
    super::return_rows(call, rows);
    Ok(None)
}

fn disable_workflow(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    set_enabled(call, false)
}

fn enable_workflow(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    set_enabled(call, true)
}

fn set_enabled(call: &Call, enabled: bool) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "workflow_name")?;
    let found = call.caller.as_owner(|| {
        statements::LOCK_DEFINITIONS.run(&[])?;
        Ok(statements::SET_WORKFLOW_ENABLED.run(&[name.as_str().into(), enabled.into()])?.processed)
    })?;
    if found == 0 {
        return Err(route::no_workflow(&name));
    }
    Ok(None)
}
