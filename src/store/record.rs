//! What a turn leaves behind for one instance; [`super::write`] stores it.

use crate::flow::instance::Status;
use crate::script::KvSet;
use chrono::{DateTime, Utc};
use std::rc::Rc;
use std::time::Duration;
use uuid::Uuid;

type Time = DateTime<Utc>;

/// The part of an instance that its creation fixes.
#[derive(Debug, Clone)]
pub struct Birth {
    /// Its event.
    pub event_uid: Uuid,
    /// Version of the definition.
    pub workflow_version: i32,
    /// The route and the role that fired the event; `None`: as its parent has them in the table.
    pub origin: Option<Rc<Origin>>,
    /// Id of the event as its source knows it.
    pub event_id: String,
    /// Source of the event.
    pub source: String,
    /// What started it, when it is a child.
    pub parent: Option<Parent>,
    /// Versions of the scripts it uses, as a JSON object; `None` when it uses none.
    pub scripts: Option<String>,
}

/// Where an instance comes from, the same for all its children.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Name of the route.
    pub route_name: String,
    /// Version of the route.
    pub route_version: i32,
    /// Role that fired the event.
    pub fired_by: String,
}

/// What started a child instance.
#[derive(Debug, Clone)]
pub struct Parent {
    /// The instance.
    pub id: Uuid,
    /// Its action.
    pub action: String,
    /// The branch; `None` for a child workflow.
    pub branch: Option<String>,
    /// Position of its item.
    pub item_index: Option<i32>,
    /// Its item, JSON text.
    pub item: Option<Rc<str>>,
    /// Whether the parent does not wait for it.
    pub detached: bool,
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
    /// Whether another instance waits for it and tells of its failure: a branch or a child workflow.
    pub is_part: bool,
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
    /// The failure that ended or paused it.
    pub error: Option<InstanceError>,
    /// Final status once compensation is through.
    pub end_status: Option<Status>,
    /// How compensation stands: running, done, failed or none.
    pub compensation: Option<&'static str>,
    /// Undo actions that are through.
    pub undo_no: i32,
}

/// The failure that ended or paused an instance.
#[derive(Debug, Clone)]
pub struct InstanceError {
    /// Action that failed; `None` when no single one did.
    pub action: Option<String>,
    /// Code of the failure.
    pub code: String,
    /// Its message.
    pub message: String,
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
    /// What a script did and wrote, JSON text of two arrays.
    pub script: Option<(String, String)>,
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
    /// What it means for others; most have none.
    pub more: More,
}

/// What the turn of one instance means for others.
#[derive(Debug, Clone, Default)]
pub struct More {
    /// Waiting instances that have to look again.
    pub signals: Vec<Uuid>,
    /// What its live children are asked for.
    pub of_children: Option<OfChildren>,
    /// The action whose failed children start again where they failed.
    pub revives_children: Option<String>,
    /// Events that it brings forth.
    pub events: Vec<NewEvent>,
    /// Events that it waits for from now on.
    pub waits: Vec<NewWait>,
    /// Whether it waits for nothing any more: `Some(true)` also not for what would cancel it.
    pub closes_waits: Option<bool>,
    /// Whether what was wanted of it is carried out.
    pub obeyed: bool,
    /// Changes that its script makes in the key-value store.
    pub kv_sets: Vec<KvSet>,
    /// What happens to its place in the concurrency of its workflow.
    pub place: Option<Place>,
}

/// What an instance asks of its live children.
#[derive(Debug, Clone)]
pub struct OfChildren {
    /// `cancel` or `pause`.
    pub request: &'static str,
    /// The action whose children are meant; `None`: all.
    pub action: Option<String>,
    /// Whether a child workflow that is cancelled undoes what it did.
    pub compensate: bool,
    /// Why.
    pub cause: String,
}

/// What happens to an instance's place among those with the same concurrency key.
#[derive(Debug, Clone)]
pub enum Place {
    /// It queues up behind the others with this key.
    Enter(String),
    /// It has one from now on.
    Take,
    /// It leaves, and the others look again.
    Leave,
}

/// An event that an instance brings forth.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Its identity.
    pub uid: Uuid,
    /// Its type.
    pub event_type: String,
    /// Its business key.
    pub biz_key: String,
    /// Its body, JSON text; `None`: that of the instance's event.
    pub payload: Option<String>,
    /// Its attributes, JSON text of an object.
    pub attributes: String,
    /// Joins the events of one business case.
    pub correlation_id: Option<String>,
    /// Id of the instance's event.
    pub causation_id: String,
    /// Instances between it and an event that an application fired.
    pub depth: i32,
    /// Whether it is routed like one that an application fired.
    pub is_routed: bool,
}

/// An event to wait for.
#[derive(Debug, Clone)]
pub struct NewWait {
    /// The wait action; empty for cancelOn.
    pub action_name: String,
    /// Position in the list.
    pub wait_no: i32,
    /// Type of the event.
    pub event_type: String,
    /// Its business key, or
    pub biz_key: Option<String>,
    /// its correlation id.
    pub correlation_id: Option<String>,
    /// Object that the payload must contain, JSON text.
    pub match_contains: Option<String>,
    /// Predicate over event and payload.
    pub match_path: Option<String>,
    /// How long before the instance's own event it may have come.
    pub lookback: Duration,
}
