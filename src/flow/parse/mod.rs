//! From a JSON document to a [`Workflow`], collecting every mistake on the way.
//!
//! Parsing never stops at the first mistake, never panics whatever the input, and never lets a definition through that
//! an attempt would stumble over later. What only PostgreSQL can check (path syntax) is listed by [`path_uses`].

mod action;
mod fields;
mod http;
mod policy;
mod templates;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::flow::definition::{Action, Match, Workflow};
use crate::flow::expression::Expression;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::{Scope, Templates};
use crate::flow::problem::{Problem, Severity, pointer_to};
use crate::flow::retry::RetryPolicy;
use crate::flow::template::Template;

/// Most actions of one workflow.
pub const MOST_ACTIONS: usize = 1_000;

/// `timeoutSeconds` and `maxElapsedSeconds`: up to ten years.
const SECONDS: RangeInclusive<f64> = 0.001..=315_360_000.0;

const KEYS: [&str; 9] = [
    "workflowName",
    "triggerEvent",
    "routeGroup",
    "priority",
    "match",
    "timeoutSeconds",
    "retryPolicy",
    "actions",
    "output",
];

/// Keys of the language that this release refuses.
const LATER_KEYS: [&str; 3] = ["notify", "concurrency", "cancelOn"];

/// A path that PostgreSQL has to check by casting it to `jsonpath`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse {
    /// Where it stands in the definition (RFC 6901).
    pub pointer: String,
    /// The path.
    pub path: String,
    /// Whether it has to be a predicate.
    pub predicate: bool,
}

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

/// Every path of the workflow, `match` included; a template that is written twice in an action is listed once.
pub fn path_uses(workflow: &Workflow) -> Vec<PathUse> {
    let matching = workflow.matching.iter().filter_map(|matching| match matching {
        Match::Path(path) => Some(PathUse { pointer: "/match".to_owned(), path: path.clone(), predicate: true }),
        Match::Contains(_) => None,
    });
    let of_actions = workflow.actions.iter().flat_map(|action| action.paths.iter().chain(&action.output_paths));
    matching.chain(of_actions.chain(&workflow.output_paths).map(path_use)).collect()
}

fn path_use(expression: &Expression) -> PathUse {
    PathUse { pointer: expression.pointer.clone(), path: expression.path.clone(), predicate: expression.predicate }
}

fn workflow(document: &Value, problems: &mut Vec<Problem>) -> Option<Workflow> {
    let fields = Fields::of(document, String::new(), problems)?;
    fields.refuse_later(&LATER_KEYS, problems);
    fields.refuse_unknown(&[KEYS.as_slice(), LATER_KEYS.as_slice()].concat(), advice, problems);
    let name = fields.required("workflowName", problems).and_then(|_| fields.label("workflowName", problems));
    let (output, output_paths) = output(&fields, problems);
    warn_about_route_keys(&fields, problems);
    let workflow = Workflow {
        name: name.unwrap_or_default(),
        trigger_event: trigger_event(&fields, problems),
        route_group: fields.label("routeGroup", problems).unwrap_or_else(|| "default".to_owned()),
        priority: priority(&fields, problems),
        matching: matching(&fields, problems),
        timeout: fields.number("timeoutSeconds", SECONDS, problems).map(Duration::from_secs_f64),
        actions: actions(&fields, &policy(&fields, problems), problems),
        blocks: Vec::new(),
        output,
        output_paths,
        cancel_on: Vec::new(),
        concurrency: None,
        start_paths: Vec::new(),
    };
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
        object @ Value::Object(_) => Some(Match::Contains(object.to_string())),
        Value::String(text) => {
            let mut templates = Templates::new(Scope::of_match());
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

/// The names of all actions, in order; one that has none is "".
fn action_names<'a>(fields: &Fields<'a>) -> Vec<&'a str> {
    let name = |action: &'a Value| action.get("name").and_then(Value::as_str).unwrap_or_default();
    fields.get("actions").and_then(Value::as_array).into_iter().flatten().map(name).collect()
}

/// The workflow's retry policy, merged over the defaults.
fn policy(fields: &Fields, problems: &mut Vec<Problem>) -> RetryPolicy {
    let keys = policy::keys(fields, problems);
    let merged = RetryPolicy::default().merged(&keys);
    policy::warn_about_cap(&keys, merged.max_backoff_ms, fields, problems);
    merged
}

fn actions(fields: &Fields, policy: &RetryPolicy, problems: &mut Vec<Problem>) -> Vec<Action> {
    let pointer = fields.pointer("actions");
    let Some(list) = fields.required("actions", problems).and_then(|_| fields.list("actions", problems)) else {
        return Vec::new();
    };
    if list.is_empty() || list.len() > MOST_ACTIONS {
        let message = format!("a workflow has 1 to {MOST_ACTIONS} actions, this one has {}", list.len());
        problems.push(Problem::error(pointer, "out_of_range", message));
        return Vec::new();
    }
    let names = action_names(fields);
    let read = |(position, value)| {
        let place = action::Place { pointer: pointer_to(&pointer, position), position, names: &names };
        action::read(value, &place, policy, problems)
    };
    list.iter().enumerate().filter_map(read).collect()
}

fn output(fields: &Fields, problems: &mut Vec<Problem>) -> (Option<Template>, Vec<Expression>) {
    let names = action_names(fields);
    let mut templates = Templates::new(Scope::of_result(&names));
    let output = templates.object(fields, "output", problems);
    (output, templates.into_paths())
}
