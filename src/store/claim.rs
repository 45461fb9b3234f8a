//! Taking instances in hand: each claim marks queue rows with the worker's generation and loads what it needs of them.

use super::payload::Payload;
use super::work::Event;
use super::{Row, Rows, StoreError, pg_time, pg_uuid, statements, utc, uuid};
use crate::flow::instance::Status;
use chrono::{DateTime, Utc};
use pgrx::datum::TimestampWithTimeZone;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;
use uuid::Uuid;

/// An instance as it stood when this worker claimed it.
pub struct Claimed {
    /// Identity.
    pub instance_id: Uuid,
    /// Its event.
    pub event: Rc<Event>,
    /// Workflow and version.
    pub workflow: (String, i32),
    /// Guard of every write.
    pub version: i32,
    /// Resume point.
    pub action_index: i32,
    /// Retries used by the current action.
    pub retry_count: i32,
    /// First attempt of the current action.
    pub first_try: Option<DateTime<Utc>>,
    /// When it was claimed.
    pub update_time: DateTime<Utc>,
    /// When it has to be over.
    pub deadline: Option<DateTime<Utc>>,
    /// Outputs so far.
    pub context: Option<String>,
    /// Number of its idempotency keys, from 1.
    pub key_no: i32,
    /// Where it stands.
    pub status: Status,
    /// What most instances do not have.
    pub extra: Extra,
    /// Attempt that this claim is for.
    pub attempt_no: i32,
    /// Attempts lost so far.
    pub lost_count: i32,
    /// Where it queued.
    pub lane: String,
    /// Whether its change to RUNNING already has its history row.
    pub claim_logged: bool,
}

/// What children, users of scripts and instances that are being undone have besides.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Extra {
    /// Instance that started it.
    pub parent: Option<String>,
    /// Action of the parent.
    pub parent_action: Option<String>,
    /// Branch of that action; `None` for a child workflow.
    pub branch: Option<String>,
    /// Position of its item.
    pub item_index: Option<i32>,
    /// Its item.
    pub item: Option<Box<RawValue>>,
    /// Whether its parent does not wait for it.
    pub detached: bool,
    /// Versions of its scripts.
    pub scripts: Option<BTreeMap<String, i32>>,
    /// Final status once compensation is through.
    pub end_status: Option<String>,
    /// How compensation stands.
    pub compensation: Option<String>,
    /// Undo actions that are through.
    pub undo_no: i32,
    /// Code of the failure that ends it.
    pub error_code: Option<String>,
    /// Its message.
    pub error: Option<String>,
}

/// Claims due instances of these lanes, each up to its room.
pub fn claim_due(room: &[(Rc<str>, usize)], generation: i64, now: DateTime<Utc>) -> Result<Vec<Claimed>, StoreError> {
    let lanes: Vec<String> = room.iter().map(|(lane, _)| lane.to_string()).collect();
    let places: Vec<i32> = room.iter().map(|(_, places)| *places as i32).collect();
    claimed(statements::CLAIM_DUE.run(&[lanes.into(), places.into(), generation.into(), pg_time(now).into()])?)
}

/// Claims free instances whose deadline has passed.
pub fn claim_expired(generation: i64, now: DateTime<Utc>, limit: usize) -> Result<Vec<Claimed>, StoreError> {
    load(statements::CLAIM_EXPIRED.run(&[generation.into(), pg_time(now).into(), (limit as i64).into()])?)
}

/// Takes over instances of a dead generation.
pub fn take_over(dead: i64, generation: i64, limit: usize) -> Result<Vec<Claimed>, StoreError> {
    load(statements::TAKE_OVER.run(&[dead.into(), generation.into(), (limit as i64).into()])?)
}

/// Claims waiting instances whose time has come.
pub fn claim_waiting(generation: i64, now: DateTime<Utc>, limit: usize) -> Result<Vec<Claimed>, StoreError> {
    load(statements::CLAIM_WAITING.run(&[generation.into(), pg_time(now).into(), (limit as i64).into()])?)
}

/// Waiting instances that were signalled.
pub struct Signalled {
    /// They, in hand now.
    pub claimed: Vec<Claimed>,
    /// Whether there may be more.
    pub more: bool,
    /// Whether events ask for cancellations.
    pub cancels: bool,
}

/// Claims waiting instances that were signalled; takes at most `limit` signals.
pub fn claim_signalled(generation: i64, now: DateTime<Utc>, limit: usize) -> Result<Signalled, StoreError> {
    let rows = statements::CLAIM_SIGNALLED.run(&[generation.into(), (limit as i64).into(), pg_time(now).into()])?;
    let kinds = rows.iter().map(|row| row.get::<String>(2)).collect::<Result<Vec<_>, _>>()?;
    let has = |wanted: &str| kinds.iter().any(|kind| kind == wanted);
    let (more, cancels) = (has("busy") || has("more"), has("cancel"));
    Ok(Signalled { claimed: load(rows)?, more, cancels })
}

/// Claims free instances that somebody wants cancelled or paused.
pub fn claim_requested(generation: i64, limit: usize) -> Result<Vec<Claimed>, StoreError> {
    load(statements::CLAIM_REQUESTED.run(&[generation.into(), (limit as i64).into()])?)
}

/// Gives back instances that were claimed for nothing.
pub fn release(instances: &[Uuid], generation: i64) -> Result<(), StoreError> {
    if !instances.is_empty() {
        let ids: Vec<pgrx::Uuid> = instances.iter().copied().map(pg_uuid).collect();
        statements::QUEUE_RELEASE.run(&[ids.into(), generation.into()])?;
    }
    Ok(())
}

fn ids(rows: &Rows) -> Result<Vec<pgrx::Uuid>, StoreError> {
    rows.iter().filter_map(|row| row.maybe(1).transpose()).collect()
}

fn load(rows: Rows) -> Result<Vec<Claimed>, StoreError> {
    let ids = ids(&rows)?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    claimed(statements::LOAD_HELD.run(&[ids.into()])?)
}

fn claimed(rows: Rows) -> Result<Vec<Claimed>, StoreError> {
    rows.iter().map(|row| read(&row)).collect()
}

fn read(row: &Row<'_>) -> Result<Claimed, StoreError> {
    let time = |column| -> Result<Option<DateTime<Utc>>, StoreError> {
        Ok(row.maybe::<TimestampWithTimeZone>(column)?.map(utc))
    };
    let extra: Option<String> = row.maybe(15)?;
    Ok(Claimed {
        instance_id: uuid(row.get(1)?),
        workflow: (row.get(3)?, row.get(4)?),
        version: row.get(5)?,
        action_index: row.get(6)?,
        retry_count: row.get(7)?,
        first_try: time(8)?,
        update_time: utc(row.get(9)?),
        deadline: time(10)?,
        context: row.maybe(11)?,
        key_no: row.get(13)?,
        status: row.get::<String>(14)?.parse().unwrap_or(Status::Running),
        extra: extra.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
        attempt_no: row.get(24)?,
        lost_count: row.get(25)?,
        lane: row.get(26)?,
        claim_logged: row.get(27)?,
        event: Rc::new(Event {
            uid: uuid(row.get(2)?),
            biz_key: row.get(12)?,
            event_type: row.get(16)?,
            id: row.get(17)?,
            source: row.get(18)?,
            correlation_id: row.maybe(19)?,
            causation_id: row.maybe(20)?,
            traceparent: row.maybe(21)?,
            depth: row.get(22)?,
            payload: Payload::of(row, 23),
        }),
    })
}

/// What somebody wants of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// It ends CANCELLED, between two actions.
    Cancel {
        /// Whether it undoes what it did.
        compensate: bool,
        /// Why.
        cause: String,
    },
    /// It becomes PAUSED, between two actions.
    Pause {
        /// Why.
        cause: String,
    },
}

/// What others want of the instances that this generation has in hand.
pub fn requests_in_hand(generation: i64) -> Result<Vec<(Uuid, Wanted)>, StoreError> {
    let rows = statements::REQUESTS_IN_HAND.run(&[generation.into()])?;
    rows.iter()
        .map(|row| {
            let cause = row.get(4)?;
            let wanted = match row.get::<String>(2)?.as_str() {
                "pause" => Wanted::Pause { cause },
                _ => Wanted::Cancel { compensate: row.get(3)?, cause },
            };
            Ok((uuid(row.get(1)?), wanted))
        })
        .collect()
}

/// Removes requests that were carried out, and those for instances that have ended. Returns how many are left.
pub fn forget_requests(done: &[Uuid]) -> Result<i64, StoreError> {
    let done: Vec<pgrx::Uuid> = done.iter().copied().map(pg_uuid).collect();
    let rows = statements::FORGET_REQUESTS.run(&[done.into()])?;
    rows.first().map_or(Ok(0), |row| row.get(1))
}
