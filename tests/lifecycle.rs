//! Workers come when a database holds the extension and go when it does not;
//! they never stand in the way of commands on databases.

use std::time::{Duration, Instant};

use rea_tests::workflow::{count, define, fire, http, workflow};
use rea_tests::{Answer, PATIENCE, Scene, wait_until};
use serde_json::json;

/// Runs a statement and fails if it takes longer than such a command may.
fn quickly(scene: &Scene, database: &str, sql: &str) {
    let start = Instant::now();
    scene.cluster.psql(database, sql);
    assert!(start.elapsed() < Duration::from_secs(10), "{sql} took {:?}", start.elapsed());
}

fn workers(scene: &Scene, database: &str) -> usize {
    scene.cluster.worker_pids(database).len()
}

#[test]
fn a_worker_comes_with_the_extension_and_goes_with_it() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::status(200).after(Duration::from_secs(3)));
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    for number in 0..50 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    let sink = &scene.sink;
    wait_until(PATIENCE, "all requests are under way", || sink.in_flight() == 50);
    quickly(&scene, "app", "drop extension rea cascade");
    wait_until(PATIENCE, "no worker is left", || workers(&scene, "app") == 0);
    quickly(&scene, "app", "create extension rea");
    quickly(&scene, "app", "begin; drop extension rea cascade; create extension rea; commit");
    quickly(&scene, "app", "begin; drop extension rea cascade; create extension rea; rollback");
    scene.sink.always("/", Answer::status(200));
    let mut client = scene.cluster.connect("app");
    define(&mut client, &workflow("againFlow", "again.fired", vec![http("only", &scene.sink.url("/again"))]));
    fire(&mut client, "again.fired", "SO-again", &json!({}));
    wait_until(PATIENCE, "the new extension works", || !scene.sink.requests_for("/again").is_empty());
    assert!(!scene.cluster.log().contains("terminated by signal"));
}

#[test]
fn databases_can_be_dropped_renamed_and_copied_while_workers_run() {
    let scene = Scene::open();
    for round in 0..5 {
        scene.cluster.create_database("shop");
        wait_until(PATIENCE, "a worker is running", || workers(&scene, "shop") == 1);
        match round % 3 {
            0 => {}
            1 => {
                quickly(&scene, "postgres", "alter database shop rename to shop2");
                quickly(&scene, "postgres", "alter database shop2 rename to shop");
            }
            _ => {
                quickly(&scene, "postgres", "create database copy template shop");
                quickly(&scene, "postgres", "drop database copy");
            }
        }
        quickly(&scene, "postgres", "drop database shop");
    }
    assert_eq!(workers(&scene, "app"), 1);
}

#[test]
fn a_worker_that_is_ended_by_hand_returns_with_its_wake_up() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    wait_until(PATIENCE, "a worker is running", || workers(&scene, "app") == 1);
    let old = scene.workers()[0];
    scene.client.execute("select pg_terminate_backend($1)", &[&old]).expect("terminated");
    for number in 0..20 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    scene.finish_all(20, PATIENCE);
    let new = scene.workers();
    assert!(new.len() == 1 && new[0] != old);
    let launcher = "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'rea launcher'";
    scene.client.execute(launcher, &[]).expect("terminated");
    let running = "select count(*) from pg_stat_activity where backend_type = 'rea launcher'";
    wait_until(PATIENCE, "the launcher is back", || count(&mut scene.client, running) == 1);
    scene.fire("order.created", "SO-last");
    scene.finish_all(21, PATIENCE);
}

#[test]
fn timeouts_of_the_database_do_not_reach_the_worker() {
    let mut scene = Scene::open();
    let settings = [
        "statement_timeout = '50ms'",
        "lock_timeout = '50ms'",
        "idle_in_transaction_session_timeout = '200ms'",
        "idle_session_timeout = '1s'",
        "default_transaction_read_only = on",
        "search_path = pg_temp",
        "default_transaction_isolation = 'serializable'",
    ];
    scene.sink.always("/", Answer::status(200).after(Duration::from_millis(1_500)));
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    for setting in settings {
        scene.cluster.psql("postgres", &format!("alter database app set {setting}"));
    }
    wait_until(PATIENCE, "a worker is running", || workers(&scene, "app") == 1);
    let old = scene.workers()[0];
    scene.client.execute("select pg_terminate_backend($1)", &[&old]).expect("terminated");
    wait_until(PATIENCE, "a new worker is running", || scene.workers().first().is_some_and(|pid| *pid != old));
    let worker = scene.workers();
    for number in 0..100 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    scene.finish_all(100, PATIENCE);
    assert_eq!(scene.workers(), worker);
}

#[test]
fn without_preload_events_are_stored_and_other_functions_say_why_not() {
    let config = rea_tests::Config::new().without_fsync().set("shared_preload_libraries", "");
    let cluster = rea_tests::Cluster::start(&config);
    assert!(!cluster.psql("app", "select rea.fire_event('order.created', 'SO-1', '{}')").is_empty());
    assert_eq!(cluster.psql("app", "select count(*) from rea.work_event"), "1");
}
