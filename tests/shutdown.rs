//! Stopping the server while requests are under way: quick, and nothing is lost.

use std::time::Duration;

use rea_tests::workflow::{http, with};
use rea_tests::{Answer, Config, PATIENCE, Scene, StopMode, wait_until};
use serde_json::json;

const THREADS: usize = 64;

#[test]
fn a_fast_stop_does_not_wait_for_stuck_requests() {
    let config = Config::new().set("rea.http_threads", &THREADS.to_string());
    let mut scene = Scene::with(&config);
    scene.sink.always("/", Answer::Hang);
    let url = scene.sink.url("/");
    let stuck = with(http("stuck", &url), "config", json!({"url": url, "timeoutMs": 600_000}));
    scene.define("order.created", vec![stuck]);
    for number in 0..THREADS + 10 {
        scene.fire("order.created", &format!("SO-{number}"));
    }
    let sink = &scene.sink;
    wait_until(PATIENCE, "all threads are stuck", || sink.in_flight() == THREADS);
    let took = scene.cluster.stop(StopMode::Fast);
    assert!(took < Duration::from_secs(5), "the stop took {took:?}");
    assert!(!scene.cluster.log().contains("terminated by signal"));

    scene.sink.always("/", Answer::status(200));
    scene.cluster.start_again();
    scene.reconnect();
    scene.finish_all(THREADS + 10, PATIENCE);
}

#[test]
fn a_stop_of_an_idle_server_is_quick_in_every_mode() {
    let mut scene = Scene::open();
    for mode in [StopMode::Smart, StopMode::Fast, StopMode::Immediate] {
        wait_until(PATIENCE, "a worker is running", || !scene.workers().is_empty());
        let took = stop_without_clients(&mut scene, mode);
        assert!(took < Duration::from_secs(5), "the {mode:?} stop took {took:?}");
        scene.cluster.start_again();
        scene.reconnect();
    }
}

/// A smart stop waits for sessions, so the test's own has to go first.
fn stop_without_clients(scene: &mut Scene, mode: StopMode) -> Duration {
    let _ = scene.client.batch_execute("select pg_terminate_backend(pg_backend_pid())");
    scene.cluster.stop(mode)
}
