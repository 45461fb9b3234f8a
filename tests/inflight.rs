//! Definitions, routes and scripts change while instances are in flight: those
//! that run end on their version, new ones start with the new one.

use std::time::Duration;

use rea_tests::workflow::{count, define, http, retries, with};
use rea_tests::{Answer, Config, PATIENCE, Scene, invariant, wait_until};
use serde_json::{Value, json};

const NUMBER: usize = 100;

/// One action that is held up, then one whose path names the version.
fn version(scene: &Scene, number: usize) -> Value {
    let second = http(&format!("second{number}"), &scene.sink.url(&format!("/v{number}/second")));
    json!({"workflowName": "changing", "triggerEvent": "order.created", "actions": [
        http("first", &scene.sink.url(&format!("/v{number}/first"))),
        {"name": "signal", "type": "wait", "config": {"any": [{"eventType": "go.on", "bizKey": "all"}]}},
        {"name": "fan", "type": "parallel", "branches": {"a": [second]}}],
        "output": {"version": "${instance.workflowVersion}"}})
}

fn fire_many(scene: &mut Scene, prefix: &str) {
    let sql = "select count(rea.fire_event('order.created', $1 || g, '{}')) from generate_series(1, $2::int4) g";
    scene.client.execute(sql, &[&prefix, &(NUMBER as i32)]).expect("fired");
}

/// Instances per version and status, branches left out.
fn versions(scene: &mut Scene) -> Vec<(i32, String, i64)> {
    let sql = "select workflow_version, status, count(*) from rea.work_instance where branch is null
               group by 1, 2 order by 1, 2";
    let rows = scene.client.query(sql, &[]).expect("work_instance");
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

fn waiting(scene: &mut Scene, number: usize) {
    let client = &mut scene.client;
    wait_until(PATIENCE, "they wait", || {
        count(client, "select count(*) from rea.work_instance where status = 'WAITING'") == number as i64
    });
}

#[test]
fn instances_end_on_the_version_they_started_with() {
    let mut scene = Scene::with(&Config::new().without_fsync().set("rea.workers", "2"));
    let (old, new) = (version(&scene, 1), version(&scene, 2));
    define(&mut scene.client, &old);
    fire_many(&mut scene, "OLD-");
    waiting(&mut scene, NUMBER);
    define(&mut scene.client, &new);
    fire_many(&mut scene, "NEW-");
    waiting(&mut scene, 2 * NUMBER);
    // Also when the worker has to read the definitions again.
    scene
        .client
        .execute("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'rea worker'", &[])
        .expect("terminated");
    scene.fire("go.on", "all");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have ended", || count(client, "select count(*) from rea.work_queue") == 0);
    let all = NUMBER as i64;
    assert_eq!(versions(&mut scene), [(1, "SUCCESS".into(), all), (2, "SUCCESS".into(), all)]);
    for (path, number) in [("/v1/first", NUMBER), ("/v1/second", NUMBER), ("/v2/first", NUMBER), ("/v2/second", NUMBER)]
    {
        assert_eq!(scene.sink.requests_for(path).len(), number, "{path}");
    }
    let results = "select count(*) from rea.work_instance where branch is null and (result ->> 'version')::int <> workflow_version";
    assert_eq!(count(&mut scene.client, results), 0);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
}

#[test]
fn what_runs_goes_on_when_its_workflow_is_disabled_and_its_route_is_gone() {
    let mut scene = Scene::open();
    let definition = version(&scene, 1);
    define(&mut scene.client, &definition);
    fire_many(&mut scene, "A-");
    waiting(&mut scene, NUMBER);
    scene.client.execute("select rea.disable_workflow('changing')", &[]).expect("disabled");
    fire_many(&mut scene, "B-");
    let unrouted = "select count(*) from rea.work_unrouted";
    let client = &mut scene.client;
    // The event that lets them go on has no workflow either.
    wait_until(PATIENCE, "new events find no workflow", || count(client, unrouted) == NUMBER as i64);
    scene.client.execute("select rea.drop_route('changing')", &[]).expect("dropped");
    scene.fire("go.on", "all");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have ended", || count(client, "select count(*) from rea.work_queue") == 0);
    assert_eq!(versions(&mut scene), [(1, "SUCCESS".into(), NUMBER as i64)]);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
}

#[test]
fn a_retry_in_flight_keeps_its_version_and_its_bytes() {
    let mut scene = Scene::open();
    scene.sink.on("/v", |_, seen| Answer::status(if seen < 3 { 503 } else { 200 }));
    let definition = |scene: &Scene, text: &str| {
        let mut only = with(http("only", &scene.sink.url("/v")), "retryPolicy", retries(10, 300));
        only["config"]["body"] = json!({"text": text});
        json!({"workflowName": "retried", "triggerEvent": "order.created", "actions": [only]})
    };
    let old = definition(&scene, "old");
    define(&mut scene.client, &old);
    scene.fire("order.created", "SO-1");
    let sink = &scene.sink;
    wait_until(PATIENCE, "it was tried", || sink.count() == 1);
    for number in 0..20 {
        let new = definition(&scene, &format!("new {number}"));
        define(&mut scene.client, &new);
    }
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let requests = scene.sink.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| request.body == requests[0].body && request.key() == requests[0].key()));
    scene.fire("order.created", "SO-2");
    assert_eq!(scene.finish("SO-2").status, "SUCCESS");
    assert_eq!(scene.sink.requests().last().expect("one more").json(), json!({"text": "new 19"}));
}

#[test]
fn definitions_change_while_events_pour_in() {
    let mut scene = Scene::with(&Config::new().without_fsync().set("rea.workers", "2"));
    let definition = |scene: &Scene, number: usize| {
        json!({"workflowName": "pouring", "triggerEvent": "order.created", "actions": [
            http(&format!("a{number}"), &scene.sink.url(&format!("/a{number}"))),
            http(&format!("b{number}"), &scene.sink.url(&format!("/b{number}")))]})
    };
    let first = definition(&scene, 1);
    define(&mut scene.client, &first);
    let mut other = scene.cluster.connect(rea_tests::cluster::DATABASE);
    let firing = std::thread::spawn(move || {
        for n in 0..1_000 {
            rea_tests::workflow::fire(&mut other, "order.created", &format!("SO-{n}"), &json!({}));
        }
    });
    let mut number = 1;
    while !firing.is_finished() {
        number += 1;
        let next = definition(&scene, number);
        define(&mut scene.client, &next);
        rea_tests::pace(Duration::from_millis(20));
    }
    firing.join().expect("all were fired");
    scene.finish_all(1_000, 2 * PATIENCE);
    let mixed = "select count(*) from rea.work_action_log a join rea.work_instance i using (instance_id)
                 where substr(a.action_name, 2)::int <> i.workflow_version";
    assert_eq!(count(&mut scene.client, mixed), 0, "each instance does the actions of its own version");
    assert_eq!(scene.sink.count(), 2_000);
    invariant::check(&mut scene.client);
}
