//! What `parallel`, `foreach` and `switch` mean, what their actions see, and what is refused in them.

use serde_json::{Value, json};

use super::refused::refused;
use super::{accepted, found, reader, step, with_actions, with_type};
use crate::flow::definition::{Block, Perform, Workflow};
use crate::flow::parse::{path_uses, placed_actions};
use crate::flow::perform::{Branches, ForkAction, Join, OnBranchFailure};

/// The example of the language's description.
const EXAMPLE: &str = include_str!("example.json");

fn fork(workflow: &Workflow) -> &ForkAction {
    match &workflow.actions[0].perform {
        Perform::Fork(fork) => fork,
        other => panic!("a fork, not {other:?}"),
    }
}

fn parallel(branches: Value) -> Value {
    json!({"name": "p", "type": "parallel", "branches": branches})
}

fn foreach(actions: Value) -> Value {
    json!({"name": "each", "type": "foreach", "config": {"items": "${payload.items}", "actions": actions}})
}

fn switch(cases: Value, default: Value) -> Value {
    json!({"name": "s", "type": "switch", "config": {"cases": cases, "default": default}})
}

fn outline(blocks: &[Block]) -> Vec<(&str, &str, usize)> {
    blocks.iter().map(|block| (block.parent_action.as_str(), block.branch.as_str(), block.actions.len())).collect()
}

#[test]
fn the_example_of_the_language_is_accepted_as_it_stands() {
    let example: Value = serde_json::from_str(EXAMPLE).unwrap();
    let workflow = accepted(&example);
    assert_eq!(outline(&workflow.blocks), [("fanOut", "points", 1), ("fanOut", "message", 1)]);
    assert_eq!(found(&example), ["compensation_unsaid /actions/1/branches/points/0"]);
    assert_eq!(workflow.all_actions().count(), 6);
}

#[test]
fn branches_become_blocks() {
    let workflow = accepted(&with_actions(json!([parallel(json!({"x": [step("a")], "y": [step("b"), step("c")]}))])));
    assert_eq!(outline(&workflow.blocks), [("p", "x", 1), ("p", "y", 2)]);
    let expected = ForkAction {
        branches: Branches::Parallel(vec![("x".to_owned(), 0), ("y".to_owned(), 1)]),
        join: Join::All,
        on_branch_failure: OnBranchFailure::Wait,
    };
    assert_eq!(fork(&workflow), &expected);
    assert_eq!(workflow.block("p", "y"), Some(1));
    let mut stated = parallel(json!({"x": [step("a")]}));
    stated["join"] = json!("any");
    stated["onBranchFailure"] = json!("cancel");
    let workflow = accepted(&with_actions(json!([stated])));
    assert_eq!((fork(&workflow).join, fork(&workflow).on_branch_failure), (Join::Any, OnBranchFailure::Cancel));
}

#[test]
fn a_foreach_runs_its_block_for_each_item() {
    let mut action = foreach(json!([step("a")]));
    let workflow = accepted(&with_actions(json!([action])));
    let expected = Branches::ForEach { items: 0, max_concurrency: 10, block: 0 };
    assert_eq!(fork(&workflow).branches, expected);
    assert_eq!(workflow.actions[0].paths[0].path, "$.payload.items");
    assert_eq!(workflow.block("each", "17"), Some(0));
    action["config"]["maxConcurrency"] = json!(1_000);
    assert!(matches!(
        fork(&accepted(&with_actions(json!([action])))).branches,
        Branches::ForEach { max_concurrency: 1_000, .. }
    ));
}

#[test]
fn a_switch_takes_the_first_true_case() {
    let case = |name: &str, when: &str| json!({"when": when, "actions": [step(name)]});
    let cases = json!([case("a", "payload.n > 1"), case("b", "payload.n > 0")]);
    let workflow = accepted(&with_actions(json!([switch(cases.clone(), json!([step("c")]))])));
    assert_eq!(outline(&workflow.blocks), [("s", "0", 1), ("s", "1", 1), ("s", "default", 1)]);
    assert_eq!(fork(&workflow).branches, Branches::Switch { cases: vec![(0, 0), (1, 1)], default: Some(2) });
    let mut without = switch(cases, json!([]));
    without["config"].as_object_mut().unwrap().remove("default");
    let workflow = accepted(&with_actions(json!([without])));
    assert_eq!(fork(&workflow).branches, Branches::Switch { cases: vec![(0, 0), (1, 1)], default: None });
}

#[test]
fn blocks_inside_blocks_are_numbered_depth_first() {
    let inner = json!({"name": "q", "type": "parallel", "branches": {"u": [step("a")]}});
    let definition = with_actions(json!([parallel(json!({"x": [inner, reader("b", "a")], "y": [step("c")]}))]));
    let workflow = accepted(&definition);
    assert_eq!(outline(&workflow.blocks), [("p", "x", 2), ("q", "u", 1), ("p", "y", 1)]);
    let pointers: Vec<String> = placed_actions(&workflow).into_iter().map(|placed| placed.pointer).collect();
    let expected = [
        "/actions/0",
        "/actions/0/branches/x/0",
        "/actions/0/branches/x/0/branches/u/0",
        "/actions/0/branches/x/1",
        "/actions/0/branches/y/0",
    ];
    assert_eq!(pointers, expected);
    for placed in placed_actions(&workflow) {
        assert_eq!(definition.pointer(&placed.pointer).unwrap()["name"], placed.action.name.as_str());
    }
}

#[test]
fn places_are_right_in_every_kind_of_block() {
    let undone = json!({"name": "u", "type": "emit", "config": {"eventType": "x"},
                        "compensate": {"type": "emit", "config": {"eventType": "y"}}});
    let cases = json!([{"when": "payload.n > 1", "actions": [reader("b", "u")]}]);
    let definition = with_actions(json!([undone, switch(cases, json!([foreach(json!([step("c")]))]))]));
    let workflow = accepted(&definition);
    for placed in placed_actions(&workflow) {
        let name = definition.pointer(&placed.pointer).unwrap().get("name").and_then(Value::as_str);
        assert_eq!(name.unwrap_or("u~undo"), placed.action.name, "{}", placed.pointer);
    }
    assert!(path_uses(&workflow).iter().all(|used| definition.pointer(&used.pointer).is_some()));
}

#[test]
fn what_a_branch_did_is_seen_afterwards_but_not_beside_it() {
    let beside = |other: &str| with_actions(json!([parallel(json!({"x": [step("a")], "y": [reader("b", other)]}))]));
    refused(beside("a"), "unknown_step", "/actions/0/branches/y/0/config/body/x", "branches do not see each other");
    refused(beside("p"), "unknown_step", "/actions/0/branches/y/0/config/body/x", "not over yet");
    for other in ["a", "b", "p"] {
        let fork = parallel(json!({"x": [step("a")], "y": [step("b")]}));
        accepted(&with_actions(json!([fork, reader("c", other)])));
    }
    accepted(&with_actions(json!([step("a"), parallel(json!({"x": [reader("b", "a"), reader("c", "b")]}))])));
    let cases = json!([{"when": "payload.n > 1", "actions": [step("a")]}]);
    accepted(&with_actions(json!([switch(cases, json!([step("b")])), reader("c", "a"), reader("d", "b")])));
}

#[test]
fn what_a_foreach_did_is_seen_inside_it_only() {
    accepted(&with_actions(json!([foreach(json!([step("a"), reader("b", "a")]))])));
    let after = with_actions(json!([foreach(json!([step("a")])), reader("b", "a")]));
    refused(after, "unknown_step", "/actions/1/config/body/x", "nothing outside a foreach");
    accepted(&with_actions(json!([foreach(json!([step("a")])), reader("b", "each")])));
}

#[test]
fn items_exist_inside_a_foreach_only() {
    let mut inside = step("a");
    inside["config"]["body"] = json!({"i": "${item.sku}", "n": "${index}"});
    inside["compensate"] = json!({"type": "emit", "config": {"eventType": "x", "payload": "${item}"}});
    accepted(&with_actions(json!([foreach(json!([inside]))])));
    let nested = parallel(json!({"x": [inside]}));
    accepted(&with_actions(json!([foreach(json!([nested]))])));
    let mut outside = step("b");
    outside["config"]["body"] = json!("${item}");
    let after = with_actions(json!([foreach(json!([step("a")])), outside]));
    refused(after, "out_of_scope", "/actions/1/config/body", "inside foreach only");
}

#[test]
fn names_are_unique_in_all_blocks() {
    let definition = with_actions(json!([parallel(json!({"x": [step("a")], "y": [step("a")]}))]));
    refused(definition, "duplicate_name", "/actions/0/branches/y/0/name", "already");
    let definition = with_actions(json!([foreach(json!([step("each")]))]));
    refused(definition, "duplicate_name", "/actions/0/config/actions/0/name", "already");
}

#[test]
fn keys_in_the_wrong_place_are_told_their_own() {
    let branches = json!({"x": [step("a")]});
    let inside = with_type("parallel", json!({"branches": branches}));
    assert_eq!(found(&inside), ["unknown_key /actions/0/config/branches", "missing_key /actions/0"]);
    let mut beside = foreach(json!([step("a")]));
    beside["maxConcurrency"] = json!(3);
    let definition = with_actions(json!([beside]));
    refused(definition, "unknown_key", "/actions/0/maxConcurrency", "move \"maxConcurrency\" into \"config\"");
    let mut beside = parallel(branches);
    beside["config"] = json!({"join": "any"});
    refused(with_actions(json!([beside])), "unknown_key", "/actions/0/config/join", "beside \"config\"");
}

#[test]
fn bad_blocks_are_refused() {
    refused(with_actions(json!([parallel(json!({}))])), "out_of_range", "/actions/0/branches", "1 to 100");
    refused(with_actions(json!([parallel(json!([]))])), "wrong_type", "/actions/0/branches", "object");
    let branch = |branch: Value| with_actions(json!([parallel(json!({"x": branch}))]));
    refused(branch(json!([])), "out_of_range", "/actions/0/branches/x", "at least one");
    refused(branch(json!({})), "wrong_type", "/actions/0/branches/x", "array");
    let named = with_actions(json!([parallel(json!({"a-b": [step("a")]}))]));
    refused(named, "invalid_name", "/actions/0/branches/a-b", "branch");
    for items in [json!([1, 2]), json!("payload.items"), json!("x ${payload.items}"), json!(null)] {
        let mut action = foreach(json!([step("a")]));
        action["config"]["items"] = items;
        refused(with_actions(json!([action])), "invalid_value", "/actions/0/config/items", "${payload.items}");
    }
    let mut wide = foreach(json!([step("a")]));
    wide["config"]["maxConcurrency"] = json!(0);
    refused(with_actions(json!([wide])), "out_of_range", "/actions/0/config/maxConcurrency", "1 to 1000");
    let empty = with_actions(json!([switch(json!([]), json!([step("a")]))]));
    refused(empty, "out_of_range", "/actions/0/config/cases", "1 to 100");
    let without = with_actions(json!([switch(json!([{"actions": [step("a")]}]), json!([step("b")]))]));
    refused(without, "missing_key", "/actions/0/config/cases/0", "\"when\"");
    let truth = json!([{"when": "payload.x", "actions": [step("a")]}]);
    refused(
        with_actions(json!([switch(truth, json!([step("b")]))])),
        "not_a_predicate",
        "/actions/0/config/cases/0/when",
        "true",
    );
}

/// A foreach around a foreach, `depth` levels in all.
fn nested(depth: usize) -> Value {
    let mut actions = json!([step("leaf")]);
    for level in 0..depth {
        actions = json!([{"name": format!("l{level}"), "type": "foreach",
                          "config": {"items": "${payload.items}", "actions": actions}}]);
    }
    with_actions(actions)
}

#[test]
fn depth_and_number_are_bounded() {
    accepted(&nested(16));
    let problems = super::problems(&nested(17));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("16 levels"), "{problems:?}");
    assert!(super::problems(&nested(35)).iter().any(|problem| problem.message.contains("16 levels")));
    let many: Vec<Value> = (0..1_000).map(|n| step(&format!("a{n}"))).collect();
    refused(with_actions(json!([parallel(json!({"x": many}))])), "out_of_range", "/actions", "1001");
    let fits: Vec<Value> = (0..999).map(|n| step(&format!("a{n}"))).collect();
    accepted(&with_actions(json!([parallel(json!({"x": fits}))])));
}
