//! An instance in this worker's hands.

use super::definition::{Cursor, Definition, ScriptVersions};
use super::undo::UndoPlan;
use crate::flow::context::{Place, Steps};
use crate::flow::definition::Action;
use crate::flow::instance::{Progress, Status};
use crate::flow::request::idempotency_key;
use crate::store::claim::Claimed;
use crate::store::record::{Birth, InstanceError, Origin, Parent, QueueRow};
use crate::store::work::{Chosen, Event, Routed};
use chrono::{DateTime, Utc};
use std::rc::Rc;
use uuid::Uuid;

/// What was sent for the attempt in flight.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Start of the request, for the log.
    pub summary: String,
    /// Lane that it would have by itself: `scheme://host:port` for HTTP.
    pub origin: Rc<str>,
    /// Lane whose place it takes.
    pub place: Rc<str>,
    /// Size of the body that is in flight.
    pub body_bytes: usize,
}

/// How an instance that failed or was cancelled comes to its end.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Final status it will have.
    pub status: Status,
    /// running, done, failed or none; `None` before that is decided.
    pub compensation: Option<&'static str>,
    /// Undo actions that are through.
    pub undo_no: usize,
    /// What has to be undone; `None` before it was looked up.
    pub plan: Option<Rc<UndoPlan>>,
}

/// An instance in this worker's hands.
#[derive(Clone)]
pub struct Held {
    /// Identity.
    pub id: Uuid,
    /// Its event.
    pub event: Rc<Event>,
    /// What it runs.
    pub definition: Rc<Definition>,
    /// The block of the definition that it runs; `None` for the workflow's own actions.
    pub block: Option<usize>,
    /// What started it, when it is a child.
    pub parent: Option<Rc<Parent>>,
    /// Members of `steps` that it has from the instances above it, JSON text.
    pub inherited: Option<Rc<str>>,
    /// Where it comes from; `None`: as the table has it.
    pub origin: Option<Rc<Origin>>,
    /// Versions of its scripts.
    pub scripts: ScriptVersions,
    /// Version after the last row written about it.
    pub version: i32,
    /// Status as written.
    pub status: Status,
    /// Where the current action stands; `first_try` counts only when `tried` is set.
    pub progress: Progress,
    /// First attempt of the current action; `None` before it.
    pub tried: Option<DateTime<Utc>>,
    /// Whether `progress.attempt_no` already is the number of the attempt to come.
    pub numbered: bool,
    /// Number of its idempotency keys, from 1.
    pub key_no: u32,
    /// What it has learned.
    pub steps: Steps,
    /// How it ends, once that has begun.
    pub ending: Option<Ending>,
    /// The failure that ends it, kept over compensation.
    pub error: Option<InstanceError>,
    /// Whether it has a place in the concurrency of its workflow.
    pub has_place: bool,
    /// Its queue row as the table has it; `None` when there is none.
    pub queue: Option<QueueRow>,
    /// A claim whose history row is still to be written: log id and time.
    pub claim: Option<(i32, DateTime<Utc>)>,
    /// The attempt in flight.
    pub sent: Option<Sent>,
}

impl Held {
    /// A new instance of an event, not stored yet.
    pub fn new(
        routed: &Routed,
        chosen: &Chosen,
        (definition, scripts): (Rc<Definition>, ScriptVersions),
        now: DateTime<Utc>,
    ) -> (Held, Birth) {
        let origin = Rc::new(Origin {
            route_name: chosen.route_name.clone(),
            route_version: chosen.route_version,
            fired_by: routed.fired_by.clone(),
        });
        Held::born(routed.event.clone(), (definition, scripts), Some(origin), None, now)
    }

    /// A new instance of whatever origin.
    pub fn born(
        event: Rc<Event>,
        (definition, scripts): (Rc<Definition>, ScriptVersions),
        origin: Option<Rc<Origin>>,
        parent: Option<Parent>,
        now: DateTime<Utc>,
    ) -> (Held, Birth) {
        let birth = Birth {
            event_uid: event.uid,
            workflow_version: definition.version,
            origin: origin.clone(),
            event_id: event.id.clone(),
            source: event.source.clone(),
            parent: parent.clone(),
            scripts: (!scripts.is_empty()).then(|| serde_json::json!(&*scripts).to_string()),
        };
        let held = Held {
            id: Uuid::now_v7(),
            event,
            block: None,
            parent: parent.map(Rc::new),
            inherited: None,
            origin,
            scripts,
            version: 1,
            status: Status::Running,
            progress: Progress {
                action_index: 0,
                retry_count: 0,
                attempt_no: 0,
                lost_count: 0,
                first_try: now,
                deadline: definition.deadline(now),
                repeated: false,
            },
            tried: None,
            numbered: false,
            key_no: 1,
            steps: Steps::default(),
            ending: None,
            error: None,
            has_place: false,
            queue: None,
            claim: Some((1, now)),
            sent: None,
            definition,
        };
        (held, birth)
    }

    /// An instance as a claim returned it; what it inherits is still to be looked up.
    pub fn claimed(row: Claimed, definition: Rc<Definition>, lane: Rc<str>) -> Held {
        let queue = QueueRow {
            due: row.update_time,
            deadline: row.deadline,
            kept: true,
            attempt_no: row.attempt_no,
            lost_count: row.lost_count,
            lane,
        };
        let extra = row.extra;
        let parent = extra.parent.as_deref().and_then(|id| Uuid::parse_str(id).ok()).map(|id| {
            Rc::new(Parent {
                id,
                action: extra.parent_action.clone().unwrap_or_default(),
                branch: extra.branch.clone(),
                item_index: extra.item_index,
                item: extra.item.as_ref().map(|item| item.get().into()),
                detached: extra.detached,
            })
        });
        let block = extra.branch.as_deref().and_then(|branch| {
            definition.workflow.as_ref()?.block(extra.parent_action.as_deref().unwrap_or_default(), branch)
        });
        let ending = extra.end_status.as_deref().and_then(|status| status.parse().ok()).map(|status| Ending {
            status,
            compensation: known_compensation(extra.compensation.as_deref()),
            undo_no: extra.undo_no.max(0) as usize,
            plan: None,
        });
        let waits = row.status == Status::Waiting;
        Held {
            id: row.instance_id,
            event: row.event,
            definition,
            block,
            parent,
            inherited: None,
            origin: None,
            scripts: Rc::new(extra.scripts.unwrap_or_default()),
            version: row.version,
            status: row.status,
            progress: Progress {
                action_index: row.action_index.max(0) as usize,
                retry_count: row.retry_count.max(0) as u32,
                attempt_no: row.attempt_no.max(0) as u32,
                lost_count: row.lost_count.max(0) as u32,
                first_try: row.first_try.unwrap_or(row.update_time),
                deadline: row.deadline,
                repeated: false,
            },
            tried: row.first_try,
            numbered: true,
            key_no: row.key_no.max(1) as u32,
            steps: Steps::parse(row.context.as_deref()),
            ending,
            error: extra.error_code.map(|code| InstanceError {
                action: None,
                code,
                message: extra.error.unwrap_or_default(),
            }),
            has_place: false,
            queue: Some(queue),
            claim: (!row.claim_logged && !waits).then_some((row.version, row.update_time)),
            sent: None,
        }
    }

    /// Where the definition is carried out now: the current action, or the undo of one.
    pub fn cursor(&self) -> Cursor {
        match self.undo() {
            Some(step) => step.cursor,
            None => Cursor { block: self.block, index: self.progress.action_index, undo: false },
        }
    }

    /// The undo step it is at; `None` unless it compensates, or when all are through.
    pub fn undo(&self) -> Option<&super::undo::UndoStep> {
        let ending = self.ending.as_ref().filter(|_| self.status == Status::Compensating)?;
        ending.plan.as_ref()?.steps.get(ending.undo_no)
    }

    /// The action at the cursor.
    pub fn action(&self) -> Option<&Action> {
        if self.status == Status::Compensating && self.undo().is_none() {
            return None;
        }
        self.definition.action(self.cursor())
    }

    /// Whether it is a branch of another instance: its failure is its parent's, and its parent undoes what it did.
    pub fn is_branch(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.branch.is_some())
    }

    /// Where the current action queues, as far as that is known before it is rendered.
    pub fn static_lane(&self) -> Option<&str> {
        self.action()?.lane.name()
    }

    /// The instance on whose behalf it acts, as text: the one that did what is undone, else itself.
    pub fn acting_id(&self) -> String {
        self.undo().map_or(self.id, |step| step.owner).to_string()
    }

    /// The context document without event and payload, JSON text of an object; `response` has its document.
    pub fn context(&self, with_steps: bool, response: Option<&str>) -> String {
        let id = self.acting_id();
        let action_name = self.action().map(|action| action.name.as_str()).unwrap_or_default();
        let place = Place {
            instance_id: &id,
            workflow_name: &self.definition.name,
            workflow_version: self.definition.version,
            action_name,
            idempotency_key: &idempotency_key(&id, action_name, self.key_no),
            item: self.item(),
        };
        let steps = if with_steps { self.step_members() } else { String::new() };
        format!("{{{}}}", place.members(&steps, response))
    }

    /// Members of `steps` that the current action sees.
    pub fn step_members(&self) -> String {
        if let Some(step) = self.undo() {
            return step.members.to_string();
        }
        let finished = self.definition.names_before(self.block, self.progress.action_index);
        self.steps.members(self.inherited.as_deref(), finished)
    }

    fn item(&self) -> Option<(i32, &str)> {
        match self.undo() {
            Some(step) => step.item.as_ref().map(|(index, item)| (*index, &**item)),
            None => {
                let parent = self.parent.as_ref()?;
                Some((parent.item_index?, parent.item.as_deref()?))
            }
        }
    }
}

fn known_compensation(word: Option<&str>) -> Option<&'static str> {
    ["running", "done", "failed", "none"].into_iter().find(|known| Some(*known) == word)
}
