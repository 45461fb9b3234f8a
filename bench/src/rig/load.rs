//! A backlog: many events fired while workers are off, and its draining.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rea_tests::wait_until;
use rea_tests::workflow::{define, http, workflow};
use serde_json::{Value, json};

use super::process::cpu_seconds;
use super::{PATIENCE, Receiver, Rig};

/// Events fired per transaction while loading.
const CHUNK: i32 = 10_000;

/// Body of every event; of a size that business events have.
pub fn payload() -> Value {
    json!({"orderId": "SO-2026-000001", "sku": "A-1001", "qty": 2, "channel": "wechat"})
}

/// How many actions a workflow of a load has.
#[derive(Clone, Copy)]
pub enum Steps {
    /// One `http` action.
    One,
    /// Three `http` actions, one after the other.
    Three,
}

impl Steps {
    fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Three => 3,
        }
    }
}

/// What a draining took.
pub struct Load {
    /// Time from switching the workers on to the last recorded success.
    pub elapsed: Duration,
    /// Actions performed.
    pub actions: usize,
    /// WAL written per event, loading included, in bytes.
    pub wal_per_event: f64,
    /// Transactions committed in the database per action while draining.
    pub commits_per_action: f64,
    /// CPU time of the workers per action, in µs.
    pub cpu_per_action: f64,
}

impl Load {
    /// Actions per second.
    pub fn rate(&self) -> f64 {
        self.actions as f64 / self.elapsed.as_secs_f64()
    }

    /// Fires `events` events while workers are off, switches them on, and
    /// waits until every instance has succeeded.
    ///
    /// # Errors
    /// If something is refused, or an instance ends otherwise.
    pub fn drain(rig: &Rig, receiver: &Receiver, database: &str, steps: Steps, events: usize) -> Result<Self> {
        let mut client = rig.cluster.connect(database);
        let url = receiver.url("/ok");
        let actions = (1..=steps.count()).map(|n| http(&format!("step{n}"), &url)).collect();
        define(&mut client, &workflow("benchFlow", "bench.fired", actions));
        rig.set(&[("rea.enabled", "off")])?;
        rig.control("checkpoint")?;
        let wal_before = wal_position(rig)?;
        fire_many(&mut client, events)?;
        receiver.forget()?;
        rig.control("checkpoint")?;
        let commits_before = commits(&mut client)?;
        let cpu_before = worker_cpu(rig, database)?;
        let actions = events * steps.count();
        let start = Instant::now();
        rig.set(&[("rea.enabled", "on")])?;
        wait_until(PATIENCE, "all requests have arrived", || receiver.requests().is_ok_and(|n| n >= actions));
        wait_until(PATIENCE, "the queue is empty", || is_empty(&mut client).unwrap_or(false));
        let elapsed = start.elapsed();
        let wal = wal_position(rig)? - wal_before;
        let cpu = worker_cpu(rig, database)? - cpu_before;
        let commits = settled_commits(&mut client)? - commits_before;
        check(&mut client, receiver, events, actions)?;
        Ok(Self {
            elapsed,
            actions,
            wal_per_event: wal as f64 / events as f64,
            commits_per_action: commits as f64 / actions as f64,
            cpu_per_action: cpu * 1e6 / actions as f64,
        })
    }
}

/// Fires events, a large number per transaction.
///
/// # Errors
/// If one is refused.
pub fn fire_many(client: &mut Client, events: usize) -> Result<()> {
    let fire = client.prepare(
        "select count(rea.fire_event('bench.fired', 'order-' || g, $1::text::jsonb)) \
         from generate_series(1, $2::int4) g",
    )?;
    let mut left = i32::try_from(events)?;
    while left > 0 {
        let size = left.min(CHUNK);
        client.execute(&fire, &[&payload().to_string(), &size])?;
        left -= size;
    }
    Ok(())
}

fn is_empty(client: &mut Client) -> Result<bool> {
    let sql = "select not exists (select from rea.work_inbox) and not exists (select from rea.work_queue)";
    Ok(client.query_one(sql, &[])?.get(0))
}

fn wal_position(rig: &Rig) -> Result<i64> {
    rig.number("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8")
}

fn worker_cpu(rig: &Rig, database: &str) -> Result<f64> {
    rig.cluster.worker_pids(database).into_iter().map(cpu_seconds).sum()
}

fn commits(client: &mut Client) -> Result<i64> {
    let sql = "select xact_commit from pg_stat_database where datname = current_database()";
    let row = client.query_one(sql, &[]).context("pg_stat_database")?;
    Ok(row.get(0))
}

/// The counter of commits after the worker has reported its own: it does so
/// with a delay, so two equal readings a moment apart are waited for. The
/// readings count themselves, hence "nearly".
fn settled_commits(client: &mut Client) -> Result<i64> {
    let mut last = commits(client)?;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1_500));
        let now = commits(client)?;
        if now - last <= 4 {
            return Ok(last);
        }
        last = now;
    }
    Ok(last)
}

/// A benchmark that loses work is worth nothing.
fn check(client: &mut Client, receiver: &Receiver, events: usize, actions: usize) -> Result<()> {
    let sql = "select count(*) filter (where status = 'SUCCESS'), count(*) from rea.work_instance";
    let row = client.query_one(sql, &[])?;
    let (good, all): (i64, i64) = (row.get(0), row.get(1));
    let events = i64::try_from(events)?;
    ensure!(good == events && all == events, "{events} events, {all} instances, {good} of them SUCCESS");
    let requests = receiver.requests()?;
    ensure!(requests == actions, "{actions} actions, {requests} requests");
    Ok(())
}
