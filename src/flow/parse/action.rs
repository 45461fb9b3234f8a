//! Reading one action: its name, its type and the envelope that all types share.

use serde_json::Value;

use crate::flow::address::Address;
use crate::flow::definition::{Action, Compensate, HttpAction, Lane, OnError, Perform};
use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::{Scope, Templates};
use crate::flow::parse::{http, policy};
use crate::flow::problem::{Problem, did_you_mean};
use crate::flow::retry::RetryPolicy;

/// Longest name of an action.
const LONGEST_NAME: usize = 64;

const ENVELOPE: [&str; 9] =
    ["name", "type", "config", "when", "retryPolicy", "onError", "compensate", "output", "lane"];

/// Types of the language that this release refuses.
const LATER_TYPES: [&str; 9] = ["local", "lua", "emit", "message", "wait", "parallel", "foreach", "switch", "workflow"];

/// Where an action stands in the definition.
pub(super) struct Place<'a> {
    /// Its pointer.
    pub pointer: String,
    /// Its position, from 0.
    pub position: usize,
    /// The names of all actions of the workflow.
    pub names: &'a [&'a str],
}

/// Reads the action at `place`; `inherited` is the workflow's retry policy.
pub(super) fn read(
    value: &Value,
    place: &Place,
    inherited: &RetryPolicy,
    problems: &mut Vec<Problem>,
) -> Option<Action> {
    let fields = Fields::of(value, place.pointer.clone(), problems)?;
    let name = name(&fields, place, problems);
    if !is_http(&fields, problems) {
        return None;
    }
    fields.refuse_later(&["compensate"], problems);
    fields.refuse_unknown(&ENVELOPE, advice, problems);
    let keys = policy::keys(&fields, problems);
    let retry = inherited.merged(&keys);
    policy::warn_about_cap(&keys, retry.max_backoff_ms, &fields, problems);
    let mut templates = Templates::new(Scope::of_request(place.names, place.position));
    let when = when(&fields, &mut templates, problems);
    let http = http::read(&fields, &mut templates, problems);
    let mut outputs = Templates::new(Scope::of_output(place.names, place.position));
    let output = outputs.object(&fields, "output", problems);
    let lane = fields.label("lane", problems);
    let on_error = on_error(&fields, problems);
    let http = http?;
    Some(Action {
        name: name?,
        when,
        retry,
        on_error,
        output,
        compensate: Compensate::Unsaid,
        lane: lane.map_or_else(|| own_lane(&http), Lane::Named),
        perform: Perform::Http(http),
        paths: templates.into_paths(),
        output_paths: outputs.into_paths(),
    })
}

fn own_lane(http: &HttpAction) -> Lane {
    match &http.url {
        Address::Fixed { origin, .. } | Address::Templated { origin, .. } => Lane::Origin(origin.clone()),
        Address::Whole(_) => Lane::Dynamic,
    }
}

fn advice(key: &str) -> Option<String> {
    match key {
        "mode" => Some("for work side by side use an action of type \"parallel\" with \"branches\"".to_owned()),
        "maxAttempts" | "maxRetries" => Some("write \"retryPolicy\": {\"maxRetries\": …}".to_owned()),
        key if http::KEYS.contains(&key) => Some(format!("move \"{key}\" into \"config\"")),
        _ => None,
    }
}

fn name(fields: &Fields, place: &Place, problems: &mut Vec<Problem>) -> Option<String> {
    fields.required("name", problems)?;
    let name = fields.text("name", problems)?;
    let pointer = fields.pointer("name");
    if !is_name(name) {
        let message = format!("an action's name is a letter and up to {} letters, digits and _", LONGEST_NAME - 1);
        problems.push(Problem::error(pointer, "invalid_name", message));
        return None;
    }
    if place.names.iter().take(place.position).any(|other| *other == name) {
        let message = format!("there is already an action \"{name}\"");
        problems.push(Problem::error(pointer, "duplicate_name", message));
        return None;
    }
    Some(name.to_owned())
}

fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether the action is one that this release performs; anything else has left a problem.
fn is_http(fields: &Fields, problems: &mut Vec<Problem>) -> bool {
    let stated = fields.required("type", problems).and_then(|_| fields.text("type", problems));
    let pointer = fields.pointer("type");
    match stated {
        None => {}
        Some("http") => return true,
        Some(later) if LATER_TYPES.contains(&later) => {
            let message = format!("action type \"{later}\" is not available yet");
            problems.push(Problem::error(pointer, "not_available", message));
            refuse_java(fields, problems);
        }
        Some(unknown) => {
            let hint = did_you_mean(unknown, std::iter::once("http").chain(LATER_TYPES));
            let message = format!("unknown action type \"{unknown}\"");
            problems.push(Problem::error(pointer, "unknown_type", message).maybe_hint(hint));
            refuse_java(fields, problems);
        }
    }
    false
}

/// `beanClass` and `method` come from engines inside an application server.
fn refuse_java(fields: &Fields, problems: &mut Vec<Problem>) {
    let Some(config @ Value::Object(_)) = fields.get("config") else { return };
    let Some(config) = Fields::of(config, fields.pointer("config"), problems) else { return };
    for key in ["beanClass", "method"].into_iter().filter(|key| config.get(key).is_some()) {
        let problem = Problem::error(config.pointer(key), "unknown_key", format!("unknown key \"{key}\""));
        problems.push(problem.hint(FUNCTION_HINT));
    }
}

/// What takes the place of a Java bean.
pub(super) const FUNCTION_HINT: &str = "a local action names an SQL function: \"function\": \"schema.name\"";

fn when(fields: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<usize> {
    let text = fields.text("when", problems)?;
    templates.predicate(text, &fields.pointer("when"), problems)
}

fn on_error(fields: &Fields, problems: &mut Vec<Problem>) -> OnError {
    match fields.text("onError", problems) {
        None | Some("fail") => OnError::Fail,
        Some("continue") => OnError::Continue,
        Some("pause") => OnError::Pause,
        Some(other) => {
            let hint = did_you_mean(other, ["fail", "continue", "pause"]);
            let message = "\"onError\" is \"fail\", \"continue\" or \"pause\"";
            problems.push(Problem::error(fields.pointer("onError"), "invalid_value", message).maybe_hint(hint));
            OnError::Fail
        }
    }
}
