//! What a definition names outside of itself, and what is said about functions.

use serde_json::{Value, json};

use super::{accepted, with_actions, with_type};
use crate::flow::reference::{Candidate, FunctionCall, Target, judge, references};

#[test]
fn everything_outside_is_listed_with_its_place() {
    let local = |function: &str, args: Value| json!({"type": "local", "config": {"function": function, "args": args}});
    let mut first = local("app.f", json!(["${payload.a}", {"b": ["x ${payload.b}"]}, 1]));
    first["name"] = json!("a");
    first["compensate"] = json!({"type": "local", "config": {"function": "app.undo"}});
    let script = json!({"name": "b", "type": "lua", "config": {"script": "price@2"}});
    let inline = json!({"name": "c", "type": "lua", "config": {"source": "return {}"}});
    let queue = json!({"name": "d", "type": "message", "config": {"transport": "pgmq", "topic": "q"}});
    let channel = json!({"name": "e", "type": "message", "config": {"transport": "notify", "topic": "q"}});
    let child = json!({"name": "f", "type": "workflow", "config": {"workflowName": "other"}});
    let fork =
        json!({"name": "p", "type": "parallel", "branches": {"x": [script, inline, queue], "y": [channel, child]}});
    let workflow = accepted(&with_actions(json!([first, fork])));
    let found: Vec<(String, Target)> =
        references(&workflow).into_iter().map(|found| (found.pointer, found.target)).collect();
    let call = |name, arguments| Target::Function(FunctionCall { schema: "app", name, arguments });
    let expected = [
        ("/actions/0/config/function", call("f", Some(3))),
        ("/actions/0/compensate/config/function", call("undo", None)),
        ("/actions/1/branches/x/0/config/script", Target::Script { name: "price", version: Some(2) }),
        ("/actions/1/branches/x/1/config/source", Target::Source("return {}")),
        ("/actions/1/branches/x/2/config/transport", Target::Queue),
        ("/actions/1/branches/y/1/config/workflowName", Target::Workflow("other")),
    ];
    assert_eq!(found, expected.map(|(pointer, target)| (pointer.to_owned(), target)));
}

#[test]
fn an_empty_list_of_arguments_is_not_the_whole_context() {
    let workflow = accepted(&with_type("local", json!({"function": "a.b", "args": []})));
    let Target::Function(call) = references(&workflow)[0].target else { panic!("a function") };
    assert_eq!(call.arguments, Some(0));
}

fn plain(fewest: usize, most: usize) -> Candidate {
    Candidate { kind: 'f', returns_set: false, fewest, most, takes_jsonb: true, takes_json: true, callable: true }
}

fn verdict(arguments: Option<usize>, candidates: &[Candidate]) -> Option<&'static str> {
    let call = FunctionCall { schema: "app", name: "send", arguments };
    judge(&call, "/x", candidates, &["sent".to_owned()]).map(|problem| problem.code)
}

#[test]
fn exactly_one_function_must_fit() {
    assert_eq!(verdict(None, &[]), Some("unknown_function"));
    assert_eq!(verdict(None, &[plain(1, 1)]), None);
    assert_eq!(verdict(Some(2), &[plain(1, 1), plain(2, 2)]), None);
    assert_eq!(verdict(Some(2), &[plain(1, 1)]), Some("function_arguments"));
    assert_eq!(verdict(Some(0), &[plain(1, 1)]), Some("function_arguments"));
    assert_eq!(verdict(Some(1), &[plain(1, 3)]), None);
    assert_eq!(verdict(Some(1), &[plain(1, 1), plain(1, 2)]), None, "fewest parameters");
    assert_eq!(verdict(Some(1), &[plain(1, 1), plain(1, 1)]), Some("ambiguous_function"));
}

#[test]
fn the_context_needs_a_json_parameter() {
    let text = Candidate { takes_jsonb: false, takes_json: false, ..plain(1, 1) };
    let json = Candidate { takes_jsonb: false, ..plain(1, 1) };
    assert_eq!(verdict(None, std::slice::from_ref(&text)), Some("function_arguments"));
    assert_eq!(verdict(Some(1), std::slice::from_ref(&text)), None);
    assert_eq!(verdict(None, &[text, plain(1, 1)]), None);
    assert_eq!(verdict(None, std::slice::from_ref(&json)), None);
    assert_eq!(verdict(None, &[json, plain(1, 1)]), None);
}

#[test]
fn what_is_no_plain_function_or_not_allowed_is_told() {
    let one = plain(1, 1);
    assert_eq!(verdict(None, &[Candidate { kind: 'p', ..one.clone() }]), Some("not_a_function"));
    assert_eq!(verdict(None, &[Candidate { kind: 'a', ..one.clone() }]), Some("not_a_function"));
    assert_eq!(verdict(None, &[Candidate { returns_set: true, ..one.clone() }]), Some("not_a_function"));
    assert_eq!(verdict(None, &[Candidate { callable: false, ..one }]), Some("function_privilege"));
}

#[test]
fn a_misspelled_function_is_told_the_nearest_name() {
    let call = FunctionCall { schema: "app", name: "send_mesage", arguments: None };
    let problem = judge(&call, "/x", &[], &["pay".to_owned(), "send_message".to_owned()]).unwrap();
    assert_eq!(problem.hint.as_deref(), Some("did you mean \"send_message\"?"));
}
