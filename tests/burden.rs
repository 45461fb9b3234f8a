//! Small events that make much work: none of them may take the server down, or
//! hold up what other events started.

use std::fs;
use std::time::{Duration, Instant};

use rea_tests::workflow::{count, define, http, with, workflow};
use rea_tests::{PATIENCE, Scene, wait_until};
use serde_json::{Value, json};

/// How long the event of somebody else may take meanwhile, on a busy machine.
const FAIR: Duration = Duration::from_secs(10);

/// Fires the canary and says how long it took to its end.
fn canary(scene: &mut Scene) -> Duration {
    let start = Instant::now();
    scene.fire("canary.fired", "canary");
    wait_until(4 * PATIENCE, "the canary has sung", || {
        scene.instance("canary").is_some_and(|instance| instance.status == "SUCCESS")
    });
    start.elapsed()
}

/// Waits until the worker has every event in hand, or is through with it.
fn wait_until_taken(scene: &mut Scene) {
    let free = "select count(*) from (select from rea.work_inbox for update skip locked) i";
    wait_until(PATIENCE, "the worker has taken the events", || count(&mut scene.client, free) == 0);
}

fn scene() -> Scene {
    let mut scene = Scene::open();
    scene.define("canary.fired", vec![http("sing", &scene.sink.url("/canary"))]);
    scene
}

/// Largest resident size that the process had, in MiB.
fn peak_mib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the worker lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

#[test]
fn payloads_that_are_small_as_jsonb_and_huge_as_text_do_not_fill_the_memory() {
    let mut scene = scene();
    let action = with(
        http("send", ""),
        "config",
        json!({"url": scene.sink.url("/small"), "timeoutMs": 60_000, "body": {"n": 1}}),
    );
    scene.define("huge.fired", vec![action]);
    let workers = scene.workers();
    let sql = "select count(rea.fire_event('huge.fired', 'H-' || g, p.payload)) from (
                   select jsonb_build_object('n', jsonb_agg('1e131071'::numeric)) as payload
                   from generate_series(1, 200) offset 0) p, generate_series(1, 40) g";
    scene.client.batch_execute(sql).expect("fired: 3 kB each, 26 MB as text");
    wait_until(4 * PATIENCE, "all are done", || {
        count(&mut scene.client, "select count(*) from rea.work_instance where status = 'SUCCESS'") == 40
    });
    assert_eq!(scene.workers(), workers, "the worker is the same process");
    let peak = peak_mib(workers[0]);
    assert!(peak < 800, "the worker took {peak} MiB");
}

#[test]
fn instances_that_skip_a_thousand_actions_hold_up_nobody() {
    let mut scene = scene();
    let url = scene.sink.url("/never");
    let actions: Vec<Value> =
        (0..1_000).map(|n| with(http(&format!("a{n}"), &url), "when", json!("payload.go == 1"))).collect();
    define(&mut scene.client, &workflow("longFlow", "long.fired", actions));
    let sql = "select count(rea.fire_event('long.fired', 'L-' || g, '{\"go\": 0}')) from generate_series(1, 40) g";
    scene.client.batch_execute(sql).expect("fired");
    wait_until_taken(&mut scene);
    let took = canary(&mut scene);
    assert!(took < FAIR, "the canary took {took:?}");
}
