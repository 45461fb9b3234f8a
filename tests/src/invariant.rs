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
    assert_none(client, &found);
}

/// Shows the first violations, with what happened to the instances that they name.
///
/// # Panics
/// If there are any.
pub fn assert_none(client: &mut Client, found: &[String]) {
    if found.is_empty() {
        return;
    }
    let mut text = format!("{} violations:\n{}\n", found.len(), found[..found.len().min(30)].join("\n"));
    let ids = found.iter().filter_map(|line| line.split([' ', ',']).find(|word| word.len() == 36));
    for id in ids.take(3) {
        text.push_str(&format!("\n{}\n", history(client, id).join("\n")));
    }
    panic!("{text}");
}

/// Both logs of an instance in their order, after a line about how it stands.
pub fn history(client: &mut Client, instance_id: &str) -> Vec<String> {
    let rows = client.query(HISTORY, &[&instance_id]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

const HISTORY: &str = "
    select line from (
        select 0 as log_id, concat_ws(' ', i.instance_id, i.workflow_name, 'child of', i.parent_instance_id,
                   i.parent_action, i.branch, 'detached', i.detached, i.status, 'version', i.version, 'error',
                   i.error_code, 'end', i.end_status, i.compensation, i.undo_no) as line
        from rea.work_instance i where i.instance_id = $1::text::uuid
        union all
        select l.log_id, concat_ws(' ', l.log_id, l.create_time, l.old_status, '->', l.new_status, l.cause)
        from rea.work_instance_log l where l.instance_id = $1::text::uuid
        union all
        select a.log_id, concat_ws(' ', a.log_id, a.end_time, a.action_name, a.attempt_no, a.status, a.error_code)
        from rea.work_action_log a where a.instance_id = $1::text::uuid) all_lines
    order by log_id";
