//! What a worker reads: routed events, claimed instances, lanes, definitions.

use super::payload::Payload;
use super::{Argument, Row, Rows, StoreError, pg_time, statements, utc, uuid};
use chrono::{DateTime, Utc};
use pgrx::datum::TimestampWithTimeZone;
use std::rc::Rc;
use uuid::Uuid;

/// An event as its actions see it.
#[derive(Debug)]
pub struct Event {
    /// Internal identity.
    pub uid: Uuid,
    /// Identity as the source knows it.
    pub id: String,
    /// What happened.
    pub event_type: String,
    /// Where it comes from.
    pub source: String,
    /// Business key.
    pub biz_key: String,
    /// Joins the events of one business case.
    pub correlation_id: Option<String>,
    /// The event that caused it.
    pub causation_id: Option<String>,
    /// W3C trace context given with it.
    pub traceparent: Option<String>,
    /// Body.
    pub payload: Payload,
}

/// The route that an event took.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Name of the route.
    pub route_name: String,
    /// Its version.
    pub route_version: i32,
    /// The workflow it leads to.
    pub workflow_name: String,
    /// Version to start with.
    pub workflow_version: i32,
}

/// An event taken from the inbox; `chosen` is `None` when nothing matched.
pub struct Routed {
    /// The event.
    pub event: Rc<Event>,
    /// Role that fired it.
    pub fired_by: String,
    /// Route and workflow.
    pub chosen: Option<Chosen>,
}

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
    /// Attempt that this claim is for.
    pub attempt_no: i32,
    /// Attempts lost so far.
    pub lost_count: i32,
    /// Where it queued.
    pub lane: String,
    /// Whether its change to RUNNING already has its history row.
    pub claim_logged: bool,
    /// Number of its idempotency keys, from 1.
    pub key_no: i32,
}

/// Takes up to `limit` events out of the inbox and matches them.
pub fn route_events(mark: i64, limit: usize) -> Result<Vec<Routed>, StoreError> {
    let rows = statements::ROUTE_EVENTS.run(&[mark.into(), (limit as i64).into()])?;
    let mut routed: Vec<Routed> = Vec::with_capacity(rows.len());
    for row in rows.iter() {
        let uid = uuid(row.get(2)?);
        let event = match routed.last() {
            Some(last) if last.event.uid == uid => last.event.clone(),
            _ => Rc::new(Event {
                uid,
                event_type: row.get(3)?,
                biz_key: row.get(4)?,
                id: row.get(5)?,
                source: row.get(6)?,
                correlation_id: row.maybe(7)?,
                causation_id: row.maybe(8)?,
                traceparent: row.maybe(9)?,
                payload: Payload::of(&row, 11),
            }),
        };
        routed.push(Routed { event, fired_by: row.get(10)?, chosen: chosen(&row)? });
    }
    Ok(routed)
}

fn chosen(row: &Row<'_>) -> Result<Option<Chosen>, StoreError> {
    let Some(route_name) = row.maybe(12)? else { return Ok(None) };
    Ok(Some(Chosen {
        route_name,
        route_version: row.get(13)?,
        workflow_name: row.get(14)?,
        workflow_version: row.get(15)?,
    }))
}

/// Puts the next event of the inbox aside as unrouted. False when there is none.
pub fn set_aside_event(reason: &str, mark: i64) -> Result<bool, StoreError> {
    Ok(statements::SET_ASIDE_EVENT.run(&[reason.into(), mark.into()])?.processed > 0)
}

/// Records events that nothing matched.
pub fn insert_unrouted(events: &[Uuid], now: DateTime<Utc>) -> Result<(), StoreError> {
    if !events.is_empty() {
        let uids: Vec<pgrx::Uuid> = events.iter().copied().map(super::pg_uuid).collect();
        statements::INSERT_UNROUTED.run(&[uids.into(), pg_time(now).into()])?;
    }
    Ok(())
}

/// Claims due instances of these lanes, each up to its room.
pub fn claim_due(room: &[(Rc<str>, usize)], generation: i64, now: DateTime<Utc>) -> Result<Vec<Claimed>, StoreError> {
    let lanes: Vec<String> = room.iter().map(|(lane, _)| lane.to_string()).collect();
    let places: Vec<i32> = room.iter().map(|(_, places)| *places as i32).collect();
    claimed(statements::CLAIM_DUE.run(&[lanes.into(), places.into(), generation.into(), pg_time(now).into()])?)
}

/// Claims free instances whose deadline has passed.
pub fn claim_expired(generation: i64, now: DateTime<Utc>, limit: usize) -> Result<Vec<Claimed>, StoreError> {
    claimed(statements::CLAIM_EXPIRED.run(&[generation.into(), pg_time(now).into(), (limit as i64).into()])?)
}

/// Takes over instances of a dead generation.
pub fn take_over(dead: i64, generation: i64, limit: usize) -> Result<Vec<Claimed>, StoreError> {
    claimed(statements::TAKE_OVER.run(&[dead.into(), generation.into(), (limit as i64).into()])?)
}

fn claimed(rows: Rows) -> Result<Vec<Claimed>, StoreError> {
    let time = |row: &Row<'_>, column| -> Result<Option<DateTime<Utc>>, StoreError> {
        Ok(row.maybe::<TimestampWithTimeZone>(column)?.map(utc))
    };
    rows.iter()
        .map(|row| {
            Ok(Claimed {
                instance_id: uuid(row.get(1)?),
                workflow: (row.get(3)?, row.get(4)?),
                version: row.get(5)?,
                action_index: row.get(6)?,
                retry_count: row.get(7)?,
                first_try: time(&row, 8)?,
                update_time: utc(row.get(9)?),
                deadline: time(&row, 10)?,
                context: row.maybe(11)?,
                attempt_no: row.get(13)?,
                lost_count: row.get(14)?,
                lane: row.get(15)?,
                claim_logged: row.get(23)?,
                key_no: row.get(24)?,
                event: Rc::new(Event {
                    uid: uuid(row.get(2)?),
                    biz_key: row.get(12)?,
                    event_type: row.get(16)?,
                    id: row.get(17)?,
                    source: row.get(18)?,
                    correlation_id: row.maybe(19)?,
                    causation_id: row.maybe(20)?,
                    traceparent: row.maybe(21)?,
                    payload: Payload::of(&row, 22),
                }),
            })
        })
        .collect()
}

/// All lanes with free queue rows and the earliest due time of each.
pub fn lanes_due() -> Result<Vec<(String, DateTime<Utc>)>, StoreError> {
    statements::LANES_DUE.run(&[])?.iter().map(|row| Ok((row.get(1)?, utc(row.get(2)?)))).collect()
}

/// A lane and the earliest due time of its free rows; `None` when it has none.
pub type LaneDue = (String, Option<DateTime<Utc>>);

/// Earliest due time of each of these lanes.
pub fn next_due(lanes: &[Rc<str>]) -> Result<Vec<LaneDue>, StoreError> {
    let names: Vec<String> = lanes.iter().map(|lane| lane.to_string()).collect();
    let rows = statements::NEXT_DUE.run(&[names.into()])?;
    rows.iter().map(|row| Ok((row.get(1)?, row.maybe::<TimestampWithTimeZone>(2)?.map(utc)))).collect()
}

/// Earliest deadline among the free instances.
pub fn next_deadline() -> Result<Option<DateTime<Utc>>, StoreError> {
    let rows = statements::NEXT_DEADLINE.run(&[])?;
    rows.first().map(|row| row.get(1).map(utc)).transpose()
}

/// Text of a definition; `None` when that version does not exist.
pub fn load_definition(workflow: &str, version: i32) -> Result<Option<String>, StoreError> {
    let rows = statements::LOAD_DEFINITION.run(&[workflow.into(), version.into()])?;
    rows.first().map(|row| row.get(1)).transpose()
}

/// The largest inbox id drawn so far.
pub fn inbox_last_id() -> Result<i64, StoreError> {
    let rows = statements::INBOX_LAST_ID.run(&[])?;
    rows.first().map_or(Ok(0), |row| row.get(1))
}

/// (xmin, xmax) of the current snapshot and the smallest inbox id above the mark.
pub fn inbox_horizon(mark: i64) -> Result<(i64, i64, Option<i64>), StoreError> {
    let rows = statements::INBOX_HORIZON.run(&[mark.into()])?;
    rows.first().map_or(Ok((0, 0, None)), |row| Ok((row.get(1)?, row.get(2)?, row.maybe(3)?)))
}

/// A document to evaluate paths against, and the paths.
pub struct Question<'a> {
    /// The event that fills `event` and `payload`.
    pub event: Uuid,
    /// The other members, as JSON text of one object.
    pub extra: String,
    /// The paths, and whether all matches are wanted.
    pub paths: Vec<(&'a str, bool)>,
}

/// What one path gave: number of matches, and the array or the first match as jsonb text.
pub type Answer = (u32, Option<String>);

/// Evaluates many paths in one statement; the answers stand in the order of questions and paths.
pub fn evaluate(questions: &[Question<'_>]) -> Result<Vec<Vec<Answer>>, StoreError> {
    let (mut first, mut last, mut end) = (Vec::new(), Vec::new(), 0);
    for question in questions {
        first.push(end + 1);
        end += question.paths.len() as i32;
        last.push(end);
    }
    let events: Vec<pgrx::Uuid> = questions.iter().map(|question| super::pg_uuid(question.event)).collect();
    let extras: Vec<&str> = questions.iter().map(|question| question.extra.as_str()).collect();
    let paths = || questions.iter().flat_map(|question| question.paths.iter());
    let texts: Vec<&str> = paths().map(|path| path.0).collect();
    let many: Vec<bool> = paths().map(|path| path.1).collect();
    let arguments: [Argument<'_>; 6] =
        [events.into(), extras.into(), first.into(), last.into(), texts.into(), many.into()];
    let rows = statements::EVALUATE.run(&arguments)?;
    let mut answers = rows.iter().map(|row| Ok((row.get::<i32>(1)? as u32, row.maybe::<String>(2)?)));
    questions
        .iter()
        .map(|question| question.paths.iter().map(|_| answers.next().unwrap_or(Ok((0, None)))).collect())
        .collect()
}

/// Registers this worker start and returns its generation.
pub fn new_generation(worker_no: i32, pid: i32) -> Result<i64, StoreError> {
    let rows = statements::NEW_GENERATION.run(&[worker_no.into(), pid.into()])?;
    rows.first().map_or(Ok(0), |row| row.get(1))
}

/// The other generations that are still registered; with `queue` also those that only queue rows name.
pub fn other_generations(own: i64, queue: bool) -> Result<Vec<i64>, StoreError> {
    statements::OTHER_GENERATIONS.run(&[own.into(), queue.into()])?.iter().map(|row| row.get(1)).collect()
}

/// Removes a generation that holds nothing any more.
pub fn forget_generation(generation: i64) -> Result<(), StoreError> {
    statements::FORGET_GENERATION.run(&[generation.into()]).map(|_| ())
}
