//! Definitions that tests use again and again, and the calls that go with
//! them.

use postgres::Client;
use serde_json::{Value, json};

/// An `http` action that posts the payload, with a timeout of 5 s.
pub fn http(name: &str, url: &str) -> Value {
    json!({"name": name, "type": "http", "config": {"url": url, "timeoutMs": 5000}})
}

/// A `local` action that calls a function with these arguments, with a timeout
/// of 5 s.
pub fn local(name: &str, function: &str, args: Value) -> Value {
    json!({"name": name, "type": "local", "config": {"function": function, "args": args, "timeoutMs": 5000}})
}

/// A workflow of the given actions.
pub fn workflow(name: &str, event_type: &str, actions: Vec<Value>) -> Value {
    json!({"workflowName": name, "triggerEvent": event_type, "actions": actions})
}

/// The value with `key` set, for one more setting of a workflow or an action.
pub fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

/// Retries after `backoff_ms` each, without jitter.
pub fn retries(max_retries: u32, backoff_ms: u32) -> Value {
    json!({"maxRetries": max_retries, "backoffMs": backoff_ms, "backoffMultiplier": 1, "jitter": 0})
}

/// Stores a definition.
///
/// # Panics
/// If it is refused.
pub fn define(client: &mut Client, definition: &Value) {
    client
        .execute("select rea.define_workflow($1::text::jsonb)", &[&definition.to_string()])
        .unwrap_or_else(|e| panic!("definition refused: {e:?}"));
}

/// Fires one event and returns its id.
///
/// # Panics
/// If it is refused.
pub fn fire(client: &mut Client, event_type: &str, biz_key: &str, payload: &Value) -> String {
    let row = client
        .query_one("select rea.fire_event($1, $2, $3::text::jsonb)", &[&event_type, &biz_key, &payload.to_string()]);
    row.unwrap_or_else(|e| panic!("event refused: {e:?}")).get(0)
}

/// The one number a query gives.
///
/// # Panics
/// If the query fails or gives something else.
pub fn count(client: &mut Client, sql: &str) -> i64 {
    let row = client.query_one(sql, &[]);
    row.unwrap_or_else(|e| panic!("{sql}: {e:?}")).get(0)
}
