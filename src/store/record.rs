//! What a worker writes: what became of its instances, in one statement per table and turn.
//!
//! Order of locks: queue rows, then instances; the logs are only appended to. Every write repeats its guard, and rows
//! whose instance is no longer this worker's are dropped before the logs are written.

use super::{Argument, StoreError, pg_time, pg_uuid, statements, uuid};
use crate::flow::instance::Status;
use chrono::{DateTime, Utc};
use pgrx::IntoDatum;
use pgrx::datum::TimestampWithTimeZone;
use std::collections::HashSet;
use std::rc::Rc;
use uuid::Uuid;

type Time = DateTime<Utc>;

/// The part of an instance that its creation fixes.
#[derive(Debug, Clone)]
pub struct Birth {
    /// Its event.
    pub event_uid: Uuid,
    /// Version of the definition.
    pub workflow_version: i32,
    /// Version of the route.
    pub route_version: i32,
    /// Name of the route.
    pub route_name: String,
    /// Id of the event as its source knows it.
    pub event_id: String,
    /// Source of the event.
    pub source: String,
    /// Role that fired it.
    pub fired_by: String,
}

/// The state of an instance at the end of a turn.
#[derive(Debug, Clone)]
pub struct InstanceRow {
    /// Identity.
    pub instance_id: Uuid,
    /// Present when the instance is new.
    pub birth: Option<Birth>,
    /// Version this worker read; the guard. 0 for a new instance.
    pub guard_version: i32,
    /// Version to write.
    pub version: i32,
    /// Workflow, for the dead letter and a new row.
    pub workflow_name: Rc<str>,
    /// Business key, likewise.
    pub biz_key: String,
    /// Status to write.
    pub status: Status,
    /// Resume point.
    pub action_index: i32,
    /// Retries used by the current action.
    pub retry_count: i32,
    /// When it has to be over.
    pub deadline: Option<Time>,
    /// First attempt of the current action.
    pub first_try: Option<Time>,
    /// Planned retry.
    pub next_retry: Option<Time>,
    /// When it was paused.
    pub paused: Option<Time>,
    /// When it ended.
    pub end: Option<Time>,
    /// Outputs so far.
    pub context: Option<String>,
    /// Result.
    pub result: Option<String>,
    /// Action, code and message of the failure that ended or paused it.
    pub error: Option<(Option<String>, String, String)>,
}

/// The queue row to leave behind; an instance that ended leaves none.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueRow {
    /// When its next attempt may start.
    pub due: Time,
    /// When its deadline ends it.
    pub deadline: Option<Time>,
    /// Whether this worker keeps it.
    pub kept: bool,
    /// Attempt that runs now or ran last.
    pub attempt_no: i32,
    /// Attempts lost.
    pub lost_count: i32,
    /// Where it queues.
    pub lane: Rc<str>,
}

/// One row of the action log.
#[derive(Debug, Clone)]
pub struct AttemptRow {
    /// Instance.
    pub instance_id: Uuid,
    /// Order in the instance.
    pub log_id: i32,
    /// Number of the attempt, 0 for a skipped action.
    pub attempt_no: i32,
    /// Duration in ms.
    pub cost_ms: i32,
    /// Begin.
    pub start: Time,
    /// End.
    pub end: Time,
    /// Planned retry.
    pub next_retry: Option<Time>,
    /// Action.
    pub action_name: String,
    /// SUCCESS, FAILED, SKIPPED or LOST.
    pub status: &'static str,
    /// Start of the request.
    pub request: Option<String>,
    /// Start of the response.
    pub response: Option<String>,
    /// Code and message of the failure.
    pub error: Option<(String, String)>,
}

/// One row of the instance log.
#[derive(Debug, Clone)]
pub struct ChangeRow {
    /// Instance.
    pub instance_id: Uuid,
    /// Its version after the change.
    pub log_id: i32,
    /// When.
    pub time: Time,
    /// Status before.
    pub old: Option<Status>,
    /// Status after.
    pub new: Status,
    /// Why.
    pub cause: String,
}

/// Everything that one instance leaves behind in a turn.
#[derive(Debug, Clone)]
pub struct Record {
    /// The instance.
    pub instance: InstanceRow,
    /// Its queue row as the table has it; `None` when there is none yet.
    pub queue_before: Option<QueueRow>,
    /// Its queue row from now on; `None` when it ended.
    pub queue_after: Option<QueueRow>,
    /// Attempts that ended.
    pub attempts: Vec<AttemptRow>,
    /// Status changes.
    pub changes: Vec<ChangeRow>,
}

/// Writes the records of a turn. Returns the instances that were not this worker's any more: nothing was written for
/// them.
pub fn write(records: &[Record], generation: i64, now: Time) -> Result<HashSet<Uuid>, StoreError> {
    write_queue(records, generation)?;
    insert_instances(records, now)?;
    let lost = update_instances(records, now)?;
    let written = || records.iter().filter(|record| !lost.contains(&record.instance.instance_id));
    insert_attempts(&written().flat_map(|record| &record.attempts).collect::<Vec<_>>(), now)?;
    insert_changes(&written().flat_map(|record| &record.changes).collect::<Vec<_>>())?;
    insert_dead_letters(&written().map(|record| &record.instance).collect::<Vec<_>>(), now)?;
    Ok(lost)
}

fn column<'a, R, T: IntoDatum + 'a>(rows: &[R], value: impl Fn(&R) -> T) -> Argument<'a>
where
    Vec<T>: IntoDatum,
{
    rows.iter().map(value).collect::<Vec<T>>().into()
}

fn time(time: Option<Time>) -> Option<TimestampWithTimeZone> {
    time.map(pg_time)
}

fn write_queue(records: &[Record], generation: i64) -> Result<(), StoreError> {
    let ended: Vec<&Record> =
        records.iter().filter(|r| r.queue_before.is_some() && r.queue_after.is_none()).collect();
    if !ended.is_empty() {
        let mut ids: Vec<Uuid> = ended.iter().map(|record| record.instance.instance_id).collect();
        ids.sort_unstable();
        statements::QUEUE_DELETE.run(&[column(&ids, |id| pg_uuid(*id)), generation.into()])?;
    }
    let mut changed: Vec<(Uuid, &QueueRow)> = records
        .iter()
        .filter(|record| record.queue_before.is_some() && record.queue_before != record.queue_after)
        .filter_map(|record| Some((record.instance.instance_id, record.queue_after.as_ref()?)))
        .collect();
    if !changed.is_empty() {
        changed.sort_unstable_by_key(|(id, _)| *id);
        statements::QUEUE_UPDATE.run(&[
            column(&changed, |(id, _)| pg_uuid(*id)),
            column(&changed, |(_, q)| pg_time(q.due)),
            column(&changed, |(_, q)| time(q.deadline)),
            column(&changed, |(_, q)| q.kept.then_some(generation)),
            column(&changed, |(_, q)| q.attempt_no),
            column(&changed, |(_, q)| q.lost_count),
            column(&changed, |(_, q)| q.lane.to_string()),
            generation.into(),
        ])?;
    }
    let new: Vec<(Uuid, &QueueRow)> = records
        .iter()
        .filter(|record| record.queue_before.is_none())
        .filter_map(|record| Some((record.instance.instance_id, record.queue_after.as_ref()?)))
        .collect();
    if !new.is_empty() {
        statements::QUEUE_INSERT.run(&[
            column(&new, |(id, _)| pg_uuid(*id)),
            column(&new, |(_, q)| pg_time(q.due)),
            column(&new, |(_, q)| time(q.deadline)),
            column(&new, |(_, q)| q.kept.then_some(generation)),
            column(&new, |(_, q)| q.attempt_no),
            column(&new, |(_, q)| q.lane.to_string()),
        ])?;
    }
    Ok(())
}

fn insert_instances(records: &[Record], now: Time) -> Result<(), StoreError> {
    let new: Vec<(&InstanceRow, &Birth)> = records
        .iter()
        .filter_map(|record| Some((&record.instance, record.instance.birth.as_ref()?)))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    statements::INSTANCE_INSERT.run(&[
        column(&new, |(i, _)| pg_uuid(i.instance_id)),
        column(&new, |(_, b)| pg_uuid(b.event_uid)),
        column(&new, |(_, b)| b.workflow_version),
        column(&new, |(_, b)| b.route_version),
        column(&new, |(i, _)| i.workflow_name.to_string()),
        column(&new, |(_, b)| b.route_name.clone()),
        column(&new, |(i, _)| i.biz_key.clone()),
        column(&new, |(_, b)| b.event_id.clone()),
        column(&new, |(_, b)| b.source.clone()),
        column(&new, |(_, b)| b.fired_by.clone()),
        column(&new, |(i, _)| time(i.deadline)),
        column(&new, |(i, _)| i.status.as_str()),
        column(&new, |(i, _)| i.action_index),
        column(&new, |(i, _)| i.version),
        column(&new, |(i, _)| time(i.first_try)),
        column(&new, |(i, _)| time(i.next_retry)),
        column(&new, |(i, _)| time(i.paused)),
        column(&new, |(i, _)| time(i.end)),
        column(&new, |(i, _)| i.context.clone()),
        column(&new, |(i, _)| i.result.clone()),
        column(&new, |(i, _)| i.error.as_ref().map(|(_, code, _)| code.clone())),
        column(&new, |(i, _)| i.error.as_ref().map(|(_, _, message)| message.clone())),
        pg_time(now).into(),
        column(&new, |(i, _)| i.retry_count),
    ])?;
    Ok(())
}

fn update_instances(records: &[Record], now: Time) -> Result<HashSet<Uuid>, StoreError> {
    let mut old: Vec<&InstanceRow> =
        records.iter().map(|record| &record.instance).filter(|instance| instance.birth.is_none()).collect();
    if old.is_empty() {
        return Ok(HashSet::new());
    }
    old.sort_unstable_by_key(|instance| instance.instance_id);
    let rows = statements::INSTANCE_UPDATE.run(&[
        column(&old, |i| pg_uuid(i.instance_id)),
        column(&old, |i| i.guard_version),
        column(&old, |i| i.status.as_str()),
        column(&old, |i| i.action_index),
        column(&old, |i| i.retry_count),
        column(&old, |i| i.version),
        column(&old, |i| time(i.first_try)),
        column(&old, |i| time(i.next_retry)),
        column(&old, |i| time(i.paused)),
        column(&old, |i| time(i.end)),
        column(&old, |i| i.context.clone()),
        column(&old, |i| i.result.clone()),
        column(&old, |i| i.error.as_ref().map(|(_, code, _)| code.clone())),
        column(&old, |i| i.error.as_ref().map(|(_, _, message)| message.clone())),
        pg_time(now).into(),
        column(&old, |i| time(i.deadline)),
    ])?;
    if rows.len() == old.len() {
        return Ok(HashSet::new());
    }
    let mut lost: HashSet<Uuid> = old.iter().map(|instance| instance.instance_id).collect();
    for row in rows.iter() {
        lost.remove(&uuid(row.get(1)?));
    }
    Ok(lost)
}

fn insert_attempts(attempts: &[&AttemptRow], now: Time) -> Result<(), StoreError> {
    if attempts.is_empty() {
        return Ok(());
    }
    statements::ACTION_LOG_INSERT.run(&[
        column(attempts, |a| pg_uuid(a.instance_id)),
        column(attempts, |a| a.log_id),
        column(attempts, |a| a.attempt_no),
        column(attempts, |a| a.cost_ms),
        column(attempts, |a| pg_time(a.start)),
        column(attempts, |a| pg_time(a.end)),
        column(attempts, |a| time(a.next_retry)),
        column(attempts, |a| a.action_name.clone()),
        column(attempts, |a| a.status),
        column(attempts, |a| a.request.clone()),
        column(attempts, |a| a.response.clone()),
        column(attempts, |a| a.error.as_ref().map(|(code, _)| code.clone())),
        column(attempts, |a| a.error.as_ref().map(|(_, message)| message.clone())),
        pg_time(now).into(),
    ])?;
    Ok(())
}

fn insert_changes(changes: &[&ChangeRow]) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    statements::INSTANCE_LOG_INSERT.run(&[
        column(changes, |c| pg_uuid(c.instance_id)),
        column(changes, |c| c.log_id),
        column(changes, |c| pg_time(c.time)),
        column(changes, |c| c.old.map(Status::as_str)),
        column(changes, |c| c.new.as_str()),
        column(changes, |c| c.cause.clone()),
    ])?;
    Ok(())
}

fn insert_dead_letters(instances: &[&InstanceRow], now: Time) -> Result<(), StoreError> {
    let dead: Vec<(&InstanceRow, &(Option<String>, String, String))> = instances
        .iter()
        .filter(|instance| matches!(instance.status, Status::Failed | Status::Dead))
        .filter_map(|instance| Some((*instance, instance.error.as_ref()?)))
        .collect();
    if dead.is_empty() {
        return Ok(());
    }
    statements::DEAD_LETTER_INSERT.run(&[
        column(&dead, |(i, _)| pg_uuid(i.instance_id)),
        column(&dead, |(i, _)| i.workflow_name.to_string()),
        column(&dead, |(i, _)| i.biz_key.clone()),
        column(&dead, |(i, _)| i.status.as_str()),
        column(&dead, |(_, (action, _, _))| action.clone()),
        column(&dead, |(_, (_, code, _))| code.clone()),
        column(&dead, |(_, (_, _, message))| message.clone()),
        pg_time(now).into(),
    ])?;
    Ok(())
}
