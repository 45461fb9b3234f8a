//! Tests of the decisions, one file per concept, and what they share.

mod accepted;
mod address;
mod blocks;
mod bundle;
mod call;
mod calls;
mod decision;
mod difference;
mod documents;
mod expression;
mod life;
mod outcome;
mod properties;
mod reference;
mod refused;
mod request;
mod retry;
mod schedule;
mod schema;
mod simulation;
mod sqlstate;
mod template;
mod undo;
mod waits;

use serde_json::{Value, json};

use crate::flow::definition::{Action, HttpAction, Perform, Workflow};
use crate::flow::expression::PathValue;
use crate::flow::parse::parse;
use crate::flow::problem::Problem;

/// A definition with these actions.
fn with_actions(actions: Value) -> Value {
    json!({"workflowName": "w", "triggerEvent": "a.b", "actions": actions})
}

/// A definition with one action `a` of this type and with this `config`.
fn with_type(kind: &str, config: Value) -> Value {
    with_actions(json!([{"name": "a", "type": kind, "config": config}]))
}

/// A working http action.
fn step(name: &str) -> Value {
    json!({"name": name, "type": "http", "compensate": "keep", "config": {"url": "http://h.test/p", "timeoutMs": 1}})
}

/// A working http action that reads the output of another.
fn reader(name: &str, other: &str) -> Value {
    let mut action = step(name);
    action["config"]["body"] = json!({"x": format!("${{steps.{other}.output.x}}")});
    action
}

/// A definition with one action `a`, its `config` laid over a working one; null removes a key.
fn with_config(config: Value) -> Value {
    let mut base = json!({"url": "http://h.test/p", "timeoutMs": 1000});
    lay_over(&mut base, config);
    with_actions(json!([{"name": "a", "type": "http", "config": base}]))
}

/// A definition with one working action `a` and these keys of its envelope.
fn with_envelope(envelope: Value) -> Value {
    let mut base = json!({"name": "a", "type": "http", "config": {"url": "http://h.test/p", "timeoutMs": 1000}});
    lay_over(&mut base, envelope);
    with_actions(json!([base]))
}

/// A working definition with these keys of the workflow.
fn with_workflow(keys: Value) -> Value {
    let mut base = with_envelope(json!({}));
    lay_over(&mut base, keys);
    base
}

fn lay_over(base: &mut Value, keys: Value) {
    let (Value::Object(base), Value::Object(keys)) = (base, keys) else { panic!("both are objects") };
    base.extend(keys);
}

fn accepted(definition: &Value) -> Workflow {
    let (workflow, problems) = parse(&definition.to_string());
    schema::agrees(definition, &problems);
    workflow.unwrap_or_else(|| panic!("{definition} is refused: {problems:?}"))
}

fn problems(definition: &Value) -> Vec<Problem> {
    let problems = parse(&definition.to_string()).1;
    schema::agrees(definition, &problems);
    problems
}

/// The problems as `code pointer`.
fn found(definition: &Value) -> Vec<String> {
    problems(definition).iter().map(|problem| format!("{} {}", problem.code, problem.pointer)).collect()
}

fn action(definition: &Value) -> Action {
    accepted(definition).actions.remove(0)
}

fn http(action: &Action) -> &HttpAction {
    let Perform::Http(http) = &action.perform else { panic!("an http action") };
    http
}

fn http_action(config: Value) -> HttpAction {
    http(&action(&with_config(config))).clone()
}

/// One match with this jsonb text.
fn one(json: &str) -> PathValue {
    PathValue { count: 1, text: Some(json.to_owned()) }
}

/// No match.
fn none() -> PathValue {
    PathValue::default()
}
