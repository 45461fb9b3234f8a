//! Retries: only the failed step, with growing delays, under a stable key; then
//! dead letters, which can be taken out again.

use std::time::Duration;

use rea_tests::scene::Attempt;
use rea_tests::workflow::{count, define, http, retries, with, workflow};
use rea_tests::{Answer, Config, PATIENCE, Scene, wait_until};
use serde_json::json;

fn outline(attempts: &[Attempt]) -> Vec<(&str, i32, &str, &str)> {
    attempts.iter().map(|a| (a.action.as_str(), a.number, a.status.as_str(), a.error_code.as_str())).collect()
}

#[test]
fn only_the_failed_step_is_tried_again_under_the_same_key_with_the_same_bytes() {
    let mut scene = Scene::open();
    scene.sink.fail_first("/second", 2, 503);
    let second = with(http("second", &scene.sink.url("/second")), "retryPolicy", retries(5, 150));
    scene.define("order.created", vec![http("first", &scene.sink.url("/first")), second]);
    scene.fire_with("order.created", "SO-1", &json!({"amount": 1.50, "name": "tea"}));
    let instance = scene.finish("SO-1");
    assert_eq!(instance.status, "SUCCESS");
    let attempts = scene.attempts("SO-1");
    let expected = [
        ("first", 1, "SUCCESS", ""),
        ("second", 1, "FAILED", "http_503"),
        ("second", 2, "FAILED", "http_503"),
        ("second", 3, "SUCCESS", ""),
    ];
    assert_eq!(outline(&attempts), expected);
    assert_eq!(scene.sink.requests_for("/first").len(), 1);
    let requests = scene.sink.requests_for("/second");
    assert_eq!(requests.len(), 3);
    for (index, request) in requests.iter().enumerate() {
        assert_eq!(request.key(), format!("{}_second", instance.id));
        let id = format!("{}_second_{}", instance.id, index + 1);
        assert_eq!(request.header("x-rea-req-id"), Some(id.as_str()));
        assert_eq!(request.body, requests[0].body);
    }
    for pair in requests.windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_millis(145), "a retry came too early");
    }
}

#[test]
fn an_instance_whose_retries_are_used_up_is_dead_until_it_is_taken_out() {
    let mut scene = Scene::open();
    scene.sink.always("/second", Answer::status(500));
    let second = with(http("second", &scene.sink.url("/second")), "retryPolicy", retries(2, 20));
    scene.define("order.created", vec![http("first", &scene.sink.url("/first")), second]);
    scene.fire("order.created", "SO-1");
    let dead = scene.finish("SO-1");
    assert_eq!((dead.status.as_str(), dead.error_code.as_str()), ("DEAD", "http_500"));
    assert_eq!(scene.sink.requests_for("/second").len(), 3);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_dead_letter"), 1);

    scene.sink.always("/second", Answer::status(200));
    let sql = format!("select rea.retry_instance('{}')", dead.id);
    scene.client.batch_execute(&sql).expect("it is dead");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_dead_letter"), 0);
    assert_eq!(scene.sink.requests_for("/first").len(), 1, "what was done is not done again");
    let requests = scene.sink.requests_for("/second");
    assert_eq!(requests[3].key(), requests[0].key());
    let last = format!("{}_second_4", dead.id);
    assert_eq!(requests[3].header("x-rea-req-id"), Some(last.as_str()));
}

#[test]
fn a_permanent_failure_is_not_tried_again() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::status(404));
    scene.define("order.created", vec![http("only", &scene.sink.url("/")), http("next", &scene.sink.url("/next"))]);
    scene.fire("order.created", "SO-1");
    let instance = scene.finish("SO-1");
    assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("FAILED", "http_404"));
    assert_eq!(scene.sink.count(), 1);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_dead_letter where status = 'FAILED'"), 1);
}

#[test]
fn a_retry_waits_as_long_as_the_downstream_asks() {
    let mut scene = Scene::open();
    scene.sink.on("/", |_, seen| match seen {
        0 => Answer::status(429).header("Retry-After", "2"),
        1 => Answer::status(503).header("Retry-After", "-3"),
        _ => Answer::status(200),
    });
    let only = with(http("only", &scene.sink.url("/")), "retryPolicy", retries(3, 100));
    scene.define("order.created", vec![only]);
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let requests = scene.sink.requests();
    assert!(requests[1].at - requests[0].at >= Duration::from_millis(1_950));
    assert!(requests[2].at - requests[1].at >= Duration::from_millis(95));
}

#[test]
fn an_instance_that_is_not_dead_cannot_be_retried() {
    let mut scene = Scene::open();
    scene.sink.always("/hang", Answer::Hang);
    scene.define("order.created", vec![http("only", &scene.sink.url("/hang"))]);
    scene.fire("order.created", "SO-1");
    let sink = &scene.sink;
    wait_until(PATIENCE, "the request is under way", || sink.in_flight() == 1);
    let id = scene.instance("SO-1").expect("it runs").id;
    for call in [format!("'{id}'"), "'00000000-0000-7000-8000-000000000000'".to_owned()] {
        let error = scene.cluster.psql_error("app", &format!("select rea.retry_instance({call})"));
        let expected = if call.contains(&id) { "55000" } else { "42704" };
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_failure_that_may_be_passed_over_does_not_stop_the_flow() {
    let mut scene = Scene::open();
    scene.sink.always("/first", Answer::status(404));
    let first = with(http("first", &scene.sink.url("/first")), "onError", json!("continue"));
    scene.define("order.created", vec![first, http("second", &scene.sink.url("/second"))]);
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let expected = [("first", 1, "FAILED", "http_404"), ("second", 1, "SUCCESS", "")];
    assert_eq!(outline(&scene.attempts("SO-1")), expected);
}

#[test]
fn a_step_that_asks_for_a_person_pauses_the_instance() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::status(404));
    let only = with(http("only", &scene.sink.url("/")), "onError", json!("pause"));
    scene.define("order.created", vec![only]);
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "PAUSED");
}

#[test]
fn the_deadline_ends_an_instance_that_waits_for_a_retry() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::status(503));
    let only = with(http("only", &scene.sink.url("/")), "retryPolicy", retries(5, 600_000));
    let flow = workflow("deadlineFlow", "order.created", vec![only]);
    define(&mut scene.client, &with(flow, "timeoutSeconds", json!(2)));
    scene.fire("order.created", "SO-1");
    let instance = scene.finish("SO-1");
    assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("FAILED", "deadline"));
    assert_eq!(scene.sink.count(), 1);
}

#[test]
fn the_deadline_ends_an_instance_whose_lane_is_blocked() {
    let mut scene = Scene::with(&Config::new().set("rea.lane_max_in_flight", "1"));
    scene.sink.always("/", Answer::Hang);
    let step = |name| {
        with(http(name, &scene.sink.url("/")), "config", json!({"url": scene.sink.url("/"), "timeoutMs": 60_000}))
    };
    let (stuck, waiting) = (step("stuck"), step("waiting"));
    scene.define("blocker.fired", vec![stuck]);
    let flow = workflow("waitingFlow", "order.created", vec![waiting]);
    define(&mut scene.client, &with(flow, "timeoutSeconds", json!(2)));
    scene.fire("blocker.fired", "B-1");
    wait_until(PATIENCE, "the lane is full", || scene.sink.in_flight() == 1);
    scene.fire("order.created", "SO-1");
    let instance = scene.finish("SO-1");
    assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("FAILED", "deadline"));
    assert_eq!(scene.sink.count(), 1, "it was never sent");
}

#[test]
fn delays_between_retries_double_and_stray_by_a_fifth_at_most() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::status(503));
    let only = with(http("only", &scene.sink.url("/")), "retryPolicy", json!({"maxRetries": 4, "backoffMs": 100}));
    scene.define("order.created", vec![only]);
    for order in 0..20 {
        scene.fire("order.created", &format!("SO-{order}"));
    }
    for order in 0..20 {
        assert_eq!(scene.finish(&format!("SO-{order}")).status, "DEAD");
    }
    let sql = "select attempt_no, (extract(epoch from next_retry_time - create_time) * 1000)::float8
               from rea.work_action_log where next_retry_time is not null";
    let rows = scene.client.query(sql, &[]).expect("the log");
    assert_eq!(rows.len(), 80);
    let mut delays = std::collections::HashSet::new();
    for row in rows {
        let (attempt, delay): (i32, f64) = (row.get(0), row.get(1));
        let planned = 100.0 * 2f64.powi(attempt - 1);
        assert!(delay >= 0.79 * planned && delay <= 1.21 * planned, "retry {attempt} after {delay} ms");
        delays.insert(delay as i64);
    }
    assert!(delays.len() > 20, "the delays are spread");
}

#[test]
fn a_fresh_key_is_used_only_when_it_is_asked_for() {
    let mut scene = Scene::open();
    scene.sink.on("/", |_, seen| Answer::status(if seen < 3 { 400 } else { 200 }));
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    scene.fire("order.created", "SO-1");
    let id = scene.finish("SO-1").id;
    for call in [format!("'{id}'"), format!("'{id}', fresh_key => true"), format!("'{id}', true")] {
        scene.cluster.psql("app", &format!("select rea.retry_instance({call})"));
        scene.finish("SO-1");
    }
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let keys: Vec<String> = scene.sink.requests().iter().map(|request| request.key().to_owned()).collect();
    let key = format!("{id}_only");
    assert_eq!(keys, [key.clone(), key.clone(), format!("{key}~2"), format!("{key}~3")]);
}
