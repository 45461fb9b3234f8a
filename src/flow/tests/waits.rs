//! What `wait`, `cancelOn` and `concurrency` mean, and what is refused in them.

use std::time::Duration;

use serde_json::{Value, json};

use super::refused::refused;
use super::{accepted, action, found, with_type, with_workflow};
use crate::flow::definition::{Concurrency, Match, Perform};
use crate::flow::parse::path_uses;
use crate::flow::perform::{Awaited, JoinKey, OnTimeout, WaitAction, WaitFor};
use crate::flow::template::Text;

fn wait(config: Value) -> WaitAction {
    match action(&with_type("wait", config)).perform {
        Perform::Wait(wait) => wait,
        other => panic!("a wait, not {other:?}"),
    }
}

fn awaited(event_type: &str) -> Awaited {
    Awaited { event_type: event_type.to_owned(), key: JoinKey::BizKey(None), matching: None }
}

#[test]
fn events_are_joined_by_the_business_key_unless_told() {
    let expected = WaitAction {
        until: WaitFor::Events {
            awaited: vec![awaited("a"), awaited("b")],
            all: false,
            lookback: Duration::from_secs(60),
        },
        timeout: None,
        on_timeout: OnTimeout::Fail,
    };
    assert_eq!(wait(json!({"any": [{"eventType": "a"}, {"eventType": "b"}]})), expected);
    let stated = wait(json!({"all": [{"eventType": "a", "correlationId": "x", "match": {"n": 1}}],
                             "lookbackSeconds": 0, "timeoutSeconds": 1.5, "onTimeout": "continue"}));
    let one = Awaited {
        event_type: "a".to_owned(),
        key: JoinKey::CorrelationId(Text::fixed("x")),
        matching: Some(Match::Contains("{\"n\":1}".to_owned())),
    };
    assert_eq!(stated.until, WaitFor::Events { awaited: vec![one], all: true, lookback: Duration::ZERO });
    assert_eq!((stated.timeout, stated.on_timeout), (Some(Duration::from_millis(1_500)), OnTimeout::Continue));
}

#[test]
fn a_wait_may_be_for_a_time() {
    assert_eq!(wait(json!({"durationSeconds": 2})).until, WaitFor::Duration(Duration::from_secs(2)));
    let until = "2030-01-31T08:00:00+01:00";
    assert_eq!(wait(json!({"until": until})).until, WaitFor::Time(Text::fixed(until)));
    assert!(matches!(wait(json!({"until": "${payload.at}"})).until, WaitFor::Time(_)));
}

#[test]
fn a_wait_is_for_exactly_one_thing() {
    let place = "/actions/0/config";
    refused(with_type("wait", json!({})), "missing_key", place, "\"all\", \"any\", \"durationSeconds\" or \"until\"");
    let both = with_type("wait", json!({"any": [{"eventType": "a"}], "until": "${payload.at}"}));
    refused(both, "conflicting_keys", "/actions/0/config/until", "only one");
    for key in ["timeoutSeconds", "lookbackSeconds", "onTimeout"] {
        let value = if key == "onTimeout" { json!("fail") } else { json!(1) };
        let definition = with_type("wait", json!({"durationSeconds": 1, key: value}));
        refused(definition, "conflicting_keys", &format!("{place}/{key}"), "waiting for events");
    }
    refused(
        with_type("wait", json!({"durationSeconds": 0})),
        "out_of_range",
        "/actions/0/config/durationSeconds",
        "0.001",
    );
    refused(with_type("wait", json!({"until": "tomorrow"})), "invalid_value", "/actions/0/config/until", "offset");
    let idle = with_type("wait", json!({"any": [{"eventType": "a"}], "onTimeout": "fail"}));
    assert_eq!(found(&idle), ["unused_key /actions/0/config/onTimeout"]);
    let advice = json!({"any": [{"eventType": "a"}], "timeoutMs": 1});
    refused(with_type("wait", advice), "unknown_key", "/actions/0/config/timeoutMs", "timeoutSeconds");
}

#[test]
fn awaited_events_are_checked() {
    let with = |event: Value| with_type("wait", json!({"any": [event]}));
    let place = "/actions/0/config/any/0";
    refused(with(json!({})), "missing_key", place, "eventType");
    refused(with(json!("a")), "wrong_type", place, "object");
    refused(with(json!({"eventType": "a.*"})), "invalid_event_type", &format!("{place}/eventType"), "exact");
    refused(with(json!({"eventType": "${payload.t}"})), "invalid_event_type", &format!("{place}/eventType"), "exact");
    refused(with(json!({"type": "a", "eventType": "b"})), "unknown_key", &format!("{place}/type"), "eventType");
    let both = json!({"eventType": "a", "bizKey": "1", "correlationId": "2"});
    refused(with(both), "conflicting_keys", &format!("{place}/correlationId"), "not by both");
    let own = json!({"eventType": "a", "match": "$.steps.x.output == 1"});
    refused(with(own), "out_of_scope", &format!("{place}/match"), "steps");
    refused(with_type("wait", json!({"any": []})), "out_of_range", "/actions/0/config/any", "1 to 100");
}

#[test]
fn templates_in_a_containment_are_warned_about() {
    let config = json!({"any": [{"eventType": "a", "match": {"id": "${payload.id}"}}]});
    assert_eq!(found(&with_type("wait", config)), ["literal_template /actions/0/config/any/0/match"]);
}

#[test]
fn the_paths_of_a_wait_are_listed() {
    let config = json!({"all": [{"eventType": "a", "bizKey": "${payload.id}", "match": "payload.n > 1"}]});
    let uses = path_uses(&accepted(&with_type("wait", config)));
    let listed: Vec<(&str, &str)> = uses.iter().map(|used| (used.pointer.as_str(), used.path.as_str())).collect();
    let expected =
        [("/actions/0/config/all/0/bizKey", "$.payload.id"), ("/actions/0/config/all/0/match", "$.payload.n > 1")];
    assert_eq!(listed, expected);
}

#[test]
fn events_may_cancel_an_instance() {
    let definition = with_workflow(json!({"cancelOn": [
        {"eventType": "order.cancelled"}, {"eventType": "x", "correlationId": "${event.correlationId}", "match": "payload.n > 1"}
    ]}));
    let workflow = accepted(&definition);
    assert_eq!(workflow.cancel_on.len(), 2);
    assert_eq!(workflow.cancel_on[0], awaited("order.cancelled"));
    assert_eq!(workflow.start_paths.len(), 1);
    let pointers: Vec<String> = path_uses(&workflow).into_iter().map(|used| used.pointer).collect();
    assert_eq!(pointers, ["/cancelOn/1/correlationId", "/cancelOn/1/match"]);
    let step = json!({"cancelOn": [{"eventType": "x", "bizKey": "${steps.a.output.x}"}]});
    refused(with_workflow(step), "out_of_scope", "/cancelOn/0/bizKey", "steps");
    refused(with_workflow(json!({"cancelOn": {}})), "wrong_type", "/cancelOn", "array");
}

#[test]
fn instances_with_the_same_key_may_be_limited() {
    let workflow = accepted(&with_workflow(json!({"concurrency": {"key": "fixed", "limit": 3}})));
    assert_eq!(workflow.concurrency, Some(Concurrency { key: Text::fixed("fixed"), limit: 3 }));
    let templated = accepted(&with_workflow(json!({"concurrency": {"key": "${event.bizKey}", "limit": 1}})));
    assert_eq!(templated.start_paths.len(), 1);
    refused(with_workflow(json!({"concurrency": {"limit": 1}})), "missing_key", "/concurrency", "key");
    refused(with_workflow(json!({"concurrency": {"key": "a"}})), "missing_key", "/concurrency", "limit");
    let many = json!({"concurrency": {"key": "a", "limit": 10_001}});
    refused(with_workflow(many), "out_of_range", "/concurrency/limit", "10000");
    refused(with_workflow(json!({"concurrency": 1})), "wrong_type", "/concurrency", "object");
}
