//! What a turn does to one instance: attempts and changes are noted here and written once, at the end of the turn.

use super::held::{Held, Sent};
use super::lane::{SOLO, WAITING};
use super::task::Task;
use crate::flow::instance::{Next, Status};
use crate::flow::outcome::Failure;
use crate::store::claim::Wanted;
use crate::store::record::{AttemptRow, Birth, ChangeRow, InstanceError, InstanceRow, More, QueueRow, Record};
use chrono::{DateTime, Utc};
use std::rc::Rc;

type Time = DateTime<Utc>;

/// Where a draft goes.
pub enum Course {
    /// Its current action has to be prepared.
    Open,
    /// The task goes out after the commit; it takes the place that the draft holds.
    Send(Box<Task>),
    /// It is released: lane and due time.
    Park(Rc<str>, Time),
    /// It has failed or was cancelled: what it started and did has to be seen to before it ends.
    Ending,
    /// It has ended.
    End,
}

/// An attempt's facts for its log row.
pub struct Attempt {
    /// Begin.
    pub start: Time,
    /// End.
    pub end: Time,
    /// Duration in ms by the monotonic clock.
    pub cost_ms: i32,
    /// SUCCESS, FAILED, SKIPPED or LOST.
    pub status: &'static str,
    /// Start of the request.
    pub request: Option<String>,
    /// Start of the response.
    pub response: Option<String>,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// What a script did and wrote, JSON text of two arrays.
    pub script: Option<(String, String)>,
}

impl Attempt {
    /// One that never left: skipped, or failed before anything was sent.
    pub fn unsent(now: Time, status: &'static str, failure: Option<Failure>) -> Attempt {
        Attempt { start: now, end: now, cost_ms: 0, status, request: None, response: None, failure, script: None }
    }
}

/// One instance in one turn.
pub struct Draft {
    /// The instance as it will be.
    pub held: Held,
    /// Where it goes.
    pub course: Course,
    /// Lane of which it holds a place, from its claim or its last attempt.
    pub place: Option<Rc<str>>,
    /// Whether that place is for the current action, whatever lane the action names: it was claimed within it.
    pub claimed: bool,
    /// What somebody wants of it, to be carried out before anything else begins.
    pub wanted: Option<Wanted>,
    /// What it means for others.
    pub more: More,
    /// Whether what comes before the first action is done.
    pub started: bool,
    pub(super) fresh: bool,
    pub(super) birth: Option<Birth>,
    pub(super) guard_version: i32,
    pub(super) attempts: Vec<AttemptRow>,
    pub(super) changes: Vec<ChangeRow>,
    pub(super) result: Option<String>,
    pub(super) next_retry: Option<Time>,
    pub(super) paused: Option<Time>,
    pub(super) end: Option<Time>,
    pub(super) queue_before: Option<QueueRow>,
}

impl Draft {
    /// A new instance, stored with this turn.
    pub fn new(held: Held, birth: Birth) -> Draft {
        Draft { guard_version: 0, fresh: true, started: false, birth: Some(birth), ..Draft::of(held) }
    }

    /// An instance that this worker holds.
    pub fn of(held: Held) -> Draft {
        Draft {
            guard_version: held.version,
            queue_before: held.queue.clone(),
            course: Course::Open,
            place: None,
            claimed: false,
            wanted: None,
            more: More::default(),
            started: true,
            fresh: false,
            birth: None,
            attempts: Vec::new(),
            changes: Vec::new(),
            result: None,
            next_retry: None,
            paused: None,
            end: None,
            held,
        }
    }

    /// Whether the current action was reached in this turn, so that it cannot have children yet.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether the current action begins; one that waits has begun.
    pub fn begins(&self) -> bool {
        self.held.status != Status::Waiting
    }

    /// Whether the instance is stored with this turn.
    pub fn is_new(&self) -> bool {
        self.birth.is_some()
    }

    pub(super) fn next_version(&mut self) -> i32 {
        self.held.version += 1;
        self.held.version
    }

    /// Number that the coming attempt has or will get.
    pub fn coming_attempt(&self) -> u32 {
        self.held.progress.attempt_no + u32::from(!self.held.numbered)
    }

    /// Gives the coming attempt its number, if it has none yet: it is made now.
    pub fn number_attempt(&mut self, now: Time) {
        self.held.progress.attempt_no = self.coming_attempt();
        self.held.numbered = true;
        let tried = *self.held.tried.get_or_insert(now);
        self.held.progress.first_try = tried;
    }

    /// The current action has not begun: no time has passed for it, and no attempt was made under the number that a
    /// claim gave.
    pub fn begin_later(&mut self) {
        let progress = &mut self.held.progress;
        if std::mem::take(&mut self.held.numbered) && self.held.status != Status::Waiting {
            progress.attempt_no = progress.attempt_no.saturating_sub(1);
        }
        self.held.tried = None;
    }

    /// The number of an attempt that is behind it is not used again.
    pub fn number_anew(&mut self) {
        self.held.numbered = false;
    }

    /// Whether attempts were noted that the log does not have yet.
    pub fn has_unwritten_attempts(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Notes an attempt of the current action.
    pub fn log(&mut self, attempt: Attempt, next: Option<&Next>, summary_chars: usize) {
        self.log_claim();
        let next_retry = match next {
            Some(Next::RetryAt(at)) => Some(*at),
            _ => None,
        };
        let skipped = attempt.status == "SKIPPED";
        let row = AttemptRow {
            instance_id: self.held.id,
            log_id: self.next_version(),
            attempt_no: if skipped { 0 } else { self.held.progress.attempt_no as i32 },
            cost_ms: attempt.cost_ms,
            start: attempt.start,
            end: attempt.end,
            next_retry,
            action_name: self.held.action().map(|action| action.name.clone()).unwrap_or_default(),
            status: attempt.status,
            request: attempt.request,
            response: attempt.response,
            error: attempt.failure.map(|failure| (failure.code, cut(&failure.message, summary_chars))),
            script: attempt.script,
        };
        self.attempts.push(row);
    }

    /// The claim's history row is written with the first thing that happens after it.
    fn log_claim(&mut self) {
        if let Some((log_id, time)) = self.held.claim.take() {
            let old = Some(Status::Pending);
            self.changes.push(ChangeRow {
                instance_id: self.held.id,
                log_id,
                time,
                old,
                new: Status::Running,
                cause: "claimed".into(),
            });
        }
    }

    /// Changes the status. One that compensates keeps that status until it ends.
    pub(super) fn change(&mut self, new: Status, cause: &str, now: Time) {
        let new = if self.held.status == Status::Compensating && !new.is_final() { Status::Compensating } else { new };
        self.log_claim();
        let old = self.held.status;
        debug_assert!(old == new || old.may_become(new), "{old:?} became {new:?}");
        let log_id = self.next_version();
        if old != new {
            let (instance_id, cause) = (self.held.id, cause.to_owned());
            self.changes.push(ChangeRow { instance_id, log_id, time: now, old: Some(old), new, cause });
        }
        self.held.status = new;
    }

    /// Sets the result of a success.
    pub fn set_result(&mut self, result: String) {
        self.result = Some(result);
    }

    pub(super) fn fail_with(&mut self, code: &str, message: &str) {
        let action = self.held.action().map(|action| action.name.clone());
        self.held.error = Some(InstanceError { action, code: code.to_owned(), message: message.to_owned() });
    }

    /// The lane it queues on now.
    pub fn lane(&self) -> Rc<str> {
        let known = self.held.static_lane();
        match (known, &self.held.sent, &self.held.queue) {
            (Some(lane), _, _) => lane.into(),
            (None, Some(sent), _) => sent.origin.clone(),
            (None, None, Some(queue)) if &*queue.lane != SOLO && &*queue.lane != WAITING => queue.lane.clone(),
            (None, None, _) => crate::flow::definition::FLOW_LANE.into(),
        }
    }

    /// The rows of this draft, and the instance with the task to send, if any.
    pub fn into_record(self, summary_chars: usize, now: Time) -> (Record, Held, Option<Task>) {
        let Draft { mut held, course, .. } = self;
        held.sent = None;
        let (paused, ending) = (self.paused.is_some(), held.ending.is_some());
        let before = self.queue_before;
        let progress = held.progress;
        let row = |lane: &Rc<str>, due: Time, kept: bool| QueueRow {
            due,
            deadline: progress.deadline.filter(|_| !paused && !ending),
            kept,
            attempt_no: progress.attempt_no as i32,
            lost_count: progress.lost_count as i32,
            lane: lane.clone(),
        };
        let (queue_after, sending) = match course {
            Course::Send(task) => {
                let due = before.as_ref().map_or(now, |queue| queue.due);
                let origin: Rc<str> = task.origin().into();
                let place = self.place.clone().unwrap_or_else(|| origin.clone());
                let (summary, body_bytes) = (task.summary(summary_chars), task.bytes());
                held.sent = Some(Sent { summary, origin, place: place.clone(), body_bytes });
                (Some(row(&place, due, true)), Some(*task))
            }
            Course::Park(lane, due) => (Some(row(&lane, due, false)), None),
            Course::Open | Course::Ending | Course::End => (None, None),
        };
        held.queue = queue_after.clone();
        let instance = InstanceRow {
            instance_id: held.id,
            birth: self.birth,
            guard_version: self.guard_version,
            version: held.version,
            workflow_name: held.definition.name.clone(),
            is_part: held.parent.as_ref().is_some_and(|parent| !parent.detached),
            biz_key: held.event.biz_key.clone(),
            status: held.status,
            action_index: held.progress.action_index as i32,
            retry_count: held.progress.retry_count as i32,
            deadline: held.progress.deadline,
            first_try: held.tried,
            next_retry: self.next_retry,
            paused: self.paused,
            end: self.end,
            context: held.steps.column(),
            result: self.result,
            error: held
                .error
                .clone()
                .map(|error| InstanceError { message: cut(&error.message, summary_chars), ..error }),
            end_status: held.ending.as_ref().map(|ending| ending.status).filter(|_| self.end.is_none()),
            compensation: held.ending.as_ref().and_then(|ending| ending.compensation),
            undo_no: held.ending.as_ref().map_or(0, |ending| ending.undo_no as i32),
        };
        let (attempts, changes, more) = (self.attempts, self.changes, self.more);
        let record = Record { instance, queue_before: before, queue_after, attempts, changes, more };
        (record, held, sending)
    }
}

fn cut(text: &str, chars: usize) -> String {
    crate::flow::response::clean(text).chars().take(chars).collect()
}
