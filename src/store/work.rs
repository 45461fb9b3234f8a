//! What a worker reads: routed events, lanes, definitions, values of expressions.

use super::payload::Payload;
use super::{Argument, Row, StoreError, pg_time, statements, utc, uuid};
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
    /// Instances between it and an event that an application fired.
    pub depth: i32,
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
                depth: row.get(16)?,
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

/// Text of a definition and the role that defined it; `None` when that version does not exist.
pub fn load_definition(workflow: &str, version: i32) -> Result<Option<(String, String)>, StoreError> {
    let rows = statements::LOAD_DEFINITION.run(&[workflow.into(), version.into()])?;
    rows.first().map(|row| Ok((row.get(1)?, row.get(2)?))).transpose()
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

/// The context document of an instance: event, payload and the members of `extra`, JSON text of an object.
pub fn context(event: Uuid, extra: &str) -> Result<String, StoreError> {
    let rows = statements::CONTEXT.run(&[super::pg_uuid(event).into(), extra.into()])?;
    rows.first().map_or_else(|| Ok("{}".to_owned()), |row| row.get(1))
}

/// The version that new instances of a workflow start with, and whether it may start; `None` when there is none.
pub fn workflow_state(name: &str) -> Result<Option<(i32, bool)>, StoreError> {
    let rows = statements::WORKFLOW_STATE.run(&[name.into()])?;
    rows.first().map(|row| Ok((row.get(1)?, row.get(2)?))).transpose()
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
