//! A physical standby does nothing until it is promoted, and then goes on by
//! itself with what the primary left.

use rea_tests::workflow::{count, http, retries, with};
use rea_tests::{Answer, Cluster, Config, PATIENCE, Scene, StopMode, wait_until};

#[test]
fn a_standby_sends_nothing_until_it_is_promoted_and_then_finishes_the_work() {
    let mut scene = Scene::with(&Config::new().set("wal_level", "replica"));
    scene.sink.always("/", Answer::status(503));
    let action = with(http("only", &scene.sink.url("/")), "retryPolicy", retries(1_000, 200));
    scene.define("order.created", vec![action]);
    for number in 0..10 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    let standby = Cluster::standby_of(&scene.cluster);
    let mut client = standby.connect("app");
    wait_until(PATIENCE, "the standby has the events", || {
        count(&mut client, "select count(*) from rea.work_event") == 10
    });
    let workers = "select count(*) from pg_stat_activity where backend_type like 'rea%'";
    assert_eq!(count(&mut client, workers), 0, "no process of rea runs on a standby");
    let sql = "select rea.fire_event('order.created', 'SO-x', '{}')";
    assert!(standby.psql_error("app", sql).contains("25006"), "a standby takes no events");

    scene.cluster.stop(StopMode::Fast);
    let before = scene.sink.count();
    scene.sink.always("/", Answer::status(200));
    assert_eq!(scene.sink.count(), before, "nobody sends while the primary is down");
    standby.promote();
    scene.client = standby.connect("app");
    scene.finish_all(10, PATIENCE);
    scene.fire("order.created", "SO-new");
    scene.finish_all(11, PATIENCE);
    for word in ["ERROR:", "PANIC", "terminated by signal"] {
        let log = standby.log();
        let bad = log.lines().filter(|line| line.contains(word) && line.contains("rea "));
        assert_eq!(bad.count(), 0, "{log}");
    }
}
