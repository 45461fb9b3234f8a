//! Local actions: calls in the database, done exactly once whatever ends when.

use std::time::Duration;

use rea_tests::workflow::{count, define, http, local, retries, with, workflow};
use rea_tests::{Answer, Config, PATIENCE, Scene, StopMode, wait_until};
use serde_json::json;

const INSTANCES: usize = 1_000;

/// A scene with a table of effects and a function that writes one.
fn scene(config: &Config) -> Scene {
    let mut scene = Scene::with(config);
    scene
        .client
        .batch_execute(
            "create table effect (key text);
             create function note(key text) returns text language sql as
                 'insert into effect values (key) returning key';",
        )
        .expect("set up");
    scene
}

fn open() -> Scene {
    scene(&Config::new().without_fsync())
}

fn function(scene: &mut Scene, sql: &str) {
    scene.client.batch_execute(sql).expect(sql);
}

fn effects(scene: &mut Scene) -> i64 {
    count(&mut scene.client, "select count(*) from effect")
}

fn sql_worker(scene: &Scene) -> i32 {
    wait_until(PATIENCE, "an SQL worker is running", || !scene.cluster.sql_worker_pids("app").is_empty());
    scene.cluster.sql_worker_pids("app")[0]
}

fn wait_for_call(scene: &mut Scene, call: &str) {
    let client = &mut scene.client;
    wait_until(PATIENCE, "the call is under way", || {
        let sql = format!("select count(*) from pg_stat_activity where query like 'rea call {call}%'");
        count(client, &sql) == 1
    });
}

/// Status and error of the instance and the codes of its attempts.
fn story(scene: &mut Scene, biz_key: &str) -> (String, String, Vec<String>) {
    let instance = scene.finish(biz_key);
    let attempts = scene.attempts(biz_key).into_iter().map(|attempt| match attempt.error_code.as_str() {
        "" => attempt.status,
        code => format!("{} {code}", attempt.status),
    });
    (instance.status, instance.error_code, attempts.collect())
}

#[test]
fn every_effect_is_there_exactly_once_although_worker_and_server_are_killed() {
    let mut scene = scene(&Config::new());
    scene.define("order.created", vec![local("note", "public.note", json!(["${event.bizKey}"]))]);
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, '{}')) from generate_series(1, $1::int4) g";
    scene.client.execute(sql, &[&(INSTANCES as i32)]).expect("fired");
    for part in 1..=4 {
        let goal = (part * INSTANCES / 6) as i64;
        let client = &mut scene.client;
        wait_until(3 * PATIENCE, "more calls were made", || count(client, "select count(*) from effect") >= goal);
        if part == 4 {
            scene.cluster.stop(StopMode::Immediate);
            scene.cluster.start_again();
        } else {
            let pid = sql_worker(&scene);
            scene.cluster.kill_9(pid);
        }
        scene.reconnect();
    }
    scene.finish_all(INSTANCES, 6 * PATIENCE);
    assert_eq!(effects(&mut scene), INSTANCES as i64);
    assert_eq!(count(&mut scene.client, "select count(distinct key) from effect"), INSTANCES as i64);
}

#[test]
fn the_result_is_what_output_reads_and_http_and_local_actions_follow_each_other() {
    let mut scene = open();
    scene.sink.always("/", Answer::status(200));
    let first = with(local("first", "public.note", json!(["a"])), "output", json!({"key": "${response.body}"}));
    let call = json!({"name": "call", "type": "http",
        "config": {"url": scene.sink.url("/"), "timeoutMs": 5000, "body": "${steps.first.output.key}"}});
    let second = local("second", "public.note", json!(["${event.bizKey}"]));
    let third = local("third", "public.note", json!([null]));
    let actions = vec![first, call, second, third];
    scene.define("order.created", actions);
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    assert_eq!(scene.sink.requests()[0].body, b"\"a\"");
    assert_eq!(effects(&mut scene), 3);
}

#[test]
fn a_call_whose_output_cannot_be_kept_is_rolled_back() {
    let mut scene = open();
    let note = with(local("note", "public.note", json!(["a"])), "output", json!({"key": "${response.body.missing}"}));
    scene.define("order.created", vec![note]);
    scene.fire("order.created", "SO-1");
    let (status, code, attempts) = story(&mut scene, "SO-1");
    assert_eq!((status.as_str(), code.as_str()), ("FAILED", "missing_value"));
    assert_eq!(attempts, ["FAILED missing_value"]);
    assert_eq!(effects(&mut scene), 0);
}

#[test]
fn errors_are_recorded_with_their_sqlstate_and_leave_no_effect() {
    let mut scene = open();
    function(
        &mut scene,
        "create function fails(state text) returns int language plpgsql as $$
         begin
             perform note(state);
             raise exception 'it is %', state using errcode = state, hint = 'retry after 10 ms';
         end $$;",
    );
    let policy = retries(2, 10);
    for (state, last, attempts) in
        [("40001", "DEAD", 3), ("RE001", "DEAD", 3), ("23505", "FAILED", 1), ("AB123", "FAILED", 1)]
    {
        let action = with(local("fails", "public.fails", json!([state])), "retryPolicy", policy.clone());
        scene.define(&format!("x.{state}"), vec![action]);
        scene.fire(&format!("x.{state}"), state);
        let (status, code, seen) = story(&mut scene, state);
        assert_eq!((status.as_str(), code.as_str()), (last, state));
        assert_eq!(seen, vec![format!("FAILED {state}"); attempts]);
    }
    assert_eq!(effects(&mut scene), 0);
}

#[test]
fn a_call_ends_with_its_time_even_if_it_traps_the_cancellation() {
    let mut scene = open();
    function(
        &mut scene,
        "create function sleeps() returns int language plpgsql as $$
         begin perform note('slept'); perform pg_sleep(60); return 1; end $$;
         create function traps() returns int language plpgsql as $$
         begin
             perform note('trapped');
             begin perform pg_sleep(60); exception when query_canceled then null; end;
             return 1;
         end $$;",
    );
    let before = sql_worker(&scene);
    for name in ["sleeps", "traps"] {
        let action = json!({"name": "slow", "type": "local", "retryPolicy": retries(1, 10),
            "config": {"function": format!("public.{name}"), "args": [], "timeoutMs": 200}});
        scene.define(&format!("x.{name}"), vec![action]);
        scene.fire(&format!("x.{name}"), name);
        let (status, code, attempts) = story(&mut scene, name);
        assert_eq!((status.as_str(), code.as_str()), ("DEAD", "timeout"));
        assert_eq!(attempts, ["FAILED timeout", "FAILED timeout"]);
    }
    assert_eq!(effects(&mut scene), 0);
    assert_eq!(sql_worker(&scene), before, "the worker had no reason to end");
}

#[test]
fn a_call_that_will_not_end_takes_its_worker_down_and_is_recorded_as_a_timeout() {
    let mut scene = open();
    function(
        &mut scene,
        "create function forever() returns int language plpgsql as $$
         begin
             loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop;
         end $$;",
    );
    let action = json!({"name": "stuck", "type": "local", "retryPolicy": {"maxRetries": 0},
        "config": {"function": "public.forever", "args": [], "timeoutMs": 200}});
    scene.define("x.forever", vec![action]);
    scene.define("order.created", vec![local("note", "public.note", json!(["a"]))]);
    scene.fire("x.forever", "F-1");
    wait_for_call(&mut scene, "public.forever");
    scene.fire("order.created", "SO-1");
    let (status, code, attempts) = story(&mut scene, "F-1");
    assert_eq!((status.as_str(), code.as_str()), ("DEAD", "timeout"));
    assert_eq!(attempts, ["FAILED timeout"]);
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
}

#[test]
fn the_call_of_a_terminated_worker_is_recorded_as_lost_and_made_again() {
    let mut scene = open();
    function(
        &mut scene,
        "create table gate (open boolean);
         create function waits() returns text language plpgsql as $$
         begin
             perform note('once');
             while not exists (select from gate) loop perform pg_sleep(0.05); end loop;
             return 'through';
         end $$;",
    );
    scene.define("x.waits", vec![with(local("w", "public.waits", json!([])), "retryPolicy", json!({"maxRetries": 0}))]);
    scene.fire("x.waits", "W-1");
    wait_for_call(&mut scene, "public.waits");
    let pid = sql_worker(&scene);
    scene.client.execute("select pg_terminate_backend($1)", &[&pid]).expect("terminated");
    wait_until(PATIENCE, "another SQL worker is running", || {
        scene.cluster.sql_worker_pids("app").first().is_some_and(|new| *new != pid)
    });
    function(&mut scene, "insert into gate values (true)");
    let (status, _, attempts) = story(&mut scene, "W-1");
    assert_eq!(status, "SUCCESS");
    assert_eq!(attempts, ["LOST worker_lost", "SUCCESS"]);
    assert_eq!(effects(&mut scene), 1);
}

#[test]
fn commands_on_the_database_and_the_extension_do_not_wait_for_a_call() {
    let scene = open();
    scene.cluster.create_database("shop");
    let mut client = scene.cluster.connect("shop");
    for round in 0..2 {
        client
            .batch_execute("create or replace function forever() returns void language sql as 'select pg_sleep(3600)'")
            .expect("function");
        let action = json!({"name": "stuck", "type": "local",
            "config": {"function": "public.forever", "args": [], "timeoutMs": 3_600_000}});
        define(&mut client, &workflow("stuckFlow", "x.stuck", vec![action]));
        client.execute("select rea.fire_event('x.stuck', 'S-1', '{}')", &[]).expect("fired");
        wait_until(PATIENCE, "the call is under way", || {
            count(&mut client, "select count(*) from pg_stat_activity where query like 'rea call public.forever%'") == 1
        });
        let begun = std::time::Instant::now();
        if round == 0 {
            client.batch_execute("drop extension rea cascade; create extension rea").expect("dropped and created");
        } else {
            drop(client);
            scene.cluster.psql("postgres", "drop database shop");
            return assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    }
}

#[test]
fn an_instance_is_called_by_whoever_defined_it_and_never_with_more_rights() {
    let mut scene = open();
    function(
        &mut scene,
        "create role mallory; create schema m authorization mallory; grant create on database app to mallory;
         grant insert on effect to mallory;
         select rea.grant_admin('mallory');
         set role mallory;
         create function m.who() returns text language sql as $$ select current_user $$;
         create function m.rises() returns text language plpgsql as $$
         begin execute 'reset role'; execute 'alter role mallory superuser'; return 'risen'; end $$;
         create table m.t (a int);
         create function m.late() returns trigger language plpgsql as $$
         begin
             set constraints all deferred;
             insert into m.t select new.a + 1 where new.a < 5;
             insert into public.effect values (current_user);
             return null;
         end $$;
         create constraint trigger late after insert on m.t deferrable initially deferred
             for each row execute function m.late();
         create function m.defers() returns int language sql as 'insert into m.t values (1) returning 1';
         create function m.spy() returns int language sql as
             'insert into public.effect values (current_user) returning 1';
         create function m.holds() returns int language plpgsql as $$
         begin execute 'declare held cursor with hold for select m.spy()'; return 1; end $$;
         set role postgres;",
    );
    for (name, status, code) in
        [("who", "SUCCESS", ""), ("rises", "FAILED", "42501"), ("defers", "FAILED", "42501"), ("holds", "SUCCESS", "")]
    {
        let action = with(local("a", &format!("m.{name}"), json!([])), "output", json!({"value": "${response.body}"}));
        scene.client.batch_execute("set role mallory").expect("role");
        scene.define(&format!("m.{name}"), vec![action]);
        scene.client.batch_execute("reset role").expect("role");
        scene.fire(&format!("m.{name}"), name);
        let instance = scene.finish(name);
        assert_eq!((instance.status.as_str(), instance.error_code.as_str()), (status, code), "{name}");
    }
    assert_eq!(effects(&mut scene), 0, "nothing deferred ran at all");
    let who = "select count(*) from rea.work_instance where context #>> '{a,output,value}' = 'mallory'";
    assert_eq!(count(&mut scene.client, who), 1);
    function(&mut scene, "revoke execute on function m.who from public; revoke execute on function m.who from mallory");
    scene.fire("m.who", "later");
    let instance = scene.finish("later");
    assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("FAILED", "privilege"));
}

#[test]
fn http_actions_do_not_wait_for_a_call() {
    let mut scene = open();
    function(&mut scene, "create function naps() returns void language sql as 'select pg_sleep(4)'");
    scene.sink.always("/", Answer::status(200));
    scene.define("x.naps", vec![local("nap", "public.naps", json!([]))]);
    let url = scene.sink.url("/");
    scene.define("order.created", vec![http("only", &url)]);
    scene.fire("x.naps", "N-1");
    wait_for_call(&mut scene, "public.naps");
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    assert!(scene.instance("N-1").is_some_and(|instance| instance.status == "RUNNING"));
    assert_eq!(scene.finish("N-1").status, "SUCCESS");
}

#[test]
fn a_message_is_on_its_way_exactly_when_its_step_is_recorded() {
    use postgres::fallible_iterator::FallibleIterator;
    let mut scene = open();
    let mut listener = scene.cluster.connect("app");
    listener.batch_execute("listen orders").expect("listening");
    let tell = json!({"name": "tell", "type": "message",
        "config": {"transport": "notify", "topic": "orders", "kind": "command", "payload": {"n": "${payload.n}"}}});
    scene.define("order.created", vec![tell]);
    scene.fire_with("order.created", "SO-1", &json!({"n": 7}));
    let instance = scene.finish("SO-1");
    assert_eq!(instance.status, "SUCCESS");
    let told = listener.notifications().timeout_iter(Duration::from_secs(5)).next().expect("no error").expect("told");
    let envelope: serde_json::Value = serde_json::from_str(told.payload()).expect("json");
    assert_eq!(envelope["messageId"], format!("{}_tell", instance.id));
    assert_eq!((&envelope["kind"], &envelope["type"]), (&json!("command"), &json!("order.created")));
    assert_eq!(envelope["payload"], json!({"n": 7}));
    assert!(envelope["occurredAt"].is_string());
}
