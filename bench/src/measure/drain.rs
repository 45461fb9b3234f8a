//! Throughput: a backlog is fired while workers are off, then drained until
//! every instance is recorded as SUCCESS. The WAL is counted without full-page
//! images, which depend on the checkpoint that happens to come before.

use std::path::PathBuf;

use anyhow::Result;

use super::peer::{self, Consumer};
use crate::figure::{Figure, Mark};
use crate::rig::{Load, Receiver, Rig, Steps};

/// Enough to keep the receiver busy without paying for idle threads.
const THREADS: usize = 32;

/// Room for the requests that are prepared while others are under way.
const LANE_BOUND: usize = 512;

/// Latency of the slow downstream, in ms.
const DELAY_MS: usize = 30;

/// Threads for the slow downstream.
const SLOW_THREADS: usize = 512;

/// Names the script of the node consumer; without it that reference is left out.
const NODE_CONSUMER: &str = "REA_NODE_CONSUMER";

/// Drain throughput, WAL, commits and CPU.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    let receiver = Receiver::start(&[])?;
    let (threads, bound) = (THREADS.to_string(), LANE_BOUND.to_string());
    rig.set(&[("rea.http_threads", &threads), ("rea.lane_max_in_flight", &bound), ("full_page_writes", "off")])?;
    let drain = |name: &str, steps, events| {
        rig.with_database(name, |database| Load::drain(rig, &receiver, database, steps, events))
    };
    let (short, long) = (rig.amount(20_000), rig.amount(200_000));
    let one = drain("drain_one", Steps::One, short)?;
    let script = std::env::var_os(NODE_CONSUMER).map(PathBuf::from);
    let node = script.map(|path| peer::drain(rig, &receiver, short, Consumer::Node(&path))).transpose()?;
    let bare = peer::drain(rig, &receiver, short, Consumer::Bare)?;
    let three = drain("drain_three", Steps::Three, short)?;
    let one_long = drain("drain_one_long", Steps::One, long)?;
    let three_long = drain("drain_three_long", Steps::Three, long)?;
    rig.reset()?;
    let mut figures = throughput(short, &one, node, bare);
    figures.push(
        Figure::new(format!("3-action workflows, {short} drained"), three.rate(), "actions/s")
            .mark(Mark::AtLeast(25_000.0)),
    );
    for (actions, short_load, long_load) in [(1, &one, &one_long), (3, &three, &three_long)] {
        let name = format!("{actions}-action workflows, {long} drained");
        let figure = Figure::new(name, long_load.rate(), "actions/s");
        figures.push(figure.beside(format!("{short} drained"), short_load.rate()).mark(Mark::RatioAtLeast(0.8)));
    }
    figures.extend(costs(&one, &three));
    Ok(figures)
}

fn throughput(events: usize, one: &Load, node: Option<f64>, bare: f64) -> Vec<Figure> {
    let name = format!("1-action workflows, {events} drained ({THREADS} threads, lane bound {LANE_BOUND})");
    let figure = Figure::new(name, one.rate(), "actions/s").mark(Mark::AtLeast(20_000.0));
    let figure = match node {
        Some(rate) => figure.beside("queue table + node consumer", rate).mark(Mark::RatioAtLeast(1.5)),
        None => figure,
    };
    let same = Figure::new("the same", one.rate(), "actions/s").beside("queue table + bare consumer", bare);
    vec![figure, same]
}

fn costs(one: &Load, three: &Load) -> Vec<Figure> {
    let further = (three.wal_per_event - one.wal_per_event) / 2.0;
    vec![
        Figure::new("WAL per 1-action event, firing included", one.wal_per_event, "bytes").mark(Mark::AtMost(3_000.0)),
        Figure::new("WAL per further action", further, "bytes").mark(Mark::AtMost(900.0)),
        Figure::new("commits per action, 1 action", one.commits_per_action, "").mark(Mark::AtMost(0.05)),
        Figure::new("commits per action, 3 actions", three.commits_per_action, "").mark(Mark::AtMost(0.05)),
        Figure::new("worker CPU per action, 1 action", one.cpu_per_action, "µs"),
        Figure::new("worker CPU per action, 3 actions", three.cpu_per_action, "µs"),
    ]
}

/// Throughput when the downstream takes 30 ms.
pub fn measure_slow(rig: &Rig) -> Result<Vec<Figure>> {
    let receiver = Receiver::start(&["--delay-ms", &DELAY_MS.to_string()])?;
    let threads = SLOW_THREADS.to_string();
    rig.set(&[("rea.http_threads", &threads), ("rea.lane_max_in_flight", "1024")])?;
    let events = rig.amount(100_000);
    let load = rig.with_database("slow", |database| Load::drain(rig, &receiver, database, Steps::One, events))?;
    rig.reset()?;
    let limit = SLOW_THREADS as f64 * 1_000.0 / DELAY_MS as f64;
    let name = format!("{DELAY_MS} ms downstream ({SLOW_THREADS} threads, lane bound 1024, {events} events)");
    Ok(vec![
        Figure::new(name, load.rate(), "actions/s")
            .beside("threads / latency", limit)
            .mark(Mark::AtLeast(15_000.0))
            .mark(Mark::RatioAtLeast(0.95)),
    ])
}
