//! Throughput: a backlog is fired while workers are off, then drained until
//! every instance is recorded as SUCCESS. The WAL is counted without full-page
//! images, which depend on the checkpoint that happens to come before.

use anyhow::Result;

use super::peer::{self, Form};
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

/// Drain throughput, WAL, commits and CPU.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    let receiver = Receiver::start(&[])?;
    let (threads, bound) = (THREADS.to_string(), LANE_BOUND.to_string());
    rig.set(&[("rea.http_threads", &threads), ("rea.lane_max_in_flight", &bound), ("full_page_writes", "off")])?;
    let drain = |name: &str, steps, events| {
        rig.with_database(name, |database| Load::drain(rig, &receiver, database, steps, events))
    };
    let short = rig.amount(20_000);
    let one = drain("drain_one", Steps::One, short)?;
    let plain = peer::drain(rig, &receiver, short, Form::Plain)?;
    let overlapped = peer::drain(rig, &receiver, short, Form::Overlapped)?;
    let three = drain("drain_three", Steps::Three, short)?;
    let long = drain("drain_long", Steps::One, rig.amount(200_000))?;
    let three_long = drain("drain_three_long", Steps::Three, rig.amount(200_000))?;
    rig.reset()?;
    let conditions = format!("{THREADS} threads, lane bound {LANE_BOUND}");
    let beside_peer = |figure: Figure| figure.beside("queue table + own consumer", plain);
    let further = (three.wal_per_event - one.wal_per_event) / 2.0;
    Ok(vec![
        beside_peer(Figure::new(
            format!("1-action workflows, {short} drained ({conditions})"),
            one.rate(),
            "actions/s",
        ))
        .mark(Mark::AtLeast(20_000.0))
        .mark(Mark::RatioAtLeast(1.5)),
        Figure::new("the same", one.rate(), "actions/s")
            .beside("that consumer at its best: reading, posting, deleting overlapped", overlapped),
        Figure::new(format!("1-action workflows, {} drained", long.actions), long.rate(), "actions/s")
            .beside(format!("{short} drained"), one.rate())
            .mark(Mark::RatioAtLeast(0.8)),
        beside_peer(Figure::new(format!("3-action workflows, {short} drained"), three.rate(), "actions/s"))
            .mark(Mark::AtLeast(25_000.0)),
        Figure::new(format!("3-action workflows, {} drained", three_long.actions / 3), three_long.rate(), "actions/s")
            .beside(format!("{short} drained"), three.rate())
            .mark(Mark::RatioAtLeast(0.8)),
        Figure::new("WAL per 1-action event, firing included", one.wal_per_event, "bytes").mark(Mark::AtMost(3_000.0)),
        Figure::new("WAL per further action", further, "bytes").mark(Mark::AtMost(900.0)),
        Figure::new("commits per action, 1 action", one.commits_per_action, "").mark(Mark::AtMost(0.05)),
        Figure::new("commits per action, 3 actions", three.commits_per_action, "").mark(Mark::AtMost(0.05)),
        Figure::new("worker CPU per action, 1 action", one.cpu_per_action, "µs"),
        Figure::new("worker CPU per action, 3 actions", three.cpu_per_action, "µs"),
    ])
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
