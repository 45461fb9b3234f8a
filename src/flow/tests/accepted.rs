//! What definitions mean: defaults, merging, and the examples that users copy.

use std::time::Duration;

use serde_json::json;

use super::{
    accepted, action, found, http, http_action, problems, with_actions, with_config, with_envelope, with_workflow,
};
use crate::flow::definition::{Body, Format, Lane, Match, OnError};
use crate::flow::outcome::StatusPattern;
use crate::flow::parse::{parse, path_uses};
use crate::flow::problem::Severity;
use crate::flow::retry::{Condition, RetryPolicy};

/// Requirement A12.
#[test]
fn the_shape_of_the_article_is_accepted_as_it_stands() {
    let definition = json!({
        "workflowName": "orderNotifyFlow",
        "triggerEvent": "order.created",
        "timeoutSeconds": 300,
        "actions": [
            {"name": "deductStock", "type": "http",
             "config": {"method": "POST", "url": "http://stock-service/inventory/deduct", "timeoutMs": 3000}},
            {"name": "grantPoints", "type": "http",
             "config": {"method": "POST", "url": "http://points-service/grant", "timeoutMs": 5000}},
        ]
    });
    let workflow = accepted(&definition);
    assert_eq!(found(&definition), ["compensation_unsaid /actions/0"]);
    assert_eq!(workflow.name, "orderNotifyFlow");
    assert_eq!(workflow.trigger_event.as_deref(), Some("order.created"));
    assert_eq!(workflow.timeout, Some(Duration::from_secs(300)));
    assert_eq!((workflow.route_group.as_str(), workflow.priority), ("default", 0));
    assert_eq!(workflow.actions.len(), 2);
    assert_eq!(workflow.actions[0].lane, Lane::Origin("http://stock-service:80".to_owned()));
}

#[test]
fn an_action_has_the_documented_defaults() {
    let action = action(&with_config(json!({})));
    let http = http(&action);
    assert_eq!(http.method, "POST");
    assert_eq!(http.body, Body::Payload);
    assert_eq!(http.format, Format::Json);
    assert_eq!(http.success, [StatusPattern::Class(2)]);
    assert!(http.idempotent);
    assert_eq!(http.idempotency_key_header, "Idempotency-Key");
    assert_eq!((action.retry, action.on_error, action.when), (RetryPolicy::default(), OnError::Fail, None));
}

#[test]
fn methods_that_fetch_or_delete_send_no_body_unless_told() {
    for method in ["get", "HEAD", "Delete"] {
        assert_eq!(http_action(json!({"method": method})).body, Body::Empty, "{method}");
        let body = http_action(json!({"method": method, "body": {}})).body;
        assert!(matches!(body, Body::Json(_)), "{method}");
    }
    for method in ["POST", "put", "PATCH", "OPTIONS"] {
        let http = http_action(json!({"method": method}));
        assert_eq!((http.method, http.body), (method.to_uppercase(), Body::Payload));
    }
}

#[test]
fn a_null_body_sends_none() {
    assert_eq!(http_action(json!({"body": null})).body, Body::Empty);
}

#[test]
fn a_whole_number_may_have_a_fraction_of_zero() {
    let definition = with_config(json!({})).to_string().replace("1000", "1000.0");
    let (workflow, _) = parse(&definition);
    assert_eq!(workflow.map(|workflow| http(&workflow.actions[0]).timeout_ms), Some(1000));
}

#[test]
fn the_lane_is_the_origin_unless_named_or_unknown() {
    let lane = |envelope| action(&with_envelope(envelope)).lane;
    let with_url = |url: &str| lane(json!({"config": {"url": url, "timeoutMs": 1}}));
    assert_eq!(with_url("HTTPS://H.Test/a"), Lane::Origin("https://h.test:443".to_owned()));
    assert_eq!(with_url("http://h.test:8080/${payload.id}"), Lane::Origin("http://h.test:8080".to_owned()));
    assert_eq!(with_url("http://[::1]/"), Lane::Origin("http://[::1]:80".to_owned()));
    assert_eq!(with_url("${event.attributes.callback}"), Lane::Dynamic);
    assert_eq!(lane(json!({"lane": "bulk"})), Lane::Named("bulk".to_owned()));
}

#[test]
fn an_event_type_may_be_a_prefix() {
    for event_type in ["order.created", "order.*", "ünïcode type", &"x".repeat(255)] {
        let workflow = accepted(&with_workflow(json!({"triggerEvent": event_type})));
        assert_eq!(workflow.trigger_event.as_deref(), Some(event_type));
    }
}

#[test]
fn match_is_a_containment_or_a_predicate() {
    let matching = |value| accepted(&with_workflow(json!({"match": value}))).matching;
    assert_eq!(matching(json!({"channel": "wechat"})), Some(Match::Contains(r#"{"channel":"wechat"}"#.to_owned())));
    assert_eq!(matching(json!("payload.n > 1")), Some(Match::Path("$.payload.n > 1".to_owned())));
    assert_eq!(matching(json!("$.event.source == \"x\"")), Some(Match::Path("$.event.source == \"x\"".to_owned())));
}

#[test]
fn numbers_of_a_match_keep_their_digits() {
    let definition = r#"{"workflowName":"w","triggerEvent":"e","match":{"n":12345678901234567890.10},
        "actions":[{"name":"a","type":"http","config":{"url":"http://h","timeoutMs":1}}]}"#;
    let matching = parse(definition).0.and_then(|workflow| workflow.matching);
    assert_eq!(matching, Some(Match::Contains(r#"{"n":12345678901234567890.10}"#.to_owned())));
}

#[test]
fn retry_policies_merge_key_by_key() {
    let definition = json!({
        "workflowName": "w", "retryPolicy": {"maxRetries": 2, "backoffMs": 50, "jitter": 0},
        "actions": [{"name": "a", "type": "http", "retryPolicy": {"backoffMs": 70, "retryOn": [404, "5xx", "timeout"]},
                     "config": {"url": "http://h", "timeoutMs": 1}}]
    });
    let retry = accepted(&definition).actions.remove(0).retry;
    assert_eq!((retry.max_retries, retry.backoff_ms, retry.jitter), (2, 70, 0.0));
    assert_eq!((retry.multiplier, retry.max_backoff_ms), (2.0, 300_000));
    let expected = [
        Condition::Status(StatusPattern::Code(404)),
        Condition::Status(StatusPattern::Class(5)),
        Condition::Code("timeout".to_owned()),
    ];
    assert_eq!(retry.retry_on, expected);
}

#[test]
fn conditions_are_statuses_and_codes_of_every_kind() {
    for condition in ["503", "5xx", "timeout", "40001", "RE001", "23505", "script_timeout", "out_of_stock"] {
        let retry = action(&with_envelope(json!({"retryPolicy": {"neverRetryOn": [condition]}}))).retry;
        assert_eq!(retry.never_retry_on.len(), 1, "{condition}");
    }
}

#[test]
fn without_trigger_event_route_keys_are_only_warned_about() {
    let mut definition = with_workflow(json!({"routeGroup": "g", "priority": -3}));
    definition.as_object_mut().unwrap().remove("triggerEvent");
    let warnings = problems(&definition);
    assert_eq!(warnings.iter().map(|problem| problem.severity).collect::<Vec<_>>(), [Severity::Warning; 2]);
    let workflow = accepted(&definition);
    assert_eq!((workflow.trigger_event, workflow.route_group.as_str(), workflow.priority), (None, "g", -3));
}

#[test]
fn odd_policies_are_accepted_with_a_warning() {
    let policy = |policy| found(&with_envelope(json!({"retryPolicy": policy})));
    assert_eq!(policy(json!({"backoffMs": 3_600_000})), ["backoff_over_cap /actions/0/retryPolicy/backoffMs"]);
    assert_eq!(policy(json!({"schedule": [1], "jitter": 0.1})), ["unused_key /actions/0/retryPolicy/schedule"]);
    assert_eq!(
        found(&with_workflow(json!({"retryPolicy": {"backoffMs": 3_600_000}}))),
        ["backoff_over_cap /retryPolicy/backoffMs"]
    );
}

#[test]
fn a_template_that_is_written_twice_is_evaluated_once() {
    let action = action(&with_config(json!({
        "url": "http://h.test/${payload.id}",
        "headers": {"X-Id": "${payload.id}"},
        "body": {"id": "${payload.id}", "other": "${$.payload.id}"}
    })));
    let paths: Vec<&str> = action.paths.iter().map(|expression| expression.path.as_str()).collect();
    assert_eq!(paths, ["$.payload.id", "$.payload.id"], "the second is written differently");
}

#[test]
fn every_path_is_listed_for_postgresql_to_check() {
    let definition = json!({
        "workflowName": "w", "triggerEvent": "e", "match": "payload.ok == true",
        "actions": [
            {"name": "a", "type": "http", "when": "payload.n > 1", "output": {"id": "${response.body.id}"},
             "config": {"url": "http://h/${payload.id}", "timeoutMs": 1, "body": ["${payload.x ?? 1}"]}},
        ],
        "output": {"id": "${steps.a.output.id}"}
    });
    let listed: Vec<(String, String, bool)> =
        path_uses(&accepted(&definition)).into_iter().map(|used| (used.pointer, used.path, used.predicate)).collect();
    let expected = [
        ("/match", "$.payload.ok == true", true),
        ("/actions/0/when", "$.payload.n > 1", true),
        ("/actions/0/config/url", "$.payload.id", false),
        ("/actions/0/config/body/0", "$.payload.x", false),
        ("/actions/0/output/id", "$.response.body.id", false),
        ("/output/id", "$.steps.a.output.id", false),
    ];
    assert_eq!(listed, expected.map(|(pointer, path, predicate)| (pointer.to_owned(), path.to_owned(), predicate)));
}

#[test]
fn earlier_steps_may_be_referred_to() {
    let config = json!({"url": "http://h", "timeoutMs": 1});
    let definition = with_actions(json!([
        {"name": "a", "type": "http", "config": config},
        {"name": "b", "type": "http", "config": config, "when": "$.steps.a.status == \"SUCCESS\"",
         "output": {"x": "${steps.a.output.y}", "all": "${steps.*.status}", "steps": "${steps}"}},
    ]));
    accepted(&definition);
}

#[test]
fn when_decides_by_true_alone() {
    let action = action(&with_envelope(json!({"when": "payload.n > 1"})));
    let reason = |text: Option<&str>| {
        action.skip_reason(&[crate::flow::expression::PathValue { count: 1, text: text.map(str::to_owned) }])
    };
    assert_eq!(reason(Some("true")), None);
    assert_eq!(reason(Some("false")), Some("\"when\" is false"));
    assert!(reason(Some("null")).is_some_and(|reason| reason.contains("null")));
    assert!(reason(None).is_some());
    let unconditional = super::action(&with_envelope(json!({})));
    assert_eq!(unconditional.skip_reason(&[]), None);
}

#[test]
fn a_thousand_actions_are_accepted() {
    let actions: Vec<_> = (0..1_000)
        .map(|n| json!({"name": format!("a{n}"), "type": "http", "config": {"url": "http://h", "timeoutMs": 1}}))
        .collect();
    assert_eq!(accepted(&with_actions(json!(actions))).actions.len(), 1_000);
}
