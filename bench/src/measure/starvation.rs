//! Fast work behind slow work, with default settings: 500 events for an endpoint
//! that takes 2 s, then 500 for a fast one. A slow downstream must not delay
//! another.

use std::time::Instant;

use anyhow::Result;
use rea_tests::wait_until;
use rea_tests::workflow::{count, define, http, workflow};

use crate::figure::{Figure, Mark};
use crate::rig::{PATIENCE, Receiver, Rig, payload};

const EVENTS: i32 = 500;

const FINISHED: &str = "select count(*) from rea.work_instance where workflow_name = 'fastFlow' and status = 'SUCCESS'";

/// Time until the fast ones are done.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    let (slow, fast) = (Receiver::start(&[])?, Receiver::start(&[])?);
    let elapsed = rig.with_database("starvation", |database| {
        let mut client = rig.cluster.connect(database);
        define(&mut client, &workflow("slowFlow", "slow.fired", vec![http("step1", &slow.url("/slow/2000"))]));
        define(&mut client, &workflow("fastFlow", "fast.fired", vec![http("step1", &fast.url("/ok"))]));
        let fire = client.prepare(
            "select count(rea.fire_event($1, 'order-' || g, $2::text::jsonb)) from generate_series(1, $3::int4) g",
        )?;
        let payload = payload().to_string();
        client.execute(&fire, &[&"slow.fired", &payload, &EVENTS])?;
        wait_until(PATIENCE, "slow requests are under way", || slow.requests().is_ok_and(|n| n > 0));
        client.execute(&fire, &[&"fast.fired", &payload, &EVENTS])?;
        let start = Instant::now();
        wait_until(PATIENCE, "the fast ones are done", || count(&mut client, FINISHED) == i64::from(EVENTS));
        Ok(start.elapsed())
    })?;
    let name = "500 fast instances behind 500 of 2 s, done after";
    Ok(vec![Figure::new(name, elapsed.as_secs_f64(), "s").mark(Mark::AtMost(0.2))])
}
