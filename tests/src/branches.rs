//! What tests of child instances share: definitions with branches, and where the children stand.

use std::collections::HashMap;

use postgres::Client;
use serde_json::{Map, Value, json};

use crate::Config;

/// A `parallel` action of these branches.
pub fn parallel(name: &str, branches: Vec<(String, Vec<Value>)>) -> Value {
    let branches: Map<String, Value> = branches.into_iter().map(|(name, actions)| (name, json!(actions))).collect();
    json!({"name": name, "type": "parallel", "branches": branches})
}

/// An `emit` action.
pub fn emit(name: &str, event_type: &str) -> Value {
    json!({"name": name, "type": "emit", "config": {"eventType": event_type}})
}

/// Two workers that look at everything often.
pub fn two_workers() -> Config {
    Config::new().set("rea.workers", "2").set("rea.poll_interval", "200ms")
}

/// Status of the children of the only instance of a key, by branch.
///
/// # Panics
/// If the table cannot be read.
pub fn branches(client: &mut Client, biz_key: &str) -> HashMap<String, String> {
    let sql = "select branch, status from rea.work_instance where biz_key = $1 and branch is not null";
    let rows = client.query(sql, &[&biz_key]).expect("work_instance");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Id, status and error code of the only instance of a key that no other started.
///
/// # Panics
/// If there is not exactly one.
pub fn root(client: &mut Client, biz_key: &str) -> (String, String, Option<String>) {
    let sql = "select instance_id::text, status, error_code from rea.work_instance
               where biz_key = $1 and parent_instance_id is null";
    let row = client.query_one(sql, &[&biz_key]).expect("one instance");
    (row.get(0), row.get(1), row.get(2))
}

/// A branch with its name.
pub fn branch(name: &str, actions: Vec<Value>) -> (String, Vec<Value>) {
    (name.to_owned(), actions)
}
