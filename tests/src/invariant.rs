//! Rules that hold of the tables whatever happened, once nothing moves any more.
//!
//! They are queries in `invariant.sql`, so that they can be tried in psql on
//! any database that holds rea.

use std::time::Duration;

use postgres::{Client, SimpleQueryMessage};

use crate::wait::wait_until;
use crate::workflow::count;

const RULES: &str = include_str!("invariant.sql");

/// What may still move: everything but open waits, those who wait for long, for
/// a place or for such instances, and PAUSED instances.
const MOVING: &str = "select (select count(*) from rea.work_inbox) + (select count(*) from rea.work_signal) \
     + (select count(*) from rea.work_request) + (select count(*) from rea.work_queue q \
        join rea.work_instance i using (instance_id) \
        where i.status <> 'PAUSED' and (q.lane <> '~wait' or q.due_time < now() + interval '30 s' or q.owner_generation is not null))";

/// Waits until no instance goes on by itself.
pub fn settle(client: &mut Client, deadline: Duration) {
    wait_until(deadline, "nothing moves any more", || count(client, MOVING) == 0);
}

/// Everything that breaks a rule, one line each.
pub fn violations(client: &mut Client) -> Vec<String> {
    let mut found = Vec::new();
    for rule in RULES.split("-- rule: ").skip(1) {
        let (name, query) = rule.split_once('\n').unwrap_or((rule, ""));
        let rows = client.simple_query(query).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        for message in rows {
            if let SimpleQueryMessage::Row(row) = message {
                let values: Vec<&str> = (0..row.len()).map(|column| row.get(column).unwrap_or("null")).collect();
                found.push(format!("{name}: {}", values.join(", ")));
            }
        }
    }
    found
}

/// Checks every rule.
///
/// # Panics
/// If one is broken.
pub fn check(client: &mut Client) {
    let found = violations(client);
    let shown = found.len().min(30);
    assert!(found.is_empty(), "{} violations:\n{}", found.len(), found[..shown].join("\n"));
}
