//! `concurrency`: never more instances of a key at the same time than allowed,
//! and a place that becomes free is never forgotten, whoever dies meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rea_tests::workflow::{count, define, http};
use rea_tests::{Answer, Config, PATIENCE, Scene, Sink, invariant, wait_until};
use serde_json::{Value, json};

const KEYS: usize = 12;

/// Requests of each key that were open at the same time, over several receivers.
#[derive(Default)]
struct Crowd {
    open: HashMap<String, usize>,
    most: HashMap<String, usize>,
}

fn watched(sink: &Sink, crowd: &Arc<Mutex<Crowd>>, pause: Duration) {
    let crowd = Arc::clone(crowd);
    sink.on("/", move |request, _| {
        let key = request.path.trim_start_matches('/').to_owned();
        let change = |by: isize| {
            let mut crowd = crowd.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let open = crowd.open.entry(key.clone()).or_default();
            *open = open.saturating_add_signed(by);
            let now = *open;
            let most = crowd.most.entry(key.clone()).or_default();
            *most = (*most).max(now);
        };
        change(1);
        rea_tests::pace(pause);
        change(-1);
        Answer::status(200)
    });
}

/// Two requests to receivers on lanes of their own, so that both workers have a part in each instance.
fn definition(limit: usize, first: &Sink, second: &Sink) -> Value {
    let ask = |name: &str, sink: &Sink| {
        let mut action = http(name, "");
        action["config"]["url"] = json!(sink.url("/${payload.key}"));
        action
    };
    json!({"workflowName": "limited", "triggerEvent": "order.created",
        "concurrency": {"key": "${payload.key}", "limit": limit},
        "actions": [ask("first", first), ask("second", second)]})
}

fn crowded(limit: usize, number: usize, disturb: impl Fn(&mut Scene)) {
    let config = Config::new().set("rea.workers", "2").set("rea.poll_interval", "60s");
    let mut scene = Scene::with(&config);
    wait_until(PATIENCE, "both workers are running", || scene.workers().len() == 2);
    let crowd = Arc::default();
    let sinks: Vec<Sink> = (0..2).map(|_| Sink::start()).collect();
    sinks.iter().for_each(|sink| watched(sink, &crowd, Duration::from_millis(2)));
    define(&mut scene.client, &definition(limit, &sinks[0], &sinks[1]));
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, jsonb_build_object('key', 'k' || g % $2)))
               from generate_series(1, $1::int4) g";
    scene.client.execute(sql, &[&(number as i32), &(KEYS as i32)]).expect("fired");
    let seen = || sinks.iter().map(Sink::count).sum::<usize>();
    wait_until(PATIENCE, "a third is done", || seen() > 2 * number / 3);
    disturb(&mut scene);
    let left = "select count(*) from rea.work_queue";
    let client = &mut scene.client;
    wait_until(2 * PATIENCE, "all have ended", || count(client, left) == 0);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    let done = "select count(*) from rea.work_instance where status = 'SUCCESS'";
    assert_eq!(count(&mut scene.client, done), number as i64);
    let crowd = crowd.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert_eq!(crowd.most.len(), KEYS);
    // An attempt whose worker died may still be open at the receiver when it is repeated.
    let lost = count(&mut scene.client, "select count(*) from rea.work_action_log where status = 'LOST'") as usize;
    for (key, most) in &crowd.most {
        assert!(*most <= limit + lost.min(limit), "{key}: {most} at once");
    }
}

/// Hardly any poll helps here: a lost wake-up holds its key up.
#[test]
fn one_at_a_time_means_one_and_none_waits_for_ever() {
    crowded(1, 1_000, |_| {});
}

#[test]
fn several_at_a_time_means_no_more() {
    crowded(3, 1_000, |_| {});
}

#[test]
fn a_worker_that_is_terminated_loses_no_place() {
    crowded(1, 600, |scene| {
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'rea worker'";
        scene.client.execute(sql, &[]).expect("terminated");
    });
}

#[test]
fn a_crash_loses_no_place() {
    crowded(2, 600, |scene| {
        let pid = scene.workers()[0];
        scene.cluster.kill_9(pid);
        scene.reconnect();
    });
}

#[test]
fn those_who_wait_for_a_place_go_in_the_order_of_their_events() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::status(200).after(Duration::from_millis(5)));
    let mut action = http("only", &scene.sink.url("/"));
    action["config"]["body"] = json!({"n": "${payload.n}"});
    let definition = json!({"workflowName": "ordered", "triggerEvent": "order.created",
        "concurrency": {"key": "${event.bizKey}", "limit": 1}, "actions": [action]});
    define(&mut scene.client, &definition);
    for n in 0..60 {
        scene.fire_with("order.created", "SO-1", &json!({"n": n}));
    }
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have ended", || {
        count(client, "select count(*) from rea.work_instance where status = 'SUCCESS'") == 60
    });
    let order: Vec<u64> = scene.sink.requests().iter().filter_map(|request| request.json()["n"].as_u64()).collect();
    assert_eq!(order, (0..60).collect::<Vec<_>>());
}
