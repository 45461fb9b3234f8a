//! What an instance did is undone when it fails for good: the right actions, in
//! order, once, also when the server crashes in the middle of it.

use std::collections::BTreeMap;
use std::time::Duration;

use postgres::Client;
use rea_tests::cluster::DATABASE;
use rea_tests::workflow::{count, define, http, retries, with};
use rea_tests::{Answer, Config, PATIENCE, Scene, invariant, wait_until};
use serde_json::{Value, json};

/// A request to `/do/<name>` that is undone by one to `/undo/<name>`.
fn step(scene: &Scene, name: &str) -> Value {
    let undo = json!({"type": "http", "config": {"url": scene.sink.url(&format!("/undo/{name}")), "timeoutMs": 5000}});
    with(http(name, &scene.sink.url(&format!("/do/{name}"))), "compensate", undo)
}

fn failing(scene: &Scene) -> Value {
    scene.sink.always("/fail", Answer::status(400));
    http("fail", &scene.sink.url("/fail"))
}

/// Status, code and compensation of the roots of a key.
fn end(client: &mut Client, biz_key: &str) -> (String, String, String) {
    let sql = "select status, coalesce(error_code, ''), coalesce(compensation, '') from rea.work_instance
               where biz_key = $1 and parent_instance_id is null";
    let row = client.query_one(sql, &[&biz_key]).expect("one instance");
    (row.get(0), row.get(1), row.get(2))
}

fn ends(client: &mut Client, biz_key: &str) -> (String, String, String) {
    let sql = "select count(*) from rea.work_instance where biz_key = $1 and parent_instance_id is null
               and end_time is not null";
    wait_until(PATIENCE, &format!("{biz_key} has ended"), || {
        client.query_one(sql, &[&biz_key]).expect("work_instance").get::<_, i64>(0) == 1
    });
    invariant::settle(client, PATIENCE);
    invariant::check(client);
    end(client, biz_key)
}

fn is(end: &(String, String, String), expected: (&str, &str, &str)) {
    assert_eq!((end.0.as_str(), end.1.as_str(), end.2.as_str()), expected);
}

/// Names of the undo requests in the order of arrival.
fn undone(scene: &Scene) -> Vec<String> {
    let name = |path: &str| path.trim_start_matches("/undo/").to_owned();
    scene.sink.requests_for("/undo/").iter().map(|request| name(&request.path)).collect()
}

fn cancel(client: &mut Client, biz_key: &str, compensate: bool) {
    let sql = "select rea.cancel_instance(instance_id, compensate => $2) from rea.work_instance
               where biz_key = $1 and parent_instance_id is null";
    client.execute(sql, &[&biz_key, &compensate]).expect("cancelled");
}

fn nap() -> Value {
    json!({"name": "nap", "type": "wait", "config": {"durationSeconds": 600}})
}

#[test]
fn a_crash_in_the_middle_neither_forgets_nor_repeats_an_undo() {
    const NUMBER: usize = 60;
    let mut scene = Scene::with(&Config::new().set("rea.workers", "2").set("rea.poll_interval", "200ms"));
    scene.sink.always("/undo/", Answer::status(200).after(Duration::from_millis(40)));
    let fan = json!({"name": "fan", "type": "parallel", "branches": {
        "left": [step(&scene, "left1"), step(&scene, "left2")], "right": [step(&scene, "right")]}});
    let actions = vec![step(&scene, "first"), fan, step(&scene, "last"), failing(&scene)];
    scene.define("order.created", actions);
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, '{}')) from generate_series(1, $1::int4) g";
    scene.client.execute(sql, &[&(NUMBER as i32)]).expect("fired");
    for goal in [40, 120, 220] {
        let sink = &scene.sink;
        wait_until(2 * PATIENCE, "some is undone", || sink.requests_for("/undo/").len() >= goal);
        let pid = *scene.cluster.worker_pids(DATABASE).first().expect("a worker is running");
        scene.cluster.kill_9(pid);
        scene.reconnect();
        wait_until(PATIENCE, "a worker is running", || !scene.workers().is_empty());
    }
    let failed = "select count(*) from rea.work_instance where status = 'FAILED' and compensation = 'done'";
    let client = &mut scene.client;
    wait_until(3 * PATIENCE, "all are undone", || count(client, failed) == NUMBER as i64);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    let undos = "select count(*) from rea.work_action_log where action_name like '%~undo' and status = 'SUCCESS'";
    assert_eq!(count(&mut scene.client, undos), 5 * NUMBER as i64);
    // The key of an undo names the instance that did it; the order is that of the whole tree.
    let mut by_event: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for request in scene.sink.requests_for("/undo/") {
        let event = request.header("x-rea-event-id").expect("an event id").to_owned();
        let list = by_event.entry(event).or_default();
        let entry = (request.path.clone(), request.key().to_owned());
        if list.last() != Some(&entry) {
            list.push(entry);
        }
    }
    assert_eq!(by_event.len(), NUMBER);
    for list in by_event.values() {
        let names: Vec<&str> = list.iter().map(|(path, _)| path.trim_start_matches("/undo/")).collect();
        assert_eq!((names[0], names[4], names.len()), ("last", "first", 5), "{names:?}");
        let place = |name: &str| names.iter().position(|other| *other == name);
        assert!(place("left2") < place("left1") && place("right").is_some(), "{names:?}");
    }
}

#[test]
fn an_undo_that_fails_for_good_is_told_and_the_others_are_made() {
    let mut scene = Scene::open();
    scene.sink.always("/undo/b", Answer::status(400));
    let actions = vec![step(&scene, "a"), step(&scene, "b"), step(&scene, "c"), failing(&scene)];
    scene.define("order.created", actions);
    scene.fire("order.created", "SO-1");
    is(&ends(&mut scene.client, "SO-1"), ("FAILED", "http_400", "failed"));
    assert_eq!(undone(&scene), ["c", "b", "a"]);
    let refused = scene.cluster.psql_error(DATABASE, "select rea.retry_instance(instance_id) from rea.work_instance");
    assert!(refused.contains("55000") && refused.contains("rerun_event"), "{refused}");
}

#[test]
fn an_undo_has_retries_of_its_own_under_one_key() {
    let mut scene = Scene::open();
    scene.sink.fail_first("/undo/", 2, 503);
    let action = with(step(&scene, "a"), "retryPolicy", retries(0, 20));
    scene.define("order.created", vec![action, failing(&scene)]);
    scene.fire("order.created", "SO-1");
    is(&ends(&mut scene.client, "SO-1"), ("FAILED", "http_400", "done"));
    let requests = scene.sink.requests_for("/undo/");
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.key() == requests[0].key() && request.key().ends_with("_a~undo")));
    let ids: Vec<_> = requests.iter().filter_map(|request| request.header("x-rea-req-id")).collect();
    assert!(ids[0].ends_with("_a~undo_1") && ids[2].ends_with("_a~undo_3"), "{ids:?}");
}

#[test]
fn an_unknown_outcome_is_undone_and_a_refused_connection_is_not() {
    let mut scene = Scene::open();
    scene.sink.always("/do/hangs", Answer::Hang);
    let mut hangs = with(step(&scene, "hangs"), "retryPolicy", retries(1, 20));
    hangs["config"]["timeoutMs"] = json!(200);
    scene.define("hang.fired", vec![step(&scene, "a"), hangs]);
    scene.fire("hang.fired", "hang");
    is(&ends(&mut scene.client, "hang"), ("DEAD", "timeout", "done"));
    assert_eq!(undone(&scene), ["hangs", "a"]);

    let mut refused = with(step(&scene, "refused"), "retryPolicy", retries(1, 20));
    refused["config"]["url"] = json!(format!("http://127.0.0.1:{}/", rea_tests::system::free_port()));
    scene.define("refuse.fired", vec![step(&scene, "b"), refused]);
    scene.fire("refuse.fired", "refuse");
    is(&ends(&mut scene.client, "refuse"), ("DEAD", "connect", "done"));
    assert_eq!(undone(&scene)[2..], ["b"]);

    let mut closed = step(&scene, "closed");
    closed["config"]["idempotent"] = json!(false);
    scene.sink.always("/do/closed", Answer::Reset);
    scene.define("close.fired", vec![step(&scene, "c"), closed]);
    scene.fire("close.fired", "close");
    is(&ends(&mut scene.client, "close"), ("FAILED", "reset", "done"));
    assert_eq!(undone(&scene)[3..], ["closed", "c"]);
}

#[test]
fn what_was_answered_but_failed_on_its_output_is_undone() {
    let mut scene = Scene::open();
    let picky = with(step(&scene, "picky"), "output", json!({"id": "${response.body.id}"}));
    scene.define("order.created", vec![picky]);
    scene.fire("order.created", "SO-1");
    is(&ends(&mut scene.client, "SO-1"), ("FAILED", "missing_value", "done"));
    assert_eq!(undone(&scene), ["picky"]);
}

#[test]
fn what_is_kept_refused_or_skipped_is_not_undone() {
    let mut scene = Scene::open();
    let kept = with(http("kept", &scene.sink.url("/do/kept")), "compensate", json!("keep"));
    let skipped = with(step(&scene, "skipped"), "when", json!("$.payload.x == 1"));
    scene.sink.always("/do/refused", Answer::status(422));
    let refused = with(step(&scene, "refused"), "onError", json!("continue"));
    scene.define("order.created", vec![step(&scene, "a"), kept, skipped, refused, failing(&scene)]);
    scene.fire("order.created", "SO-1");
    is(&ends(&mut scene.client, "SO-1"), ("FAILED", "http_400", "done"));
    assert_eq!(undone(&scene), ["a"]);
    scene.define("plain.fired", vec![http("plain", &scene.sink.url("/plain")), failing(&scene)]);
    scene.fire("plain.fired", "plain");
    is(&ends(&mut scene.client, "plain"), ("FAILED", "http_400", "none"));
}

#[test]
fn the_root_undoes_what_its_branches_and_items_did_the_last_first() {
    let mut scene = Scene::open();
    scene.sink.on("/do/item", |request, _| {
        let index = request.json()["index"].as_u64().unwrap_or(0);
        Answer::json(&format!("{{\"index\": {index}}}")).after(Duration::from_millis(400 - 100 * index))
    });
    let mut item = step(&scene, "item");
    item["config"]["body"] = json!({"index": "${index}"});
    item["output"] = json!({"index": "${response.body.index}"});
    item["compensate"]["config"]["body"] = json!({"item": "${item}", "index": "${steps.item.output.index}"});
    let each = json!({"name": "each", "type": "foreach",
        "config": {"items": "${payload.items}", "maxConcurrency": 4, "actions": [item]}});
    let fan = json!({"name": "fan", "type": "parallel", "branches": {
        "one": [each, step(&scene, "one")], "two": [step(&scene, "two"), failing(&scene)]}});
    scene.define("order.created", vec![step(&scene, "a"), fan]);
    scene.fire_with("order.created", "SO-1", &json!({"items": ["w", "x", "y", "z"]}));
    is(&ends(&mut scene.client, "SO-1"), ("FAILED", "branch_failed", "done"));
    assert_eq!(undone(&scene), ["one", "item", "item", "item", "item", "two", "a"]);
    let items: Vec<Value> = scene.sink.requests_for("/undo/item").iter().map(|request| request.json()).collect();
    let expected: Vec<Value> =
        ["w", "x", "y", "z"].iter().enumerate().map(|(n, item)| json!({"item": item, "index": n})).collect();
    assert_eq!(items, expected, "the slowest ended last and is undone first");
    let keys: std::collections::BTreeSet<String> =
        scene.sink.requests_for("/undo/item").iter().map(|request| request.key().to_owned()).collect();
    assert_eq!(keys.len(), 4, "each item's undo has its own key");
    let branches = "select count(*) from rea.work_instance where branch is not null and compensation is not null";
    assert_eq!(count(&mut scene.client, branches), 0);
}

#[test]
fn a_cancelled_instance_undoes_what_it_did_if_that_is_wanted() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![step(&scene, "a"), nap()]);
    for key in ["with", "without"] {
        scene.fire("order.created", key);
    }
    let client = &mut scene.client;
    wait_until(PATIENCE, "both wait", || {
        count(client, "select count(*) from rea.work_instance where status = 'WAITING'") == 2
    });
    cancel(&mut scene.client, "without", false);
    is(&ends(&mut scene.client, "without"), ("CANCELLED", "cancelled", "none"));
    assert!(undone(&scene).is_empty());
    cancel(&mut scene.client, "with", true);
    is(&ends(&mut scene.client, "with"), ("CANCELLED", "cancelled", "done"));
    assert_eq!(undone(&scene), ["a"]);
}

#[test]
fn a_cancel_in_flight_waits_for_the_answer_and_undoes_it_too() {
    let mut scene = Scene::open();
    scene.sink.always("/do/slow", Answer::status(200).after(Duration::from_millis(800)));
    scene.define("order.created", vec![step(&scene, "a"), step(&scene, "slow"), step(&scene, "never")]);
    scene.fire("order.created", "SO-1");
    let sink = &scene.sink;
    wait_until(PATIENCE, "it is in flight", || sink.requests_for("/do/slow").len() == 1);
    cancel(&mut scene.client, "SO-1", true);
    is(&ends(&mut scene.client, "SO-1"), ("CANCELLED", "cancelled", "done"));
    assert_eq!(undone(&scene), ["slow", "a"]);
    assert_eq!(scene.sink.requests_for("/do/never").len(), 0);
}

#[test]
fn the_deadline_undoes_what_was_done_in_every_branch() {
    let mut scene = Scene::open();
    scene.sink.always("/do/late", Answer::status(200).after(Duration::from_secs(3)));
    let fan = json!({"name": "fan", "type": "parallel", "branches": {
        "one": [step(&scene, "one"), nap()], "two": [step(&scene, "late"), step(&scene, "never")]}});
    let definition = json!({"workflowName": "timed", "triggerEvent": "order.created", "timeoutSeconds": 1.5,
        "actions": [step(&scene, "a"), fan]});
    define(&mut scene.client, &definition);
    scene.fire("order.created", "SO-1");
    is(&ends(&mut scene.client, "SO-1"), ("FAILED", "deadline", "done"));
    assert_eq!(undone(&scene), ["late", "one", "a"]);
    assert_eq!(scene.sink.requests_for("/do/never").len(), 0);
}

#[test]
fn a_child_workflow_undoes_what_it_did_by_itself() {
    let mut scene = Scene::open();
    let child = json!({"workflowName": "child", "actions": [step(&scene, "inner"), nap()]});
    define(&mut scene.client, &child);
    let call = json!({"name": "call", "type": "workflow", "config": {"workflowName": "child"}});
    scene.define("order.created", vec![step(&scene, "outer"), call]);
    scene.fire("order.created", "SO-1");
    let client = &mut scene.client;
    wait_until(PATIENCE, "both wait", || {
        count(client, "select count(*) from rea.work_instance where status = 'WAITING'") == 2
    });
    cancel(&mut scene.client, "SO-1", true);
    is(&ends(&mut scene.client, "SO-1"), ("CANCELLED", "cancelled", "done"));
    assert_eq!(undone(&scene), ["inner", "outer"]);

    scene.fire("order.created", "SO-2");
    let client = &mut scene.client;
    wait_until(PATIENCE, "both wait", || {
        count(client, "select count(*) from rea.work_instance where status = 'WAITING'") == 2
    });
    cancel(&mut scene.client, "SO-2", false);
    is(&ends(&mut scene.client, "SO-2"), ("CANCELLED", "cancelled", "none"));
    assert_eq!(undone(&scene).len(), 2, "without compensation nobody undoes anything");
}
