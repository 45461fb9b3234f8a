//! Looks for what a definition names outside of itself: a definition that cannot run is not stored.
//!
//! Functions are looked at with the rights of the caller, who becomes the role that they are called as.

use super::call::Call;
use crate::error::ApiError;
use crate::flow::definition::Workflow;
use crate::flow::problem::{Problem, did_you_mean};
use crate::flow::reference::{Candidate, FunctionCall, Reference, Target, judge, references};
use crate::script::check;
use crate::store::{Argument, StoreError, script, statements};

/// What is missing, in the order of the definition.
pub fn problems(call: &Call, workflow: &Workflow) -> Result<Vec<Problem>, ApiError> {
    let references = references(workflow);
    if references.is_empty() {
        return Ok(Vec::new());
    }
    let problems = call.caller.as_owner(|| {
        let found: Result<Vec<Option<Problem>>, StoreError> =
            references.iter().map(|reference| problem(call, workflow, reference)).collect();
        Ok(found?.into_iter().flatten().collect())
    })?;
    Ok(problems)
}

fn problem(call: &Call, workflow: &Workflow, reference: &Reference) -> Result<Option<Problem>, StoreError> {
    let pointer = reference.pointer.as_str();
    match reference.target {
        Target::Function(function) => of_function(call, &function, pointer),
        Target::Workflow(name) if name == workflow.name => Ok(None),
        Target::Workflow(name) => of_workflow(name, pointer),
        Target::Queue => of_queue(pointer),
        Target::Script { name, version } => of_script(name, version, pointer),
        Target::Source(source) => Ok(of_source(source, pointer)),
    }
}

fn of_function(call: &Call, function: &FunctionCall, pointer: &str) -> Result<Option<Problem>, StoreError> {
    let (schema, role) = (function.schema, call.caller.role);
    let rows = statements::FIND_FUNCTIONS.run(&[schema.into(), function.name.into(), role.into()])?;
    let candidate = |row: crate::store::Row| {
        Ok(Candidate {
            kind: row.get::<String>(2)?.chars().next().unwrap_or_default(),
            returns_set: row.get(3)?,
            fewest: count(row.get(4)?),
            most: count(row.get(5)?),
            takes_jsonb: row.get(6)?,
            takes_json: row.get(7)?,
            callable: row.get(8)?,
        })
    };
    let candidates = rows.iter().map(candidate).collect::<Result<Vec<Candidate>, StoreError>>()?;
    let names = if candidates.is_empty() { function_names(call, schema)? } else { Vec::new() };
    Ok(judge(function, pointer, &candidates, &names))
}

fn count(number: i32) -> usize {
    usize::try_from(number).unwrap_or_default()
}

fn function_names(call: &Call, schema: &str) -> Result<Vec<String>, StoreError> {
    let every = Argument::null::<String>();
    let rows = statements::FIND_FUNCTIONS.run(&[schema.into(), every, call.caller.role.into()])?;
    rows.iter().map(|row| row.get(1)).collect()
}

fn of_workflow(name: &str, pointer: &str) -> Result<Option<Problem>, StoreError> {
    if !statements::WORKFLOW_EXISTS.run(&[name.into()])?.is_empty() {
        return Ok(None);
    }
    let rows = statements::WORKFLOW_NAMES.run(&[])?;
    let names = rows.iter().map(|row| row.get(1)).collect::<Result<Vec<String>, StoreError>>()?;
    let near = did_you_mean(name, names.iter().map(String::as_str));
    let problem = Problem::error(pointer, "unknown_workflow", format!("there is no workflow \"{name}\""));
    Ok(Some(problem.maybe_hint(Some(near.unwrap_or_else(|| "define the inner workflow first".to_owned())))))
}

fn of_script(name: &str, version: Option<i32>, pointer: &str) -> Result<Option<Problem>, StoreError> {
    let (found, title) = match version {
        Some(version) => (script::load_script(name, version)?.is_some(), format!("{name}@{version}")),
        None => (!script::newest_scripts(vec![name.to_owned()])?.is_empty(), name.to_owned()),
    };
    let problem = Problem::error(pointer, "unknown_script", format!("there is no script \"{title}\""));
    Ok((!found).then(|| problem.hint("define it with rea.define_script; the view rea.scripts shows all versions")))
}

fn of_source(source: &str, pointer: &str) -> Option<Problem> {
    let error = check(source).err()?;
    let problem = Problem::error(pointer, "script_compile", format!("the script does not compile: {error}"));
    Some(problem.hint("the language is Luau; docs/reference/lua.md tells how it differs from Lua 5.x"))
}

fn of_queue(pointer: &str) -> Result<Option<Problem>, StoreError> {
    if !statements::PGMQ_INSTALLED.run(&[])?.is_empty() {
        return Ok(None);
    }
    let problem = Problem::error(pointer, "pgmq_missing", "the extension pgmq is not installed in this database");
    Ok(Some(problem.hint("create extension pgmq, or use the transport \"notify\" or \"logical\"")))
}
