//! Properties that hold for every input, tried on random ones.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{action, http, one, with_config};
use crate::flow::definition::Body;
use crate::flow::outcome::retry_after;
use crate::flow::parse::{parse, path_uses};
use crate::flow::problem::Severity;
use crate::flow::reference::references;
use crate::flow::request::{Facts, render, summary};
use crate::flow::retry::RetryPolicy;
use crate::flow::template::{render_json, split};

/// Any JSON value, keys and strings leaning towards what the language knows.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        any::<String>(),
        "[a-zA-Z$?{}\"\\\\. \\[\\]*]{0,20}",
        "\\$\\{[a-z.?\"{} \\[*\\]]{0,20}\\}?",
        Just("http".to_owned()),
        Just("name".to_owned()),
        Just("actions".to_owned()),
        Just("$serde_json::private::Number".to_owned()),
        Just("$serde_json::private::RawValue".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// A complete definition.
fn template_definition() -> Value {
    json!({
        "workflowName": "w", "triggerEvent": "a.*", "match": {"a": 1}, "timeoutSeconds": 1.5, "priority": 1,
        "retryPolicy": {"maxRetries": 3, "schedule": [1, 2], "retryOn": [500, "timeout"]},
        "cancelOn": [{"eventType": "x", "bizKey": "${payload.id}"}], "concurrency": {"key": "${event.bizKey}", "limit": 2},
        "actions": [
            {"name": "a", "type": "http", "when": "$.payload.x > 1", "onError": "pause", "lane": "l",
             "output": {"x": "${response.body.x ?? null}"},
             "config": {"method": "PUT", "url": "http://h/${payload.id}", "timeoutMs": 1, "headers": {"A": "${payload.h}"},
                        "query": {"q": "${payload.items[*].id}"}, "body": {"b": ["x ${payload.b} y"]}, "success": ["2xx"]},
             "compensate": {"type": "local", "config": {"function": "a.b", "args": ["${steps.a.output.x}", 1]}}},
            {"name": "p", "type": "parallel", "join": "any", "branches": {
                "x": [{"name": "m", "type": "message", "compensate": "keep", "config": {"transport": "pgmq", "topic": "t", "kind": "command"}}],
                "y": [{"name": "l", "type": "lua", "lane": "l", "config": {"script": "s@3", "args": {"a": "${payload}"}}}]}},
            {"name": "f", "type": "foreach", "config": {"items": "${payload.items ?? []}", "maxConcurrency": 3, "actions": [
                {"name": "s", "type": "switch", "config": {"cases": [{"when": "item.n > 1", "actions": [
                    {"name": "e", "type": "emit", "config": {"eventType": "a.${index}", "payload": "${item}"}}]}],
                 "default": [{"name": "w", "type": "wait", "config": {"any": [{"eventType": "x", "match": "payload.n > 1"}],
                              "timeoutSeconds": 1, "onTimeout": "continue"}}]}}]}},
            {"name": "c", "type": "workflow", "config": {"workflowName": "v", "payload": {"x": "${steps.m.status}"}}},
        ],
        "output": {"y": "${steps.a.output.x}"}
    })
}

/// Replaces the value at the n-th place of the document, counted depth first.
fn replace(value: &mut Value, place: &mut usize, new: &Value) {
    if *place == 0 {
        *value = new.clone();
    }
    *place = place.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, place, new)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, place, new)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The rule of `parse`: a workflow exactly when no problem is an error; pointers are RFC 6901.
fn keeps_its_word(text: &str) {
    let (workflow, problems) = parse(text);
    let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    assert_eq!(workflow.is_some(), !refused, "{text}: {problems:?}");
    assert!(problems.iter().all(|problem| problem.pointer.is_empty() || problem.pointer.starts_with('/')));
    if let Some(workflow) = workflow {
        path_uses(&workflow);
        references(&workflow);
    }
}

fn facts(payload: &str) -> Facts<'_> {
    Facts {
        instance_id: "i",
        event_id: payload,
        event_type: payload,
        correlation_id: Some(payload),
        causation_id: Some(payload),
        traceparent: Some(payload),
        span_id: 1,
        attempt_no: 1,
        key_no: 1,
        action_name: "a",
        payload: Arc::from(payload),
        version: "0",
    }
}

#[test]
fn the_complete_definition_is_accepted() {
    assert_eq!(parse(&template_definition().to_string()).1, []);
}

proptest! {
    #[test]
    fn parsing_never_panics_on_text(text in any::<String>()) {
        keeps_its_word(&text);
    }

    #[test]
    fn parsing_never_panics_on_json(document in any_json()) {
        keeps_its_word(&document.to_string());
    }

    #[test]
    fn parsing_never_panics_on_a_definition_with_one_wrong_place(place in 0_usize..140, new in any_json()) {
        let mut definition = template_definition();
        replace(&mut definition, &mut place.clone(), &new);
        keeps_its_word(&definition.to_string());
    }

    #[test]
    fn every_place_that_is_listed_exists(place in 0_usize..140, new in any_json()) {
        let mut definition = template_definition();
        replace(&mut definition, &mut place.clone(), &new);
        if let (Some(workflow), _) = parse(&definition.to_string()) {
            let of_paths = path_uses(&workflow).into_iter().map(|used| used.pointer);
            let of_names = references(&workflow).into_iter().map(|found| found.pointer);
            for pointer in of_paths.chain(of_names) {
                prop_assert!(definition.pointer(&pointer).is_some(), "{}", pointer);
            }
        }
    }

    #[test]
    fn text_without_a_dollar_is_one_literal(text in "[^$]*") {
        let parts = split(&text).unwrap();
        prop_assert_eq!(parts, vec![crate::flow::template::Part::Literal(text.clone())]);
    }

    #[test]
    fn any_string_in_a_json_body_arrives_as_it_is(text in any::<String>()) {
        let action = action(&with_config(json!({"body": {"whole": "${payload.x}", "part": "<${payload.x}>"}})));
        let Body::Json(template) = &http(&action).body else { panic!("a JSON body") };
        let json = render_json(template, &[one(&json!(text).to_string())], &action.paths).unwrap();
        let parsed: Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(parsed, json!({"whole": text, "part": format!("<{text}>")}));
    }

    #[test]
    fn any_json_in_a_json_body_arrives_as_it_is(value in any_json()) {
        let action = action(&with_config(json!({"body": ["${payload.x}"]})));
        let Body::Json(template) = &http(&action).body else { panic!("a JSON body") };
        let json = render_json(template, &[one(&value.to_string())], &action.paths).unwrap();
        prop_assert_eq!(json, format!("[{value}]"));
    }

    #[test]
    fn no_value_moves_a_request_to_another_place(text in any::<String>()) {
        let action = action(&with_config(json!({"url": "http://h.test:81/a/${payload.x}/b?c=${payload.x}"})));
        let values = [one(&json!(text).to_string())];
        let Ok(request) = render(super::http(&action), &action.paths, &values, &facts("")) else {
            let dotted = matches!(text.as_str(), "." | "..");
            prop_assert!(dotted, "only dot segments are refused, not {:?}", text);
            return Ok(());
        };
        let url = url::Url::parse(&request.url).unwrap();
        prop_assert_eq!(&request.origin, "http://h.test:81");
        prop_assert_eq!((url.host_str(), url.port(), url.fragment()), (Some("h.test"), Some(81), None));
        let segments: Vec<&str> = url.path_segments().unwrap().collect();
        prop_assert_eq!(segments.len(), 3);
        let decode = |part: &str| percent_encoding::percent_decode_str(part).decode_utf8().unwrap().into_owned();
        prop_assert_eq!(decode(segments[1]), text.clone());
        prop_assert_eq!(decode(&url.query().unwrap()[2..]), text);
    }

    #[test]
    fn no_value_makes_a_header_that_is_not_named(text in any::<String>()) {
        let action = action(&with_config(json!({"headers": {"X-A": "${payload.x}"}})));
        let Ok(request) = render(super::http(&action), &action.paths, &[one(&json!(text).to_string())], &facts(&text)) else {
            prop_assert!(text.chars().any(|c| c != '\t' && c != ' ' && !c.is_ascii_graphic()));
            return Ok(());
        };
        let visible = |byte: u8| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic();
        prop_assert!(request.headers.iter().all(|(_, value)| value.bytes().all(visible)));
    }

    #[test]
    fn ids_never_break_a_request(text in any::<String>()) {
        let action = action(&with_config(json!({})));
        let request = render(super::http(&action), &action.paths, &[], &facts(&text)).unwrap();
        prop_assert!(request.headers.iter().all(|(_, value)| value.bytes().all(|byte| byte.is_ascii_graphic())));
    }

    #[test]
    fn a_summary_is_never_longer_than_asked(text in any::<String>(), max in 0_usize..60) {
        let action = action(&with_config(json!({})));
        let request = render(super::http(&action), &action.paths, &[], &facts(&text)).unwrap();
        prop_assert!(summary(&request, max).chars().count() <= max);
    }

    #[test]
    fn a_delay_stays_within_its_bounds(
        (backoff_ms, max_backoff_ms) in (1_u64..=31_536_000_000, 1_u64..=31_536_000_000),
        (multiplier, jitter, random) in (1.0_f64..=1e9, 0.0_f64..=1.0, 0.0_f64..1.0),
        (retry_no, asked) in (1_u32.., prop::option::of(any::<u64>().prop_map(Duration::from_secs))),
    ) {
        let policy = RetryPolicy { backoff_ms, max_backoff_ms, multiplier, jitter, ..RetryPolicy::default() };
        let cap = Duration::from_secs(3_600);
        let delay = policy.delay(retry_no, random, asked, cap);
        let asked = asked.unwrap_or_default().min(cap);
        let longest = (max_backoff_ms as f64 * (1.0 + jitter)) as u64 + 1;
        let longest = Duration::from_millis(longest);
        prop_assert!(delay >= asked.max(Duration::from_millis(1)));
        prop_assert!(delay <= longest.max(asked));
    }

    #[test]
    fn retry_after_never_panics(header in any::<String>(), seconds in -8_000_000_000_000_i64..8_000_000_000_000) {
        if let Some(now) = DateTime::from_timestamp(seconds, 0) {
            retry_after(&header, now);
        }
    }
}
