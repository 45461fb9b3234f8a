//! The published JSON Schema of the language agrees with the parser on every definition of these tests. (On the
//! examples of the manual: `tests/schema.rs`.)

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{problems, with_envelope};
use crate::flow::problem::{Problem, Severity, pointer_to};

/// Mistakes of form, which the schema finds too.
const OF_FORM: [&str; 6] =
    ["wrong_type", "missing_key", "unknown_key", "unknown_type", "invalid_event_type", "invalid_method"];

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(include_str!("../../../docs/reference/workflow.schema.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
});

/// What the parser accepts the schema accepts; what it refuses for its form the schema refuses. Called for every
/// definition that a test has parsed.
pub(super) fn agrees(definition: &Value, problems: &[Problem]) {
    let fits = SCHEMA.is_valid(definition);
    let mut refused = problems.iter().filter(|problem| problem.severity == Severity::Error).peekable();
    if refused.peek().is_none() && !fits {
        let errors: Vec<String> =
            SCHEMA.iter_errors(definition).map(|error| format!("{}: {error}", error.instance_path())).collect();
        panic!("the schema refuses {definition}: {errors:?}");
    }
    if refused.any(|problem| OF_FORM.contains(&problem.code)) {
        assert!(!fits, "the schema accepts {definition}: {problems:?}");
    }
}

#[test]
fn ranges_are_refused_by_both() {
    let policies = [
        json!({"maxRetries": -1}),
        json!({"maxRetries": 1_001}),
        json!({"backoffMs": 0}),
        json!({"backoffMultiplier": 0.5}),
        json!({"jitter": 1.1}),
        json!({"schedule": []}),
        json!({"schedule": [-1]}),
        json!({"maxElapsedSeconds": 0}),
        json!({"retryOn": ["time-out"]}),
        json!({"retryOn": [99]}),
    ];
    for policy in policies {
        let definition = with_envelope(json!({"retryPolicy": policy}));
        assert_ne!(problems(&definition), [], "{definition}");
        assert!(!SCHEMA.is_valid(&definition), "{definition}");
    }
}

/// Every type with most of its keys.
fn of_every_type() -> Value {
    let http = |name: &str| {
        json!({"name": name, "type": "http", "compensate": "keep", "when": "$.payload.n > 1", "lane": "l",
               "retryPolicy": {"maxRetries": 1, "backoffMs": 5, "backoffMultiplier": 2, "maxBackoffMs": 9, "jitter": 0.5,
                               "maxElapsedSeconds": 5, "retryOn": [404, "5xx", "tls", "40001"], "neverRetryOn": ["dns"]},
               "config": {"url": "http://h/${payload.x}", "timeoutMs": 1, "method": "put", "headers": {"A": "1"},
                          "query": {"q": 1}, "body": {"x": [1]}, "format": "json", "success": [200, "3xx"],
                          "idempotent": false, "idempotencyKeyHeader": "X-Key"}})
    };
    let awaited = json!([{"eventType": "e", "bizKey": "${payload.k}", "match": {"x": 1}},
                         {"eventType": "f", "correlationId": "c", "match": "$.payload.n == 1"}]);
    json!({
        "workflowName": "w", "triggerEvent": "a.*", "routeGroup": "g", "priority": 1, "match": {"x": 1},
        "timeoutSeconds": 5, "retryPolicy": {"schedule": [1, 2.5]}, "output": {"x": 1}, "cancelOn": awaited,
        "concurrency": {"key": "${event.bizKey}", "limit": 2},
        "actions": [
            http("a"),
            {"name": "b", "type": "local", "config": {"function": "a.b", "args": ["${payload.x}", 1], "timeoutMs": 5},
             "compensate": {"type": "local", "config": {"function": "a.c"}, "lane": "x", "retryPolicy": {"maxRetries": 3}}},
            {"name": "c", "type": "lua", "onError": "continue", "output": {"x": "${response.body}"},
             "config": {"source": "return 1", "args": {"x": 1}, "timeoutMs": 5, "cpuMs": 5, "memoryMb": 5}},
            {"name": "d", "type": "emit", "config": {"eventType": "e", "bizKey": "k", "payload": {}, "attributes": {}}},
            {"name": "e", "type": "message", "compensate": {"type": "emit", "config": {"eventType": "x"}},
             "config": {"transport": "notify", "topic": "t", "kind": "event", "type": "y", "payload": 1}},
            {"name": "f", "type": "wait",
             "config": {"all": awaited, "timeoutSeconds": 5, "lookbackSeconds": 5, "onTimeout": "fail"}},
            {"name": "g", "type": "wait", "config": {"durationSeconds": 5}},
            {"name": "h", "type": "wait", "config": {"until": "2030-01-31T08:00:00Z"}},
            {"name": "i", "type": "parallel", "join": "any", "onBranchFailure": "cancel", "config": {},
             "branches": {"x": [http("j")], "y": [http("k")]}},
            {"name": "l", "type": "foreach",
             "config": {"items": "${payload.items}", "maxConcurrency": 5, "actions": [http("m")]}},
            {"name": "n", "type": "switch",
             "config": {"cases": [{"when": "$.payload.n > 1", "actions": [http("o")]}], "default": [http("p")]}},
            {"name": "q", "type": "workflow", "config": {"workflowName": "v", "payload": {}, "wait": false}}
        ]
    })
}

/// The document with one of its values replaced, removed, or given a strange member: one variant per call of `seen`.
fn variants(document: &Value, seen: &mut impl FnMut(&Value)) {
    let mut pointers = Vec::new();
    pointers_of(document, String::new(), &mut pointers);
    for pointer in pointers {
        for other in [json!(null), json!(-1.5), json!("x"), json!([]), json!({})] {
            let mut variant = document.clone();
            *variant.pointer_mut(&pointer).unwrap() = other;
            seen(&variant);
        }
        let mut variant = document.clone();
        if let Some(object) = variant.pointer_mut(&pointer).unwrap().as_object_mut() {
            object.insert("strange".to_owned(), json!(1));
            seen(&variant);
        }
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
        let mut variant = document.clone();
        match variant.pointer_mut(parent).unwrap() {
            Value::Object(object) => drop(object.shift_remove(key)),
            Value::Array(list) => drop(list.remove(key.parse().unwrap())),
            _ => continue,
        }
        seen(&variant);
    }
}

fn pointers_of(value: &Value, place: String, found: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in members {
        pointers_of(value, pointer_to(&place, key), found);
    }
    if !place.is_empty() {
        found.push(place);
    }
}

#[test]
fn they_agree_on_every_small_change_of_a_definition_with_every_type() {
    let document = of_every_type();
    assert_eq!(problems(&document).iter().filter(|problem| problem.severity == Severity::Error).count(), 0);
    let mut count = 0;
    variants(&document, &mut |variant| {
        problems(variant);
        count += 1;
    });
    assert!(count > 1_000, "{count}");
}
