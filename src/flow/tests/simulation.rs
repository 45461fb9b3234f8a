//! Whole workflows on the virtual clock: what happens, in which order, and when.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{accepted, step, with_actions};
use crate::flow::definition::Match;
use crate::flow::emit::Bounds;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::instance::Limits;
use crate::flow::outcome::Failure;
use crate::flow::parse::mocks::{self, Callee};
use crate::flow::simulation::{Database, Fault, Line, Settings, Stored, Subject, simulate};

/// Stands in for PostgreSQL: plain member paths, and `==` between such a path and a literal.
#[derive(Default)]
struct Members {
    workflows: BTreeMap<String, Value>,
}

fn member<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    path.trim().split('.').skip(1).try_fold(document, |value, name| value.get(name))
}

fn value(document: &Value, path: &str) -> Option<Value> {
    match path.split_once("==") {
        None => member(document, path).cloned(),
        Some((left, right)) => {
            let right: Value = serde_json::from_str(right.trim()).expect("a literal");
            Some(member(document, left).map_or(Value::Null, |found| (*found == right).into()))
        }
    }
}

impl Database for Members {
    type Error = ();

    fn evaluate(&mut self, document: &str, paths: &[Expression]) -> Result<Result<Vec<PathValue>, Failure>, ()> {
        let document: Value = serde_json::from_str(document).unwrap_or_else(|e| panic!("{e}: {document}"));
        let found = |path: &Expression| {
            let text = value(&document, &path.path).map(|value| value.to_string());
            PathValue { count: u32::from(text.is_some()), text }
        };
        Ok(Ok(paths.iter().map(found).collect()))
    }

    fn matches(&mut self, document: &str, matching: &Match) -> Result<bool, ()> {
        let document: Value = serde_json::from_str(document).expect("a document");
        Ok(match matching {
            Match::Contains(object) => {
                let wanted: Value = serde_json::from_str(object).expect("an object");
                wanted
                    .as_object()
                    .expect("an object")
                    .iter()
                    .all(|(key, value)| document["payload"].get(key) == Some(value))
            }
            Match::Path(path) => value(&document, path) == Some(json!(true)),
        })
    }

    fn time(&mut self, text: &str) -> Result<(DateTime<Utc>, String), ()> {
        let time: DateTime<Utc> = text.parse().map_err(|_| ())?;
        Ok((time, json!(time.to_rfc3339()).to_string()))
    }

    fn workflow(&mut self, name: &str) -> Result<Option<Stored>, ()> {
        let stored = |definition| Stored { version: 7, enabled: true, workflow: Some(accepted(definition)) };
        Ok(self.workflows.get(name).map(stored))
    }
}

fn play_in(mut database: Members, definition: &Value, event: &Value, mocked: Value) -> Result<Vec<Line>, Fault<()>> {
    let workflow = accepted(definition);
    let callees = mocks::callees(&workflow);
    let (mocks, problems) = mocks::read(&mocked, &callees);
    assert_eq!(problems, []);
    let event = mocks::read_event(event).0.expect("an event");
    let settings = Settings {
        limits: Limits::default(),
        bounds: Bounds { max_causation_depth: 4, max_payload_bytes: 10_000 },
        max_output_bytes: 1_000,
        max_context_bytes: 10_000,
        action_timeout_ms: 10_000,
        version: "0",
    };
    let now = "2026-03-01T00:00:00Z".parse().expect("a time");
    simulate(&mut database, &Subject { workflow, version: 1, event, mocks }, &settings, now)
}

fn play(definition: &Value, mocked: Value) -> Vec<Line> {
    let event = json!({"event_type": "a.b", "biz_key": "k", "payload": {"n": 1, "list": [10, 20, 30]}});
    play_in(Members::default(), definition, &event, mocked).expect("it ends")
}

/// `ms path? subject attempt status code` of each attempt, and `ms subject status` of everything else.
fn told(lines: &[Line]) -> Vec<String> {
    let one = |line: &Line| {
        let at = line.at.num_milliseconds();
        let inner = line.path.split_once('/').map(|(_, rest)| format!("{rest} ")).unwrap_or_default();
        let code = line.error_code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        match line.attempt_no {
            Some(number) => format!("{at} {inner}{} {number} {}{code}", line.subject, line.status),
            None => format!("{at} {inner}{} {}{code}", line.subject, line.status),
        }
    };
    lines.iter().skip(1).map(one).collect()
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

#[test]
fn a_retry_waits_for_its_back_off_and_shows_the_same_request() {
    let second = with(step("b"), "retryPolicy", json!({"maxRetries": 2, "backoffMs": 100, "jitter": 0.5}));
    let mut second = with(second, "output", json!({"id": "${response.body.id}"}));
    second["config"]["timeoutMs"] = json!(1_000);
    let definition = with(with_actions(json!([step("a"), second])), "output", json!({"id": "${steps.b.output.id}"}));
    let lines = play(
        &definition,
        json!({"actions": {"b": [
        {"status": 503, "costMs": 30}, {"fail": "timeout"}, {"status": 200, "body": {"id": 7}}]}}),
    );
    let expected =
        ["0 a 1 SUCCESS", "30 b 1 FAILED http_503", "1130 b 2 FAILED timeout", "1330 b 3 SUCCESS", "1330 w SUCCESS"];
    assert_eq!(told(&lines), expected);
    let requests: Vec<_> = lines.iter().filter(|line| line.subject == "b").map(|line| line.request.clone()).collect();
    assert!(requests.windows(2).all(|pair| pair[0] == pair[1] && pair[0].is_some()));
    let request: Value = serde_json::from_str(requests[0].as_deref().unwrap_or_default()).expect("JSON");
    assert_eq!(request["headers"]["Idempotency-Key"], "00000000-0000-0000-0000-000000000001_b");
    assert_eq!(request["body"]["n"], 1);
    assert_eq!(lines.last().and_then(|line| line.output.as_deref()), Some("{\"id\":7}"));
}

#[test]
fn branches_run_side_by_side_and_their_steps_are_known_afterwards() {
    let fork = json!({"name": "both", "type": "parallel", "branches": {
        "x": [with(step("x1"), "output", json!({"v": "${response.body}"})), step("x2")], "y": [step("y1")]}});
    let after = with(step("after"), "when", json!("$.steps.x1.output.v == 5"));
    let lines = play(
        &with_actions(json!([fork, after])),
        json!({"actions": {
        "x1": {"status": 200, "body": 5}, "y1": {"status": 200}}}),
    );
    let expected = [
        "0 w WAITING",
        "0 both.x x1 1 SUCCESS",
        "0 both.x x2 1 SUCCESS",
        "0 both.x w SUCCESS",
        "0 both.y y1 1 SUCCESS",
        "0 both.y w SUCCESS",
        "0 both 1 SUCCESS",
        "0 after 1 SUCCESS",
        "0 w SUCCESS",
    ];
    let order = |found: &[String]| {
        let mut sorted = found.to_vec();
        sorted.sort();
        sorted
    };
    assert_eq!(order(&told(&lines)), order(&expected.map(str::to_owned)));
    assert_eq!(told(&lines).last().map(String::as_str), Some("0 w SUCCESS"));
}

#[test]
fn a_foreach_keeps_its_bound_and_its_items_can_be_mocked_one_by_one() {
    let mut inner = step("one");
    inner["config"]["timeoutMs"] = json!(1_000);
    inner["config"]["body"] = json!({"item": "${item}"});
    let each = json!({"name": "each", "type": "foreach",
                      "config": {"items": "${payload.list}", "maxConcurrency": 2, "actions": [inner]}});
    let lines = play(
        &with_actions(json!([each])),
        json!({"actions": {
        "one": {"status": 200, "costMs": 10}, "one[0]": {"status": 200, "costMs": 15}, "one[1]": {"status": 404, "costMs": 5}}}),
    );
    let attempts: Vec<String> = told(&lines).into_iter().filter(|line| line.contains(" one ")).collect();
    let expected = ["5 each[1] one 1 FAILED http_404", "15 each[0] one 1 SUCCESS", "15 each[2] one 1 SUCCESS"];
    assert_eq!(attempts, expected);
    assert!(told(&lines).contains(&"15 each 1 FAILED branch_failed".to_owned()));
    let bodies: Vec<bool> = [20, 10, 30]
        .iter()
        .map(|item| lines.iter().any(|l| l.request.as_ref().is_some_and(|r| r.contains(&format!("\"item\":{item}")))))
        .collect();
    assert_eq!(bodies, [true; 3]);
}

#[test]
fn a_wait_ends_with_its_event_or_with_its_time() {
    let wait = json!({"name": "paid", "type": "wait", "config": {
        "any": [{"eventType": "order.paid", "match": {"ok": true}}, {"eventType": "order.gone"}], "timeoutSeconds": 60, "onTimeout": "continue"}});
    let after = with(step("after"), "when", json!("$.steps.paid.output.eventType == \"order.paid\""));
    let definition = with_actions(json!([wait, after]));
    let paid = |after: f64, key: &str, ok: bool| json!({"afterSeconds": after, "event_type": "order.paid", "biz_key": key, "payload": {"ok": ok}});
    let events = json!([paid(1.0, "other", true), paid(2.0, "k", false), paid(5.5, "k", true)]);
    let lines = told(&play(&definition, json!({"events": events})));
    let expected = ["5500 order.paid ARRIVED", "5500 paid 1 SUCCESS", "5500 after 1 SUCCESS", "5500 w SUCCESS"];
    assert_eq!(lines[lines.len() - 4..], expected);
    let lines = told(&play(&definition, json!({})));
    assert_eq!(lines, ["0 w WAITING", "60000 paid 1 SUCCESS", "60000 after 0 SKIPPED", "60000 w SUCCESS"]);
    let early = json!({"events": [paid(-59.0, "k", true)]});
    assert!(told(&play(&definition, early)).contains(&"0 paid 1 SUCCESS".to_owned()), "the wait looks back");
    let too_early = json!({"events": [paid(-61.0, "k", true)]});
    assert!(told(&play(&definition, too_early)).contains(&"60000 paid 1 SUCCESS".to_owned()));
}

#[test]
fn what_was_done_is_undone_in_reverse_and_the_unknown_too() {
    let undo = |name: &str| json!({"type": "http", "config": {"url": format!("http://h.test/{name}"), "timeoutMs": 1}});
    let a = with(step("a"), "compensate", undo("ua"));
    let b = with(with(step("b"), "compensate", undo("ub")), "retryPolicy", json!({"maxRetries": 0}));
    let lines = play(
        &with_actions(json!([a, b])),
        json!({"actions": {
        "b": {"fail": "timeout"}, "a~undo": [{"status": 500}, {"status": 200}]}}),
    );
    let expected = [
        "0 a 1 SUCCESS",
        "1 b 1 FAILED timeout",
        "1 w COMPENSATING",
        "1 b~undo 1 SUCCESS",
        "1 a~undo 1 FAILED http_500",
        "1001 a~undo 2 SUCCESS",
        "1001 w DEAD timeout",
    ];
    assert_eq!(told(&lines), expected);
    assert!(lines.last().is_some_and(|line| line.detail.ends_with("compensation done")));
}

#[test]
fn the_deadline_ends_what_waits_and_cuts_what_runs() {
    let mut slow = step("slow");
    slow["config"]["timeoutMs"] = json!(5_000);
    let definition = with(with_actions(json!([slow.clone()])), "timeoutSeconds", json!(2));
    let lines = told(&play(&definition, json!({"actions": {"slow": {"fail": "timeout"}}})));
    assert_eq!(lines, ["2000 slow 1 FAILED timeout", "2000 w FAILED deadline"]);
    let wait = json!({"name": "still", "type": "wait", "config": {"all": [{"eventType": "x"}]}});
    let definition = with(with_actions(json!([wait])), "timeoutSeconds", json!(2));
    assert_eq!(told(&play(&definition, json!({}))), ["0 w WAITING", "2000 w FAILED deadline"]);
    let fork = json!({"name": "both", "type": "parallel", "branches": {"x": [
        {"name": "in", "type": "wait", "config": {"all": [{"eventType": "x"}]}}], "y": [step("y1")]}});
    let definition = with(with_actions(json!([fork])), "timeoutSeconds", json!(2));
    let lines = told(&play(&definition, json!({})));
    assert!(lines.contains(&"2000 both.x w FAILED deadline".to_owned()), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("2000 w FAILED deadline"));
}

#[test]
fn the_first_success_of_any_cancels_the_others() {
    let mut slow = step("slow");
    slow["config"]["timeoutMs"] = json!(1_000);
    let fork = json!({"name": "race", "type": "parallel", "join": "any", "branches": {"x": [step("quick")], "y": [slow, step("never")]}});
    let lines = told(&play(&with_actions(json!([fork])), json!({"actions": {"slow": {"status": 200, "costMs": 100}}})));
    assert!(lines.contains(&"0 race 1 SUCCESS".to_owned()), "{lines:?}");
    assert!(lines.contains(&"100 race.y w CANCELLED cancelled".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("never")));
}

#[test]
fn an_error_may_pause_the_instance_or_let_it_go_on() {
    let failing = |on_error: &str| with_actions(json!([with(step("a"), "onError", json!(on_error)), step("b")]));
    let mocked = json!({"actions": {"a": {"status": 404}}});
    let lines = play(&failing("pause"), mocked.clone());
    assert_eq!(told(&lines), ["0 a 1 FAILED http_404", "0 w PAUSED"]);
    assert_eq!(told(&play(&failing("continue"), mocked)), ["0 a 1 FAILED http_404", "0 b 1 SUCCESS", "0 w SUCCESS"]);
}

#[test]
fn a_child_workflow_is_played_unless_it_is_mocked() {
    let mut database = Members::default();
    let inner = with(with_actions(json!([step("i")])), "output", json!({"n": "${payload.m}"}));
    database.workflows.insert("inner".to_owned(), with(inner, "workflowName", json!("inner")));
    let child = json!({"name": "c", "type": "workflow", "config": {"workflowName": "inner", "payload": {"m": "${payload.n}"}},
                       "output": {"n": "${response.body.n}"}});
    let definition = with(with_actions(json!([child])), "output", json!({"n": "${steps.c.output.n}"}));
    let event = json!({"event_type": "a.b", "biz_key": "k", "payload": {"n": 4}});
    let lines = play_in(database, &definition, &event, json!({})).expect("it ends");
    let expected = ["0 w WAITING", "0 c i 1 SUCCESS", "0 c inner SUCCESS", "0 c 1 SUCCESS", "0 w SUCCESS"];
    assert_eq!(told(&lines), expected);
    assert_eq!(lines.last().and_then(|line| line.output.as_deref()), Some("{\"n\":4}"));
    let lines = play(&definition, json!({"actions": {"c": {"result": {"n": 9}, "costMs": 3}}}));
    assert_eq!(told(&lines), ["3 c 1 SUCCESS", "3 w SUCCESS"]);
    let lines = play(&definition, json!({"actions": {"c": {"error": {"code": "oops"}}}}));
    assert_eq!(told(&lines), ["0 c 1 FAILED branch_failed", "0 w FAILED branch_failed"]);
}

#[test]
fn an_event_of_cancel_on_ends_it_and_an_emitted_event_completes_its_own_waits() {
    let wait = json!({"name": "still", "type": "wait", "config": {"all": [{"eventType": "x"}]}});
    let definition = with(with_actions(json!([wait.clone()])), "cancelOn", json!([{"eventType": "stop"}]));
    let lines = told(&play(&definition, json!({"events": [{"afterMs": 7, "event_type": "stop", "biz_key": "k"}]})));
    assert_eq!(lines, ["0 w WAITING", "7 stop ARRIVED", "7 w CANCELLED cancelled"]);
    let emit = json!({"name": "say", "type": "emit", "config": {"eventType": "x"}});
    let fork = json!({"name": "both", "type": "parallel", "branches": {"x": [wait], "y": [emit]}});
    let lines = told(&play(&with_actions(json!([fork])), json!({})));
    assert!(lines.contains(&"0 both.x still 1 SUCCESS".to_owned()), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("0 w SUCCESS"));
}

#[test]
fn a_workflow_that_starts_itself_without_end_is_stopped() {
    let again = json!({"name": "again", "type": "workflow", "config": {"workflowName": "w"}});
    let lines = told(&play(&with_actions(json!([again])), json!({})));
    assert!(lines.iter().any(|line| line.ends_with("again 1 FAILED causation_depth")), "{lines:?}");
    let stubborn = |number: usize| {
        let policy = json!({"maxRetries": 1_000, "backoffMs": 1});
        with(with(step(&format!("a{number}")), "retryPolicy", policy), "onError", json!("continue"))
    };
    let definition = with_actions((0..6).map(stubborn).collect());
    let event = json!({"event_type": "a.b", "biz_key": "k"});
    let found = play_in(Members::default(), &definition, &event, json!({"default": {"status": 500}}));
    assert_eq!(found, Err(Fault::TooManySteps));
}

#[test]
fn mocks_that_cannot_be_used_are_refused_with_advice() {
    let workflow = accepted(&with_actions(
        json!([step("deductStock"), {"name": "s", "type": "wait", "config": {"durationSeconds": 1}}]),
    ));
    let callees = mocks::callees(&workflow);
    assert_eq!(callees.get("deductStock"), Some(&Callee::Http));
    let refused = |mocked: Value| {
        let line = |problem: &crate::flow::problem::Problem| {
            format!("{} {} {}", problem.code, problem.pointer, problem.hint.clone().unwrap_or_default())
        };
        mocks::read(&mocked, &callees).1.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(refused(json!({"action": {}})), ["unknown_key /action did you mean \"actions\"?"]);
    assert_eq!(
        refused(json!({"actions": {"deductStok": {"status": 200}}})),
        ["unknown_action /actions/deductStok did you mean \"deductStock\"?"]
    );
    assert_eq!(
        refused(json!({"actions": {"s": {"result": 1}}})),
        ["invalid_value /actions/s it calls nobody; what a wait waits for is listed under \"events\""]
    );
    assert_eq!(
        refused(json!({"actions": {"deductStock[0]": {"status": 200, "costMS": 1}}})),
        ["unknown_key /actions/deductStock[0]/costMS did you mean \"costMs\"?"]
    );
    assert_eq!(refused(json!({"actions": {"deductStock": []}})), ["invalid_value /actions/deductStock "]);
    assert_eq!(
        refused(json!({"actions": {"deductStock": {"fail": "time"}}})),
        ["invalid_value /actions/deductStock/fail "]
    );
    assert_eq!(refused(json!({"events": [{"event_type": "a", "biz_key": "b"}]})), ["missing_key /events/0 "]);
    let event = mocks::read_event(&json!({"eventType": "a", "biz_key": "b"})).1;
    assert_eq!(event[0].hint.as_deref(), Some("did you mean \"event_type\"?"));
}
