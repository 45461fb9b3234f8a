//! `reroute_events`: past events meet the rules in force (requirements C12, C15).
//!
//! The plan is made by the logic that routes; the worker then does the routing itself, for the groups whose choice has
//! changed. What has ended stays as it is.

use super::call::Call;
use super::define::refused_as;
use super::stop::stop;
use crate::error::ApiError;
use crate::flow::parse::selection::{self, Selection};
use crate::sql_function;
use crate::store::{self, Argument, Clock, Row, Rows, StoreError, statements};
use crate::worker::board::Seat;
use crate::worker::wake;
use pgrx::{IntoDatum, pg_sys};

sql_function!(rea_reroute_events, pg_finfo_rea_reroute_events, reroute_events);

/// Columns of the plan, which are those of the function.
const COLUMNS: usize = 17;
/// Place of the column `action`, from 1.
const ACTION: usize = 16;

type Line = [Option<pg_sys::Datum>; COLUMNS];

/// One group of one event for which something can be done.
struct Step {
    line: usize,
    event_uid: pgrx::Uuid,
    route_group: String,
    action: String,
    old_instance: Option<pgrx::Uuid>,
    workflow: Option<String>,
    version: Option<i32>,
}

fn reroute_events(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let dry_run: bool = call.required(1, "dry_run")?;
    let compensate: bool = call.required(2, "compensate")?;
    let limit: i32 = call.required(3, "max_events")?;
    let reason: Option<String> = call.value(4);
    let selection = selected(call)?;
    let (mut lines, left) = call.caller.as_owner(|| {
        if !dry_run {
            statements::LOCK_REROUTES.run(&[])?;
        }
        let plan = plan(&selection, limit.max(0))?;
        let lines: Vec<Line> = plan.iter().map(|row| line(&row)).collect();
        let mut left = Vec::new();
        if !dry_run {
            let steps = steps(&plan)?;
            let (steps, ended) = stop_replaced(call, steps, compensate, reason.as_deref())?;
            route_again(call, &steps, reason.as_deref())?;
            left = ended;
        }
        Ok((lines, left))
    })?;
    for line in left {
        lines[line][ACTION - 1] = "leave".into_datum();
    }
    if !dry_run {
        wake::at_commit(Seat::INBOX);
    }
    super::return_rows(call, lines.into_iter());
    Ok(None)
}

fn selected(call: &Call) -> Result<Selection, ApiError> {
    let text = call.json(0).ok_or(ApiError::NullArgument("filter"))?;
    let filter = serde_json::from_str(&text).map_err(|error| ApiError::BadArgument {
        field: "filter",
        problem: format!("could not be read: {error}"),
        hint: "Pass an object, for example {\"status\": \"UNROUTED\"}.",
    })?;
    let (selection, problems) = selection::read(&filter);
    if problems.is_empty() { Ok(selection) } else { Err(refused_as("filter", &problems)) }
}

fn plan(selection: &Selection, limit: i32) -> Result<Rows, StoreError> {
    statements::REROUTE_PLAN.run(&[
        selection.event_type.clone().into(),
        selection.source.clone().into(),
        selection.biz_key.clone().into(),
        selection.from.clone().into(),
        selection.to.clone().into(),
        selection.status.clone().into(),
        selection.workflow_name.clone().into(),
        selection.event_ids.clone().into(),
        limit.into(),
    ])
}

fn line(row: &Row<'_>) -> Line {
    std::array::from_fn(|index| row.copied(index as i32 + 1))
}

/// What can be done; sorted by the old instance, so that two sessions lock instances in the same order.
fn steps(plan: &Rows) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    for (line, row) in plan.iter().enumerate() {
        let action: String = row.get(ACTION)?;
        if matches!(action.as_str(), "start" | "restart" | "stop") {
            steps.push(Step {
                line,
                event_uid: row.get(1)?,
                route_group: row.get(6)?,
                action,
                old_instance: row.maybe(11)?,
                workflow: row.maybe(12)?,
                version: row.maybe(13)?,
            });
        }
    }
    steps.sort_by_key(|step| step.old_instance.map(|id| *id.as_bytes()));
    Ok(steps)
}

/// Cancels what is replaced. Returns what is still to do, and the lines whose instances have ended meanwhile: those are
/// left, and their groups with them.
fn stop_replaced(
    call: &Call,
    steps: Vec<Step>,
    compensate: bool,
    reason: Option<&str>,
) -> Result<(Vec<Step>, Vec<usize>), StoreError> {
    let cause = reason.map_or_else(|| "rerouted".to_owned(), |reason| format!("rerouted: {reason}"));
    let (mut kept, mut left) = (Vec::with_capacity(steps.len()), Vec::new());
    for step in steps {
        match step.old_instance {
            Some(instance) if stop(call, instance, "cancel", compensate, &cause)?.is_err() => left.push(step.line),
            Some(_) | None => kept.push(step),
        }
    }
    Ok((kept, left))
}

fn route_again(call: &Call, steps: &[Step], reason: Option<&str>) -> Result<(), StoreError> {
    let of = |step: &Step| (step.event_uid, step.route_group.clone());
    let (uids, groups): (Vec<pgrx::Uuid>, Vec<String>) = steps.iter().map(of).unzip();
    statements::NOTE_REROUTE.run(&[
        store::pg_time(Clock::now()).into(),
        call.caller.role.into(),
        reason.map(str::to_owned).into(),
        uids.into(),
        groups.into(),
        steps.iter().map(|step| step.action.clone()).collect::<Vec<_>>().into(),
        steps.iter().map(|step| step.old_instance).collect::<Vec<_>>().into(),
        steps.iter().map(|step| step.workflow.clone()).collect::<Vec<_>>().into(),
        steps.iter().map(|step| step.version).collect::<Vec<_>>().into(),
    ])?;
    let (uids, groups): (Vec<pgrx::Uuid>, Vec<String>) =
        steps.iter().filter(|step| step.action != "stop").map(of).unzip();
    let arguments: [Argument<'_>; 2] = [uids.into(), groups.into()];
    statements::REROUTE_EVENTS.run(&arguments)?;
    Ok(())
}
