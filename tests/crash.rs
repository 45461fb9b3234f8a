//! A process that is killed without warning: nothing is lost, nothing that was
//! recorded is repeated, and every request has its row.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rea_tests::workflow::{count, http};
use rea_tests::{Answer, Config, PATIENCE, Scene, StopMode, wait_until};

const INSTANCES: usize = 1_000;
const KILLS: usize = 5;

fn fire_many(scene: &mut Scene, number: usize) {
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, '{}')) from generate_series(1, $1::int4) g";
    scene.client.execute(sql, &[&(number as i32)]).expect("fired");
}

/// Every request that reached the sink has a row with its attempt's number, and
/// no request id came twice.
fn assert_requests_are_recorded(scene: &mut Scene) {
    let rows = scene.client.query("select instance_id::text, action_name, attempt_no from rea.work_action_log", &[]);
    let recorded: BTreeSet<String> = rows
        .expect("work_action_log")
        .iter()
        .map(|row| format!("{}_{}_{}", row.get::<_, String>(0), row.get::<_, String>(1), row.get::<_, i32>(2)))
        .collect();
    let mut seen = BTreeSet::new();
    for request in scene.sink.requests() {
        let id = request.header("x-rea-req-id").expect("every request has an id").to_owned();
        assert!(recorded.contains(&id), "{id} has no row");
        assert!(seen.insert(id.clone()), "{id} came twice");
    }
}

#[test]
fn five_kills_among_a_thousand_instances_lose_nothing() {
    let mut scene = Scene::with(&Config::new());
    scene.sink.always("/", Answer::status(200).after(Duration::from_millis(20)));
    scene.define("order.created", vec![http("first", &scene.sink.url("/1")), http("second", &scene.sink.url("/2"))]);
    fire_many(&mut scene, INSTANCES);
    for kill in 1..=KILLS {
        let (sink, goal) = (&scene.sink, kill * 2 * INSTANCES / (KILLS + 2));
        wait_until(3 * PATIENCE, "more requests have arrived", || sink.count() >= goal);
        let pid = *scene.workers().first().expect("a worker is running");
        scene.cluster.kill_9(pid);
        scene.reconnect();
        wait_until(PATIENCE, "a new worker is running", || scene.workers().first().is_some_and(|new| *new != pid));
    }
    scene.finish_all(INSTANCES, 3 * PATIENCE);
    assert_requests_are_recorded(&mut scene);
    let mut successes: HashMap<String, usize> = HashMap::new();
    for request in scene.sink.requests() {
        *successes.entry(request.key().to_owned()).or_default() += 1;
    }
    assert_eq!(successes.len(), 2 * INSTANCES, "every action reached its receiver");
    let lost = count(&mut scene.client, "select count(*) from rea.work_action_log where status = 'LOST'");
    let repeated: usize = successes.values().map(|times| times - 1).sum();
    assert!(lost >= repeated as i64, "{repeated} repetitions, but only {lost} lost attempts");
    assert!(lost <= (KILLS * 64 * 2) as i64, "{lost} attempts were lost");
}

#[test]
fn a_crash_during_crash_recovery_loses_nothing() {
    let mut scene = Scene::with(&Config::new());
    scene.sink.always("/", Answer::status(200).after(Duration::from_millis(20)));
    scene.define("order.created", vec![http("first", &scene.sink.url("/1"))]);
    fire_many(&mut scene, 200);
    for goal in [20, 80] {
        let sink = &scene.sink;
        wait_until(PATIENCE, "some requests have arrived", || sink.count() >= goal);
        scene.cluster.kill_9(*scene.workers().first().expect("a worker is running"));
        scene.cluster.stop(StopMode::Immediate);
        scene.cluster.start_again();
        scene.reconnect();
    }
    scene.finish_all(200, 2 * PATIENCE);
    assert_requests_are_recorded(&mut scene);
}

#[test]
fn an_instance_that_takes_its_worker_down_again_and_again_is_given_up() {
    let mut scene = Scene::with(&Config::new());
    scene.sink.always("/poison", Answer::Hang);
    let hanging = rea_tests::workflow::with(
        http("poison", &scene.sink.url("/poison")),
        "config",
        serde_json::json!({"url": scene.sink.url("/poison"), "timeoutMs": 600_000}),
    );
    scene.define("poison.fired", vec![hanging]);
    scene.fire("poison.fired", "P-1");
    for time in 1..=3 {
        let sink = &scene.sink;
        wait_until(PATIENCE, "the poison is under way", || sink.requests_for("/poison").len() == time);
        scene.cluster.kill_9(*scene.workers().first().expect("a worker is running"));
        scene.reconnect();
    }
    let instance = scene.finish("P-1");
    assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("DEAD", "worker_lost"));
    assert!(scene.attempts("P-1").iter().all(|attempt| attempt.status == "LOST"));
}
