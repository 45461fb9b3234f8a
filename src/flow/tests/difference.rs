//! What is told about two definitions that differ.

use serde_json::{Value, json};

use crate::flow::difference::{Difference, differences};

fn told(old: Value, new: Value) -> Vec<String> {
    let line = |row: &Difference| {
        let value = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let action = row.action.as_deref().unwrap_or("-");
        format!("{} {} {action} {} {}", row.pointer, row.change.as_str(), value(&row.old), value(&row.new))
    };
    differences(&old, &new).iter().map(line).collect()
}

fn action(name: &str) -> Value {
    json!({"name": name, "type": "http", "config": {"url": "http://h"}})
}

fn actions(names: &[&str]) -> Value {
    json!({"actions": names.iter().map(|name| action(name)).collect::<Vec<_>>()})
}

#[test]
fn equal_documents_have_no_difference() {
    assert_eq!(told(actions(&["a", "b"]), actions(&["a", "b"])), [] as [&str; 0]);
}

#[test]
fn members_are_added_removed_and_changed() {
    let found = told(json!({"a": 1, "b": {"x": [1, 2]}, "c/d": 1}), json!({"a": "1", "b": {"x": [1]}, "e": null}));
    assert_eq!(found, ["/a changed - 1 \"1\"", "/b/x/1 removed - 2 -", "/c~1d removed - 1 -", "/e added - - null"]);
}

#[test]
fn an_action_in_front_changes_no_other() {
    let found = told(actions(&["a", "b"]), actions(&["new", "a", "b"]));
    assert_eq!(found, [format!("/actions/0 added new - {}", action("new"))]);
}

#[test]
fn an_action_that_moved_is_told_once_and_compared_by_its_name() {
    let mut new = actions(&["b", "c", "a"]);
    new["actions"][0]["config"]["url"] = json!("http://other");
    let found = told(actions(&["a", "b", "c"]), new);
    assert_eq!(found, ["/actions/0/config/url changed b \"http://h\" \"http://other\"", "/actions/2 moved a 0 2"]);
}

#[test]
fn what_was_removed_is_told_by_its_old_place() {
    let found = told(actions(&["a", "b", "c"]), actions(&["a", "c"]));
    assert_eq!(found, [format!("/actions/1 removed b {} -", action("b"))]);
}

#[test]
fn actions_of_branches_are_matched_by_name_too() {
    let with = |names: &[&str]| {
        let inner = actions(names)["actions"].clone();
        json!({"actions": [{"name": "p", "type": "parallel", "branches": {"left": inner}}]})
    };
    let found = told(with(&["a", "b"]), with(&["b", "a"]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("/actions/0/branches/left/"), "{found:?}");
}

#[test]
fn lists_without_names_are_compared_by_position() {
    let found = told(json!({"x": [{"n": 1}, {"n": 2}]}), json!({"x": [{"n": 2}]}));
    assert_eq!(found, ["/x/0/n changed - 1 2", "/x/1 removed - {\"n\":2} -"]);
}

#[test]
fn names_that_repeat_do_not_name() {
    let twice = json!([{"name": "a", "x": 1}, {"name": "a", "x": 2}]);
    assert_eq!(told(twice, json!([{"name": "a", "x": 3}])).len(), 2);
}
