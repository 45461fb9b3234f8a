//! Memory of a worker with 256 requests in flight.

use anyhow::Result;
use rea_tests::wait_until;
use rea_tests::workflow::{define, http, workflow};

use crate::figure::{Figure, Mark};
use crate::rig::{Memory, PATIENCE, Receiver, Rig, fire_many};

const IN_FLIGHT: usize = 256;

/// Resident memory, and how much of it is the worker's own.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    let receiver = Receiver::start(&["--delay-ms", "2000"])?;
    let bound = IN_FLIGHT.to_string();
    rig.set(&[("rea.http_threads", &bound), ("rea.lane_max_in_flight", &bound)])?;
    let (memory, before) = rig.with_database("memory", |database| {
        let mut client = rig.cluster.connect(database);
        define(&mut client, &workflow("benchFlow", "bench.fired", vec![http("step1", &receiver.url("/ok"))]));
        let before = largest(rig, database)?;
        fire_many(&mut client, 2 * IN_FLIGHT)?;
        wait_until(PATIENCE, "256 requests are in flight", || receiver.requests().is_ok_and(|n| n >= IN_FLIGHT));
        Ok((largest(rig, database)?, before))
    })?;
    rig.reset()?;
    Ok(vec![
        Figure::new("worker, resident with 256 in flight", memory.resident, "MB")
            .beside("idle", before.resident)
            .mark(Mark::AtMost(150.0)),
        Figure::new("worker, private memory with 256 in flight", memory.private, "MB").beside("idle", before.private),
        Figure::new("worker, peak resident", memory.peak, "MB"),
    ])
}

fn largest(rig: &Rig, database: &str) -> Result<Memory> {
    let mut largest = Memory::default();
    for pid in rig.cluster.worker_pids(database) {
        let memory = Memory::of(pid)?;
        if memory.resident > largest.resident {
            largest = memory;
        }
    }
    Ok(largest)
}
