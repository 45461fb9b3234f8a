//! What a turn means for others: signals, requests, events, waits and places. Most turns have none of it.

use super::composite::{Value, array};
use super::record::{NewEvent, NewWait, OfChildren, Place, Record};
use super::{StoreError, pg_time, pg_uuid, statements};
use chrono::{DateTime, Utc};
use uuid::Uuid;

type Time = DateTime<Utc>;

/// Stores what the records mean for others.
pub(super) fn write(records: &[&Record], now: Time) -> Result<(), StoreError> {
    places(records)?;
    events(records, now)?;
    waits(records, now)?;
    let of_children: Vec<(Uuid, &OfChildren)> =
        records.iter().filter_map(|record| Some((id(record), record.more.of_children.as_ref()?))).collect();
    if !of_children.is_empty() {
        statements::REQUEST_CHILDREN.run(&[
            of_children.iter().map(|(id, ..)| pg_uuid(*id)).collect::<Vec<_>>().into(),
            of_children.iter().map(|(_, asked)| asked.request).collect::<Vec<_>>().into(),
            of_children.iter().map(|(_, asked)| asked.cause.clone()).collect::<Vec<_>>().into(),
            pg_time(now).into(),
            of_children.iter().map(|(_, asked)| asked.compensate).collect::<Vec<_>>().into(),
            of_children.iter().map(|(_, asked)| asked.action.clone()).collect::<Vec<_>>().into(),
        ])?;
    }
    let revived: Vec<(Uuid, &str)> =
        records.iter().filter_map(|record| Some((id(record), record.more.revives_children.as_deref()?))).collect();
    if !revived.is_empty() {
        statements::REVIVE_CHILDREN.run(&[
            revived.iter().map(|(id, _)| pg_uuid(*id)).collect::<Vec<_>>().into(),
            pg_time(now).into(),
            revived.iter().map(|(_, action)| (*action).to_owned()).collect::<Vec<_>>().into(),
        ])?;
    }
    let obeyed: Vec<Uuid> = records.iter().filter(|record| record.more.obeyed).map(|record| id(record)).collect();
    if !obeyed.is_empty() {
        super::claim::forget_requests(&obeyed)?;
    }
    let kv_sets = records.iter().flat_map(|record| {
        let workflow: &str = &record.instance.workflow_name;
        record.more.kv_sets.iter().map(move |set| (workflow, set))
    });
    super::script::kv_set(&kv_sets.collect::<Vec<_>>(), now)?;
    let signals = records.iter().flat_map(|record| record.more.signals.iter().copied());
    signal(&signals.collect::<Vec<_>>())
}

/// Signals waiting instances to look again.
pub fn signal(instances: &[Uuid]) -> Result<(), StoreError> {
    if !instances.is_empty() {
        let ids: Vec<pgrx::Uuid> = instances.iter().copied().map(pg_uuid).collect();
        statements::SIGNAL_INSERT.run(&[ids.into()])?;
    }
    Ok(())
}

fn id(record: &Record) -> Uuid {
    record.instance.instance_id
}

fn those(records: &[&Record], are: impl Fn(&Record) -> bool) -> Vec<pgrx::Uuid> {
    records.iter().filter(|record| are(record)).map(|record| pg_uuid(id(record))).collect()
}

fn events(records: &[&Record], now: Time) -> Result<(), StoreError> {
    let new: Vec<(Uuid, &NewEvent)> =
        records.iter().flat_map(|record| record.more.events.iter().map(|event| (id(record), event))).collect();
    if new.is_empty() {
        return Ok(());
    }
    let rows = array(c"new_event", &new, |(instance, e)| {
        [
            Value::Id(&e.uid),
            Value::Id(instance),
            Value::Text(&e.event_type),
            Value::Text(&e.biz_key),
            Value::Maybe(e.payload.as_deref()),
            Value::Text(&e.attributes),
            Value::Maybe(e.correlation_id.as_deref()),
            Value::Text(&e.causation_id),
            Value::Int(e.depth),
        ]
    })?;
    statements::EVENT_INSERT.run(&[rows, pg_time(now).into()])?;
    let routed: Vec<pgrx::Uuid> =
        new.iter().filter(|(_, event)| event.is_routed).map(|(_, event)| pg_uuid(event.uid)).collect();
    if !routed.is_empty() {
        statements::INBOX_INSERT.run(&[routed.into()])?;
    }
    Ok(())
}

fn waits(records: &[&Record], now: Time) -> Result<(), StoreError> {
    let closed = those(records, |record| record.more.closes_waits == Some(false));
    let ended = those(records, |record| record.more.closes_waits == Some(true));
    for (instances, all) in [(closed, false), (ended, true)] {
        if !instances.is_empty() {
            statements::WAIT_DELETE.run(&[instances.into(), all.into()])?;
        }
    }
    // One that began and ended in the same turn waits for nothing.
    let new: Vec<(Uuid, &NewWait)> = records
        .iter()
        .filter(|record| record.more.closes_waits != Some(true))
        .flat_map(|record| record.more.waits.iter().map(|wait| (id(record), wait)))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let rows = array(c"new_wait", &new, |(instance, w)| {
        [
            Value::Id(instance),
            Value::Text(&w.action_name),
            Value::Int(w.wait_no),
            Value::Text(&w.event_type),
            Value::Maybe(w.biz_key.as_deref()),
            Value::Maybe(w.correlation_id.as_deref()),
            Value::Maybe(w.match_contains.as_deref()),
            Value::Maybe(w.match_path.as_deref()),
            Value::Float(w.lookback.as_secs_f64()),
        ]
    })?;
    statements::WAIT_INSERT.run(&[rows, pg_time(now).into()])?;
    Ok(())
}

fn places(records: &[&Record]) -> Result<(), StoreError> {
    let with = |wanted: fn(&Place) -> bool| those(records, |record| record.more.place.as_ref().is_some_and(wanted));
    let entering: Vec<(&Record, &str)> = records
        .iter()
        .filter_map(|record| match &record.more.place {
            Some(Place::Enter(key)) => Some((*record, key.as_str())),
            _ => None,
        })
        .collect();
    if !entering.is_empty() {
        statements::PLACE_ENTER.run(&[
            entering.iter().map(|(record, _)| pg_uuid(id(record))).collect::<Vec<_>>().into(),
            entering.iter().map(|(record, _)| record.instance.workflow_name.to_string()).collect::<Vec<_>>().into(),
            entering.iter().map(|(_, key)| (*key).to_owned()).collect::<Vec<_>>().into(),
        ])?;
    }
    let taking = with(|place| matches!(place, Place::Take));
    if !taking.is_empty() {
        statements::PLACE_TAKE.run(&[taking.into()])?;
    }
    let leaving = with(|place| matches!(place, Place::Leave));
    if !leaving.is_empty() {
        statements::LOCK_PLACES.run(&[])?;
        statements::PLACE_LEAVE.run(&[leaving.into()])?;
    }
    Ok(())
}
