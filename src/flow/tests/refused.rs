//! What is refused, where the problem points, and what the hint says.

use serde_json::{Value, json};

use super::{found, problems, step, with_actions, with_config, with_envelope, with_workflow};
use crate::flow::parse::parse;

/// The only problem must have this code, this pointer and a hint or message with these words.
pub(super) fn refused(definition: Value, code: &str, pointer: &str, words: &str) {
    let found = problems(&definition);
    let [problem] = found.as_slice() else { panic!("one problem expected in {definition}: {found:?}") };
    assert_eq!((problem.code, problem.pointer.as_str()), (code, pointer), "{definition}: {problem:?}");
    let text = format!("{} {}", problem.message, problem.hint.as_deref().unwrap_or_default());
    assert!(text.contains(words), "{definition}: \"{text}\" does not say \"{words}\"");
    assert!(parse(&definition.to_string()).0.is_none());
}

#[test]
fn text_that_is_not_json_is_one_problem() {
    for text in ["", "{", "nul", "{\"a\":1,}", "\u{0}", "[1] 2"] {
        let (workflow, problems) = parse(text);
        assert!(workflow.is_none());
        assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), ["invalid_json"], "{text}");
    }
}

#[test]
fn json_nested_too_deep_is_a_problem_with_a_hint() {
    for depth in [128, 1_000, 100_000] {
        let (_, problems) = parse(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        assert!(problems[0].hint.as_deref().is_some_and(|hint| hint.contains("deep")), "{problems:?}");
    }
}

#[test]
fn the_document_must_be_an_object() {
    for document in [json!(null), json!([]), json!("x"), json!(1)] {
        assert_eq!(found(&document), ["wrong_type "]);
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let definition = json!({
        "triggerEvent": "a.*.b", "match": 3, "priority": "high", "timeoutSeconds": 0, "output": [],
        "actions": [{"name": "1", "type": "http", "config": {"url": "ftp://h", "method": "FETCH"}}, 7]
    });
    let expected = [
        "missing_key ",
        "wrong_type /output",
        "invalid_event_type /triggerEvent",
        "wrong_type /priority",
        "wrong_type /match",
        "out_of_range /timeoutSeconds",
        "invalid_name /actions/0/name",
        "invalid_method /actions/0/config/method",
        "invalid_url /actions/0/config/url",
        "missing_key /actions/0/config",
        "wrong_type /actions/1",
    ];
    let mut found = found(&definition);
    found.sort();
    let mut expected = expected.map(str::to_owned);
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_name() {
    refused(with_workflow(json!({"routeGrup": "x"})), "unknown_key", "/routeGrup", "did you mean \"routeGroup\"?");
    refused(with_envelope(json!({"wen": "x"})), "unknown_key", "/actions/0/wen", "did you mean \"when\"?");
    refused(with_config(json!({"header": {}})), "unknown_key", "/actions/0/config/header", "\"headers\"");
    refused(with_workflow(json!({"a/b~": 1})), "unknown_key", "/a~1b~0", "a/b~");
}

#[test]
fn keys_at_the_wrong_place_are_shown_the_right_one() {
    refused(with_envelope(json!({"body": {}})), "unknown_key", "/actions/0/body", "into \"config\"");
    refused(with_config(json!({"retryPolicy": {}})), "unknown_key", "/actions/0/config/retryPolicy", "beside");
    refused(with_config(json!({"timeout": 3})), "unknown_key", "/actions/0/config/timeout", "timeoutMs");
    refused(with_workflow(json!({"name": "x"})), "unknown_key", "/name", "workflowName");
}

#[test]
fn max_attempts_is_refused_because_retries_are_counted() {
    let pointer = "/actions/0/retryPolicy/maxAttempts";
    let definition = with_envelope(json!({"retryPolicy": {"maxAttempts": 3}}));
    refused(definition, "unknown_key", pointer, "rea counts retries");
    let definition = with_workflow(json!({"retryPolicy": {"maxAttempts": 3}}));
    refused(definition, "unknown_key", "/retryPolicy/maxAttempts", "rea counts retries");
}

#[test]
fn words_of_other_engines_get_a_hint() {
    refused(with_workflow(json!({"mode": "parallel"})), "unknown_key", "/mode", "\"parallel\" with \"branches\"");
    refused(with_envelope(json!({"mode": "parallel"})), "unknown_key", "/actions/0/mode", "\"parallel\"");
    refused(with_config(json!({"beanClass": "x"})), "unknown_key", "/actions/0/config/beanClass", "SQL function");
    let bean = json!([{"name": "a", "type": "local", "config": {"beanClass": "x.Y", "method": "run"}}]);
    let problems = problems(&with_actions(bean));
    let hinted: Vec<bool> = problems.iter().map(|problem| problem.hint.is_some()).collect();
    assert_eq!(hinted, [true, true, true], "{problems:?}");
}

#[test]
fn what_comes_later_is_said_to_be_not_available() {
    refused(with_workflow(json!({"notify": {}})), "not_available", "/notify", "not available yet");
    for key in ["auth", "sign"] {
        refused(with_config(json!({key: "x"})), "not_available", &format!("/actions/0/config/{key}"), "not available");
    }
    refused(with_config(json!({"format": "cloudevents"})), "not_available", "/actions/0/config/format", "cloudevents");
    let secret = json!({"headers": {"A": "Bearer ${secret:TOKEN}"}});
    refused(with_config(secret), "not_available", "/actions/0/config/headers/A", "secrets");
}

#[test]
fn action_types_are_spelled_right() {
    let definition = with_actions(json!([{"name": "a", "type": "HTTP", "config": {}}]));
    refused(definition, "unknown_type", "/actions/0/type", "did you mean \"http\"?");
    refused(with_actions(json!([{"name": "a"}])), "missing_key", "/actions/0", "\"type\" is missing");
}

#[test]
fn names_are_checked() {
    for name in ["", "1a", "a-b", "a b", "ä", "_a", &"a".repeat(65)] {
        refused(with_envelope(json!({"name": name})), "invalid_name", "/actions/0/name", "letter");
    }
    for name in ["", "a\nb", "\u{0}", &"x".repeat(256), &"ü".repeat(128)] {
        refused(with_workflow(json!({"workflowName": name})), "invalid_name", "/workflowName", "255");
        refused(with_envelope(json!({"lane": name})), "invalid_name", "/actions/0/lane", "255");
    }
    for event_type in ["*", ".*", "a*", "*.b", "a.*.*"] {
        refused(with_workflow(json!({"triggerEvent": event_type})), "invalid_event_type", "/triggerEvent", "order.*");
    }
}

#[test]
fn an_action_name_is_used_once() {
    refused(with_actions(json!([step("a"), step("a")])), "duplicate_name", "/actions/1/name", "already");
}

#[test]
fn the_number_of_actions_is_bounded() {
    refused(with_actions(json!([])), "out_of_range", "/actions", "1 to 1000");
    refused(with_actions(json!(vec![json!({}); 1_001])), "out_of_range", "/actions", "1001");
    refused(json!({"workflowName": "w"}), "missing_key", "", "\"actions\" is missing");
    refused(with_actions(json!({})), "wrong_type", "/actions", "array");
}

#[test]
fn every_http_action_states_a_timeout() {
    let definition = with_actions(json!([{"name": "a", "type": "http", "config": {"url": "http://h"}}]));
    refused(definition, "missing_key", "/actions/0/config", "timeoutMs");
    for timeout in [json!(0), json!(-1), json!(1.5), json!(86_400_001), json!(1e300)] {
        refused(with_config(json!({"timeoutMs": timeout})), "out_of_range", "/actions/0/config/timeoutMs", "86400000");
    }
    refused(with_config(json!({"timeoutMs": "1s"})), "wrong_type", "/actions/0/config/timeoutMs", "whole number");
}

#[test]
fn retry_keys_have_ranges() {
    let cases = [
        ("maxRetries", json!(-1)),
        ("maxRetries", json!(1_001)),
        ("backoffMs", json!(0)),
        ("backoffMs", json!(31_536_000_001_u64)),
        ("backoffMultiplier", json!(0.5)),
        ("backoffMultiplier", json!(1e10)),
        ("maxBackoffMs", json!(0)),
        ("jitter", json!(1.1)),
        ("jitter", json!(-0.1)),
        ("schedule", json!([])),
        ("schedule", json!([-1])),
        ("schedule", json!(["1"])),
        ("schedule", json!([31_536_001])),
        ("maxElapsedSeconds", json!(0)),
    ];
    for (key, value) in cases {
        let definition = with_envelope(json!({"retryPolicy": {key: value}}));
        refused(definition, "out_of_range", &format!("/actions/0/retryPolicy/{key}"), key);
    }
}

#[test]
fn conditions_are_statuses_or_known_codes() {
    for condition in [
        json!("time-out"),
        json!(99),
        json!(600),
        json!("6xx"),
        json!(null),
        json!("50"),
        json!("+50"),
        json!("timeuot"),
        json!("Out"),
    ] {
        let definition = with_envelope(json!({"retryPolicy": {"retryOn": [503, condition]}}));
        refused(definition, "invalid_condition", "/actions/0/retryPolicy/retryOn/1", "timeout");
    }
}

#[test]
fn methods_are_a_closed_list() {
    for method in ["CONNECT", "TRACE", "FETCH", "", "${payload.method}", "GET\r\nX: 1"] {
        refused(with_config(json!({"method": method})), "invalid_method", "/actions/0/config/method", "POST");
    }
}

#[test]
fn reserved_headers_cannot_be_stated() {
    let reserved = [
        "Idempotency-Key",
        "idempotency-key",
        "X-Rea-Req-Id",
        "x-rea-anything",
        "Traceparent",
        "HOST",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "User-Agent",
        "webhook-id",
        "Webhook-Signature",
        "Expect",
    ];
    for name in reserved {
        let definition = with_config(json!({"headers": {name: "x"}}));
        refused(definition, "reserved_header", &format!("/actions/0/config/headers/{name}"), "set by rea");
    }
    let definition = with_config(json!({"idempotencyKeyHeader": "X-Key", "headers": {"x-key": "1"}}));
    refused(definition, "reserved_header", "/actions/0/config/headers/x-key", "set by rea");
    for name in ["Host", "Content-Type"] {
        let definition = with_config(json!({"idempotencyKeyHeader": name}));
        refused(definition, "reserved_header", "/actions/0/config/idempotencyKeyHeader", name);
    }
}

#[test]
fn header_names_and_fixed_values_are_checked() {
    for name in ["", "a b", "a:", "ä", "a\r\nb"] {
        assert_eq!(problems(&with_config(json!({"headers": {name: "x"}})))[0].code, "invalid_header", "{name:?}");
    }
    for value in ["a\r\nb", "a\nb", "\u{0}", "ä", "😀", "\u{7f}"] {
        let definition = with_config(json!({"headers": {"A": value}}));
        refused(definition, "invalid_header", "/actions/0/config/headers/A", "visible ASCII");
    }
    let twice = with_config(json!({"headers": {"A": "1", "a": "2"}}));
    refused(twice, "duplicate_name", "/actions/0/config/headers/a", "twice");
    let nested = with_config(json!({"headers": {"A": ["1"]}}));
    refused(nested, "wrong_type", "/actions/0/config/headers/A", "string");
}

#[test]
fn bodies_fit_their_format() {
    refused(with_config(json!({"format": "form"})), "missing_key", "/actions/0/config", "\"body\" is missing");
    refused(with_config(json!({"format": "text"})), "missing_key", "/actions/0/config", "payload");
    let definition = with_config(json!({"format": "form", "body": "a=b"}));
    refused(definition, "wrong_type", "/actions/0/config/body", "object");
    let definition = with_config(json!({"format": "text", "body": {}}));
    refused(definition, "wrong_type", "/actions/0/config/body", "string");
    refused(with_config(json!({"format": "xml"})), "invalid_value", "/actions/0/config/format", "\"json\"");
    refused(with_config(json!({"success": []})), "invalid_value", "/actions/0/config/success", "2xx");
    refused(with_config(json!({"success": ["ok"]})), "invalid_value", "/actions/0/config/success", "2xx");
    refused(with_config(json!({"idempotent": "no"})), "wrong_type", "/actions/0/config/idempotent", "true or false");
}

#[test]
fn on_error_is_one_of_three() {
    refused(
        with_envelope(json!({"onError": "paus"})),
        "invalid_value",
        "/actions/0/onError",
        "did you mean \"pause\"?",
    );
}

#[test]
fn a_predicate_is_not_a_template() {
    let definition = with_envelope(json!({"when": "${payload.n > 1}"}));
    refused(definition, "not_a_predicate", "/actions/0/when", "leave out ${");
    refused(with_workflow(json!({"match": "${payload.n}"})), "not_a_predicate", "/match", "leave out");
    refused(with_envelope(json!({"when": "payload.vip"})), "not_a_predicate", "/actions/0/when", "== true");
    refused(with_envelope(json!({"when": " "})), "empty_template", "/actions/0/when", "path");
    refused(with_envelope(json!({"when": true})), "wrong_type", "/actions/0/when", "string");
}

#[test]
fn templates_refer_to_what_exists_at_their_place() {
    let body = |template: &str| with_config(json!({"body": {"x": template}}));
    let pointer = "/actions/0/config/body/x";
    refused(body("${response.body}"), "out_of_scope", pointer, "own \"output\"");
    refused(body("${item.x}"), "out_of_scope", pointer, "foreach");
    refused(body("${paylod.x}"), "unknown_name", pointer, "did you mean \"payload\"?");
    refused(body("${$.paylod.x}"), "unknown_name", pointer, "did you mean \"payload\"?");
    refused(body("${nothing}"), "unknown_name", pointer, "starts with one of");
    refused(body("${$payload.x}"), "variable", pointer, "write $.payload");
    refused(body("${$.payload.x ? (@ > $\"y\")}"), "variable", pointer, "variable \"$y\"");
    refused(body("${steps.a.output.x}"), "unknown_step", pointer, "not over yet");
    refused(body("${steps.b.output.x}"), "unknown_step", pointer, "no action \"b\"");
    refused(body("${payload.x ?? none}"), "invalid_default", pointer, "double quotes");
    refused(body("${payload.x"), "unclosed_template", pointer, "close it");
    refused(body("${}"), "empty_template", pointer, "empty");
    let key = with_config(json!({"body": {"${payload.x}": 1}}));
    refused(key, "template_in_key", "/actions/0/config/body/${payload.x}", "key");
    refused(with_workflow(json!({"match": "$.steps.a.output.x > 1"})), "out_of_scope", "/match", "steps");
    refused(with_workflow(json!({"output": {"x": "${action.name}"}})), "out_of_scope", "/output/x", "action");
}

#[test]
fn references_to_later_or_misspelled_steps_are_refused() {
    let config = json!({"url": "http://h", "timeoutMs": 1});
    let with = |output: &str| {
        with_actions(json!([
            {"name": "deductStock", "type": "http", "config": config, "compensate": "keep"},
            {"name": "b", "type": "http", "config": config, "compensate": "keep", "output": {"x": output}},
            {"name": "c", "type": "http", "config": config},
        ]))
    };
    let pointer = "/actions/1/output/x";
    refused(with("${steps.deductStok.output.x}"), "unknown_step", pointer, "did you mean \"deductStock\"?");
    refused(with("${steps.\"c\".output.x}"), "unknown_step", pointer, "not over yet");
    refused(with("${steps.b.output.x}"), "unknown_step", pointer, "not over yet");
    refused(with("${steps.deductStock.reservation}"), "unknown_name", pointer, "steps.deductStock.output.reservation");
    assert_eq!(found(&with("a ${steps.deductStock.output.x} b")), [] as [String; 0]);
}
