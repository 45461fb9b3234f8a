//! Time from COMMIT to the request at the receiver, with default settings: one
//! event about every 5 ms, so that a worker has nothing else to do. Both clocks
//! are this machine's.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use rea_tests::wait_until;
use rea_tests::workflow::{define, http, workflow};

use crate::figure::{Figure, Mark, percentile};
use crate::rig::{PATIENCE, Receiver, Rig, payload};

/// Time between two events.
const PACE: Duration = Duration::from_millis(5);

/// Events before the measured ones: connections, plans and caches are made.
const WARM_UP: usize = 50;

/// When one event was committed, in ns since 1970.
struct Fired {
    id: String,
    commit_sent: i128,
    commit_done: i128,
}

/// Commit → request.
pub fn measure(rig: &Rig) -> Result<Vec<Figure>> {
    let receiver = Receiver::start(&["--record"])?;
    let (fired, arrivals) = rig.with_database("latency", |database| {
        let mut client = rig.cluster.connect(database);
        define(&mut client, &workflow("benchFlow", "bench.fired", vec![http("step1", &receiver.url("/ok"))]));
        let total = WARM_UP + rig.amount(1_000);
        let fired = fire_paced(&mut client, total)?;
        wait_until(PATIENCE, "all requests have arrived", || receiver.requests().is_ok_and(|n| n >= total));
        Ok((fired, receiver.arrivals()?))
    })?;
    let since = |start: fn(&Fired) -> i128| -> Result<Vec<f64>> {
        let measured = fired.iter().skip(WARM_UP);
        measured
            .map(|event| {
                let arrival = arrivals.get(&event.id).context("an event has not arrived")?;
                Ok((arrival - start(event)) as f64 / 1e6)
            })
            .collect()
    };
    let mut done = since(|event| event.commit_done)?;
    let mut sent = since(|event| event.commit_sent)?;
    Ok(vec![
        Figure::new("commit acknowledged → request, p50", percentile(&mut done, 0.5), "ms").mark(Mark::AtMost(0.6)),
        Figure::new("commit acknowledged → request, p99", percentile(&mut done, 0.99), "ms").mark(Mark::AtMost(2.0)),
        Figure::new("COMMIT sent → request, p50", percentile(&mut sent, 0.5), "ms"),
        Figure::new("COMMIT sent → request, p99", percentile(&mut sent, 0.99), "ms"),
    ])
}

fn fire_paced(client: &mut postgres::Client, total: usize) -> Result<Vec<Fired>> {
    let fire = client.prepare("select rea.fire_event('bench.fired', $1, $2::text::jsonb)")?;
    let payload = payload().to_string();
    let mut next = Instant::now();
    let mut fired = Vec::with_capacity(total);
    for number in 0..total {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = Instant::now() + PACE;
        let mut transaction = client.transaction()?;
        let id = transaction.query_one(&fire, &[&format!("order-{number}"), &payload])?.get(0);
        let commit_sent = now_ns()?;
        transaction.commit()?;
        fired.push(Fired { id, commit_sent, commit_done: now_ns()? });
    }
    Ok(fired)
}

fn now_ns() -> Result<i128> {
    Ok(i128::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?)
}
