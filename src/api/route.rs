//! `define_route`, `drop_route`: rules as versioned rows (requirements C5, C6).

use super::call::{Call, returned};
use super::define::{path_problems, refused};
use crate::error::ApiError;
use crate::flow::definition::Match;
use crate::flow::parse::{self, PathUse};
use crate::sql_function;
use crate::store::{Argument, StoreError, statements};
use pgrx::pg_sys;

sql_function!(rea_define_route, pg_finfo_rea_define_route, define_route);
sql_function!(rea_drop_route, pg_finfo_rea_drop_route, drop_route);

/// A route as it is defined.
pub struct RouteRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Event type, exact or ending in `.*`.
    pub event_type: &'a str,
    /// Workflow it leads to.
    pub workflow: &'a str,
    /// Its group.
    pub group: &'a str,
    /// Its place in the group.
    pub priority: i32,
    /// What the event must look like.
    pub matching: Option<&'a Match>,
    /// Whether a definition's triggerEvent made it.
    pub from_workflow: bool,
}

impl RouteRow<'_> {
    fn contains(&self) -> Argument<'static> {
        match self.matching {
            Some(Match::Contains(object)) => object.clone().into(),
            Some(Match::Path(_)) | None => Argument::null::<String>(),
        }
    }

    fn path(&self) -> Argument<'static> {
        match self.matching {
            Some(Match::Path(path)) => path.clone().into(),
            Some(Match::Contains(_)) | None => Argument::null::<String>(),
        }
    }
}

fn define_route(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "route_name")?;
    let event_type: String = call.required(1, "event_type")?;
    let workflow: String = call.required(2, "workflow_name")?;
    let group: String = call.required(3, "route_group")?;
    let priority: i32 = call.required(4, "priority")?;
    for (field, text) in [("route_name", &name), ("route_group", &group)] {
        check_label(field, text)?;
    }
    let matching = checked_match(call, &event_type)?;
    let expected: Option<i32> = call.value(6);
    let row = RouteRow {
        name: &name,
        event_type: &event_type,
        workflow: &workflow,
        group: &group,
        priority,
        matching: matching.as_ref(),
        from_workflow: false,
    };
    let version = call.caller.as_owner(|| {
        statements::LOCK_DEFINITIONS.run(&[])?;
        if statements::WORKFLOW_EXISTS.run(&[workflow.as_str().into()])?.is_empty() {
            return Ok(Err(no_workflow(&workflow)));
        }
        store(call, &row, expected)
    })??;
    returned(version)
}

/// Refuses a name that is empty, too long or holds control characters.
pub fn check_label(field: &'static str, text: &str) -> Result<(), ApiError> {
    if text.is_empty() || text.chars().any(char::is_control) {
        let problem = "must not be empty and must hold no control characters".into();
        return Err(ApiError::BadArgument { field, problem, hint: "Choose a short name, for example vip_orders." });
    }
    if text.len() > 255 {
        return Err(ApiError::TooLong { field, bytes: text.len(), limit: 255 });
    }
    Ok(())
}

fn checked_match(call: &Call, event_type: &str) -> Result<Option<Match>, ApiError> {
    let mut route = serde_json::json!({ "triggerEvent": event_type });
    if let Some(text) = call.json(5) {
        let matching = serde_json::from_str(&text).map_err(|error| ApiError::BadArgument {
            field: "match",
            problem: format!("could not be read: {error}"),
            hint: "Pass an object that the payload must contain, or a string with a path predicate.",
        })?;
        route["match"] = matching;
    }
    let (matching, mut problems) = parse::parse_route(&route);
    if let Some(Match::Path(path)) = &matching {
        let path = PathUse { pointer: "/match".into(), path: path.clone(), predicate: true };
        problems.extend(path_problems(call, vec![path])?);
    }
    if problems.is_empty() { Ok(matching) } else { Err(refused(&problems)) }
}

/// Stores a version of the route, unless the active one says the same. The caller holds the lock on definitions.
pub fn store(call: &Call, row: &RouteRow<'_>, expected: Option<i32>) -> Result<Result<i32, ApiError>, StoreError> {
    let rows = statements::CURRENT_ROUTE.run(&[
        row.name.into(),
        row.event_type.into(),
        row.workflow.into(),
        row.group.into(),
        row.priority.into(),
        row.contains(),
        row.path(),
        row.from_workflow.into(),
    ])?;
    let (latest, active, same) = match rows.first() {
        Some(current) => {
            if current.get::<bool>(2)? && current.get::<bool>(3)? != row.from_workflow {
                return Ok(Err(taken(row.name)));
            }
            (current.get::<i32>(1)?, current.get::<bool>(2)?, current.get::<bool>(4)?)
        }
        None => (0, false, false),
    };
    let current = if active { latest } else { 0 };
    if let Some(expected) = expected.filter(|expected| *expected != current) {
        return Ok(Err(ApiError::WrongState {
            message: format!("route \"{}\" is at version {current}, not {expected}", row.name),
            hint: "Somebody else changed it: look at it again, then define yours.",
        }));
    }
    if same {
        return Ok(Ok(latest));
    }
    if let Some(other) = tied(row)? {
        return Ok(Err(ApiError::RouteTie { name: row.name.to_owned(), other }));
    }
    statements::DEACTIVATE_ROUTE.run(&[row.name.into()])?;
    statements::INSERT_ROUTE.run(&[
        row.name.into(),
        (latest + 1).into(),
        row.event_type.into(),
        row.workflow.into(),
        row.group.into(),
        row.priority.into(),
        row.contains(),
        row.path(),
        row.from_workflow.into(),
        call.caller.role.into(),
    ])?;
    Ok(Ok(latest + 1))
}

fn tied(row: &RouteRow<'_>) -> Result<Option<String>, StoreError> {
    let rows = statements::TIED_ROUTE.run(&[
        row.name.into(),
        row.event_type.into(),
        row.group.into(),
        row.priority.into(),
        row.contains(),
        row.path(),
    ])?;
    rows.first().map(|row| row.get(1)).transpose()
}

fn taken(name: &str) -> ApiError {
    ApiError::WrongState {
        message: format!("route \"{name}\" exists and was made in another way"),
        hint: "A route made by triggerEvent follows its workflow's definition: change that, or choose another name.",
    }
}

/// Error: there is no workflow of that name.
pub fn no_workflow(name: &str) -> ApiError {
    ApiError::NotFound { kind: "workflow", name: name.to_owned(), hint: "Define it with rea.define_workflow." }
}

/// Takes the route that a definition without triggerEvent no longer wants out of force.
pub fn drop_own(workflow: &str) -> Result<(), StoreError> {
    let nothing = Argument::null::<String>;
    let rows = statements::CURRENT_ROUTE.run(&[
        workflow.into(),
        nothing(),
        nothing(),
        nothing(),
        Argument::null::<i32>(),
        nothing(),
        nothing(),
        true.into(),
    ])?;
    if let Some(row) = rows.first()
        && row.get::<bool>(3)?
    {
        statements::DEACTIVATE_ROUTE.run(&[workflow.into()])?;
    }
    Ok(())
}

fn drop_route(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "route_name")?;
    let found = call.caller.as_owner(|| {
        statements::LOCK_DEFINITIONS.run(&[])?;
        Ok(statements::DEACTIVATE_ROUTE.run(&[name.as_str().into()])?.processed)
    })?;
    if found == 0 {
        let hint = "The view rea.routes lists them.";
        return Err(ApiError::NotFound { kind: "route", name, hint });
    }
    Ok(None)
}
