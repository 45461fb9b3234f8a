//! What a turn does to the worker's memory once it has committed.

use super::held::Held;
use super::lane::Ledger;
use super::task::Task;
use crate::flow::instance::Status;
use crate::flow::outcome::Failure;
use crate::store::StoreError;
use crate::store::record::{self, InstanceError, More, OfChildren, Place, Record};
use chrono::{DateTime, Utc};
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;
use uuid::Uuid;

/// What has to happen once the turn has committed.
pub struct Effects {
    /// Tasks to begin, with their instances.
    pub sends: Vec<(Held, Task)>,
    /// Lanes in which rows were left, and when they are due.
    pub parked: Vec<(Rc<str>, DateTime<Utc>)>,
    /// Lanes that were claimed from, and whether there may be more.
    pub claimed: Vec<(Rc<str>, bool)>,
    /// Earliest deadline among the rows left behind.
    pub deadline: Option<DateTime<Utc>>,
    /// Events whose instances ended.
    pub ended: Vec<Uuid>,
    /// Changes to the lanes.
    pub ledger: Ledger,
    /// How attempts went.
    pub noted: Vec<(Rc<str>, bool, bool, Duration)>,
    /// Events taken from the inbox.
    pub routed: usize,
    /// Instances taken over from a dead generation.
    pub taken_over: usize,
    /// Instances whose deadline had passed.
    pub expired: usize,
    /// Whether there may be more signals to follow.
    pub more_signals: bool,
    /// Whether waiting instances were signalled.
    pub signalled: bool,
    /// Whether something is wanted of instances that this turn did not have in hand.
    pub requested: bool,
    /// Whether events went into the inbox.
    pub emitted: bool,
    /// Why the last of the concluded attempts failed.
    pub failure: Option<Failure>,
    /// Instances that turned out to be in other hands; nothing was written about them.
    pub refused: usize,
}

impl Effects {
    /// Effects of a turn that only changed lanes.
    pub fn new(ledger: Ledger, noted: Vec<(Rc<str>, bool, bool, Duration)>) -> Effects {
        Effects {
            sends: Vec::new(),
            parked: Vec::new(),
            claimed: Vec::new(),
            deadline: None,
            ended: Vec::new(),
            ledger,
            noted,
            routed: 0,
            taken_over: 0,
            expired: 0,
            more_signals: false,
            signalled: false,
            requested: false,
            emitted: false,
            failure: None,
            refused: 0,
        }
    }

    /// Adds what became of one instance.
    pub fn add(&mut self, record: &Record, held: Held, task: Option<Task>, lost: &HashSet<Uuid>) {
        if !lost.contains(&held.id) {
            self.signalled |= !record.more.signals.is_empty() || matches!(record.more.place, Some(Place::Leave));
            self.requested |= record.more.of_children.is_some();
            self.emitted |= record.more.events.iter().any(|event| event.is_routed);
        }
        let place = held.sent.as_ref().map(|sent| sent.place.clone());
        if lost.contains(&held.id) || record.instance.status.is_final() {
            if let Some(place) = place {
                self.ledger.free(&place);
            }
            if record.instance.status.is_final() {
                self.ended.push(held.event.uid);
            }
            return;
        }
        match (task, &record.queue_after) {
            (Some(task), _) => self.sends.push((held, task)),
            (None, Some(queue)) => {
                if queue.due != DateTime::<Utc>::MAX_UTC {
                    self.parked.push((queue.lane.clone(), queue.due));
                }
                self.deadline = [self.deadline, queue.deadline].into_iter().flatten().min();
            }
            (None, None) => {}
        }
    }
}

/// The record of an instance whose own record cannot be stored.
pub fn unrecordable(record: &Record, error: &StoreError, now: DateTime<Utc>) -> Record {
    let mut record = record.clone();
    let instance = &mut record.instance;
    let log_id = instance.version + 1;
    let old = Some(instance.status);
    instance.version = log_id;
    instance.status = Status::Failed;
    instance.end = Some(now);
    instance.next_retry = None;
    instance.context = None;
    instance.result = None;
    instance.error = Some(InstanceError { action: None, code: "unrecordable".into(), message: error.to_string() });
    record.queue_after = None;
    record.more = More {
        signals: std::mem::take(&mut record.more.signals),
        of_children: Some(OfChildren {
            request: "cancel",
            action: None,
            compensate: true,
            cause: "unrecordable".into(),
        }),
        closes_waits: Some(true),
        place: Some(Place::Leave),
        ..More::default()
    };
    for attempt in &mut record.attempts {
        (attempt.request, attempt.response, attempt.error) =
            (None, None, Some(("unrecordable".into(), error.to_string())));
    }
    record.changes.push(record::ChangeRow {
        instance_id: instance.instance_id,
        log_id,
        time: now,
        old,
        new: Status::Failed,
        cause: "unrecordable".into(),
    });
    record
}
