//! How a document of definitions is taken apart, and what becomes of rules in the older form.

use serde_json::{Value, json};

use crate::flow::parse::bundle::{Entry, read};

fn told(document: Value) -> Vec<String> {
    let line = |entry: Entry| {
        let (kind, name) = (entry.kind.as_str(), entry.name);
        match entry.body {
            Ok(body) => format!("{kind} {name}: {body}"),
            Err(problem) => {
                format!("{kind} {name} refused at {}: {} {:?}", problem.pointer, problem.code, problem.hint)
            }
        }
    };
    read(&document).into_iter().map(line).collect()
}

fn definition(rule: &Value) -> Value {
    let entries = read(rule);
    let [Entry { body: Ok(body), .. }] = entries.as_slice() else { panic!("{entries:?}") };
    body["definition"].clone()
}

#[test]
fn sections_come_in_the_order_in_which_they_are_needed() {
    let document = json!({
        "schedules": [{"scheduleName": "s", "cron": "* * * * *"}], "routes": [{"routeName": "r"}], "disabled": ["w"],
        "workflows": [{"workflowName": "w"}], "scripts": [{"scriptName": "x", "source": ["a", "b"]}], "config": {"k": 1}
    });
    assert_eq!(
        told(document),
        [
            "config k: 1",
            "script x: \"a\\nb\"",
            "workflow w: {\"definition\":{\"workflowName\":\"w\"},\"enabled\":false}",
            "route r: {\"routeName\":\"r\"}",
            "schedule s: {\"scheduleName\":\"s\",\"cron\":\"* * * * *\"}",
        ]
    );
}

#[test]
fn mistakes_in_the_form_name_their_place() {
    let document = json!({
        "workflow": [], "scripts": [{"source": 1}, 7], "workflows": [{"workflowName": "w"}, {"workflowName": "w"}],
        "routes": [{"routeName": "r", "prioritty": 1}], "disabled": ["v", 3], "config": []
    });
    let mut found = told(document);
    found.sort();
    assert_eq!(
        found,
        [
            "document  refused at /config: wrong_type None",
            "document  refused at /disabled/0: unknown_name Some(\"did you mean \\\"w\\\"?\")",
            "document  refused at /disabled/1: wrong_type None",
            "document  refused at /workflow: unknown_key Some(\"did you mean \\\"workflows\\\"?\")",
            "route r refused at /routes/0/prioritty: unknown_key Some(\"did you mean \\\"priority\\\"?\")",
            "script  refused at /scripts/0/source: wrong_type None",
            "script  refused at /scripts/0: missing_key None",
            "script  refused at /scripts/1: wrong_type None",
            "workflow w refused at /workflows/1: duplicate_name None",
            "workflow w: {\"definition\":{\"workflowName\":\"w\"},\"enabled\":true}",
        ]
    );
    assert_eq!(told(json!(3)), ["document  refused at : wrong_type None"]);
}

#[test]
fn a_workflow_alone_gets_a_hint() {
    let found = told(json!({"workflowName": "w", "actions": []}));
    assert!(found[0].contains("put it into the list"), "{found:?}");
}

/// Requirement C18.
#[test]
fn the_rule_of_the_article_becomes_a_workflow() {
    let rule = json!({
        "ruleId": "order_paid_rule", "ruleVersion": 1, "matchEventType": "order.paid",
        "nodes": [
            {"nodeId": "lock_stock", "name": "Lock stock", "script": "lock_stock.lua", "timeoutSec": 10,
             "retryPolicy": {"maxRetries": 3, "backoffMS": 2000, "backoffMultiplier": 2}},
            {"nodeId": "notify", "name": "Notify", "script": "return {ok = true}", "timeoutSec": 30,
             "retryPolicy": {"maxRetries": 5, "backoffMS": 5000, "backoffMultiplier": 3}},
        ]
    });
    let workflow = json!({
        "workflowName": "order_paid_rule", "triggerEvent": "order.paid",
        "actions": [
            {"name": "lock_stock", "type": "lua", "config": {"script": "lock_stock", "timeoutMs": 10000},
             "retryPolicy": {"maxRetries": 3, "backoffMs": 2000, "backoffMultiplier": 2}},
            {"name": "notify", "type": "lua", "config": {"source": "return {ok = true}", "timeoutMs": 30000},
             "retryPolicy": {"maxRetries": 5, "backoffMs": 5000, "backoffMultiplier": 3}},
        ]
    });
    for document in [rule.clone(), json!([rule]), json!({"rules": [rule]})] {
        assert_eq!(definition(&document), workflow);
    }
}

#[test]
fn ids_of_nodes_become_names_of_actions_without_chance() {
    let node = |id: Value| json!({"nodeId": id, "script": "s"});
    let nodes = [json!("1"), json!(1), json!("a-b"), json!("a.b"), json!("锁"), json!("x".repeat(70))].map(node);
    let rule = json!({"ruleId": 7, "matchEventType": "e", "nodes": nodes});
    let definition = definition(&rule);
    let names: Vec<&str> =
        definition["actions"].as_array().into_iter().flatten().filter_map(|action| action["name"].as_str()).collect();
    assert_eq!(names, ["node_1", "node_1_2", "a_b", "a_b_2", "node__", &"x".repeat(64)]);
    assert_eq!(definition["workflowName"], "7");
}

#[test]
fn mistakes_in_rules_are_refused_with_their_place() {
    let rule = json!({"ruleId": "r", "nodes": [{"nodeId": "n", "script": 1, "timeoutSecs": 0, "retryPolicy": {"backoffMs": 1}}]});
    let found = told(json!({"rules": [rule]}));
    assert_eq!(
        found,
        [
            "workflow r refused at /rules/0: missing_key None",
            "workflow r refused at /rules/0/nodes/0/timeoutSecs: unknown_key Some(\"did you mean \\\"timeoutSec\\\"?\")",
            "workflow r refused at /rules/0/nodes/0/script: wrong_type None",
            "workflow r refused at /rules/0/nodes/0/retryPolicy/backoffMs: unknown_key Some(\"did you mean \\\"backoffMS\\\"?\")",
        ]
    );
}
