//! Rules in the older form that some users bring along: an event type and a list of scripts (requirement C18). Each
//! becomes a workflow of `lua` actions, the same one every time.
//!
//! `ruleId` becomes the workflow's name, `matchEventType` its `triggerEvent`, a node an action named by its `nodeId`.
//! `ruleVersion` and a node's `name` have no counterpart: versions are counted by rea, an action's name is its identity.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::fields::{Fields, LONGEST_LABEL};
use crate::flow::problem::{Problem, pointer_to};

const RULE: [&str; 4] = ["ruleId", "ruleVersion", "matchEventType", "nodes"];
const NODE: [&str; 5] = ["nodeId", "name", "script", "timeoutSec", "retryPolicy"];
const POLICY: [(&str, &str); 3] =
    [("maxRetries", "maxRetries"), ("backoffMS", "backoffMs"), ("backoffMultiplier", "backoffMultiplier")];

/// Longest name of an action.
const LONGEST_NAME: usize = 64;

/// The name and the definition of the workflow that does what the rule says.
pub(super) fn workflow(rule: &Value, place: &str, problems: &mut Vec<Problem>) -> (String, Value) {
    let Some(fields) = Fields::of(rule, place.to_owned(), problems) else { return (String::new(), Value::Null) };
    fields.refuse_unknown(&RULE, |_| None, problems);
    let name = id(&fields, "ruleId", problems);
    fields.required("matchEventType", problems);
    let event_type = fields.label("matchEventType", problems);
    fields.required("nodes", problems);
    let mut names = HashSet::new();
    let mut actions = Vec::new();
    for (index, node) in fields.list("nodes", problems).into_iter().flatten().enumerate() {
        let place = pointer_to(&fields.pointer("nodes"), index);
        actions.extend(action(node, place, &mut names, problems));
    }
    let definition = json!({"workflowName": name, "triggerEvent": event_type, "actions": actions});
    (name, definition)
}

fn action(node: &Value, place: String, names: &mut HashSet<String>, problems: &mut Vec<Problem>) -> Option<Value> {
    let fields = Fields::of(node, place, problems)?;
    fields.refuse_unknown(&NODE, |_| None, problems);
    let name = action_name(&id(&fields, "nodeId", problems), names);
    let mut config = Map::new();
    fields.required("script", problems);
    if let Some(script) = fields.text("script", problems) {
        let (key, script) = script_of(script);
        config.insert(key.to_owned(), script.into());
    }
    if let Some(seconds) = fields.number("timeoutSec", 0.001..=86_400.0, problems) {
        // The range keeps it far below what an integer holds.
        config.insert("timeoutMs".to_owned(), ((seconds * 1000.0).round() as u64).into());
    }
    let mut action = json!({"name": name, "type": "lua", "config": config});
    if let Some(policy) = fields.fields("retryPolicy", problems) {
        let known: Vec<&str> = POLICY.iter().map(|(key, _)| *key).collect();
        policy.refuse_unknown(&known, |_| None, problems);
        let member = |(key, ours): &(&str, &str)| policy.get(key).map(|value| ((*ours).to_owned(), value.clone()));
        action["retryPolicy"] = Value::Object(POLICY.iter().filter_map(member).collect());
    }
    Some(action)
}

/// An id: text or a whole number.
fn id(fields: &Fields<'_>, key: &str, problems: &mut Vec<Problem>) -> String {
    match fields.required(key, problems) {
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => fields.label(key, problems).unwrap_or_default(),
        None => String::new(),
    }
}

/// An action's name made of a node's id: other characters become `_`, a name that is taken gets a number.
fn action_name(id: &str, names: &mut HashSet<String>) -> String {
    let mut name: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name = format!("node_{name}");
    }
    name.truncate(LONGEST_NAME);
    let mut number = 2;
    let plain = name.clone();
    while !names.insert(name.clone()) {
        let suffix = format!("_{number}");
        name = format!("{}{suffix}", &plain[..plain.len().min(LONGEST_NAME - suffix.len())]);
        number += 1;
    }
    name
}

/// What looks like a name, or a file's name, is the name of a stored script; anything else is a source.
fn script_of(script: &str) -> (&'static str, &str) {
    let is_name = !script.is_empty()
        && script.len() <= LONGEST_LABEL
        && script.chars().all(|c| c.is_alphanumeric() || "_-./@".contains(c));
    if !is_name {
        return ("source", script);
    }
    let stem = script.strip_suffix(".lua").or_else(|| script.strip_suffix(".luau"));
    ("script", stem.unwrap_or(script))
}
