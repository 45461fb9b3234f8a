//! What long-lived workers must not hold on to: old row versions, descriptors.

use std::fs;
use std::time::{Duration, Instant};

use rea_tests::workflow::{count, http, retries, with};
use rea_tests::{Answer, PATIENCE, Scene, wait_until};
use serde_json::json;

#[test]
fn no_process_holds_back_vacuum_while_actions_run_or_nothing_happens() {
    let mut scene = Scene::open();
    scene.sink.always("/", Answer::Hang);
    let url = scene.sink.url("/");
    let action = with(http("only", &url), "config", json!({"url": url, "timeoutMs": 600_000}));
    scene.define("order.created", vec![action]);
    scene.client.batch_execute("create table t as select 1 as n from generate_series(1, 10000)").expect("a table");
    for number in 0..32 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    let sink = &scene.sink;
    wait_until(PATIENCE, "32 requests are under way", || sink.in_flight() == 32);
    scene.client.batch_execute("update t set n = 2; update t set n = 3").expect("updated");
    let client = &mut scene.client;
    wait_until(PATIENCE, "vacuum can remove what is dead", || {
        client.batch_execute("vacuum t").expect("vacuumed");
        count(client, "select n_dead_tup from pg_stat_user_tables where relname = 't'") == 0
    });
    // Now and then a worker has a short transaction; none may last.
    let held = "select count(*) from pg_stat_activity where backend_type like 'rea%'
                and (backend_xmin is not null or backend_xid is not null) and xact_start < now() - interval '2 s'";
    let start = Instant::now();
    wait_until(PATIENCE, "nothing was held for five seconds", || {
        assert_eq!(count(client, held), 0, "a transaction stays open");
        start.elapsed() > Duration::from_secs(5)
    });
}

fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

#[test]
fn a_burst_leaves_no_descriptors_behind() {
    let mut scene = Scene::open();
    scene.cluster.reload_with("rea.lane_max_in_flight", "500");
    scene.sink.always("/good", Answer::status(200).after(Duration::from_millis(50)));
    scene.sink.always("/bad", Answer::status(500));
    scene.sink.always("/close", Answer::Close);
    for kind in ["good", "bad", "close"] {
        let action = with(http("only", &scene.sink.url(&format!("/{kind}"))), "retryPolicy", retries(0, 10));
        scene.define(&format!("{kind}.fired"), vec![action]);
    }
    scene.fire("good.fired", "first");
    scene.finish("first");
    let worker = scene.workers()[0];
    let before = descriptors(worker);
    let sql = "select count(rea.fire_event((array['good', 'bad', 'close'])[g % 3 + 1] || '.fired', 'SO-' || g, '{}'))
               from generate_series(1, 3000) g";
    scene.client.batch_execute(sql).expect("fired");
    let client = &mut scene.client;
    wait_until(3 * PATIENCE, "all are finished", || {
        count(client, "select count(*) from rea.work_instance where end_time is not null") == 3_001
    });
    wait_until(2 * PATIENCE, "the descriptors are given back", || descriptors(worker) <= before + 10);
    assert_eq!(scene.workers(), [worker]);
}
