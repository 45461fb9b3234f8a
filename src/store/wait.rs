//! Waits for events, and places in the concurrency of a workflow.

use super::{StoreError, pg_time, pg_uuid, statements, uuid};
use chrono::{DateTime, Utc};
use std::collections::HashMap;
use uuid::Uuid;

/// An event that completed a wait.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// Position of the wait in its list.
    pub wait_no: i32,
    /// Type of the event.
    pub event_type: String,
    /// The event with its payload, JSON text.
    pub event: String,
}

/// Completes waits with events that were just routed. Whether there were any, and whether any asks for a cancellation.
pub fn complete_waits(events: &[Uuid], now: DateTime<Utc>) -> Result<(bool, bool), StoreError> {
    if events.is_empty() {
        return Ok((false, false));
    }
    let uids: Vec<pgrx::Uuid> = events.iter().copied().map(pg_uuid).collect();
    let rows = statements::COMPLETE_WAITS.run(&[uids.into(), pg_time(now).into()])?;
    rows.first().map_or(Ok((false, false)), |row| Ok((row.get::<i64>(1)? > 0, row.get::<i64>(2)? > 0)))
}

/// Completes the waits of these actions of these instances with events that came before, and returns for each what
/// has come so far.
pub fn look_back(waits: &[(Uuid, &str)], now: DateTime<Utc>) -> Result<Vec<Vec<Arrived>>, StoreError> {
    let (ids, actions) = asked(waits);
    statements::LOOK_BACK.run(&[ids.into(), actions.into(), pg_time(now).into()])?;
    arrived(waits)
}

fn asked(waits: &[(Uuid, &str)]) -> (Vec<pgrx::Uuid>, Vec<String>) {
    waits.iter().map(|(id, action)| (pg_uuid(*id), (*action).to_owned())).unzip()
}

fn arrived(waits: &[(Uuid, &str)]) -> Result<Vec<Vec<Arrived>>, StoreError> {
    let mut arrived: Vec<Vec<Arrived>> = waits.iter().map(|_| Vec::new()).collect();
    let (ids, actions) = asked(waits);
    for row in statements::WAIT_EVENTS.run(&[ids.into(), actions.into()])?.iter() {
        let place: i32 = row.get(1)?;
        if let Some(arrived) = arrived.get_mut((place - 1).max(0) as usize) {
            arrived.push(Arrived { wait_no: row.get(2)?, event_type: row.get(3)?, event: row.get(4)? });
        }
    }
    Ok(arrived)
}

/// What has come for a wait whose time is over, once no event can complete it any more.
pub fn last_look(instance: Uuid, action: &str) -> Result<Vec<Arrived>, StoreError> {
    statements::LOCK_WAITS.run(&[pg_uuid(instance).into(), action.into()])?;
    Ok(arrived(&[(instance, action)])?.pop().unwrap_or_default())
}

/// How an instance stands in the queue for its concurrency key.
#[derive(Debug, Clone, Copy)]
pub struct PlaceState {
    /// Whether it may run.
    pub taken: bool,
    /// How many with its key may run or come before it.
    pub ahead: i64,
}

/// How these instances stand; those that have not queued up yet are missing.
pub fn place_state(instances: &[Uuid]) -> Result<HashMap<Uuid, PlaceState>, StoreError> {
    let ids: Vec<pgrx::Uuid> = instances.iter().copied().map(pg_uuid).collect();
    statements::LOCK_PLACES.run(&[])?;
    let rows = statements::PLACE_STATE.run(&[ids.into()])?;
    rows.iter().map(|row| Ok((uuid(row.get(1)?), PlaceState { taken: row.get(2)?, ahead: row.get(3)? }))).collect()
}
