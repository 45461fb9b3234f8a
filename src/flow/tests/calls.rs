//! What `local`, `message`, `lua`, `emit` and `workflow` actions mean, and what is refused in them.

use serde_json::{Value, json};

use super::refused::refused;
use super::{accepted, action, found, with_actions, with_type};
use crate::flow::definition::{Lane, Perform};
use crate::flow::perform::{
    EmitAction, LocalAction, LocalCall, LuaAction, MessageKind, ScriptUse, Transport, WorkflowAction,
};
use crate::flow::template::{Template, Text, render_json};

fn local(config: Value) -> LocalAction {
    match action(&with_type("local", config)).perform {
        Perform::Local(local) => local,
        other => panic!("a local action, not {other:?}"),
    }
}

fn message(config: Value) -> LocalCall {
    match action(&with_type("message", config)).perform {
        Perform::Local(local) => local.call,
        other => panic!("a message, not {other:?}"),
    }
}

fn lua(config: Value) -> LuaAction {
    match action(&with_type("lua", config)).perform {
        Perform::Lua(lua) => lua,
        other => panic!("a script, not {other:?}"),
    }
}

fn emit(config: Value) -> EmitAction {
    match action(&with_type("emit", config)).perform {
        Perform::Emit(emit) => emit,
        other => panic!("a new event, not {other:?}"),
    }
}

fn child(config: Value) -> WorkflowAction {
    match action(&with_type("workflow", config)).perform {
        Perform::Workflow(child) => child,
        other => panic!("a workflow, not {other:?}"),
    }
}

fn json_of(template: Option<&Template>) -> Option<String> {
    template.map(|template| render_json(template, &[], &[]).unwrap())
}

fn lane(action: Value) -> String {
    match accepted(&with_actions(json!([action]))).actions.remove(0).lane {
        Lane::Named(name) => name,
        other => panic!("a named lane, not {other:?}"),
    }
}

#[test]
fn a_local_action_names_a_function_with_its_schema() {
    let action = local(json!({"function": "app.send_message"}));
    let (schema, name) = ("app".to_owned(), "send_message".to_owned());
    assert_eq!(action.call, LocalCall::Function { schema, name, args: None });
    assert_eq!(action.timeout_ms, None);
    let action = local(json!({"function": "\"App\".F", "args": [1, {"a": null}, "x"], "timeoutMs": 1000}));
    let LocalCall::Function { schema, name, args } = action.call else { panic!("a function") };
    assert_eq!((schema.as_str(), name.as_str(), action.timeout_ms), ("App", "f", Some(1000)));
    assert_eq!(json_of(args.as_ref()).as_deref(), Some(r#"[1,{"a":null},"x"]"#));
}

#[test]
fn a_bad_function_is_refused() {
    for function in ["send", "app.send()", "a.b.c", "", "app.send; drop table x"] {
        let definition = with_type("local", json!({"function": function}));
        refused(definition, "invalid_function", "/actions/0/config/function", "app.send_message");
    }
    refused(with_type("local", json!({})), "missing_key", "/actions/0/config", "SQL function");
    refused(with_type("local", json!({"function": 7})), "wrong_type", "/actions/0/config/function", "string");
    let args = |args: Value| with_type("local", json!({"function": "a.b", "args": args}));
    refused(args(json!({})), "wrong_type", "/actions/0/config/args", "array");
    refused(args(json!(vec![1; 101])), "out_of_range", "/actions/0/config/args", "100");
    refused(args(json!(["${steps.x.output}"])), "unknown_step", "/actions/0/config/args/0", "no action \"x\"");
    let timeout = with_type("local", json!({"function": "a.b", "timeoutMs": 0}));
    refused(timeout, "out_of_range", "/actions/0/config/timeoutMs", "86400000");
}

#[test]
fn a_message_is_an_event_unless_it_says_command() {
    let config = json!({"transport": "notify", "topic": "orders"});
    let expected = LocalCall::Message {
        transport: Transport::Notify,
        topic: Text::fixed("orders"),
        kind: MessageKind::Event,
        message_type: None,
        payload: None,
    };
    assert_eq!(message(config), expected);
    let config =
        json!({"transport": "pgmq", "topic": "jobs", "kind": "command", "type": "Deduct", "payload": {"a": 1}});
    let LocalCall::Message { transport, kind, message_type, payload, .. } = message(config) else {
        panic!("a message")
    };
    assert_eq!((transport, kind), (Transport::Pgmq, MessageKind::Command));
    assert_eq!(message_type, Some(Text::fixed("Deduct")));
    assert_eq!(json_of(payload.as_ref()).as_deref(), Some("{\"a\":1}"));
}

#[test]
fn a_bad_message_is_refused() {
    assert_eq!(
        found(&with_type("message", json!({}))),
        ["missing_key /actions/0/config", "missing_key /actions/0/config"]
    );
    let with = |key: &str, value: Value| {
        let mut config = json!({"transport": "notify", "topic": "orders"});
        config[key] = value;
        with_type("message", config)
    };
    refused(with("transport", json!("kafka")), "invalid_value", "/actions/0/config/transport", "\"logical\"");
    refused(with("kind", json!("comand")), "invalid_value", "/actions/0/config/kind", "did you mean \"command\"?");
    refused(with("topic", json!("")), "invalid_name", "/actions/0/config/topic", "63 bytes");
    refused(with("topic", json!("x".repeat(64))), "invalid_name", "/actions/0/config/topic", "63 bytes");
    refused(with("topic", json!(7)), "wrong_type", "/actions/0/config/topic", "string");
}

#[test]
fn commands_and_events_do_not_share_a_topic() {
    let message = |name: &str, kind: &str, transport: &str| {
        json!({"name": name, "type": "message", "compensate": "keep",
               "config": {"transport": transport, "topic": "orders", "kind": kind}})
    };
    let (first, same) = (message("a", "command", "notify"), message("b", "command", "notify"));
    accepted(&with_actions(json!([first, same, message("c", "event", "logical")])));
    let mixed = with_actions(json!([first, message("b", "event", "notify")]));
    refused(mixed, "topic_kind", "/actions/1/config/topic", "both commands and events");
}

#[test]
fn a_script_is_stored_or_written_in_place() {
    let stored = |name: &str, version| ScriptUse::Stored { name: name.to_owned(), version };
    assert_eq!(lua(json!({"script": "price"})).script, stored("price", None));
    assert_eq!(lua(json!({"script": "price@3"})).script, stored("price", Some(3)));
    let script = lua(json!({"source": "return {}", "args": {"a": 1}, "timeoutMs": 5, "cpuMs": 4, "memoryMb": 3}));
    assert_eq!(script.script, ScriptUse::Source("return {}".to_owned()));
    assert_eq!(json_of(script.args.as_ref()).as_deref(), Some("{\"a\":1}"));
    assert_eq!((script.timeout_ms, script.cpu_ms, script.memory_mb), (Some(5), Some(4), 3));
    assert!(lua(json!({"source": "x", "args": "${payload}"})).args.is_some());
}

#[test]
fn a_bad_script_is_refused() {
    refused(with_type("lua", json!({})), "missing_key", "/actions/0/config", "\"script\" or \"source\"");
    let both = with_type("lua", json!({"script": "a", "source": "b"}));
    refused(both, "conflicting_keys", "/actions/0/config/source", "only one");
    for name in ["a@", "@1", "a@0", "a@x", "a@+1", "a@99999999999"] {
        refused(with_type("lua", json!({"script": name})), "invalid_name", "/actions/0/config/script", "name@3");
    }
    let with = |key: &str, value: Value| with_type("lua", json!({"script": "a", key: value}));
    refused(with("memoryMb", json!(1025)), "out_of_range", "/actions/0/config/memoryMb", "1024");
    refused(with("args", json!([])), "wrong_type", "/actions/0/config/args", "object");
    refused(with("args", json!("a ${payload.x}")), "invalid_value", "/actions/0/config/args", "exactly one template");
    refused(with("timeout", json!(1)), "unknown_key", "/actions/0/config/timeout", "timeoutMs");
}

#[test]
fn an_emitted_event_has_the_keys_of_its_cause_unless_told() {
    let expected = EmitAction { event_type: Text::fixed("a.b"), biz_key: None, payload: None, attributes: None };
    assert_eq!(emit(json!({"eventType": "a.b"})), expected);
    let full =
        emit(json!({"eventType": "a.${payload.kind}", "bizKey": 7, "payload": [1], "attributes": {"vip": true}}));
    assert_eq!(full.biz_key, Some(Text::fixed("7")));
    assert_eq!(json_of(full.payload.as_ref()).as_deref(), Some("[1]"));
    assert_eq!(json_of(full.attributes.as_ref()).as_deref(), Some("{\"vip\":true}"));
    refused(with_type("emit", json!({})), "missing_key", "/actions/0/config", "eventType");
    refused(with_type("emit", json!({"eventType": ""})), "invalid_name", "/actions/0/config/eventType", "255");
    let attributes = with_type("emit", json!({"eventType": "a", "attributes": [1]}));
    refused(attributes, "wrong_type", "/actions/0/config/attributes", "object");
}

#[test]
fn a_child_workflow_is_waited_for_unless_told() {
    let expected = WorkflowAction { workflow_name: "other".to_owned(), payload: None, wait: true };
    assert_eq!(child(json!({"workflowName": "other"})), expected);
    let started = child(json!({"workflowName": "other", "payload": {"a": 1}, "wait": false}));
    assert_eq!((json_of(started.payload.as_ref()).as_deref(), started.wait), (Some("{\"a\":1}"), false));
    refused(with_type("workflow", json!({})), "missing_key", "/actions/0/config", "workflowName");
    let named = with_type("workflow", json!({"workflowName": "x", "name": "x"}));
    refused(named, "unknown_key", "/actions/0/config/name", "workflowName");
}

#[test]
fn lanes_of_the_database_have_names_of_their_own() {
    let local = |lane: Value| json!({"name": "a", "type": "local", "lane": lane, "config": {"function": "a.b"}});
    assert_eq!(lane(json!({"name": "a", "type": "local", "config": {"function": "a.b"}})), "sql");
    assert_eq!(lane(local(json!("bulk"))), "sql:bulk");
    assert_eq!(lane(local(json!("sql:bulk"))), "sql:bulk");
    assert_eq!(lane(local(json!("sql"))), "sql");
    assert_eq!(lane(json!({"name": "a", "type": "lua", "config": {"source": "x"}})), "lua");
    assert_eq!(lane(json!({"name": "a", "type": "lua", "lane": "slow", "config": {"source": "x"}})), "slow");
    assert_eq!(lane(json!({"name": "a", "type": "emit", "config": {"eventType": "x"}})), "~flow");
    refused(with_actions(json!([local(json!("~x"))])), "invalid_name", "/actions/0/lane", "no ~");
    for label in ["sql", "sql:x", "~flow", "~x"] {
        let http = json!({"name": "a", "type": "http", "lane": label, "config": {"url": "http://h", "timeoutMs": 1}});
        refused(with_actions(json!([http])), "invalid_name", "/actions/0/lane", "database's own");
    }
    let emit = json!({"name": "a", "type": "emit", "lane": "x", "config": {"eventType": "x"}});
    refused(with_actions(json!([emit])), "unknown_key", "/actions/0/lane", "no effect");
}

#[test]
fn a_retry_policy_without_effect_is_warned_about() {
    let emit = json!({"name": "a", "type": "emit", "retryPolicy": {"maxRetries": 1}, "config": {"eventType": "x"}});
    assert_eq!(found(&with_actions(json!([emit]))), ["unused_key /actions/0/retryPolicy"]);
    accepted(&with_actions(json!([emit])));
}
