//! Instances that were retried or paused go on with their branches: what succeeded is not done again, what is paused
//! sends nothing.

use std::time::Duration;

use postgres::Client;
use rea_tests::branches::{branch, parallel, root, two_workers};
use rea_tests::workflow::{count, http, retries, with};
use rea_tests::{Answer, Config, PATIENCE, Scene, holds_for, invariant, wait_until};
use serde_json::json;

#[test]
fn retry_of_a_parent_runs_only_what_failed() {
    let mut scene = Scene::with(&two_workers().without_fsync());
    scene.sink.on("/bad", |_, seen| Answer::status(if seen < 3 { 400 } else { 200 }));
    let fan = |name: &str, suffix: &str, scene: &Scene| {
        parallel(
            name,
            vec![
                branch("good", vec![http(&format!("good{suffix}"), &scene.sink.url(&format!("/good{suffix}")))]),
                branch(
                    "bad",
                    vec![
                        http(&format!("before{suffix}"), &scene.sink.url(&format!("/before{suffix}"))),
                        http(&format!("bad{suffix}"), &scene.sink.url(&format!("/bad{suffix}"))),
                    ],
                ),
            ],
        )
    };
    // The first one's failure is passed over; a retry for the sake of the second must leave it alone.
    let first = with(fan("first", "1", &scene), "onError", json!("continue"));
    let second = fan("second", "2", &scene);
    scene.define("order.created", vec![first, second, http("after", &scene.sink.url("/after"))]);
    scene.fire("order.created", "SO-1");
    for round in 0..3 {
        let client = &mut scene.client;
        wait_until(PATIENCE, "it has ended", || {
            count(
                client,
                "select count(*) from rea.work_instance where parent_instance_id is null and end_time is not null",
            ) == 1
        });
        let (id, status, code) = root(&mut scene.client, "SO-1");
        if round == 2 {
            assert_eq!(status, "SUCCESS");
            break;
        }
        assert_eq!((status.as_str(), code.as_deref()), ("FAILED", Some("branch_failed")));
        scene.client.execute("select rea.retry_instance($1::text::uuid)", &[&id]).expect("retried");
    }
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    let times = |path: &str| scene.sink.requests_for(path).len();
    assert_eq!([times("/good1"), times("/before1"), times("/bad1")], [1, 1, 1]);
    assert_eq!([times("/good2"), times("/before2"), times("/bad2")], [1, 1, 3]);
    assert_eq!(times("/after"), 1);
    let keys: std::collections::BTreeSet<String> =
        scene.sink.requests_for("/bad2").iter().map(|request| request.key().to_owned()).collect();
    assert_eq!(keys.len(), 1, "a retry keeps its key");
}

#[test]
fn retry_after_a_child_workflow_was_undone_starts_it_anew() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    scene.sink.on("/pay", |_, seen| Answer::status(if seen < 1 { 400 } else { 200 }));
    let undo = json!({"type": "http", "config": {"url": scene.sink.url("/unbook"), "timeoutMs": 5000}});
    let book = with(http("book", &scene.sink.url("/book")), "compensate", undo);
    let child = json!({"workflowName": "child", "actions": [book, http("pay", &scene.sink.url("/pay"))]});
    rea_tests::workflow::define(&mut scene.client, &child);
    let call = json!({"name": "call", "type": "workflow", "config": {"workflowName": "child"}});
    scene.define("order.created", vec![call]);
    scene.fire("order.created", "SO-1");
    let client = &mut scene.client;
    wait_until(PATIENCE, "it has failed", || {
        count(client, "select count(*) from rea.work_instance where status = 'FAILED'") == 2
    });
    let (id, ..) = root(&mut scene.client, "SO-1");
    scene.client.execute("select rea.retry_instance($1::text::uuid)", &[&id]).expect("retried");
    let client = &mut scene.client;
    wait_until(PATIENCE, "it has succeeded", || {
        count(client, "select count(*) from rea.work_instance where status = 'SUCCESS'") == 2
    });
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    let keys: Vec<String> = scene.sink.requests_for("/book").iter().map(|request| request.key().to_owned()).collect();
    assert!(keys.len() == 2 && keys[0] != keys[1], "what was undone is done anew under another key: {keys:?}");
    assert_eq!(scene.sink.requests_for("/unbook").len(), 1);
}

#[test]
fn a_paused_branch_stays_paused_when_its_parent_is_paused() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    scene.sink.always("/first", Answer::status(503));
    let slow = with(http("first", &scene.sink.url("/first")), "retryPolicy", retries(1_000, 100));
    let fan = parallel(
        "fan",
        vec![
            branch("a", vec![slow, http("second", &scene.sink.url("/second"))]),
            branch("b", vec![json!({"name": "nap", "type": "wait", "config": {"durationSeconds": 600}})]),
        ],
    );
    scene.define("order.created", vec![fan]);
    scene.fire("order.created", "SO-1");
    wait_until(PATIENCE, "it is tried", || scene.sink.count() > 0);
    let pause = |client: &mut Client, which: &str| {
        let sql = format!("select rea.pause_instance(instance_id) from rea.work_instance where {which}");
        client.execute(&sql, &[]).expect("paused");
    };
    pause(&mut scene.client, "branch = 'a'");
    let paused = "select count(*) from rea.work_instance where status = 'PAUSED'";
    let client = &mut scene.client;
    wait_until(PATIENCE, "one is paused", || count(client, paused) == 1);
    pause(&mut scene.client, "parent_instance_id is null");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all are paused", || count(client, paused) == 3);
    invariant::settle(&mut scene.client, PATIENCE);
    let before = scene.sink.count();
    scene.sink.always("/first", Answer::status(200));
    let sink = &scene.sink;
    holds_for(Duration::from_secs(1), "what is paused sends nothing", || sink.count() == before);
    assert_eq!(count(&mut scene.client, paused), 3);
    let (id, ..) = root(&mut scene.client, "SO-1");
    scene.client.execute("select rea.resume_instance($1::text::uuid)", &[&id]).expect("resumed");
    wait_until(PATIENCE, "it went on", || scene.sink.requests_for("/second").len() == 1);
    let cancel = "select rea.cancel_instance($1::text::uuid)";
    scene.client.execute(cancel, &[&id]).expect("cancelled");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have ended", || count(client, "select count(*) from rea.work_queue") == 0);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
}
