//! What `compensate` means, and what is refused in it.

use serde_json::{Value, json};

use super::refused::refused;
use super::{accepted, action, found, step, with_actions, with_envelope};
use crate::flow::definition::{Action, Compensate, Lane, Perform};
use crate::flow::parse::path_uses;

fn undo(envelope: Value) -> Action {
    match action(&with_envelope(envelope)).compensate {
        Compensate::By(undo) => *undo,
        other => panic!("a compensation, not {other:?}"),
    }
}

fn restore() -> Value {
    json!({"type": "http", "config": {"url": "http://h.test/undo", "timeoutMs": 1,
           "body": {"id": "${steps.a.output.id}", "key": "${action.idempotencyKey}"}}})
}

#[test]
fn a_compensation_is_called_after_its_action_and_tries_longer() {
    let undo = undo(json!({"compensate": restore(), "retryPolicy": {"backoffMs": 7, "maxRetries": 1}}));
    assert_eq!((undo.name.as_str(), undo.retry.max_retries, undo.retry.backoff_ms), ("a~undo", 10, 7));
    assert_eq!(undo.lane, Lane::Origin("http://h.test:80".to_owned()));
    assert!(matches!(undo.perform, Perform::Http(_)));
}

#[test]
fn a_compensation_may_have_its_own_policy_and_lane() {
    let mut by = restore();
    by["retryPolicy"] = json!({"maxRetries": 3});
    by["lane"] = json!("undo");
    let undo = undo(json!({"compensate": by}));
    assert_eq!((undo.retry.max_retries, undo.retry.backoff_ms), (3, 1_000));
    assert_eq!(undo.lane, Lane::Named("undo".to_owned()));
}

#[test]
fn keep_says_that_nothing_is_undone() {
    assert_eq!(action(&with_envelope(json!({"compensate": "keep"}))).compensate, Compensate::Keep);
    assert_eq!(action(&with_envelope(json!({}))).compensate, Compensate::Unsaid);
    for value in [json!("none"), json!(true), json!(null), json!([])] {
        refused(with_envelope(json!({"compensate": value})), "wrong_type", "/actions/0/compensate", "\"keep\"");
    }
}

#[test]
fn every_step_of_one_call_can_undo() {
    let configs = [
        ("local", json!({"function": "a.b"}), "sql"),
        ("lua", json!({"source": "x"}), "lua"),
        ("message", json!({"transport": "notify", "topic": "t"}), "sql"),
        ("emit", json!({"eventType": "x"}), "~flow"),
    ];
    for (kind, config, lane) in configs {
        let undo = undo(json!({"compensate": {"type": kind, "config": config}}));
        assert_eq!(undo.lane, Lane::Named(lane.to_owned()), "{kind}");
    }
    for kind in ["wait", "parallel", "foreach", "switch", "workflow"] {
        let definition = with_envelope(json!({"compensate": {"type": kind, "config": {}}}));
        refused(definition, "invalid_value", "/actions/0/compensate/type", "one step");
    }
}

#[test]
fn a_compensation_has_no_envelope_of_its_own() {
    let with = |key: &str, value: Value| {
        let mut by = restore();
        by[key] = value;
        with_envelope(json!({"compensate": by}))
    };
    refused(with("name", json!("b")), "unknown_key", "/actions/0/compensate/name", "~undo");
    for key in ["when", "onError", "output", "compensate"] {
        refused(with(key, json!("x")), "unknown_key", &format!("/actions/0/compensate/{key}"), "whenever");
    }
    refused(with_envelope(json!({"compensate": {}})), "missing_key", "/actions/0/compensate", "type");
    let flat = with_envelope(json!({"compensate": {"type": "http", "url": "http://h"}}));
    assert_eq!(found(&flat), ["unknown_key /actions/0/compensate/url", "missing_key /actions/0/compensate"]);
}

#[test]
fn a_compensation_sees_its_own_step_but_no_later_one() {
    let reading = |step: &str| {
        let mut by = restore();
        by["config"]["body"] = json!(format!("${{steps.{step}.output.x}}"));
        let mut first = super::step("a");
        first["compensate"] = by;
        with_actions(json!([first, super::step("b")]))
    };
    accepted(&reading("a"));
    refused(reading("b"), "unknown_step", "/actions/0/compensate/config/body", "not over yet");
}

#[test]
fn the_paths_of_a_compensation_are_listed() {
    let pointers: Vec<String> =
        path_uses(&accepted(&with_envelope(json!({"compensate": restore()})))).into_iter().map(|u| u.pointer).collect();
    let expected = ["/actions/0/compensate/config/body/id", "/actions/0/compensate/config/body/key"];
    assert_eq!(pointers, expected);
}

#[test]
fn silence_about_undoing_is_warned_about_where_something_can_fail_later() {
    let silent = |name: &str| {
        let mut action = step(name);
        action.as_object_mut().unwrap().remove("compensate");
        action
    };
    let warning = "compensation_unsaid";
    assert_eq!(found(&with_actions(json!([silent("a")]))), [] as [String; 0]);
    assert_eq!(found(&with_actions(json!([silent("a"), silent("b")]))), [format!("{warning} /actions/0")]);
    let mut reading = silent("a");
    reading["config"]["method"] = json!("GET");
    assert_eq!(found(&with_actions(json!([reading, silent("b")]))), [] as [String; 0]);
    let message = json!({"name": "a", "type": "message", "config": {"transport": "notify", "topic": "t"}});
    assert_eq!(found(&with_actions(json!([message, silent("b")]))), [format!("{warning} /actions/0")]);
    let local = json!({"name": "a", "type": "local", "config": {"function": "a.b"}});
    assert_eq!(found(&with_actions(json!([local, silent("b")]))), [] as [String; 0]);
    let beside = json!({"name": "p", "type": "parallel", "branches": {"x": [silent("a")], "y": [step("b")]}});
    assert_eq!(found(&with_actions(json!([beside]))), [format!("{warning} /actions/0/branches/x/0")]);
    let alone = json!({"name": "p", "type": "parallel", "branches": {"x": [silent("a")]}});
    assert_eq!(found(&with_actions(json!([alone]))), [] as [String; 0]);
}
