//! `define_script`, `drop_script`, `set_config`: scripts and what they read enter here and nowhere else.
//!
//! A source is compiled before it is stored. Versions are immutable; the source in force again is the same version.

use super::call::{Call, returned};
use crate::error::ApiError;
use crate::script::{self, CompileError};
use crate::sql_function;
use crate::store::{StoreError, statements};
use pgrx::pg_sys;

sql_function!(rea_define_script, pg_finfo_rea_define_script, define_script);
sql_function!(rea_drop_script, pg_finfo_rea_drop_script, drop_script);
sql_function!(rea_set_config, pg_finfo_rea_set_config, set_config);

/// Longest name of a script, in bytes.
const MAX_NAME_BYTES: usize = 255;
/// Longest key of the configuration, in bytes; the same as in the key-value store.
const MAX_KEY_BYTES: usize = 512;
/// Longest value of the configuration as JSON, in bytes; the same as in the key-value store.
const MAX_VALUE_BYTES: usize = 256 * 1024;

fn define_script(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "script_name")?;
    let source: String = call.required(1, "source")?;
    check_name(&name)?;
    check_source(&name, &source)?;
    let expected: Option<i32> = call.value(2);
    returned(call.caller.as_owner(|| store(call, &name, &source, expected))??)
}

fn check_name(name: &str) -> Result<(), ApiError> {
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.contains('@') && !name.chars().any(char::is_control);
    let problem = "must have 1 to 255 bytes, no @ and no control characters";
    let hint = "After an @, a workflow names the version of a script.";
    if fits { Ok(()) } else { Err(ApiError::BadArgument { field: "script_name", problem: problem.into(), hint }) }
}

/// Refuses a source that does not compile.
pub(super) fn check_source(name: &str, source: &str) -> Result<(), ApiError> {
    script::check(source).map_err(|error| match error {
        CompileError::Syntax { line, message } => {
            ApiError::BadScript { message: format!("script \"{name}\" does not compile: {message} (line {line})") }
        }
        CompileError::TooLong(bytes) => {
            ApiError::TooLong { field: "script source", bytes, limit: script::MAX_SOURCE_BYTES }
        }
    })
}

/// Stores the source as a version, unless it is the one in force.
fn store(call: &Call, name: &str, source: &str, expected: Option<i32>) -> Result<Result<i32, ApiError>, StoreError> {
    statements::LOCK_SCRIPTS.run(&[])?;
    let rows = statements::CURRENT_SCRIPT.run(&[name.into(), source.into()])?;
    let (newest, active, same) = match rows.first() {
        Some(row) => (row.get(1)?, row.get(2)?, row.get(3)?),
        None => (0, false, false),
    };
    let current = if active { newest } else { 0 };
    if expected.is_some_and(|expected| expected != current) {
        return Ok(Err(ApiError::WrongState {
            message: format!("script \"{name}\" is at version {current}, not {}", expected.unwrap_or_default()),
            hint: "Somebody else changed it: read the current source in the view rea.scripts, then define yours again.",
        }));
    }
    if active && same {
        return Ok(Ok(current));
    }
    statements::DEACTIVATE_SCRIPT.run(&[name.into()])?;
    let version = newest + 1;
    statements::INSERT_SCRIPT.run(&[name.into(), version.into(), source.into(), call.caller.role.into()])?;
    Ok(Ok(version))
}

fn drop_script(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "script_name")?;
    call.caller.as_owner(|| {
        statements::LOCK_DEFINITIONS.run(&[])?;
        statements::LOCK_SCRIPTS.run(&[])?;
        if let Some(user) = statements::SCRIPT_USERS.run(&[name.as_str().into()])?.first() {
            let user: String = user.get(1)?;
            return Ok(Err(ApiError::WrongState {
                message: format!("workflow \"{user}\" uses script \"{name}\""),
                hint: "Define the workflow without it, with a pinned version (\"name@3\"), or disable it first.",
            }));
        }
        if statements::DEACTIVATE_SCRIPT.run(&[name.as_str().into()])?.processed > 0 {
            return Ok(Ok(None));
        }
        let hint = "The view rea.scripts shows all; active is true for those in force.";
        Ok(Err(ApiError::NotFound { kind: "script", name: name.clone(), hint }))
    })?
}

fn set_config(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let key: String = call.required(0, "key")?;
    let problem = "must have 1 to 512 bytes and no control characters";
    if !(1..=MAX_KEY_BYTES).contains(&key.len()) || key.chars().any(char::is_control) {
        let hint = "Choose a name like payment.limits.";
        return Err(ApiError::BadArgument { field: "key", problem: problem.into(), hint });
    }
    let bytes = call.json(1).map_or(0, |value| value.len());
    if bytes > MAX_VALUE_BYTES {
        return Err(ApiError::TooLong { field: "value", bytes, limit: MAX_VALUE_BYTES });
    }
    call.caller.as_owner(|| {
        if call.datum(1).is_none() {
            return statements::DELETE_CONFIG.run(&[key.as_str().into()]);
        }
        let value = call.parameter(1, pg_sys::JSONBOID);
        statements::SET_CONFIG.run(&[key.as_str().into(), value, call.caller.role.into()])
    })?;
    Ok(None)
}
