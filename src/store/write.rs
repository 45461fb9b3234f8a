//! Storing what a turn leaves behind, in one statement per table and turn.
//!
//! Order of locks: queue rows, then instances; the logs are only appended to. Every write repeats its guard, and rows
//! whose instance is no longer this worker's are dropped before the logs are written.

use super::composite::{Value, array};
use super::record::{AttemptRow, Birth, ChangeRow, InstanceError, InstanceRow, QueueRow, Record};
use super::{StoreError, after, pg_time, pg_uuid, statements, uuid};
use crate::flow::instance::Status;
use chrono::{DateTime, Utc};
use std::collections::HashSet;
use uuid::Uuid;

type Time = DateTime<Utc>;

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
    after::write(&written().collect::<Vec<_>>(), now)?;
    Ok(lost)
}

fn code(error: &Option<InstanceError>) -> Option<&str> {
    error.as_ref().map(|error| error.code.as_str())
}

fn message(error: &Option<InstanceError>) -> Option<&str> {
    error.as_ref().map(|error| error.message.as_str())
}

fn write_queue(records: &[Record], generation: i64) -> Result<(), StoreError> {
    let id = |record: &Record| record.instance.instance_id;
    let mut ended: Vec<Uuid> =
        records.iter().filter(|r| r.queue_before.is_some() && r.queue_after.is_none()).map(id).collect();
    if !ended.is_empty() {
        ended.sort_unstable();
        let ids: Vec<pgrx::Uuid> = ended.into_iter().map(pg_uuid).collect();
        statements::QUEUE_DELETE.run(&[ids.into(), generation.into()])?;
    }
    let after = |record: &'_ Record| -> Option<(Uuid, QueueRow)> { Some((id(record), record.queue_after.clone()?)) };
    let mut changed: Vec<(Uuid, QueueRow)> = records
        .iter()
        .filter(|record| record.queue_before.is_some() && record.queue_before != record.queue_after)
        .filter_map(after)
        .collect();
    if !changed.is_empty() {
        changed.sort_unstable_by_key(|(id, _)| *id);
        let rows = queue_rows(&changed, generation)?;
        statements::QUEUE_UPDATE.run(&[rows, generation.into()])?;
    }
    let new: Vec<(Uuid, QueueRow)> =
        records.iter().filter(|record| record.queue_before.is_none()).filter_map(after).collect();
    if !new.is_empty() {
        statements::QUEUE_INSERT.run(&[queue_rows(&new, generation)?])?;
    }
    Ok(())
}

fn queue_rows(rows: &[(Uuid, QueueRow)], generation: i64) -> Result<super::Argument<'static>, StoreError> {
    array(c"queue_change", rows, |(id, queue)| {
        [
            Value::Id(id),
            Value::Time(Some(queue.due)),
            Value::Time(queue.deadline),
            Value::Big(queue.kept.then_some(generation)),
            Value::Int(queue.attempt_no),
            Value::Int(queue.lost_count),
            Value::Text(&queue.lane),
        ]
    })
}

fn insert_instances(records: &[Record], now: Time) -> Result<(), StoreError> {
    let new: Vec<(&InstanceRow, &Birth)> =
        records.iter().filter_map(|record| Some((&record.instance, record.instance.birth.as_ref()?))).collect();
    if new.is_empty() {
        return Ok(());
    }
    let rows = array(c"new_instance", &new, |(i, b)| {
        [
            Value::Id(&i.instance_id),
            Value::Id(&b.event_uid),
            Value::Int(b.workflow_version),
            Value::MaybeInt(b.origin.as_ref().map(|origin| origin.route_version)),
            Value::Text(&i.workflow_name),
            Value::Maybe(b.origin.as_ref().map(|origin| origin.route_name.as_str())),
            Value::Text(&i.biz_key),
            Value::Text(&b.event_id),
            Value::Text(&b.source),
            Value::Maybe(b.origin.as_ref().map(|origin| origin.fired_by.as_str())),
            Value::MaybeId(b.parent.as_ref().map(|parent| &parent.id)),
            Value::Maybe(b.parent.as_ref().map(|parent| parent.action.as_str())),
            Value::Maybe(b.parent.as_ref().and_then(|parent| parent.branch.as_deref())),
            Value::MaybeInt(b.parent.as_ref().and_then(|parent| parent.item_index)),
            Value::Maybe(b.parent.as_ref().and_then(|parent| parent.item.as_deref())),
            Value::Flag(b.parent.as_ref().is_some_and(|parent| parent.detached)),
            Value::Maybe(b.scripts.as_deref()),
            Value::Time(i.deadline),
            Value::Text(i.status.as_str()),
            Value::Int(i.action_index),
            Value::Int(i.retry_count),
            Value::Int(i.version),
            Value::Time(i.first_try),
            Value::Time(i.next_retry),
            Value::Time(i.paused),
            Value::Time(i.end),
            Value::Maybe(i.context.as_deref()),
            Value::Maybe(i.result.as_deref()),
            Value::Maybe(code(&i.error)),
            Value::Maybe(message(&i.error)),
            Value::Maybe(i.end_status.map(Status::as_str)),
            Value::Maybe(i.compensation),
            Value::Int(i.undo_no),
        ]
    })?;
    statements::INSTANCE_INSERT.run(&[rows, pg_time(now).into()])?;
    Ok(())
}

fn update_instances(records: &[Record], now: Time) -> Result<HashSet<Uuid>, StoreError> {
    let mut old: Vec<&InstanceRow> =
        records.iter().map(|record| &record.instance).filter(|instance| instance.birth.is_none()).collect();
    if old.is_empty() {
        return Ok(HashSet::new());
    }
    old.sort_unstable_by_key(|instance| instance.instance_id);
    let rows = array(c"instance_change", &old, |i| {
        [
            Value::Id(&i.instance_id),
            Value::Int(i.guard_version),
            Value::Time(i.deadline),
            Value::Text(i.status.as_str()),
            Value::Int(i.action_index),
            Value::Int(i.retry_count),
            Value::Int(i.version),
            Value::Time(i.first_try),
            Value::Time(i.next_retry),
            Value::Time(i.paused),
            Value::Time(i.end),
            Value::Maybe(i.context.as_deref()),
            Value::Maybe(i.result.as_deref()),
            Value::Maybe(code(&i.error)),
            Value::Maybe(message(&i.error)),
            Value::Maybe(i.end_status.map(Status::as_str)),
            Value::Maybe(i.compensation),
            Value::Int(i.undo_no),
        ]
    })?;
    let changed = statements::INSTANCE_UPDATE.run(&[rows, pg_time(now).into()])?;
    if changed.len() == old.len() {
        return Ok(HashSet::new());
    }
    let mut lost: HashSet<Uuid> = old.iter().map(|instance| instance.instance_id).collect();
    for row in changed.iter() {
        lost.remove(&uuid(row.get(1)?));
    }
    Ok(lost)
}

fn insert_attempts(attempts: &[&AttemptRow], now: Time) -> Result<(), StoreError> {
    if attempts.is_empty() {
        return Ok(());
    }
    let rows = array(c"attempt", attempts, |a| {
        [
            Value::Id(&a.instance_id),
            Value::Int(a.log_id),
            Value::Int(a.attempt_no),
            Value::Int(a.cost_ms),
            Value::Time(Some(a.start)),
            Value::Time(Some(a.end)),
            Value::Time(a.next_retry),
            Value::Text(&a.action_name),
            Value::Text(a.status),
            Value::Maybe(a.request.as_deref()),
            Value::Maybe(a.response.as_deref()),
            Value::Maybe(a.error.as_ref().map(|(code, _)| code.as_str())),
            Value::Maybe(a.error.as_ref().map(|(_, message)| message.as_str())),
            Value::Maybe(a.script.as_ref().map(|(calls, _)| calls.as_str())),
            Value::Maybe(a.script.as_ref().map(|(_, log)| log.as_str())),
        ]
    })?;
    statements::ACTION_LOG_INSERT.run(&[rows, pg_time(now).into()])?;
    Ok(())
}

fn insert_changes(changes: &[&ChangeRow]) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let rows = array(c"status_change", changes, |c| {
        [
            Value::Id(&c.instance_id),
            Value::Int(c.log_id),
            Value::Time(Some(c.time)),
            Value::Maybe(c.old.map(Status::as_str)),
            Value::Text(c.new.as_str()),
            Value::Text(&c.cause),
        ]
    })?;
    statements::INSTANCE_LOG_INSERT.run(&[rows])?;
    Ok(())
}

fn insert_dead_letters(instances: &[&InstanceRow], now: Time) -> Result<(), StoreError> {
    let dead: Vec<(&InstanceRow, &InstanceError)> = instances
        .iter()
        .filter(|instance| matches!(instance.status, Status::Failed | Status::Dead) && !instance.is_part)
        .filter_map(|instance| Some((*instance, instance.error.as_ref()?)))
        .collect();
    if dead.is_empty() {
        return Ok(());
    }
    statements::DEAD_LETTER_INSERT.run(&[
        dead.iter().map(|(i, _)| pg_uuid(i.instance_id)).collect::<Vec<_>>().into(),
        dead.iter().map(|(i, _)| i.workflow_name.to_string()).collect::<Vec<_>>().into(),
        dead.iter().map(|(i, _)| i.biz_key.clone()).collect::<Vec<_>>().into(),
        dead.iter().map(|(i, _)| i.status.as_str()).collect::<Vec<_>>().into(),
        dead.iter().map(|(_, error)| error.action.clone()).collect::<Vec<_>>().into(),
        dead.iter().map(|(_, error)| error.code.clone()).collect::<Vec<_>>().into(),
        dead.iter().map(|(_, error)| error.message.clone()).collect::<Vec<_>>().into(),
        pg_time(now).into(),
    ])?;
    Ok(())
}
