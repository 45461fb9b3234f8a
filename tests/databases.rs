//! Databases that workers cannot or need not serve: nobody floods the log, uses
//! up slots, or holds up the databases that can be served.

use rea_tests::workflow::{define, fire, http, workflow};
use rea_tests::{Cluster, Config, PATIENCE, Scene, Sink, StopMode, wait_until};
use serde_json::json;

fn add_work(cluster: &Cluster, database: &str, sink: &Sink) {
    let mut client = cluster.connect(database);
    let url = sink.url(&format!("/{database}"));
    define(&mut client, &workflow("onlyFlow", "order.created", vec![http("only", &url)]));
}

fn fire_in(cluster: &Cluster, database: &str) {
    fire(&mut cluster.connect(database), "order.created", "SO-1", &json!({}));
}

fn wait_for_request(sink: &Sink, database: &str) {
    wait_until(PATIENCE, &format!("an event of {database} is followed up"), || {
        !sink.requests_for(&format!("/{database}")).is_empty()
    });
}

#[test]
fn databases_that_refuse_connections_are_left_alone_until_they_take_them_again() {
    let scene = Scene::open();
    let cluster = &scene.cluster;
    for database in ["closed", "limited"] {
        cluster.create_database(database);
        add_work(cluster, database, &scene.sink);
    }
    cluster.psql("postgres", "alter database closed allow_connections false");
    cluster.psql("postgres", "alter database limited connection limit 0");
    cluster.restart(StopMode::Fast);
    add_work(cluster, "app", &scene.sink);
    for _ in 0..5 {
        cluster.create_database("shortlived");
        fire(&mut cluster.connect("shortlived"), "order.created", "SO-1", &json!({}));
        cluster.psql("postgres", "drop database shortlived with (force)");
    }
    fire_in(cluster, "app");
    wait_for_request(&scene.sink, "app");
    let log = cluster.log();
    assert!(!log.contains("template0"), "{log}");
    let complaints = log.lines().filter(|line| line.contains("closed") || line.contains("limited"));
    assert!(complaints.count() <= 6, "{log}");
    cluster.psql("postgres", "alter database closed allow_connections true");
    wait_until(PATIENCE, "a worker has come", || !cluster.worker_pids("closed").is_empty());
    fire_in(cluster, "closed");
    wait_for_request(&scene.sink, "closed");
}

#[test]
fn a_database_made_from_a_template_with_rea_has_a_worker() {
    let scene = Scene::open();
    let cluster = &scene.cluster;
    cluster.create_database("pattern");
    add_work(cluster, "pattern", &scene.sink);
    cluster.psql("postgres", "create database copied template pattern");
    fire_in(cluster, "copied");
    wait_for_request(&scene.sink, "pattern");
}

#[test]
fn without_free_worker_slots_the_log_names_the_setting_and_nothing_is_lost() {
    // The launcher, PostgreSQL's own launcher of logical replication, one worker.
    let config = Config::new().without_fsync().set("max_worker_processes", "3");
    let scene = Scene::with(&config);
    let cluster = &scene.cluster;
    let databases = ["app", "second", "third"];
    for database in &databases[1..] {
        cluster.create_database(database);
    }
    for database in databases {
        add_work(cluster, database, &scene.sink);
        fire_in(cluster, database);
    }
    wait_for_request(&scene.sink, "app");
    wait_until(PATIENCE, "the log names the setting", || cluster.log().contains("max_worker_processes"));
    assert!(scene.sink.requests_for("/second").is_empty() && scene.sink.requests_for("/third").is_empty());
    let doctor = cluster.psql("second", "select status, detail, remedy from rea.doctor() where check_name = 'workers'");
    assert!(doctor.contains("max_worker_processes"), "{doctor}");
    cluster.psql("postgres", "alter system set max_worker_processes = 8");
    cluster.restart(StopMode::Fast);
    for database in databases {
        wait_for_request(&scene.sink, database);
    }
}
