//! From a JSON document to a [`Workflow`], collecting every mistake on the way.
//!
//! Parsing never stops at the first mistake, never panics whatever the input, and never lets a definition through that
//! an attempt would stumble over later. What only PostgreSQL can check (path syntax) is listed by [`path_uses`].

mod action;
pub mod bundle;
mod child;
mod course;
mod emit;
mod fields;
mod fork;
mod http;
mod kind;
mod lane;
mod local;
mod lua;
mod message;
pub mod mocks;
mod perform;
mod policy;
mod rule;
pub mod selection;
mod start;
mod templates;
mod topics;
mod undo;
mod wait;
mod walk;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::flow::definition::{Action, Match, Workflow};
use crate::flow::parse::course::{Body, Course};
use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::{Scope, Stage, Templates};
use crate::flow::problem::{Problem, Severity};
use crate::flow::retry::RetryPolicy;

pub use walk::{PathUse, Placed, path_uses, placed_actions};

/// Most actions of one workflow.
pub const MOST_ACTIONS: usize = 1_000;

/// Code of the warning about an action of which nothing says how it is undone.
pub const COMPENSATION_UNSAID: &str = "compensation_unsaid";

/// Ten years.
const LONGEST_SECONDS: f64 = 315_360_000.0;

/// Durations in seconds.
const SECONDS: RangeInclusive<f64> = 0.001..=LONGEST_SECONDS;

const KEYS: [&str; 11] = [
    "workflowName",
    "triggerEvent",
    "routeGroup",
    "priority",
    "match",
    "timeoutSeconds",
    "retryPolicy",
    "actions",
    "output",
    "cancelOn",
    "concurrency",
];

/// Keys of the language that this release refuses.
const LATER_KEYS: [&str; 1] = ["notify"];

/// Reads a definition.
///
/// There is a workflow exactly when no problem is an error; warnings may stand beside it.
pub fn parse(definition: &str) -> (Option<Workflow>, Vec<Problem>) {
    let mut problems = Vec::new();
    let workflow = match serde_json::from_str(definition) {
        Ok(document) => workflow(&document, &mut problems),
        Err(error) => {
            problems.push(unreadable(&error));
            None
        }
    };
    let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    (workflow.filter(|_| !refused), problems)
}

/// Reads a route's event type and match on their own: `{"triggerEvent": …, "match": …}`.
pub fn parse_route(route: &Value) -> (Option<Match>, Vec<Problem>) {
    let mut problems = Vec::new();
    let Some(fields) = Fields::of(route, String::new(), &mut problems) else { return (None, problems) };
    trigger_event(&fields, &mut problems);
    let matching = matching(&fields, &mut problems);
    (matching, problems)
}

fn unreadable(error: &serde_json::Error) -> Problem {
    let problem = Problem::error("", "invalid_json", format!("the definition could not be read as JSON: {error}"));
    if error.to_string().starts_with("recursion limit") {
        return problem.hint("JSON in a definition may be nested 127 levels deep");
    }
    problem
}

fn workflow(document: &Value, problems: &mut Vec<Problem>) -> Option<Workflow> {
    let fields = Fields::of(document, String::new(), problems)?;
    fields.refuse_later(&LATER_KEYS, problems);
    fields.refuse_unknown(&[KEYS.as_slice(), LATER_KEYS.as_slice()].concat(), advice, problems);
    let name = fields.required("workflowName", problems).and_then(|_| fields.label("workflowName", problems));
    warn_about_route_keys(&fields, problems);
    let (mut course, actions) = actions(&fields, problems);
    let mut outputs = Templates::new(course.scope(Stage::Result));
    let output = outputs.object(&fields, "output", problems);
    let output_paths = outputs.into_paths();
    let start = start::read(&fields, problems);
    let workflow = Workflow {
        name: name.unwrap_or_default(),
        trigger_event: trigger_event(&fields, problems),
        route_group: fields.label("routeGroup", problems).unwrap_or_else(|| "default".to_owned()),
        priority: priority(&fields, problems),
        matching: matching(&fields, problems),
        timeout: fields.number("timeoutSeconds", SECONDS, problems).map(Duration::from_secs_f64),
        actions,
        blocks: course.take_blocks(),
        output,
        output_paths,
        cancel_on: start.cancel_on,
        concurrency: start.concurrency,
        start_paths: start.paths,
    };
    topics::refuse_mixed(&workflow, problems);
    Some(workflow)
}

fn advice(key: &str) -> Option<String> {
    match key {
        "mode" => Some("for work side by side use an action of type \"parallel\" with \"branches\"".to_owned()),
        "name" => Some("the workflow's name is \"workflowName\"".to_owned()),
        "timeoutMs" => Some("the whole workflow's limit is \"timeoutSeconds\"".to_owned()),
        _ => None,
    }
}

fn priority(fields: &Fields, problems: &mut Vec<Problem>) -> i32 {
    let stated = fields.integer("priority", i64::from(i32::MIN)..=i64::from(i32::MAX), problems);
    stated.and_then(|priority| i32::try_from(priority).ok()).unwrap_or(0)
}

fn trigger_event(fields: &Fields, problems: &mut Vec<Problem>) -> Option<String> {
    let event_type = fields.label("triggerEvent", problems)?;
    let prefix = event_type.strip_suffix(".*").unwrap_or(&event_type);
    if prefix.is_empty() || prefix.contains('*') {
        let message = "\"triggerEvent\" is an event type or a prefix ending in \".*\"";
        let problem = Problem::error(fields.pointer("triggerEvent"), "invalid_event_type", message);
        problems.push(problem.hint("for example \"order.created\" or \"order.*\""));
    }
    Some(event_type)
}

fn warn_about_route_keys(fields: &Fields, problems: &mut Vec<Problem>) {
    if fields.get("triggerEvent").is_some() {
        return;
    }
    for key in ["routeGroup", "priority", "match"].into_iter().filter(|key| fields.get(key).is_some()) {
        let message = format!("\"{key}\" has no effect without \"triggerEvent\"");
        let problem = Problem::warning(fields.pointer(key), "unused_key", message);
        problems.push(problem.hint("name the event type in \"triggerEvent\", or define a route of its own"));
    }
}

fn matching(fields: &Fields, problems: &mut Vec<Problem>) -> Option<Match> {
    let pointer = fields.pointer("match");
    match fields.get("match")? {
        object @ Value::Object(_) => Some(contained(object.to_string(), pointer, problems)),
        Value::String(text) => {
            let mut templates = Templates::new(Scope::of_event());
            templates.predicate(text, &pointer, problems)?;
            templates.into_paths().pop().map(|expression| Match::Path(expression.path))
        }
        _ => {
            let message = "\"match\" must be an object or a string with a path predicate";
            problems.push(Problem::error(pointer, "wrong_type", message));
            None
        }
    }
}

fn contained(object: String, pointer: String, problems: &mut Vec<Problem>) -> Match {
    if object.contains("${") {
        let message = "\"match\" as an object is compared as it stands, without templates";
        let problem = Problem::warning(pointer, "literal_template", message);
        problems.push(problem.hint("write a predicate, or join an awaited event by \"bizKey\" or \"correlationId\""));
    }
    Match::Contains(object)
}

/// The workflow's retry policy, merged over the defaults.
fn policy(fields: &Fields, problems: &mut Vec<Problem>) -> RetryPolicy {
    let keys = policy::keys(fields, problems);
    let merged = RetryPolicy::default().merged(&keys);
    policy::warn_about_cap(&keys, merged.max_backoff_ms, fields, problems);
    merged
}

/// All actions, and what is known after the last of them.
fn actions<'a>(fields: &Fields<'a>, problems: &mut Vec<Problem>) -> (Course<'a>, Vec<Action>) {
    let policy = policy(fields, problems);
    let pointer = fields.pointer("actions");
    let list = fields.required("actions", problems).and_then(|_| fields.list("actions", problems));
    let mut names = Vec::new();
    course::names(list.unwrap_or_default(), &mut names);
    let count = names.len();
    let mut course = Course::new(names, policy);
    if list.is_some() && !(1..=MOST_ACTIONS).contains(&count) {
        let message = format!("a workflow has 1 to {MOST_ACTIONS} actions, this one has {count}");
        problems.push(Problem::error(pointer, "out_of_range", message));
        return (course, Vec::new());
    }
    let body = Body { branch: String::new(), list, pointer, followed: false };
    let actions = course.actions(&body, problems);
    (course, actions)
}
