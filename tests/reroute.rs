//! Requirements C12 and C15: events that nothing had matched are routed anew, each of them once.

use std::thread;
use std::time::Duration;

use postgres::{Client, NoTls};
use rea_tests::workflow::{count, define};
use rea_tests::{PATIENCE, Scene, wait_until};
use serde_json::json;

const EVENTS: i64 = 600;
const SESSIONS: usize = 3;

/// Routes anew in small batches until nothing is left to do.
fn reroute(connection: &str) -> Result<(), postgres::Error> {
    let mut client = Client::connect(connection, NoTls)?;
    loop {
        let row = client.query_one(
            "select count(*) filter (where action = 'start') \
             from rea.reroute_events('{\"status\": \"UNROUTED\"}', false, max_events => 25)",
            &[],
        )?;
        if row.get::<_, i64>(0) == 0 {
            return Ok(());
        }
    }
}

/// Fires events that nothing matches, then defines the missing rule.
fn prepare(scene: &mut Scene) {
    let fire = format!("select rea.fire_event('late.rule', 'K-' || n) from generate_series(1, {EVENTS}) n");
    scene.client.execute(&fire, &[]).expect("events");
    let client = &mut scene.client;
    wait_until(PATIENCE, "every event is known as unrouted", || {
        count(client, "select count(*) from rea.work_unrouted") == EVENTS
    });
    let action = json!({"name": "tell", "type": "http", "config": {"url": scene.sink.url("/tell"), "timeoutMs": 5000}});
    define(client, &json!({"workflowName": "lateRule", "triggerEvent": "late.rule", "actions": [action]}));
}

#[test]
fn sessions_that_route_anew_at_the_same_time_start_each_event_once() {
    let mut scene = Scene::open();
    prepare(&mut scene);
    let connection = scene.cluster.connection_string("app", "postgres");
    thread::scope(|scope| {
        for _ in 0..SESSIONS {
            scope.spawn(|| reroute(&connection).expect("events are routed anew"));
        }
    });
    scene.finish_all(EVENTS as usize, Duration::from_secs(120));
    assert_eq!(count(&mut scene.client, "select count(distinct event_uid) from rea.work_instance"), EVENTS);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_reroute"), EVENTS);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_unrouted"), 0);
}

#[test]
fn a_worker_that_dies_while_events_are_routed_anew_loses_and_doubles_none() {
    let mut scene = Scene::open();
    prepare(&mut scene);
    let connection = scene.cluster.connection_string("app", "postgres");
    let worker = scene.workers()[0];
    thread::scope(|scope| {
        scope.spawn(|| {
            // The server ends all sessions when a process of it is killed: what was not committed is tried again.
            wait_until(PATIENCE, "all events are routed anew", || reroute(&connection).is_ok());
        });
        let cluster = &scene.cluster;
        scope.spawn(move || cluster.kill_9(worker));
    });
    scene.reconnect();
    let client = &mut scene.client;
    wait_until(PATIENCE, "every event has an instance", || {
        count(client, "select count(distinct event_uid) from rea.work_instance") == EVENTS
    });
    assert_eq!(count(client, "select count(*) from rea.work_instance"), EVENTS);
    assert_eq!(count(client, "select count(*) from rea.work_unrouted"), 0);
}
