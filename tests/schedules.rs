//! What the clock fires: on time, each tick once over kills and restarts, and after a downtime what the policy says.

use std::time::{Duration, Instant};

use postgres::Client;
use rea_tests::workflow::count;
use rea_tests::{Config, PATIENCE, Scene, StopMode, wait_until};

const EVERY_SECOND: &str = "* * * * * *";

fn every_second(scene: &mut Scene, name: &str) {
    define(&mut scene.client, name, EVERY_SECOND, "one", 100);
}

fn define(client: &mut Client, name: &str, cron: &str, catch_up: &str, limit: i32) {
    let sql = "select rea.define_schedule($1, $2, 'Europe/Berlin', 'tick.fired', catch_up => $3, catch_up_limit => $4)";
    client.execute(sql, &[&name, &cron, &catch_up, &limit]).unwrap_or_else(|e| panic!("schedule refused: {e:?}"));
}

/// Number of events that a schedule has fired.
fn fired(client: &mut Client, name: &str) -> i64 {
    let sql = "select count(*) from rea.work_event where source = 'rea.schedule' and biz_key = $1";
    client.query_one(sql, &[&name]).expect("work_event").get(0)
}

/// Seconds between the ticks of a schedule, from its first to its last.
fn gaps(client: &mut Client, name: &str) -> Vec<i64> {
    let sql = "select extract(epoch from occurred_at - lag(occurred_at) over (order by occurred_at))::int8
               from rea.work_event where source = 'rea.schedule' and biz_key = $1 order by occurred_at offset 1";
    client.query(sql, &[&name]).expect("work_event").iter().map(|row| row.get(0)).collect()
}

/// Every second from the first tick to the last is there, once, and each has come through the inbox.
fn assert_every_second_once(scene: &mut Scene, name: &str) {
    let gaps = gaps(&mut scene.client, name);
    assert!(gaps.iter().all(|gap| *gap == 1), "{name}: {gaps:?}");
    let client = &mut scene.client;
    wait_until(PATIENCE, "every tick is routed", || count(client, "select count(*) from rea.work_inbox") == 0);
    let lost = "select count(*) from rea.work_event e where not exists (
                select from rea.work_unrouted u where u.event_uid = e.event_uid)";
    assert_eq!(count(client, lost), 0);
    assert_eq!(count(client, "select misfires from rea.schedule"), 0);
}

fn wait_for_ticks(scene: &mut Scene, name: &str, more: i64) {
    let client = &mut scene.client;
    let goal = fired(client, name) + more;
    wait_until(PATIENCE, &format!("{name} has fired {goal} times"), || fired(client, name) >= goal);
}

/// As if nothing could have fired since `ago`: the next time is all that a schedule remembers of it.
fn pretend_downtime(scene: &mut Scene, name: &str, ago: &str) {
    let sql =
        "update rea.schedule set next_time = date_trunc('minute', now()) - $2::text::interval where schedule_name = $1";
    scene.client.execute(sql, &[&name, &ago]).expect("moved back");
}

#[test]
fn delayed_events_fire_at_their_time_and_in_its_order() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![rea_tests::workflow::http("only", &scene.sink.url("/"))]);
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, fire_at => now() + interval '2 s' - g * interval '10 ms'))
               from generate_series(1, 100) g";
    scene.client.execute(sql, &[]).expect("fired");
    scene.finish_all(100, PATIENCE);
    let late = "select max(extract(epoch from i.create_time - e.fire_at) * 1000)::int8
                from rea.work_instance i join rea.work_event e using (event_uid)";
    let early = "select count(*) from rea.work_instance i join rea.work_event e using (event_uid)
                 where i.create_time < e.fire_at";
    assert_eq!(count(&mut scene.client, early), 0);
    assert!(count(&mut scene.client, late) < 500);
    let unordered = "select count(*) from (
        select e.fire_at < lag(e.fire_at) over (order by i.instance_id) as before
        from rea.work_instance i join rea.work_event e using (event_uid)) o where before";
    assert_eq!(count(&mut scene.client, unordered), 0);
}

#[test]
fn delayed_events_survive_a_kill_and_a_downtime() {
    let mut scene = Scene::with(&Config::new());
    let sql = "select count(rea.fire_event('order.created', 'SO-' || g, fire_at => now() + g * interval '3 ms'))
               from generate_series(1, 1500) g";
    scene.client.execute(sql, &[]).expect("fired");
    let goal = "select count(*) from rea.work_unrouted";
    for kill in 1..=3 {
        let client = &mut scene.client;
        wait_until(PATIENCE, "some have fired", || count(client, goal) >= kill * 200);
        scene.cluster.kill_9(*scene.workers().first().expect("a worker is running"));
        scene.reconnect();
    }
    scene.cluster.restart(StopMode::Fast);
    scene.reconnect();
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have fired", || count(client, goal) >= 1500);
    assert_eq!(count(client, goal), 1500);
    assert_eq!(count(client, "select count(*) from rea.work_delayed"), 0);
}

#[test]
fn a_schedule_fires_at_its_ticks() {
    let mut scene = Scene::open();
    every_second(&mut scene, "each");
    wait_for_ticks(&mut scene, "each", 4);
    let late = "select max(extract(epoch from create_time - occurred_at) * 1000)::int8
                from rea.work_event where source = 'rea.schedule'";
    let late = count(&mut scene.client, late);
    assert!((0..500).contains(&late), "{late} ms late");
    assert_every_second_once(&mut scene, "each");
}

#[test]
fn kills_around_ticks_lose_and_double_none() {
    let mut scene = Scene::with(&Config::new().set("rea.workers", "2"));
    every_second(&mut scene, "each");
    wait_for_ticks(&mut scene, "each", 1);
    for kill in 0..8 {
        wait_for_ticks(&mut scene, "each", 1);
        // Each time a little later after a tick, up to just before the next one.
        let (wait, begun) = (Duration::from_millis(130 * kill), Instant::now());
        wait_until(PATIENCE, "the moment has come", || begun.elapsed() >= wait);
        let workers = scene.workers();
        let victim = workers.get(kill as usize % 2).or(workers.first());
        scene.cluster.kill_9(*victim.expect("a worker is running"));
        scene.reconnect();
    }
    wait_for_ticks(&mut scene, "each", 3);
    assert_every_second_once(&mut scene, "each");
}

#[test]
fn two_workers_fire_each_tick_once() {
    let mut scene = Scene::with(&Config::new().without_fsync().set("rea.workers", "2"));
    for number in 0..40 {
        every_second(&mut scene, &format!("each{number}"));
    }
    wait_for_ticks(&mut scene, "each0", 1);
    for round in 0..3 {
        let victim = *scene.workers().first().expect("a worker is running");
        scene.client.execute("select pg_terminate_backend($1)", &[&victim]).expect("terminated");
        wait_for_ticks(&mut scene, "each0", 2 + round % 2);
    }
    for number in 0..40 {
        wait_for_ticks(&mut scene, &format!("each{number}"), 1);
        let gaps = gaps(&mut scene.client, &format!("each{number}"));
        assert!(gaps.iter().all(|gap| *gap == 1), "each{number}: {gaps:?}");
    }
}

#[test]
fn a_short_downtime_leaves_nothing_out_whatever_the_policy() {
    let mut scene = Scene::with(&Config::new());
    for policy in ["skip", "one", "all"] {
        define(&mut scene.client, policy, EVERY_SECOND, policy, 100);
    }
    wait_for_ticks(&mut scene, "all", 2);
    scene.cluster.stop(StopMode::Immediate);
    let begun = Instant::now();
    wait_until(PATIENCE, "some ticks have passed", || begun.elapsed() >= Duration::from_secs(4));
    scene.cluster.start_again();
    scene.reconnect();
    for policy in ["skip", "one", "all"] {
        wait_for_ticks(&mut scene, policy, 2);
        let gaps = gaps(&mut scene.client, policy);
        assert!(gaps.len() >= 6 && gaps.iter().all(|gap| *gap == 1), "{policy}: {gaps:?}");
    }
}

#[test]
fn after_a_long_downtime_the_policy_decides() {
    let mut scene = Scene::open();
    // A minute's tick must not come while this test looks: all of it is over in a part of one.
    let client = &mut scene.client;
    wait_until(2 * PATIENCE, "a minute is young", || {
        let second = count(client, "select extract(second from clock_timestamp())::int8");
        (5..30).contains(&second)
    });
    for (name, policy, limit) in [("skip", "skip", 100), ("one", "one", 100), ("all", "all", 100), ("few", "all", 3)] {
        define(&mut scene.client, name, "* * * * *", policy, limit);
        pretend_downtime(&mut scene, name, "20 minutes");
    }
    for (name, events, misfires, missed) in
        [("skip", 1, 20, 20), ("one", 1, 20, 20), ("all", 21, 0, 0), ("few", 3, 18, 18)]
    {
        let client = &mut scene.client;
        wait_until(PATIENCE, &format!("{name} has caught up"), || fired(client, name) >= events);
        let seen = client
            .query_one(
                "select (select count(*) from rea.work_event where biz_key = $1), misfires, next_time > now(),
                        (select (attributes ->> 'missed')::int8 from rea.work_event where biz_key = $1
                         order by occurred_at limit 1)
                 from rea.schedule where schedule_name = $1",
                &[&name],
            )
            .expect("schedule");
        let seen: (i64, i64, bool, i64) = (seen.get(0), seen.get(1), seen.get(2), seen.get(3));
        assert_eq!(seen, (events, misfires, true, missed), "{name}");
    }
}

#[test]
fn a_year_of_missed_seconds_does_not_stop_the_worker() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![rea_tests::workflow::http("only", &scene.sink.url("/"))]);
    for number in 0..20 {
        let name = format!("each{number}");
        define(&mut scene.client, &name, EVERY_SECOND, "all", 1000);
        pretend_downtime(&mut scene, &name, "1 year");
    }
    scene.fire("order.created", "SO-1");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let client = &mut scene.client;
    wait_until(PATIENCE, "all have caught up", || {
        count(
            client,
            "select count(*) from rea.schedule where misfires >= 9000 and last_time > now() - interval '10 s'",
        ) == 20
    });
    assert!(fired(client, "each0") < 1_200);
}

#[test]
fn ticks_that_pass_while_paused_never_fire() {
    let mut scene = Scene::open();
    every_second(&mut scene, "each");
    every_second(&mut scene, "other");
    wait_for_ticks(&mut scene, "each", 1);
    scene.client.execute("select rea.pause_schedule('each')", &[]).expect("paused");
    let before = fired(&mut scene.client, "each");
    wait_for_ticks(&mut scene, "other", 3);
    assert_eq!(fired(&mut scene.client, "each"), before);
    scene.client.execute("select rea.resume_schedule('each')", &[]).expect("resumed");
    wait_for_ticks(&mut scene, "each", 2);
    let gaps = gaps(&mut scene.client, "each");
    assert_eq!(gaps.iter().filter(|gap| **gap > 2).count(), 1, "{gaps:?}");
    assert_eq!(count(&mut scene.client, "select sum(misfires)::int8 from rea.schedule"), 0);
}

#[test]
fn a_schedule_that_cannot_be_read_is_paused_and_the_others_go_on() {
    let mut scene = Scene::open();
    every_second(&mut scene, "each");
    every_second(&mut scene, "broken");
    scene
        .client
        .execute("update rea.schedule set timezone = 'Middle-earth' where schedule_name = 'broken'", &[])
        .expect("broken");
    let client = &mut scene.client;
    wait_until(PATIENCE, "it is paused", || {
        count(client, "select count(*) from rea.schedules where paused and error like '%Middle-earth%'") == 1
    });
    wait_for_ticks(&mut scene, "each", 2);
    every_second(&mut scene, "broken");
    wait_for_ticks(&mut scene, "broken", 2);
}

#[test]
fn dates_that_never_come_are_refused_at_once() {
    let mut scene = Scene::open();
    for cron in ["0 0 30 2 *", "0 0 31 4,6 *", "* * 30 2 *", "0 0 31W 2 *", "0 0 0 1 1 * 2020"] {
        let begun = Instant::now();
        let sql = "select rea.define_schedule('never', $1, 'Europe/Berlin', 'tick.fired')";
        let refused = scene.client.execute(sql, &[&cron]).expect_err("it never fires");
        assert_eq!(refused.code().map(|code| code.code()), Some("22023"), "{cron}");
        assert!(begun.elapsed() < Duration::from_secs(1), "{cron} took {:?}", begun.elapsed());
    }
}

#[test]
fn a_wait_sees_a_delayed_event_when_it_fires_and_not_before() {
    let mut scene = Scene::open();
    let wait = serde_json::json!({"name": "awaitPayment", "type": "wait",
        "config": {"any": [{"eventType": "order.paid"}], "lookbackSeconds": 60, "timeoutSeconds": 600}});
    scene.define("order.created", vec![wait]);
    let fire = "select rea.fire_event('order.paid', $1, fire_at => clock_timestamp() + $2::text::interval)";
    let paid = scene.client.query_one(fire, &[&"SO-1", &"1 hour"]).expect("fired").get::<_, String>(0);
    scene.client.execute("select rea.cancel_event($1)", &[&paid]).expect("taken back");
    scene.client.execute(fire, &[&"SO-1", &"2 s"]).expect("fired");
    scene.fire("order.created", "SO-1");
    let client = &mut scene.client;
    let waiting = "select count(*) from rea.work_instance where status = 'WAITING'";
    wait_until(PATIENCE, "it waits", || count(client, waiting) == 1);
    let done = "select count(*) from rea.work_instance where status = 'SUCCESS'";
    wait_until(PATIENCE, "it goes on", || count(client, done) == 1);
    let early = "select count(*) from rea.work_instance i, rea.work_event e
                 where e.event_type = 'order.paid' and not exists (
                     select from rea.work_unrouted u where u.event_uid = e.event_uid and u.reason = 'cancelled')
                   and i.end_time < e.fire_at";
    assert_eq!(count(client, early), 0);
}
