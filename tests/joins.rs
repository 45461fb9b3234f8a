//! Branches that end at the same moment, fail, are skipped or cancelled, while
//! workers die: what follows the join happens exactly once.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postgres::Client;
use rea_tests::branches::{branch, branches, emit, parallel, root, two_workers};
use rea_tests::workflow::{count, http, with};
use rea_tests::{Answer, Config, PATIENCE, Request, Scene, invariant, wait_until};
use serde_json::{Value, json};

const INSTANCES: usize = 300;
const BRANCHES: usize = 16;

/// An answer at the next multiple of `step`, so that all that wait for one are
/// given in the same moment.
fn together(step: Duration) -> impl Fn(&Request, usize) -> Answer + Send + Sync + 'static {
    move |request, _| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ahead = step - Duration::from_nanos((now.as_nanos() % step.as_nanos()) as u64);
        let number = request.path.trim_start_matches(|c: char| !c.is_ascii_digit());
        Answer::json(&format!("{{\"n\": {number}}}")).after(ahead)
    }
}

/// A parallel of [`BRANCHES`] requests, then a request with all their results, then an event.
fn sixteen(scene: &Scene) -> Vec<Value> {
    let branch = |n: usize| {
        let action = http(&format!("ask{n}"), &scene.sink.url(&format!("/ask/{n}")));
        (format!("b{n}"), vec![with(action, "output", json!({"n": "${response.body.n}"}))])
    };
    let results: Vec<String> = (0..BRANCHES).map(|n| format!("${{steps.ask{n}.output.n}}")).collect();
    let mut after = http("after", &scene.sink.url("/after"));
    after["config"]["body"] = json!({"results": results});
    vec![parallel("fan", (0..BRANCHES).map(branch).collect()), after, emit("tell", "order.joined")]
}

fn fire_many(client: &mut Client, number: usize) {
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, '{}')) from generate_series(1, $1::int4) g";
    client.execute(sql, &[&(number as i32)]).expect("fired");
}

/// Every instance went on once, with all results.
fn assert_joined_once(scene: &mut Scene) {
    invariant::settle(&mut scene.client, 3 * PATIENCE);
    invariant::check(&mut scene.client);
    let roots = "select count(*) from rea.work_instance where parent_instance_id is null and status = 'SUCCESS'";
    assert_eq!(count(&mut scene.client, roots), INSTANCES as i64);
    let told = "select count(distinct biz_key) from rea.work_event where event_type = 'order.joined'";
    assert_eq!(count(&mut scene.client, told), INSTANCES as i64);
    assert_eq!(
        count(&mut scene.client, "select count(*) from rea.work_event where event_type = 'order.joined'"),
        INSTANCES as i64
    );
    let mut requests: HashMap<String, usize> = HashMap::new();
    let all: Vec<usize> = (0..BRANCHES).collect();
    for request in scene.sink.requests_for("/after") {
        assert_eq!(request.json(), json!({"results": all}));
        *requests.entry(request.key().to_owned()).or_default() += 1;
    }
    assert_eq!(requests.len(), INSTANCES);
    let lost = count(
        &mut scene.client,
        "select count(*) from rea.work_action_log where action_name = 'after' and status = 'LOST'",
    );
    let repeated: usize = requests.values().map(|times| times - 1).sum();
    assert!(repeated as i64 <= lost, "{repeated} repetitions, {lost} lost attempts");
    let log = scene.cluster.log();
    assert!(!log.contains("could not finish a turn"), "{log}");
}

fn joined_while(disturb: impl Fn(&mut Scene, i32)) {
    let mut scene = Scene::with(&two_workers());
    wait_until(PATIENCE, "both workers are running", || scene.workers().len() == 2);
    scene.sink.on("/ask", together(Duration::from_millis(20)));
    let actions = sixteen(&scene);
    scene.define("order.created", actions);
    fire_many(&mut scene.client, INSTANCES);
    for round in 1..=3 {
        let (sink, goal) = (&scene.sink, round * INSTANCES * BRANCHES / 5);
        wait_until(3 * PATIENCE, "more requests have arrived", || sink.count() >= goal);
        let workers = scene.workers();
        disturb(&mut scene, workers[round % workers.len()]);
        wait_until(PATIENCE, "both workers are running", || scene.workers().len() == 2);
    }
    assert_joined_once(&mut scene);
}

#[test]
fn sixteen_branches_join_once_while_the_server_crashes() {
    joined_while(|scene, pid| {
        scene.cluster.kill_9(pid);
        scene.reconnect();
    });
}

#[test]
fn sixteen_branches_join_once_while_workers_are_terminated() {
    joined_while(|scene, pid| {
        scene.client.execute("select pg_terminate_backend($1)", &[&pid]).expect("terminated");
    });
}

fn state<const N: usize>(expected: [(&str, &str); N]) -> HashMap<String, String> {
    expected.into_iter().map(|(branch, status)| (branch.to_owned(), status.to_owned())).collect()
}

#[test]
fn a_branch_that_fails_is_skipped_or_cancelled_votes_too() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    scene.sink.always("/bad", Answer::status(400));
    let skipped = with(http("never", &scene.sink.url("/never")), "when", json!("$.payload.x == 1"));
    let waiting = json!({"name": "dream", "type": "wait", "config": {"any": [{"eventType": "never.comes"}]}});
    let fan = parallel(
        "fan",
        vec![
            branch("bad", vec![http("bad", &scene.sink.url("/bad")), http("behind", &scene.sink.url("/behind"))]),
            branch("good", vec![http("good", &scene.sink.url("/good"))]),
            branch("skipped", vec![skipped]),
            branch("waiting", vec![waiting]),
        ],
    );
    let actions = vec![with(fan, "onError", json!("continue")), http("after", &scene.sink.url("/after"))];
    scene.define("order.created", actions);
    scene.fire("order.created", "SO-1");
    let alive = "select count(*) from rea.work_instance where branch is not null and end_time is null";
    let client = &mut scene.client;
    wait_until(PATIENCE, "three branches have ended", || {
        count(client, alive) == 1 && count(client, "select count(*) from rea.work_instance") == 5
    });
    scene
        .client
        .execute("select rea.cancel_instance(instance_id) from rea.work_instance where branch = 'waiting'", &[])
        .expect("cancelled");
    invariant::settle(&mut scene.client, PATIENCE);
    assert_eq!(
        branches(&mut scene.client, "SO-1"),
        state([("bad", "FAILED"), ("good", "SUCCESS"), ("skipped", "SUCCESS"), ("waiting", "CANCELLED")])
    );
    assert_eq!(root(&mut scene.client, "SO-1").1, "SUCCESS");
    assert_eq!(scene.sink.requests_for("/after").len(), 1);
    assert_eq!(scene.sink.requests_for("/behind").len(), 0);
    invariant::check(&mut scene.client);
}

#[test]
fn nested_forks_leave_no_parent_waiting() {
    let mut scene = Scene::with(&two_workers().without_fsync());
    scene.sink.on("/inner", |request, _| {
        Answer::status(if request.json()["item"].as_i64().is_some_and(|n| n % 7 == 3) { 400 } else { 200 })
    });
    let mut inner = http("inner", &scene.sink.url("/inner"));
    inner["config"]["body"] = json!({"item": "${item}"});
    let skip = with(http("odd", &scene.sink.url("/odd")), "when", json!("$.index > 1"));
    let deep = parallel("deep", vec![branch("one", vec![inner]), branch("two", vec![skip])]);
    let each = json!({"name": "each", "type": "foreach", "onError": "continue",
        "config": {"items": "${payload.items}", "maxConcurrency": 4, "actions": [deep]}});
    let choose = json!({"name": "choose", "type": "switch",
        "config": {"cases": [{"when": "$.payload.kind == 1", "actions": [each]}],
                   "default": [http("plain", &scene.sink.url("/plain"))]}});
    scene.define("order.created", vec![choose, http("after", &scene.sink.url("/after"))]);
    for n in 0..60 {
        let items: Vec<usize> = (0..n % 12).collect();
        scene.fire_with("order.created", &format!("SO-{n}"), &json!({"kind": n % 3, "items": items}));
    }
    invariant::settle(&mut scene.client, 2 * PATIENCE);
    invariant::check(&mut scene.client);
    let roots = "select count(*) from rea.work_instance where parent_instance_id is null and status = 'SUCCESS'";
    assert_eq!(count(&mut scene.client, roots), 60);
    assert_eq!(scene.sink.requests_for("/after").len(), 60);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_instance where end_time is null"), 0);
}

#[test]
fn any_goes_on_with_the_first_success_and_cancels_the_others() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    scene.sink.always("/slow", Answer::status(200).after(Duration::from_secs(1)));
    scene.sink.always("/bad", Answer::status(400));
    let waiting = json!({"name": "dream", "type": "wait", "config": {"any": [{"eventType": "never.comes"}]}});
    let fan = parallel(
        "fan",
        vec![
            branch("bad", vec![http("bad", &scene.sink.url("/bad"))]),
            branch("quick", vec![http("quick", &scene.sink.url("/quick"))]),
            branch("slow", vec![http("slow", &scene.sink.url("/slow")), http("behind", &scene.sink.url("/behind"))]),
            branch("waiting", vec![waiting]),
        ],
    );
    let actions = vec![with(fan, "join", json!("any")), http("after", &scene.sink.url("/after"))];
    scene.define("order.created", actions);
    scene.fire("order.created", "SO-1");
    wait_until(PATIENCE, "it went on", || scene.sink.requests_for("/after").len() == 1);
    invariant::settle(&mut scene.client, PATIENCE);
    assert_eq!(
        branches(&mut scene.client, "SO-1"),
        state([("bad", "FAILED"), ("quick", "SUCCESS"), ("slow", "CANCELLED"), ("waiting", "CANCELLED")])
    );
    assert_eq!(scene.sink.requests_for("/behind").len(), 0);
    assert_eq!(root(&mut scene.client, "SO-1").1, "SUCCESS");
    invariant::check(&mut scene.client);
}

#[test]
fn what_any_cancels_is_not_what_comes_after_it() {
    let mut scene = Scene::open();
    scene.sink.always("/slow", Answer::status(200).after(Duration::from_millis(300)));
    let race = |n: usize, scene: &Scene| {
        let branches = vec![
            branch("quick", vec![http(&format!("quick{n}"), &scene.sink.url("/quick"))]),
            branch("slow", vec![http(&format!("slow{n}"), &scene.sink.url("/slow"))]),
        ];
        with(parallel(&format!("race{n}"), branches), "join", json!("any"))
    };
    let both = vec![
        branch("x", vec![http("x", &scene.sink.url("/x"))]),
        branch("y", vec![http("y", &scene.sink.url("/slow"))]),
    ];
    let actions =
        vec![race(1, &scene), race(2, &scene), parallel("both", both), http("after", &scene.sink.url("/after"))];
    scene.define("order.created", actions);
    scene.fire("order.created", "SO-1");
    let client = &mut scene.client;
    wait_until(PATIENCE, "it has ended", || {
        count(
            client,
            "select count(*) from rea.work_instance where parent_instance_id is null and end_time is not null",
        ) == 1
    });
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    assert_eq!(root(&mut scene.client, "SO-1").1, "SUCCESS");
    let sql = "select string_agg(parent_action || ' ' || branch || ' ' || status, ', ' order by parent_action, branch)
               from rea.work_instance where branch is not null";
    let all: String = scene.client.query_one(sql, &[]).expect("branches").get(0);
    assert_eq!(
        all,
        "both x SUCCESS, both y SUCCESS, race1 quick SUCCESS, race1 slow CANCELLED, race2 quick SUCCESS, race2 slow CANCELLED"
    );
}

#[test]
fn a_failure_cancels_the_others_if_the_definition_says_so() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    scene.sink.always("/bad", Answer::status(400).after(Duration::from_millis(200)));
    scene.sink.always("/slow", Answer::status(200).after(Duration::from_secs(1)));
    let waiting = json!({"name": "dream", "type": "wait", "config": {"any": [{"eventType": "never.comes"}]}});
    let fan = parallel(
        "fan",
        vec![
            branch("bad", vec![http("bad", &scene.sink.url("/bad"))]),
            branch("done", vec![http("done", &scene.sink.url("/done"))]),
            branch("slow", vec![http("slow", &scene.sink.url("/slow")), http("behind", &scene.sink.url("/behind"))]),
            branch("waiting", vec![waiting]),
        ],
    );
    let actions = vec![with(fan, "onBranchFailure", json!("cancel")), http("after", &scene.sink.url("/after"))];
    scene.define("order.created", actions);
    scene.fire("order.created", "SO-1");
    let client = &mut scene.client;
    wait_until(PATIENCE, "it has failed", || count(client, "select count(*) from rea.work_dead_letter") == 1);
    invariant::settle(&mut scene.client, PATIENCE);
    assert_eq!(
        branches(&mut scene.client, "SO-1"),
        state([("bad", "FAILED"), ("done", "SUCCESS"), ("slow", "CANCELLED"), ("waiting", "CANCELLED")])
    );
    let (_, status, code) = root(&mut scene.client, "SO-1");
    assert_eq!((status.as_str(), code.as_deref()), ("FAILED", Some("branch_failed")));
    assert_eq!(scene.sink.requests_for("/behind").len() + scene.sink.requests_for("/after").len(), 0);
    invariant::check(&mut scene.client);
}

#[test]
fn foreach_never_has_more_in_flight_than_allowed() {
    let mut scene = Scene::with(&two_workers().without_fsync());
    scene.sink.always("/item", Answer::json("{\"ok\": true}").after(Duration::from_millis(2)));
    let mut item = http("item", &scene.sink.url("/item"));
    item["config"]["body"] = json!({"i": "${index}", "v": "${item}"});
    let each = json!({"name": "each", "type": "foreach",
        "config": {"items": "${payload.items}", "maxConcurrency": 7, "actions": [item]},
        "output": {"count": "${response.body.size()}"}});
    let mut after = http("after", &scene.sink.url("/after"));
    after["config"]["body"] = json!({"count": "${steps.each.output.count}"});
    scene.define("order.created", vec![each, after]);
    let items: Vec<usize> = (0..2_000).map(|n| n * 3).collect();
    scene.fire_with("order.created", "SO-1", &json!({"items": items}));
    wait_until(4 * PATIENCE, "it went on", || scene.sink.requests_for("/after").len() == 1);
    assert!(scene.sink.peak() <= 7, "{} at once", scene.sink.peak());
    assert_eq!(scene.sink.requests_for("/after")[0].json(), json!({"count": 2_000}));
    let mut seen: Vec<(u64, u64)> = scene
        .sink
        .requests_for("/item")
        .iter()
        .map(|request| (request.json()["i"].as_u64().unwrap_or(9), request.json()["v"].as_u64().unwrap_or(9)))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..2_000).map(|n| (n, n * 3)).collect::<Vec<_>>());
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
}

#[test]
fn a_child_workflow_is_waited_for_unless_the_definition_says_not_to() {
    let mut scene = Scene::with(&two_workers().without_fsync());
    scene.sink.always("/child", Answer::json("{\"id\": 7}").after(Duration::from_millis(500)));
    let ask = with(http("ask", &scene.sink.url("/child")), "output", json!({"id": "${response.body.id}"}));
    let child = json!({"workflowName": "child", "actions": [ask], "output": {"id": "${steps.ask.output.id}"}});
    rea_tests::workflow::define(&mut scene.client, &child);
    let call = |wait: bool, output: Value| {
        json!({"name": "call", "type": "workflow", "output": output,
               "config": {"workflowName": "child", "payload": {"x": "${payload.x}"}, "wait": wait}})
    };
    let mut after = http("after", &scene.sink.url("/after"));
    after["config"]["body"] = json!({"id": "${steps.call.output.id}"});
    scene.define("waited.fired", vec![call(true, json!({"id": "${response.body.id}"})), after.clone()]);
    scene.define("left.fired", vec![call(false, json!({"id": "${response.body.instanceId}"})), after]);
    scene.fire_with("waited.fired", "W", &json!({"x": 1}));
    wait_until(PATIENCE, "it went on", || scene.sink.requests_for("/after").len() == 1);
    assert_eq!(scene.sink.requests_for("/after")[0].json(), json!({"id": 7}));
    assert_eq!(scene.sink.requests_for("/child")[0].json(), json!({"x": 1}));
    scene.fire_with("left.fired", "L", &json!({"x": 2}));
    wait_until(PATIENCE, "it went on", || scene.sink.requests_for("/after").len() == 2);
    let going = "select count(*) from rea.work_instance where workflow_name = 'child' and end_time is null";
    assert_eq!(count(&mut scene.client, going), 1, "the child goes on by itself");
    invariant::settle(&mut scene.client, PATIENCE);
    let ids = "select string_agg(instance_id::text, ' ' order by create_time) from rea.work_instance where detached";
    let id: String = scene.client.query_one(ids, &[]).expect("one").get(0);
    assert_eq!(scene.sink.requests_for("/after")[1].json(), json!({"id": id}));
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_instance where status <> 'SUCCESS'"), 0);
    invariant::check(&mut scene.client);
}

#[test]
fn a_workflow_that_calls_itself_comes_to_an_end() {
    let config = two_workers().without_fsync().set("rea.max_causation_depth", "6");
    let mut scene = Scene::with(&config);
    let call = json!({"name": "call", "type": "workflow", "config": {"workflowName": "self"}});
    let definition = json!({"workflowName": "self", "triggerEvent": "self.fired", "actions": [call]});
    // A workflow can call itself only once it exists.
    let stub = json!({"workflowName": "self", "triggerEvent": "self.fired", "actions": [emit("stub", "a.b")]});
    rea_tests::workflow::define(&mut scene.client, &stub);
    rea_tests::workflow::define(&mut scene.client, &definition);
    scene.fire("self.fired", "S");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have failed", || {
        count(client, "select count(*) from rea.work_instance where status = 'FAILED'") > 0
            && count(client, "select count(*) from rea.work_queue") == 0
    });
    invariant::check(&mut scene.client);
    let codes = "select string_agg(error_code, ' ' order by create_time desc, instance_id desc) from rea.work_instance";
    let codes: String = scene.client.query_one(codes, &[]).expect("codes").get(0);
    assert!(codes.starts_with("causation_depth branch_failed"), "{codes}");
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_instance"), 7);
}
