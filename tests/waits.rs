//! Events around the begin and the end of a wait: none is lost, none counts
//! twice, whoever dies meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use rea_tests::cluster::DATABASE;
use rea_tests::workflow::{count, define, fire};
use rea_tests::{Cluster, Config, PATIENCE, Scene, invariant, wait_until};
use serde_json::{Value, json};

const THREADS: usize = 8;

/// One event to fire, at a time after the start.
#[derive(Clone)]
struct Shot {
    at: Duration,
    event_type: &'static str,
    biz_key: String,
    payload: Value,
}

fn shot(at_ms: f64, event_type: &'static str, biz_key: &str) -> Shot {
    let at = Duration::from_secs_f64(at_ms.max(0.0) / 1000.0);
    Shot { at, event_type, biz_key: biz_key.to_owned(), payload: json!({}) }
}

/// Fires every shot once, at its time or as soon as the server takes it.
fn fire_all(cluster: &Cluster, mut shots: Vec<Shot>) {
    shots.sort_by_key(|shot| shot.at);
    let start = Instant::now() + Duration::from_millis(300);
    let share = |thread: usize| -> Vec<(usize, Shot)> {
        shots.iter().cloned().enumerate().filter(|(number, _)| number % THREADS == thread).collect()
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let shots = share(thread);
            scope.spawn(move || {
                let mut client = cluster.connect(DATABASE);
                for (number, shot) in shots {
                    rea_tests::pace((start + shot.at).saturating_duration_since(Instant::now()));
                    while !try_fire(&mut client, number, &shot) {
                        if let Ok(new) = cluster.try_connect(DATABASE) {
                            client = new;
                        }
                    }
                }
            });
        }
    });
}

/// The event's id makes it one event, also when its commit was not heard of.
fn try_fire(client: &mut Client, number: usize, shot: &Shot) -> bool {
    let (id, payload) = (format!("e{number}"), shot.payload.to_string());
    let fired = client.execute(
        "select rea.fire_event($1, $2, $3::text::jsonb, $4, 'test')",
        &[&shot.event_type, &shot.biz_key, &payload, &id],
    );
    match fired {
        Ok(_) => true,
        Err(error) => {
            assert!(client.is_closed() || error.code().is_some_and(|code| code.code().starts_with("57P")), "{error:?}");
            false
        }
    }
}

fn wait_for(name: &str, config: Value) -> Value {
    json!({"name": name, "type": "wait", "config": config})
}

fn paid(timeout_seconds: f64) -> Value {
    json!({"any": [{"eventType": "order.paid"}], "timeoutSeconds": timeout_seconds, "onTimeout": "continue"})
}

fn two_workers() -> Config {
    Config::new().set("rea.workers", "2").set("rea.poll_interval", "200ms")
}

fn both_run(scene: &Scene) {
    wait_until(PATIENCE, "both workers are running", || scene.workers().len() == 2);
}

/// Instances of the key prefix, and how many of them have a wait that tells another story than the tables do.
const DISAGREEMENTS: &str = "
    select count(*) from rea.work_instance i
    cross join lateral jsonb_each(i.context) s (name, step)
    where s.step #> '{output,timedOut}' is not null
      and ((s.step #>> '{output,timedOut}')::boolean <> (jsonb_array_length(s.step #> '{output,events}') = 0)
        or jsonb_array_length(s.step #> '{output,events}') <> (
            select count(*) from rea.work_wait_event e
            where e.instance_id = i.instance_id and e.action_name = s.name))";

/// How often each number of events was taken by an instance of a workflow.
fn taken(client: &mut Client, workflow: &str) -> Vec<(i64, i64)> {
    let sql = "select n, count(*) from (
                   select (select count(*) from rea.work_wait_event e where e.instance_id = i.instance_id) as n
                   from rea.work_instance i where i.workflow_name = $1) t
               group by n order by n";
    let rows = client.query(sql, &[&workflow]).expect("work_wait_event");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// What a wait came to: one row of `steps.<name>.output`.
fn output(client: &mut Client, biz_key: &str, step: &str) -> Value {
    let sql = "select (context #> array[$2, 'output'])::text from rea.work_instance where biz_key = $1";
    let text: Option<String> = client.query_one(sql, &[&biz_key, &step]).expect("one instance").get(0);
    serde_json::from_str(&text.unwrap_or_else(|| "null".to_owned())).expect("JSON")
}

/// Orders whose payment comes from 100 ms before to 60 ms after; each fifth is paid twice.
fn orders(number: usize, over_ms: f64) -> Vec<Shot> {
    let mut shots = Vec::new();
    for n in 0..number {
        let (key, base) = (format!("SO-{n}"), 100.0 + over_ms * n as f64 / number as f64);
        let offset = -100.0 + 160.0 * ((n * 37) % number) as f64 / number as f64;
        shots.push(shot(base, "order.created", &key));
        shots.push(shot(base + offset, "order.paid", &key));
        if n % 5 == 0 {
            shots.push(shot(base + offset + 1.0, "order.paid", &key));
        }
    }
    shots
}

#[test]
fn a_signal_around_the_begin_of_a_wait_is_never_lost() {
    const NUMBER: usize = 1_000;
    let mut scene = Scene::with(&two_workers().without_fsync());
    both_run(&scene);
    scene.define("order.created", vec![wait_for("payment", paid(600.0))]);
    fire_all(&scene.cluster, orders(NUMBER, 8_000.0));
    let done = "select count(*) from rea.work_instance where status = 'SUCCESS'";
    let client = &mut scene.client;
    wait_until(2 * PATIENCE, "every order is paid", || count(client, done) == NUMBER as i64);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    assert_eq!(count(&mut scene.client, DISAGREEMENTS), 0);
    assert_eq!(taken(&mut scene.client, "orderCreatedFlow"), [(1, NUMBER as i64)]);
    assert_eq!(count(&mut scene.client, "select count(*) from rea.work_wait"), 0);
}

#[test]
fn an_event_that_races_a_timeout_goes_to_this_wait_or_to_the_next() {
    const NUMBER: usize = 600;
    let mut scene = Scene::with(&two_workers().without_fsync());
    both_run(&scene);
    scene.define("order.created", vec![wait_for("first", paid(0.05)), wait_for("second", paid(600.0))]);
    let mut shots = Vec::new();
    for n in 0..NUMBER {
        let (key, base) = (format!("SO-{n}"), 10.0 * n as f64);
        shots.push(shot(base, "order.created", &key));
        shots.push(shot(base + 35.0 + 40.0 * ((n * 37) % NUMBER) as f64 / NUMBER as f64, "order.paid", &key));
    }
    // Those whose first wait had the event need another one for the second.
    fire_all(&scene.cluster, shots);
    let unpaid = "select count(*) from rea.work_instance i where i.status = 'WAITING' and not exists (
                      select from rea.work_wait_event e where e.instance_id = i.instance_id)";
    let client = &mut scene.client;
    wait_until(PATIENCE, "every payment has found a wait", || {
        count(client, "select count(*) from rea.work_inbox") == 0 && count(client, unpaid) == 0
    });
    let again = "select count(rea.fire_event('order.paid', biz_key)) from rea.work_instance where status = 'WAITING'";
    assert!(count(&mut scene.client, again) > 0, "none was in time");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have ended", || count(client, "select count(*) from rea.work_queue") == 0);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    assert_eq!(count(&mut scene.client, DISAGREEMENTS), 0);
    let late = "select count(*) from rea.work_instance where (context #>> '{first,output,timedOut}')::boolean";
    let late = count(&mut scene.client, late);
    assert!(late > 0 && late < NUMBER as i64, "{late} of {NUMBER} timed out");
    assert_eq!(taken(&mut scene.client, "orderCreatedFlow"), [(1, late), (2, NUMBER as i64 - late)]);
}

#[test]
fn kills_among_waits_lose_and_double_no_signal() {
    const NUMBER: usize = 400;
    let mut scene = Scene::with(&two_workers());
    both_run(&scene);
    scene.define("order.created", vec![wait_for("payment", paid(600.0))]);
    thread::scope(|scope| {
        let cluster = &scene.cluster;
        let firing = scope.spawn(move || fire_all(cluster, orders(NUMBER, 6_000.0)));
        for _ in 0..3 {
            rea_tests::pace(Duration::from_millis(1_300));
            cluster.wait_ready();
            let sql = "select pid from pg_stat_activity where backend_type = 'rea worker'";
            let worker = cluster.try_connect("postgres").and_then(|mut client| client.query(sql, &[]));
            if let Some(row) = worker.expect("the server is up").first() {
                rea_tests::system::signal(row.get(0), 9);
            }
        }
        firing.join().expect("all were fired");
    });
    scene.reconnect();
    let done = "select count(*) from rea.work_instance where status = 'SUCCESS'";
    let client = &mut scene.client;
    wait_until(2 * PATIENCE, "every order is paid", || count(client, done) == NUMBER as i64);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
    assert_eq!(count(&mut scene.client, DISAGREEMENTS), 0);
    assert_eq!(taken(&mut scene.client, "orderCreatedFlow"), [(1, NUMBER as i64)]);
}

#[test]
fn all_needs_every_event_and_one_event_is_only_one_of_them() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    let parts = json!({"all": [{"eventType": "part.came"}, {"eventType": "part.came"}, {"eventType": "order.packed"}]});
    scene.define("order.created", vec![wait_for("parts", parts)]);
    scene.fire("order.created", "SO-1");
    scene.fire_with("part.came", "SO-1", &json!({"n": 1}));
    scene.fire("order.packed", "SO-1");
    let client = &mut scene.client;
    wait_until(PATIENCE, "two have come", || count(client, "select count(*) from rea.work_wait_event") == 2);
    invariant::settle(&mut scene.client, PATIENCE);
    let waiting = "select count(*) from rea.work_instance where status = 'WAITING'";
    assert_eq!(count(&mut scene.client, waiting), 1, "one part is missing");
    scene.fire_with("part.came", "SO-1", &json!({"n": 2}));
    let client = &mut scene.client;
    wait_until(PATIENCE, "it has ended", || count(client, "select count(*) from rea.work_queue") == 0);
    let output = output(&mut scene.client, "SO-1", "parts");
    assert_eq!(output["timedOut"], json!(false));
    let numbers: Vec<&Value> =
        output["events"].as_array().expect("events").iter().map(|event| &event["payload"]["n"]).collect();
    assert_eq!(numbers, [&json!(1), &json!(2), &Value::Null]);
    invariant::check(&mut scene.client);
}

#[test]
fn a_wait_takes_only_what_matches_and_never_its_own_event() {
    let mut scene = Scene::with(&Config::new().without_fsync());
    let any = json!({"any": [
        {"eventType": "order.created"},
        {"eventType": "order.paid", "match": {"currency": "EUR"}},
        {"eventType": "order.paid", "match": "$.payload.amount > 100"},
        {"eventType": "case.closed", "correlationId": "${event.id}"}]});
    scene.define("order.created", vec![wait_for("answer", any)]);
    let tell = |client: &mut Client, kind: &str, key: &str, payload: Value, correlation: Option<&str>| {
        let sql = "select rea.fire_event($1, $2, $3::text::jsonb, correlation_id => $4)";
        let row = client.query_one(sql, &[&kind, &key, &payload.to_string(), &correlation]).expect("fired");
        row.get::<_, String>(0)
    };
    let client = &mut scene.client;
    let ids: Vec<String> = (0..4).map(|n| tell(client, "order.created", &format!("SO-{n}"), json!({}), None)).collect();
    wait_until(PATIENCE, "all wait", || {
        count(client, "select count(*) from rea.work_instance where status = 'WAITING'") == 4
            && count(client, "select count(*) from rea.work_wait") == 16
    });
    tell(client, "order.paid", "SO-0", json!({"currency": "USD", "amount": 100}), None);
    tell(client, "order.paid", "SO-0", json!({"currency": "EUR", "amount": 1}), None);
    tell(client, "order.paid", "SO-1", json!({"amount": 101}), None);
    tell(client, "case.closed", "elsewhere", json!({}), Some(&ids[2]));
    // The same key again is another event: it starts an instance and is what the first one waits for.
    tell(client, "order.created", "SO-3", json!({}), None);
    // That one looks back and finds the elder's.
    wait_until(PATIENCE, "all have ended", || {
        count(client, "select count(*) from rea.work_instance where status = 'SUCCESS'") == 5
    });
    invariant::settle(client, PATIENCE);
    invariant::check(client);
    let came = |client: &mut Client, key: &str| {
        let sql =
            "select e.event_type, e.payload::text from rea.work_wait_event w join rea.work_event e using (event_uid)
                   join rea.work_instance i using (instance_id) where i.biz_key = $1 order by i.instance_id limit 1";
        let row = client.query_one(sql, &[&key]).expect("one event came");
        (row.get::<_, String>(0), row.get::<_, String>(1))
    };
    assert_eq!(came(client, "SO-0").1, "{\"amount\": 1, \"currency\": \"EUR\"}");
    assert_eq!(came(client, "SO-1").1, "{\"amount\": 101}");
    assert_eq!(came(client, "SO-2").0, "case.closed");
    assert_eq!(came(client, "SO-3").0, "order.created");
    let own = "select count(*) from rea.work_wait_event w join rea.work_instance i using (instance_id, event_uid)";
    assert_eq!(count(client, own), 0);
}

#[test]
fn one_event_completes_the_waits_of_many_instances() {
    let mut scene = Scene::with(&two_workers().without_fsync());
    let open = json!({"any": [{"eventType": "shop.opened", "bizKey": "shop"}]});
    scene.define("order.created", vec![wait_for("opening", open)]);
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, '{}')) from generate_series(1, 500) g";
    scene.client.execute(sql, &[]).expect("fired");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all wait", || count(client, "select count(*) from rea.work_wait") == 500);
    scene.fire("shop.opened", "shop");
    scene.finish_all(500, PATIENCE);
    assert_eq!(count(&mut scene.client, "select count(distinct event_uid) from rea.work_wait_event"), 1);
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
}

#[test]
fn an_event_of_cancel_on_cancels_before_and_after_the_begin() {
    let mut scene = Scene::with(&two_workers().without_fsync());
    let definition = json!({"workflowName": "cancellable", "triggerEvent": "order.created",
        "cancelOn": [{"eventType": "order.withdrawn"}], "actions": [wait_for("payment", paid(600.0))]});
    define(&mut scene.client, &definition);
    let client = &mut scene.client;
    for n in 0..200 {
        fire(client, "order.created", &format!("SO-{n}"), &json!({}));
        rea_tests::pace(Duration::from_micros((n * 37) % 200 * 50));
        fire(client, "order.withdrawn", &format!("SO-{n}"), &json!({}));
    }
    wait_until(PATIENCE, "all are cancelled", || {
        count(client, "select count(*) from rea.work_instance where status = 'CANCELLED'") == 200
    });
    invariant::settle(&mut scene.client, PATIENCE);
    invariant::check(&mut scene.client);
}

/// Commits and bytes of WAL in some seconds of rest.
fn cost_of_rest(client: &mut Client) -> (i64, i64) {
    let read = |client: &mut Client| {
        client.execute("select pg_stat_clear_snapshot()", &[]).expect("cleared");
        let row = client
            .query_one(
                "select xact_commit + xact_rollback, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
                 from pg_stat_database where datname = current_database()",
                &[],
            )
            .expect("pg_stat_database");
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    rea_tests::pace(Duration::from_secs(3));
    let before = read(client);
    rea_tests::pace(Duration::from_secs(6));
    let after = read(client);
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn ten_thousand_open_waits_cost_nothing_at_rest() {
    let config = Config::new().without_fsync().set("autovacuum", "off").set("checkpoint_timeout", "1h");
    let mut scene = Scene::with(&config.set("max_wal_size", "8GB"));
    scene.define("order.created", vec![wait_for("payment", paid(3_600.0))]);
    scene.fire("order.created", "first");
    let client = &mut scene.client;
    wait_until(PATIENCE, "the first one waits", || count(client, "select count(*) from rea.work_wait") == 1);
    let with_one = cost_of_rest(client);
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, '{}')) from generate_series(1, 10000) g";
    client.execute(sql, &[]).expect("fired");
    let parked = "select count(*) from rea.work_queue where lane = '~wait' and due_time > now() + interval '1 min'";
    wait_until(2 * PATIENCE, "all wait", || count(client, parked) == 10_001);
    let with_all = cost_of_rest(client);
    assert!(with_all.0 <= with_one.0 * 3 / 2 + 10, "commits: {} with one wait, {} with 10,001", with_one.0, with_all.0);
    assert!(with_all.1 <= with_one.1 * 2 + 20_000, "WAL: {} with one wait, {} with 10,001", with_one.1, with_all.1);
}
