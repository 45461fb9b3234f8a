//! Random workflows over a receiver with random answers, while people cancel,
//! pause, resume and retry, and workers and servers die. In the end everything
//! has ended, and no rule for the tables is broken.
//!
//! `WALK_SEED` repeats a walk as far as threads allow, `WALK_SECONDS` makes it
//! longer (default 25); `make walk SEED=… MINUTES=…` sets both.

#[path = "walk/generate.rs"]
mod generate;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use fastrand::Rng;
use generate::{Generator, WORKFLOWS};
use postgres::Client;
use rea_tests::workflow::{count, define};
use rea_tests::{Answer, Config, PATIENCE, Request, Scene, invariant, wait_until};
use serde_json::{Value, json};

/// Keys of events: few, so that signals find waits.
const KEYS: usize = 25;

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// What the receiver makes of a request follows from the seed and its id.
fn answer(seed: u64, undo: bool) -> impl Fn(&Request, usize) -> Answer + Send + Sync + 'static {
    move |request, _| {
        let mut hasher = DefaultHasher::new();
        (seed, request.header("x-rea-req-id")).hash(&mut hasher);
        let dice = hasher.finish() % 100;
        let good = Answer::json("{\"n\": 1}");
        match (dice, undo) {
            (0..60, false) | (0..85, true) => good,
            (60..68, false) => Answer::status(400),
            (68..78, false) | (85..93, true) => Answer::status(503),
            (78..88, false) => good.after(Duration::from_millis(100 + 30 * (dice - 78))),
            (88..94, false) | (93..97, true) => Answer::Close,
            _ => Answer::Reset,
        }
    }
}

/// The walk's own moves; each may be refused.
struct Walk {
    rng: Rng,
    scene: Scene,
    fired: usize,
}

impl Walk {
    fn begin(seed: u64) -> Walk {
        let config =
            Config::new().set("rea.workers", "2").set("rea.poll_interval", "200ms").set("rea.lane_max_in_flight", "24");
        let mut scene = Scene::with(&config);
        let mut rng = Rng::with_seed(seed);
        scene.sink.on("/do", answer(seed, false));
        scene.sink.on("/undo", answer(seed, true));
        scene
            .client
            .batch_execute(
                "create schema walk;
                 create table walk.noted (instance_id uuid, name text);
                 create function walk.note(instance_id text, name text) returns void language sql
                 as 'insert into walk.noted values (instance_id::uuid, name)'",
            )
            .expect("prepared");
        let origin = scene.sink.origin();
        // The last first: a workflow that is started by others has to be there before them.
        for number in (0..WORKFLOWS).rev() {
            define(&mut scene.client, &Generator::new(&mut rng, &origin).workflow(number));
        }
        Walk { rng, scene, fired: 0 }
    }

    fn fire(&mut self) -> Result<(), postgres::Error> {
        let (event_type, key) = match self.rng.usize(0..10) {
            0..5 => (format!("kind{}.fired", self.rng.usize(0..WORKFLOWS)), self.rng.usize(0..KEYS)),
            5..9 => ("signal".to_owned(), self.rng.usize(0..KEYS)),
            _ => ("stop".to_owned(), self.rng.usize(0..KEYS)),
        };
        let items: Vec<usize> = (0..self.rng.usize(0..5)).collect();
        let payload = json!({"items": items, "kind": self.rng.usize(0..4), "slot": self.rng.usize(0..2)});
        let sql = "select rea.fire_event($1, $2, $3::text::jsonb)";
        self.scene.client.execute(sql, &[&event_type, &format!("K{key}"), &payload.to_string()])?;
        self.fired += 1;
        Ok(())
    }

    /// Somebody wants something of some instance; what is refused stays as it is.
    fn intervene(&mut self) -> Result<(), postgres::Error> {
        let (function, wanted) = match self.rng.usize(0..10) {
            0..2 => ("rea.cancel_instance(instance_id, true)", "end_time is null"),
            2 => ("rea.cancel_instance(instance_id, false)", "end_time is null"),
            3..6 => ("rea.pause_instance(instance_id)", "end_time is null"),
            6..8 => ("rea.resume_instance(instance_id)", "status = 'PAUSED'"),
            _ => ("rea.retry_instance(instance_id)", "status in ('FAILED', 'DEAD')"),
        };
        let sql = format!(
            "select {function} from (select instance_id from rea.work_instance where {wanted}
             order by md5(instance_id::text || $1) limit 1) chosen"
        );
        match self.scene.client.execute(&sql, &[&self.rng.u64(..).to_string()]) {
            Err(error) if error.code().is_some_and(|code| ["55000", "42704"].contains(&code.code())) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    fn terminate(&mut self) -> Result<(), postgres::Error> {
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity
                   where backend_type in ('rea worker', 'rea SQL worker') order by md5(pid::text || $1) limit 1";
        self.scene.client.execute(sql, &[&self.rng.u64(..).to_string()]).map(|_| ())
    }

    fn crash(&mut self) {
        let pids = self.scene.workers();
        if !pids.is_empty() {
            self.scene.cluster.kill_9(pids[self.rng.usize(0..pids.len())]);
            self.scene.reconnect();
        }
    }

    /// Walks for a time.
    fn go(&mut self, time: Duration) {
        let start = Instant::now();
        let mut next_crash = 9.0 + 6.0 * self.rng.f64();
        let mut next_end = 2.0;
        while start.elapsed() < time {
            let elapsed = start.elapsed().as_secs_f64();
            let moved = if elapsed > next_crash {
                next_crash = elapsed + 9.0 + 10.0 * self.rng.f64();
                self.crash();
                Ok(())
            } else if elapsed > next_end {
                next_end = elapsed + 2.0 + 3.0 * self.rng.f64();
                self.terminate()
            } else {
                match self.rng.usize(0..3) {
                    0 => self.intervene(),
                    _ => self.fire(),
                }
            };
            moved.unwrap_or_else(|error| panic!("{error:?}"));
            rea_tests::pace(Duration::from_millis(self.rng.u64(5..40)));
        }
    }

    /// Nobody disturbs any more: what goes on goes on, what is paused is cancelled, until nothing is left.
    fn end(&mut self) {
        let client = &mut self.scene.client;
        let paused = "select rea.cancel_instance(instance_id, true) from rea.work_instance i where status = 'PAUSED'
                      and not exists (select from rea.work_request r where r.instance_id = i.instance_id)";
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(2 * PATIENCE, "everything has ended", || {
                // One that was paused and is ending already refuses; it is asked again.
                let _ = client.execute(paused, &[]);
                count(client, "select (select count(*) from rea.work_queue) + (select count(*) from rea.work_inbox)")
                    == 0
            });
        }));
        if done.is_err() {
            panic!("left over:\n{}", left_over(&mut self.scene.client).join("\n"));
        }
        invariant::settle(&mut self.scene.client, PATIENCE);
    }
}

fn left_over(client: &mut Client) -> Vec<String> {
    let sql = "select format('%s %s action %s of %s %s/%s end %s comp %s undo %s lane %s due %s owner %s now %s',
                   i.instance_id, i.status, i.current_action_index, i.workflow_name, coalesce(i.parent_action, ''),
                   coalesce(i.branch, ''), i.end_status, i.compensation, i.undo_no, q.lane, q.due_time,
                   q.owner_generation, now())
               from rea.work_queue q join rea.work_instance i using (instance_id) limit 20";
    let mut lines: Vec<String> = client.query(sql, &[]).expect("work_queue").iter().map(|row| row.get(0)).collect();
    lines.extend(invariant::violations(client).into_iter().take(20));
    lines
}

/// Lives of instances with concurrency, by their own attempts: never more at the same time than the limit.
const CROWDED: &str = "
    with life as (
        select i.workflow_name, p.payload ->> 'slot' as slot, i.instance_id, l.life,
               min(a.start_time) as begun, max(a.end_time) as over,
               (v.definition #>> '{concurrency,limit}')::integer as most
        from rea.work_instance i
        join rea.workflow_version v on v.workflow_name = i.workflow_name and v.version = i.workflow_version
        join rea.work_event p on p.event_uid = i.event_uid
        join rea.work_action_log a on a.instance_id = i.instance_id and a.status <> 'SKIPPED'
        cross join lateral (
            select count(*) from rea.work_instance_log h
            where h.instance_id = i.instance_id and h.log_id < a.log_id
              and h.new_status in ('SUCCESS', 'FAILED', 'DEAD', 'CANCELLED')) l (life)
        where i.branch is null and v.definition ? 'concurrency'
        group by i.workflow_name, slot, i.instance_id, l.life, most
    )
    select a.workflow_name, a.slot, a.instance_id::text, a.begun::text, a.most,
           string_agg(b.instance_id || ' ' || b.begun || ' ' || b.over, ', ')
    from life a
    join life b on b.workflow_name = a.workflow_name and b.slot = a.slot and b.begun <= a.begun and b.over > a.begun
    group by a.workflow_name, a.slot, a.instance_id, a.begun, a.most
    having count(*) > a.most";

/// Local actions whose successes in the log are not what they wrote, one for one.
const NOT_ONCE: &str = "
    with local as (
        select v.workflow_name, v.version, a ->> 'name' as name
        from rea.workflow_version v
        cross join lateral jsonb_path_query(v.definition, 'strict $.** ? (@.type == \"local\" && exists (@.name))') a
    ), logged as (
        select l.instance_id, l.action_name as name, count(*) as times
        from rea.work_action_log l
        join rea.work_instance i on i.instance_id = l.instance_id
        join local d on d.workflow_name = i.workflow_name and d.version = i.workflow_version and d.name = l.action_name
        where l.status = 'SUCCESS' group by 1, 2
    ), noted as (
        select n.instance_id, n.name, count(*) as times from walk.noted n where n.name not like '%~undo' group by 1, 2
    )
    select coalesce(n.instance_id, l.instance_id)::text, coalesce(n.name, l.name), coalesce(n.times, 0),
           coalesce(l.times, 0)
    from noted n
    full join logged l on l.instance_id = n.instance_id and l.name = n.name
    where n.times is distinct from l.times or n.times <> 1";

fn assert_nothing_is_broken(scene: &mut Scene) {
    let mut broken = invariant::violations(&mut scene.client);
    let rows = scene.client.query(CROWDED, &[]).expect("lives");
    broken.extend(rows.iter().map(|row| {
        let text = |column: usize| row.get::<_, String>(column);
        format!(
            "more at once than {}: {} {} {} since {}: {}",
            row.get::<_, i32>(4),
            text(0),
            text(1),
            text(2),
            text(3),
            text(5)
        )
    }));
    let rows = scene.client.query(NOT_ONCE, &[]).expect("noted");
    broken.extend(rows.iter().map(|row| {
        let (id, name): (String, String) = (row.get(0), row.get(1));
        format!("{id} {name}: called {} times, logged {} times", row.get::<_, i64>(2), row.get::<_, i64>(3))
    }));
    let mut seen = HashSet::new();
    for request in scene.sink.requests() {
        let id = request.header("x-rea-req-id").expect("every request has an id").to_owned();
        if !seen.insert(id.clone()) {
            broken.push(format!("request {id} came twice"));
        }
    }
    let log = scene.cluster.log();
    for line in log.lines().filter(|line| line.contains("could not finish a turn") && !line.contains("deadlock")) {
        broken.push(line.to_owned());
    }
    invariant::assert_none(&mut scene.client, &broken);
}

#[test]
fn whatever_happens_everything_ends_and_no_rule_is_broken() {
    let seed = number_from("WALK_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let seconds = number_from("WALK_SECONDS").unwrap_or(25);
    eprintln!("WALK_SEED={seed} WALK_SECONDS={seconds}");
    let mut walk = Walk::begin(seed);
    walk.go(Duration::from_secs(seconds));
    walk.end();
    assert_nothing_is_broken(&mut walk.scene);
    let sql =
        "select json_object_agg(status, n)::text from (select status, count(*) n from rea.work_instance group by 1) s";
    let ends: String = walk.scene.client.query_one(sql, &[]).expect("work_instance").get(0);
    let ends: Value = serde_json::from_str(&ends).expect("JSON");
    eprintln!("{} events fired, {} requests, {ends}", walk.fired, walk.scene.sink.count());
    for status in ["SUCCESS", "FAILED", "CANCELLED"] {
        assert!(ends[status].as_i64().is_some_and(|n| n > 0), "the walk was too tame: {ends}");
    }
}
