//! An instance in this worker's hands, and the definitions it runs by.

use crate::flow::context::Steps;
use crate::flow::definition::{Action, Workflow};
use crate::flow::instance::{Progress, Status};
use crate::flow::parse;
use crate::store::record::{Birth, QueueRow};
use crate::store::work::{Chosen, Claimed, Event, Routed};
use crate::store::{StoreError, work};
use chrono::{DateTime, Utc};
use std::collections::HashMap;
use std::rc::Rc;
use uuid::Uuid;

/// One version of a workflow, parsed.
pub struct Definition {
    /// Name of the workflow.
    pub name: Rc<str>,
    /// Its version.
    pub version: i32,
    /// What it does; `None` when the stored text cannot be used by this library.
    pub workflow: Option<Workflow>,
}

impl Definition {
    /// The action at the index; `None` behind the last one, or when the definition cannot be used.
    pub fn action(&self, index: usize) -> Option<&Action> {
        self.workflow.as_ref().and_then(|workflow| workflow.actions.get(index))
    }

    /// Names of the actions before the index.
    pub fn names_before(&self, index: usize) -> impl Iterator<Item = &str> {
        self.workflow.iter().flat_map(move |workflow| workflow.actions.iter().take(index).map(|a| a.name.as_str()))
    }
}

/// Parsed definitions; versions are immutable, so an entry never becomes wrong.
#[derive(Default)]
pub struct Definitions {
    by_version: HashMap<(String, i32), Rc<Definition>>,
}

impl Definitions {
    /// Versions kept before the cache starts anew.
    const KEPT: usize = 10_000;

    /// The definition, loaded and parsed at most once.
    pub fn get(&mut self, name: &str, version: i32) -> Result<Rc<Definition>, StoreError> {
        let key = (name.to_owned(), version);
        if let Some(definition) = self.by_version.get(&key) {
            return Ok(definition.clone());
        }
        let text = work::load_definition(name, version)?;
        let workflow = text.and_then(|text| parse::parse(&text).0);
        let definition = Rc::new(Definition { name: name.into(), version, workflow });
        if self.by_version.len() >= Self::KEPT {
            self.by_version.clear();
        }
        self.by_version.insert(key, definition.clone());
        Ok(definition)
    }
}

/// What was sent for the attempt in flight.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Start of the request, for the log.
    pub summary: String,
    /// `scheme://host:port` it goes to.
    pub origin: Rc<str>,
    /// Lane whose place it takes.
    pub place: Rc<str>,
    /// Size of the body that is in flight.
    pub body_bytes: usize,
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
    /// Its queue row as the table has it; `None` when there is none.
    pub queue: Option<QueueRow>,
    /// A claim whose history row is still to be written: log id and time.
    pub claim: Option<(i32, DateTime<Utc>)>,
    /// The attempt in flight.
    pub sent: Option<Sent>,
}

impl Held {
    /// A new instance of an event, not stored yet.
    pub fn new(routed: &Routed, chosen: &Chosen, definition: Rc<Definition>, now: DateTime<Utc>) -> (Held, Birth) {
        let timeout = definition.workflow.as_ref().and_then(|workflow| workflow.timeout);
        let deadline = timeout
            .and_then(|timeout| chrono::TimeDelta::from_std(timeout).ok())
            .and_then(|timeout| now.checked_add_signed(timeout));
        let birth = Birth {
            event_uid: routed.event.uid,
            workflow_version: chosen.workflow_version,
            route_version: chosen.route_version,
            route_name: chosen.route_name.clone(),
            event_id: routed.event.id.clone(),
            source: routed.event.source.clone(),
            fired_by: routed.fired_by.clone(),
        };
        let held = Held {
            id: Uuid::now_v7(),
            event: routed.event.clone(),
            definition,
            version: 1,
            status: Status::Running,
            progress: Progress {
                action_index: 0,
                retry_count: 0,
                attempt_no: 0,
                lost_count: 0,
                first_try: now,
                deadline,
                repeated: false,
            },
            tried: None,
            numbered: false,
            key_no: 1,
            steps: Steps::default(),
            queue: None,
            claim: Some((1, now)),
            sent: None,
        };
        (held, birth)
    }

    /// An instance as a claim returned it.
    pub fn claimed(row: Claimed, definition: Rc<Definition>, status: Status, lane: Rc<str>) -> Held {
        let queue = QueueRow {
            due: row.update_time,
            deadline: row.deadline,
            kept: true,
            attempt_no: row.attempt_no,
            lost_count: row.lost_count,
            lane,
        };
        Held {
            id: row.instance_id,
            event: row.event,
            definition,
            version: row.version,
            status,
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
            queue: Some(queue),
            claim: (!row.claim_logged).then_some((row.version, row.update_time)),
            sent: None,
        }
    }

    /// The action at the resume point.
    pub fn action(&self) -> Option<&Action> {
        self.definition.action(self.progress.action_index)
    }

    /// Where the current action queues, as far as that is known before it is rendered.
    pub fn static_lane(&self) -> Option<&str> {
        self.action()?.lane.name()
    }
}
