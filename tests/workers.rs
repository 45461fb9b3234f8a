//! Several workers for one database: no instance is taken twice, and each lane's
//! bound holds for all of them together.

use std::collections::BTreeSet;
use std::time::Duration;

use rea_tests::workflow::{count, http};
use rea_tests::{Answer, Config, PATIENCE, Scene, Sink, wait_until};

const INSTANCES: usize = 2_000;
const BOUND: usize = 8;

fn share_work(workers: usize) {
    let config = Config::new()
        .without_fsync()
        .set("rea.workers", &workers.to_string())
        .set("rea.lane_max_in_flight", &BOUND.to_string())
        .set("rea.poll_interval", "100ms");
    let mut scene = Scene::with(&config);
    wait_until(PATIENCE, "all workers are running", || scene.workers().len() == workers);
    // Workers that have just met may both serve a lane for a moment.
    warm_up(&mut scene);
    let sinks: Vec<Sink> = (0..6).map(|_| Sink::start()).collect();
    for (number, sink) in sinks.iter().enumerate() {
        sink.always("/", Answer::status(200).after(Duration::from_millis(2)));
        let other = &sinks[(number + 1) % sinks.len()];
        scene.define(&format!("kind{number}.fired"), vec![http("own", &sink.url("/")), http("other", &other.url("/"))]);
    }
    let sql = "select count(rea.fire_event('kind' || g % 6 || '.fired', 'SO-' || g, '{}'))
               from generate_series(1, $1::int4) g";
    scene.client.execute(sql, &[&(INSTANCES as i32)]).expect("fired");
    scene.finish_all(30 + INSTANCES, 3 * PATIENCE);

    let requests: Vec<_> = sinks.iter().flat_map(Sink::requests).collect();
    let keys: BTreeSet<&str> = requests.iter().map(rea_tests::Request::key).collect();
    assert_eq!(requests.len(), 2 * INSTANCES, "no action is performed twice");
    assert_eq!(keys.len(), 2 * INSTANCES);
    for sink in &sinks {
        assert!(sink.peak() <= BOUND, "{} requests at once", sink.peak());
    }
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_action_log where attempt_no > 1"), 0);
    let log = scene.cluster.log();
    assert!(!log.contains("deadlock") && !log.contains("ERROR:"), "{log}");
}

/// Some rounds of work, one after the other, on a lane that nobody measures.
fn warm_up(scene: &mut Scene) {
    scene.define("warm.fired", vec![http("only", &scene.sink.url("/"))]);
    for round in 1..=30 {
        scene.fire("warm.fired", &format!("W-{round}"));
        scene.finish_all(round, PATIENCE);
    }
}

#[test]
fn two_workers_share_the_work() {
    share_work(2);
}

#[test]
fn four_workers_share_the_work() {
    share_work(4);
}

#[test]
fn the_lanes_of_a_worker_that_is_gone_go_on() {
    let config = Config::new().without_fsync().set("rea.workers", "2");
    let mut scene = Scene::with(&config);
    wait_until(PATIENCE, "both workers are running", || scene.workers().len() == 2);
    let sinks: Vec<Sink> = (0..4).map(|_| Sink::start()).collect();
    for (number, sink) in sinks.iter().enumerate() {
        scene.define(&format!("kind{number}.fired"), vec![http("only", &sink.url("/"))]);
    }
    for round in 0..2 {
        let victim = scene.workers()[round];
        scene.client.execute("select pg_terminate_backend($1)", &[&victim]).expect("terminated");
        for number in 0..sinks.len() {
            scene.fire(&format!("kind{number}.fired"), &format!("SO-{round}-{number}"));
        }
        scene.finish_all((round + 1) * sinks.len(), PATIENCE);
        wait_until(PATIENCE, "it has a successor", || {
            let workers = scene.workers();
            workers.len() == 2 && !workers.contains(&victim)
        });
    }
}

#[test]
fn the_number_of_workers_and_the_bound_follow_a_reload() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    wait_until(PATIENCE, "one worker is running", || scene.workers().len() == 1);
    scene.cluster.reload_with("rea.workers", "3");
    wait_until(PATIENCE, "three workers are running", || scene.workers().len() == 3);
    scene.cluster.reload_with("rea.workers", "1");
    wait_until(PATIENCE, "one worker is left", || scene.workers().len() == 1);

    scene.cluster.reload_with("rea.lane_max_in_flight", "2");
    scene.sink.always("/", Answer::status(200).after(Duration::from_millis(10)));
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    for number in 0..40 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    scene.finish_all(40, PATIENCE);
    assert!(scene.sink.peak() <= 2);
}

#[test]
fn a_worker_that_is_to_leave_records_what_it_has_in_flight_first() {
    let mut scene = Scene::with(&Config::new().without_fsync().set("rea.workers", "3"));
    wait_until(PATIENCE, "all workers are running", || scene.workers().len() == 3);
    let sinks: Vec<Sink> = (0..6).map(|_| Sink::start()).collect();
    for (number, sink) in sinks.iter().enumerate() {
        sink.always("/", Answer::status(200).after(Duration::from_secs(2)));
        scene.define(&format!("kind{number}.fired"), vec![http("only", &sink.url("/"))]);
    }
    let sql =
        "select count(rea.fire_event('kind' || g % 6 || '.fired', 'SO-' || g, '{}')) from generate_series(1, 60) g";
    scene.client.execute(sql, &[]).expect("fired");
    wait_until(PATIENCE, "every lane is busy", || sinks.iter().all(|sink| sink.in_flight() == 10));
    scene.cluster.reload_with("rea.workers", "1");
    scene.finish_all(60, PATIENCE);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_action_log where status <> 'SUCCESS'"), 0);
    assert_eq!(sinks.iter().map(Sink::count).sum::<usize>(), 60);
    wait_until(PATIENCE, "two have left", || scene.workers().len() == 1);
}
