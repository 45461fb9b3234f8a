//! Two requests of 30 ms, one after the other or side by side: how long the workflow takes, from the call of
//! `fire_event` to the end of the instance, and what the worker needs when both kinds arrive at 500 events/s
//! (requirement C17).

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use postgres::Client;
use rea_tests::wait_until;
use rea_tests::workflow::{define, http, workflow};
use serde_json::{Value, json};

use crate::figure::{Figure, Mark, median};
use crate::rig::{Memory, PATIENCE, Receiver, Rig, payload};

/// Latency of the downstream, in ms.
const DELAY_MS: usize = 30;

/// Time between two events while single ones are timed: longer than a workflow takes.
const PACE: Duration = Duration::from_millis(80);

/// Events before the measured ones.
const WARM_UP: usize = 20;

/// Events per second of the steady load.
const RATE: u32 = 500;

/// The kinds of workflow, with the time that each may take, in ms.
const KINDS: [(&str, f64); 2] = [("parallel", 33.0), ("serial", 63.0)];

/// Durations of both kinds, and the worker's memory under a steady load of them.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    let receiver = Receiver::start(&["--delay-ms", &DELAY_MS.to_string()])?;
    rig.set(&[("rea.http_threads", "256"), ("rea.lane_max_in_flight", "256")])?;
    let figures = rig.with_database("branches", |database| {
        let mut client = rig.cluster.connect(database);
        define_both(&mut client, &receiver);
        let mut figures = Vec::new();
        for (kind, most) in KINDS {
            figures.extend(single(rig, &mut client, kind, most)?);
        }
        figures.extend(steady(rig, &mut client, database)?);
        Ok(figures)
    })?;
    rig.reset()?;
    Ok(figures)
}

fn define_both(client: &mut Client, receiver: &Receiver) {
    let step = |name: &str| http(name, &receiver.url("/ok"));
    let mut serial = workflow("serialFlow", "bench.serial", vec![step("first"), step("second")]);
    let mut parallel: Value = workflow(
        "parallelFlow",
        "bench.parallel",
        vec![json!({"name": "both", "type": "parallel",
                    "branches": {"left": [step("first")], "right": [step("second")]}})],
    );
    for definition in [&mut serial, &mut parallel] {
        define(client, definition);
    }
}

fn single(rig: &Rig, client: &mut Client, kind: &str, most: f64) -> Result<Vec<Figure>> {
    let total = WARM_UP + rig.amount(300);
    let mut next = Instant::now();
    for _ in 0..total {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = Instant::now() + PACE;
        fire(client, kind)?;
    }
    wait_until(PATIENCE, "all have ended", || unfinished(client).is_ok_and(|left| left == 0));
    let mut taken: Vec<f64> = durations(client, kind)?.split_off(WARM_UP);
    let mean = taken.iter().sum::<f64>() / taken.len() as f64;
    let name = |what: &str| format!("two {DELAY_MS} ms requests, {kind}: {what}");
    Ok(vec![
        Figure::new(name("mean"), mean, "ms").mark(Mark::AtMost(most)),
        Figure::new(name("median"), median(&mut taken), "ms").mark(Mark::AtMost(most)),
    ])
}

fn fire(client: &mut Client, kind: &str) -> Result<()> {
    let sql = "select rea.fire_event('bench.' || $1, 'order', $2::text::jsonb)";
    client.execute(sql, &[&kind, &payload().to_string()])?;
    Ok(())
}

/// Time from the call of `fire_event` to the end of the instance, in ms, in the order of firing.
fn durations(client: &mut Client, kind: &str) -> Result<Vec<f64>> {
    let sql = "select extract(epoch from i.end_time - e.create_time)::float8 * 1000
               from rea.work_instance i join rea.work_event e on e.event_uid = i.event_uid
               where e.event_type = 'bench.' || $1 and i.parent_instance_id is null and i.status = 'SUCCESS'
               order by e.event_uid";
    Ok(client.query(sql, &[&kind])?.iter().map(|row| row.get(0)).collect())
}

fn unfinished(client: &mut Client) -> Result<i64> {
    let sql = "select (select count(*) from rea.work_inbox) + (select count(*) from rea.work_queue)";
    Ok(client.query_one(sql, &[])?.get(0))
}

/// Five minutes of both kinds, 500 events per second in all.
fn steady(rig: &Rig, client: &mut Client, database: &str) -> Result<Vec<Figure>> {
    let length = Duration::from_secs(rig.amount(300) as u64);
    let fire = client.prepare(
        "select count(rea.fire_event(case when g % 2 = 0 then 'bench.serial' else 'bench.parallel' end, 'order',
                                     $1::text::jsonb))
         from generate_series(1, $2::int4) g",
    )?;
    let payload = payload().to_string();
    let per_tick = i32::try_from(RATE / 50)?;
    let (begin, mut ticks, mut peak, mut backlog) = (Instant::now(), 0u32, Memory::default(), 0i64);
    while begin.elapsed() < length {
        client.execute(&fire, &[&payload, &per_tick])?;
        ticks += 1;
        if ticks.is_multiple_of(50) {
            let memory = largest(rig, database)?;
            peak = if memory.resident > peak.resident { memory } else { peak };
            backlog = backlog.max(unfinished(client)?);
        }
        let next = begin + Duration::from_millis(20) * ticks;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    wait_until(PATIENCE, "all have ended", || unfinished(client).is_ok_and(|left| left == 0));
    let name = |what: &str| format!("{RATE} events/s of both kinds for {} s: {what}", length.as_secs());
    Ok(vec![
        Figure::new(name("worker, most resident"), peak.resident, "MB").mark(Mark::AtMost(150.0)),
        Figure::new(name("most instances alive at once"), backlog as f64, ""),
    ])
}

fn largest(rig: &Rig, database: &str) -> Result<Memory> {
    let memory = rig.cluster.worker_pids(database).into_iter().map(Memory::of).collect::<Result<Vec<_>>>()?;
    memory.into_iter().max_by(|a, b| a.resident.total_cmp(&b.resident)).context("no worker is running")
}
