//! One turn of a worker: one short transaction that records what ended, takes what is new, and prepares what goes out.
//!
//! A turn only reads the worker's memory; what it would change there is returned as [`Effects`] and applied after the
//! commit. So a turn that fails can be run again: first as it is, then carefully, each instance by itself, so that one
//! row that cannot be handled ends alone and never stops the others.

use super::board::Seat;
use super::draft::{Course, Draft};
use super::held::{Definitions, Held};
use super::lane::{Lanes, Ledger, serves};
use crate::action::Completion;
use crate::flow::instance::{Limits, Status};
use crate::flow::request::Request;
use crate::guc;
use crate::store::record::{self, InstanceError, Record};
use crate::store::work::{self, Claimed, Routed};
use crate::store::{StoreError, subtransaction};
use chrono::{DateTime, Utc};
use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What a turn works on.
pub struct Turn<'w> {
    /// The moment that all its rows carry.
    pub now: DateTime<Utc>,
    /// Own generation.
    pub generation: i64,
    /// Own number, and those of all live workers: a lane is served by one of them.
    pub worker_no: u32,
    /// See `worker_no`.
    pub peers: &'w [u32],
    /// Lanes as they are.
    pub lanes: &'w mut Lanes,
    /// Parsed definitions.
    pub definitions: &'w mut Definitions,
    /// Attempts that may be held at once, prefetched ones included.
    pub capacity: usize,
    /// Attempts that may run at once: what must not be repeated is never prefetched.
    pub threads: usize,
    /// Bytes of the bodies in flight and of those that this turn adds.
    pub bytes: usize,
    /// When it began to prepare, by the monotonic clock.
    pub begun: Instant,
    /// Own seat, where the turn shows that it is alive.
    pub seat: &'w Seat,
    /// Whether each instance is handled by itself.
    pub careful: bool,
    /// Changes to the lanes.
    pub ledger: Ledger,
    /// The instances touched.
    pub drafts: Vec<Draft>,
    /// Attempts that ended: place, success, gone, duration.
    pub noted: Vec<(Rc<str>, bool, bool, Duration)>,
    /// Settings read once.
    pub settings: Settings,
    /// Events that nothing matched.
    pub unrouted: Vec<Uuid>,
}

/// Settings that a turn needs.
pub struct Settings {
    /// Bounds for the decision after an attempt.
    pub limits: Limits,
    /// Characters kept in logs.
    pub summary_chars: usize,
    /// Largest output of one action.
    pub max_output_bytes: usize,
    /// Largest collection of outputs.
    pub max_context_bytes: usize,
    /// Cap of every attempt.
    pub action_timeout: Duration,
}

impl Settings {
    /// Attempts that may be lost before the instance is DEAD.
    const MAX_LOST: u32 = 3;

    /// The settings as they are now.
    pub fn now() -> Settings {
        Settings {
            limits: Limits { max_retry_after: guc::max_retry_after(), max_lost: Self::MAX_LOST },
            summary_chars: guc::summary_chars(),
            max_output_bytes: guc::max_output_bytes(),
            max_context_bytes: guc::max_context_bytes(),
            action_timeout: guc::action_timeout(),
        }
    }
}

/// What has to happen once the turn has committed.
pub struct Effects {
    /// Requests to send, with their instances.
    pub sends: Vec<(Held, Request)>,
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
}

/// What to take in this turn.
pub struct Intake {
    /// The inbox mark, when this worker routes.
    pub inbox: Option<i64>,
    /// A dead generation to rescue from.
    pub dead_generation: Option<i64>,
    /// Whether a deadline may have passed.
    pub expired: bool,
    /// Rows per statement.
    pub batch: usize,
}

impl Turn<'_> {
    /// Events taken although everything is busy, so that waits and other lanes go on.
    const TRICKLE: usize = 16;
    /// Bodies in flight beyond which nothing more is rendered until some have ended.
    pub const BODY_BYTES: usize = 128 << 20;
    /// Time after which a turn prepares nothing more: what is left is released and comes again.
    const LONGEST: Duration = Duration::from_millis(100);

    /// Everything between begin and commit.
    pub fn run(mut self, completed: &[(Held, Completion)], intake: &Intake) -> Result<Effects, StoreError> {
        self.lanes.begin_turn(self.now);
        self.conclude(completed)?;
        let taken_over = self.rescue(intake)?;
        let expired = self.claim_expired(intake)?;
        let claimed = self.claim(intake.batch)?;
        let routed = match intake.inbox {
            Some(mark) => self.route(mark, intake.batch)?,
            None => 0,
        };
        self.prepare()?;
        let mut effects = self.write()?;
        (effects.claimed, effects.routed, effects.taken_over, effects.expired) = (claimed, routed, taken_over, expired);
        Ok(effects)
    }

    /// Whether this worker serves the lane; on others it sends nothing, or their bound would not hold.
    pub fn serves(&self, lane: &str) -> bool {
        serves(lane, self.worker_no, self.peers)
    }

    /// Whether the turn has to come to its end: it took its time, or bodies fill the memory.
    pub fn is_over(&self) -> bool {
        self.bytes >= Self::BODY_BYTES || self.begun.elapsed() > Self::LONGEST
    }

    fn spare(&self) -> usize {
        if self.bytes >= Self::BODY_BYTES {
            return 0;
        }
        self.capacity.saturating_sub(self.ledger.held(self.lanes))
    }

    fn rescue(&mut self, intake: &Intake) -> Result<usize, StoreError> {
        let Some(dead) = intake.dead_generation else { return Ok(0) };
        let rows = work::take_over(dead, self.generation, intake.batch)?;
        let count = rows.len();
        for row in rows {
            let mut draft = self.adopt(row, Status::Running)?;
            self.record_loss(&mut draft);
            self.drafts.push(draft);
        }
        Ok(count)
    }

    fn claim_expired(&mut self, intake: &Intake) -> Result<usize, StoreError> {
        if !intake.expired {
            return Ok(0);
        }
        let rows = work::claim_expired(self.generation, self.now, intake.batch)?;
        let count = rows.len();
        for row in rows {
            let mut draft = self.adopt(row, Status::Pending)?;
            self.expire(&mut draft);
            self.drafts.push(draft);
        }
        Ok(count)
    }

    /// Ends a draft whose deadline has passed.
    pub fn expire(&self, draft: &mut Draft) {
        draft.finish(Status::Failed, Some(("deadline", "the workflow's timeout has passed")), self.now);
    }

    fn claim(&mut self, batch: usize) -> Result<Vec<(Rc<str>, bool)>, StoreError> {
        let room = self.lanes.due(self.now, &self.ledger, self.spare().min(batch));
        if room.is_empty() {
            return Ok(Vec::new());
        }
        let mut got = vec![0; room.len()];
        for row in work::claim_due(&room, self.generation, self.now)? {
            let place = room.iter().position(|(lane, _)| **lane == *row.lane);
            let mut draft = self.adopt(row, Status::Running)?;
            if let Some(index) = place {
                got[index] += 1;
                self.ledger.take(&room[index].0);
                draft.place = Some(room[index].0.clone());
                draft.claimed = true;
            }
            self.drafts.push(draft);
        }
        Ok(room.into_iter().zip(got).map(|((lane, room), got)| (lane, got == room)).collect())
    }

    fn adopt(&mut self, row: Claimed, status: Status) -> Result<Draft, StoreError> {
        let definition = self.definitions.get(&row.workflow.0, row.workflow.1)?;
        let lane = self.lanes.name(&row.lane);
        Ok(Draft::of(Held::claimed(row, definition, status, lane)))
    }

    fn route(&mut self, mark: i64, batch: usize) -> Result<usize, StoreError> {
        let limit = self.spare().max(Self::TRICKLE).min(batch);
        let routed = if self.careful { route_one(mark)? } else { work::route_events(mark, limit)? };
        let count = routed.len();
        for event in routed {
            match &event.chosen {
                None => self.unrouted.push(event.event.uid),
                Some(chosen) => {
                    let definition = self.definitions.get(&chosen.workflow_name, chosen.workflow_version)?;
                    let (held, birth) = Held::new(&event, chosen, definition, self.now);
                    self.drafts.push(Draft::new(held, birth));
                }
            }
        }
        Ok(count)
    }

    fn write(mut self) -> Result<Effects, StoreError> {
        work::insert_unrouted(&self.unrouted, self.now)?;
        let mut records = Vec::with_capacity(self.drafts.len());
        let mut outcomes = Vec::with_capacity(self.drafts.len());
        for draft in std::mem::take(&mut self.drafts) {
            let place = draft.place.clone();
            let (record, held, request) = draft.into_record(self.settings.summary_chars, self.now);
            if request.is_none()
                && let Some(place) = &place
            {
                self.ledger.free(place);
            }
            records.push(record);
            outcomes.push((held, request));
        }
        let lost = if self.careful {
            self.write_each(&mut records)?
        } else {
            record::write(&records, self.generation, self.now)?
        };
        let mut effects = Effects {
            sends: Vec::new(),
            parked: Vec::new(),
            claimed: Vec::new(),
            deadline: None,
            ended: Vec::new(),
            ledger: self.ledger,
            noted: self.noted,
            routed: 0,
            taken_over: 0,
            expired: 0,
        };
        for (record, (held, request)) in records.iter().zip(outcomes) {
            effects.add(record, held, request, &lost);
        }
        Ok(effects)
    }

    /// Writes each record by itself; one that cannot be written ends as FAILED without what could not be stored.
    fn write_each(&mut self, records: &mut [Record]) -> Result<HashSet<Uuid>, StoreError> {
        let mut lost = HashSet::new();
        for record in records {
            let single = std::slice::from_ref(&*record);
            match subtransaction(|| record::write(single, self.generation, self.now)) {
                Ok(refused) => lost.extend(refused),
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    *record = unrecordable(record, &error, self.now);
                    lost.extend(record::write(std::slice::from_ref(&*record), self.generation, self.now)?);
                }
            }
        }
        Ok(lost)
    }
}

/// Routes the next event alone; one whose routes cannot be evaluated is set aside as unrouted.
fn route_one(mark: i64) -> Result<Vec<Routed>, StoreError> {
    match subtransaction(|| work::route_events(mark, 1)) {
        Err(error) if !error.is_transient() => {
            work::set_aside_event("match_error", mark)?;
            Ok(Vec::new())
        }
        other => other,
    }
}

/// The record of an instance whose own record cannot be stored.
fn unrecordable(record: &Record, error: &StoreError, now: DateTime<Utc>) -> Record {
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

impl Effects {
    fn add(&mut self, record: &Record, held: Held, request: Option<Request>, lost: &HashSet<Uuid>) {
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
        match (request, &record.queue_after) {
            (Some(request), _) => self.sends.push((held, request)),
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

/// Whether the draft still has to be prepared.
pub fn is_open(draft: &Draft) -> bool {
    matches!(draft.course, Course::Open)
}
