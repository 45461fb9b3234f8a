//! The request as it goes out, byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{action, one, with_config};
use crate::flow::expression::PathValue;
use crate::flow::outcome::{Class, Failure};
use crate::flow::request::{Facts, Request, idempotency_key, render, request_id, summary};

const INSTANCE: &str = "0190f5a0-0000-7000-8000-000000000001";

fn facts<'a>() -> Facts<'a> {
    Facts {
        instance_id: INSTANCE,
        event_id: "E-1",
        event_type: "order.created",
        correlation_id: None,
        causation_id: None,
        traceparent: None,
        span_id: 0xabc,
        attempt_no: 2,
        key_no: 1,
        action_name: "a",
        payload: Arc::from("{\"n\": 1.10}"),
        version: "0.1.0",
    }
}

fn attempt(config: Value, values: &[PathValue], facts: &Facts) -> Result<Request, Failure> {
    let action = action(&with_config(config));
    render(super::http(&action), &action.paths, values, facts)
}

fn rendered(config: Value, values: &[PathValue]) -> Request {
    attempt(config, values, &facts()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// Golden: a change here changes what receivers of running instances see on a retry.
#[test]
fn the_default_request_is_pinned() {
    let facts = Facts {
        correlation_id: Some("C-1"),
        causation_id: Some("K-1"),
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ..facts()
    };
    let request = attempt(json!({"headers": {"X-A": "b"}}), &[], &facts).unwrap();
    let line = |(name, value): &(String, String)| format!("{name}: {value}");
    let expected = [
        "X-A: b",
        "Content-Type: application/json",
        "Idempotency-Key: 0190f5a0-0000-7000-8000-000000000001_a",
        "X-Rea-Req-Id: 0190f5a0-0000-7000-8000-000000000001_a_2",
        "X-Rea-Instance-Id: 0190f5a0-0000-7000-8000-000000000001",
        "X-Rea-Event-Id: E-1",
        "X-Rea-Event-Type: order.created",
        "User-Agent: rea/0.1.0",
        "X-Rea-Correlation-Id: C-1",
        "X-Rea-Causation-Id: K-1",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000abc-01",
    ];
    assert_eq!(request.headers.iter().map(line).collect::<Vec<_>>(), expected);
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", "http://h.test/p"));
    assert_eq!(request.origin, "http://h.test:80");
    assert_eq!(request.body.as_deref(), Some("{\"n\": 1.10}"));
    assert_eq!(request.timeout_ms, 1_000);
}

#[test]
fn the_payload_is_shared_and_not_copied() {
    let facts = facts();
    let request = attempt(json!({}), &[], &facts).unwrap();
    assert!(request.body.is_some_and(|body| Arc::ptr_eq(&body, &facts.payload)));
}

#[test]
fn only_the_attempt_differs_between_attempts() {
    let config = json!({"body": {"x": "${payload.x}"}});
    let values = [one("\"y\"")];
    let first = attempt(config.clone(), &values, &facts()).unwrap();
    let second = attempt(config, &values, &Facts { attempt_no: 3, span_id: 9, ..facts() }).unwrap();
    let stable = |request: &Request| {
        let headers = request.headers.iter().filter(|(name, _)| name != "X-Rea-Req-Id").cloned().collect::<Vec<_>>();
        (request.body.clone(), request.url.clone(), headers)
    };
    assert_eq!(stable(&first), stable(&second));
    assert_ne!(header(&first, "X-Rea-Req-Id"), header(&second, "X-Rea-Req-Id"));
}

#[test]
fn keys_name_instance_action_and_attempt() {
    assert_eq!(idempotency_key("i", "a", 1), "i_a");
    assert_eq!(idempotency_key("i", "a", 3), "i_a~3");
    assert_eq!(request_id("i", "a", 7), "i_a_7");
    let request = rendered(json!({"idempotencyKeyHeader": "X-Key"}), &[]);
    assert_eq!(header(&request, "X-Key"), Some(&*idempotency_key(INSTANCE, "a", 1)));
    assert_eq!(header(&request, "Idempotency-Key"), None);
}

#[test]
fn bodies_are_written_in_their_format() {
    let form = rendered(json!({"format": "form", "body": {"a b": "${payload.x}", "n": 1}}), &[one("\"ü &=\"")]);
    assert_eq!(form.body.as_deref(), Some("a+b=%C3%BC+%26%3D&n=1"));
    assert_eq!(header(&form, "Content-Type"), Some("application/x-www-form-urlencoded"));
    let text = rendered(json!({"format": "text", "body": "Hello ${payload.x}!"}), &[one("\"a\\n\\\"b\\\"\"")]);
    assert_eq!(text.body.as_deref(), Some("Hello a\n\"b\"!"));
    assert_eq!(header(&text, "Content-Type"), Some("text/plain; charset=utf-8"));
    let json = rendered(json!({"body": "${payload}"}), &[one("{\"a\": 1.10}")]);
    assert_eq!(json.body.as_deref(), Some("{\"a\": 1.10}"));
}

#[test]
fn without_a_body_there_is_no_content_type() {
    let request = rendered(json!({"method": "GET"}), &[]);
    assert_eq!((request.body.clone(), header(&request, "Content-Type")), (None, None));
}

#[test]
fn a_stated_content_type_wins() {
    let request = rendered(json!({"headers": {"content-type": "application/vnd.x+json"}}), &[]);
    let types: Vec<_> = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type")).collect();
    assert_eq!(types, [&("content-type".to_owned(), "application/vnd.x+json".to_owned())]);
}

#[test]
fn a_header_value_from_the_payload_cannot_make_another_header() {
    let config = json!({"headers": {"X-A": "v ${payload.x}"}});
    let long = format!("\"{}\"", "x".repeat(100_000));
    for value in ["\"a\\r\\nX-B: c\"", "\"\\r\"", "\"\\n\"", "\"\\u0000\"", "\"😀\"", "\"سلام\"", "\"\\u007f\"", &long]
    {
        let failure = attempt(config.clone(), &[one(value)], &facts()).expect_err("refused");
        assert_eq!((failure.code.as_str(), failure.class), ("invalid_header", Class::Permanent));
        assert!(failure.message.contains("X-A"), "{}", failure.message);
    }
    for (value, sent) in [("\"a\\tb\"", "v a\tb"), ("\"\"", "v "), ("1.10", "v 1.10"), ("{\"a\": 1}", "v {\"a\": 1}")] {
        assert_eq!(header(&rendered(config.clone(), &[one(value)]), "X-A"), Some(sent));
    }
}

#[test]
fn ids_that_a_header_cannot_hold_are_percent_encoded() {
    let facts =
        Facts { event_id: "Bestellung ü\r\n", event_type: "a\"b%", correlation_id: Some("plain:/?=1"), ..facts() };
    let request = attempt(json!({}), &[], &facts).unwrap();
    assert_eq!(header(&request, "X-Rea-Event-Id"), Some("Bestellung%20%C3%BC%0D%0A"));
    assert_eq!(header(&request, "X-Rea-Event-Type"), Some("a%22b%25"));
    assert_eq!(header(&request, "X-Rea-Correlation-Id"), Some("plain:/?=1"));
}

#[test]
fn a_trace_is_continued_when_it_is_valid() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let sent = |parent: &str, span_id| {
        let facts = Facts { traceparent: Some(parent), span_id, ..facts() };
        let request = attempt(json!({}), &[], &facts).unwrap();
        header(&request, "traceparent").map(str::to_owned)
    };
    let child = format!("00-{trace}-0000000000000001-00");
    assert_eq!(sent(&format!("00-{trace}-00f067aa0ba902b7-00"), 1), Some(child.clone()));
    assert_eq!(sent(&format!("cc-{trace}-00f067aa0ba902b7-00-future"), 1), Some(child.clone()));
    assert_eq!(sent(&format!("00-{trace}-00f067aa0ba902b7-00"), 0), Some(child), "span 0 is not allowed");
    let bad = [
        String::new(),
        "garbage".to_owned(),
        format!("ff-{trace}-00f067aa0ba902b7-01"),
        format!("00-{trace}-00f067aa0ba902b7-01-x"),
        format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        format!("00-{trace}-0000000000000000-01"),
        format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
        format!("00-{trace}-00f067aa0ba902b7"),
        format!("00-{trace}-00f067aa0ba902b7-0é"),
    ];
    for parent in bad {
        assert_eq!(sent(&parent, 1), None, "{parent}");
    }
}

#[test]
fn a_missing_value_anywhere_fails_before_anything_is_sent() {
    let places = [
        json!({"url": "http://h.test/${payload.x}"}),
        json!({"query": {"q": "${payload.x}"}}),
        json!({"headers": {"A": "${payload.x}"}}),
        json!({"body": ["${payload.x}"]}),
        json!({"format": "text", "body": "${payload.x}"}),
        json!({"format": "form", "body": {"a": "${payload.x}"}}),
    ];
    for config in places {
        let failure = attempt(config.clone(), &[PathValue::default()], &facts()).expect_err("missing");
        assert_eq!((failure.code.as_str(), failure.class), ("missing_value", Class::Permanent), "{config}");
    }
}

#[test]
fn a_summary_is_one_line_without_headers_cut_between_characters() {
    let request = rendered(json!({"headers": {"Authorization": "s3cret"}, "body": "ü😀"}), &[]);
    assert_eq!(summary(&request, 500), "POST http://h.test/p \"ü😀\"");
    assert_eq!(summary(&request, 23), "POST http://h.test/p \"ü");
    assert_eq!(summary(&request, 0), "");
    assert_eq!(summary(&rendered(json!({"method": "GET"}), &[]), 500), "GET http://h.test/p");
}
