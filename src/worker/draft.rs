//! What a turn does to one instance: attempts and changes are noted here and written once, at the end of the turn.

use super::held::{Ending, Held, Sent};
use super::lane::{SOLO, WAITING};
use super::task::Task;
use crate::flow::definition::Action;
use crate::flow::instance::{Next, Status};
use crate::flow::outcome::Failure;
use crate::flow::perform::Perform;
use crate::store::claim::Wanted;
use crate::store::record::{AttemptRow, Birth, ChangeRow, InstanceError, InstanceRow, More, Place, QueueRow, Record};
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
}

impl Attempt {
    /// One that never left: skipped, or failed before anything was sent.
    pub fn unsent(now: Time, status: &'static str, failure: Option<Failure>) -> Attempt {
        Attempt { start: now, end: now, cost_ms: 0, status, request: None, response: None, failure }
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
    fresh: bool,
    birth: Option<Birth>,
    guard_version: i32,
    attempts: Vec<AttemptRow>,
    changes: Vec<ChangeRow>,
    result: Option<String>,
    next_retry: Option<Time>,
    paused: Option<Time>,
    end: Option<Time>,
    queue_before: Option<QueueRow>,
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

    fn next_version(&mut self) -> i32 {
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
    fn change(&mut self, new: Status, cause: &str, now: Time) {
        let new = if self.held.status == Status::Compensating && !new.is_final() { Status::Compensating } else { new };
        self.log_claim();
        let old = self.held.status;
        let log_id = self.next_version();
        if old != new {
            let (instance_id, cause) = (self.held.id, cause.to_owned());
            self.changes.push(ChangeRow { instance_id, log_id, time: now, old: Some(old), new, cause });
        }
        self.held.status = new;
    }

    /// Goes on at once with an action that needs nothing outside: it is RUNNING if it was not.
    pub fn run_on(&mut self, cause: &str, now: Time) {
        if self.held.status != Status::Running {
            self.change(Status::Running, cause, now);
        }
    }

    /// Carries out what follows an attempt; `failure` is what the attempt ended with.
    pub fn carry_out(&mut self, next: Next, failure: Option<&Failure>, now: Time) {
        if self.held.status == Status::Compensating {
            return self.carry_out_undo(next, failure, now);
        }
        let code = failure.map_or("", |failure| failure.code.as_str());
        match next {
            Next::Advance => self.advance(),
            Next::GoOnAfterError => {
                self.note_step("FAILED", None);
                self.advance();
            }
            Next::RetryAt(at) => self.retry(at, code, now),
            Next::RepeatNow => {
                self.held.progress.repeated = true;
                self.held.numbered = false;
                self.course = Course::Open;
            }
            Next::Pause => {
                let (code, message) =
                    failure.map_or(("worker_lost", "the worker was lost"), |f| (f.code.as_str(), f.message.as_str()));
                self.fail_with(code, message);
                let code = code.to_owned();
                self.pause(&code, now);
            }
            Next::Fail { code, message } => self.finish(Status::Failed, Some((&code, &message)), now),
            Next::Die { code, message } => self.finish(Status::Dead, Some((&code, &message)), now),
        }
    }

    /// An undo that failed for good is noted; the others are made all the same.
    fn carry_out_undo(&mut self, next: Next, failure: Option<&Failure>, now: Time) {
        let code = failure.map_or("", |failure| failure.code.as_str());
        match next {
            Next::RetryAt(at) => return self.retry(at, code, now),
            Next::RepeatNow => {
                self.held.progress.repeated = true;
                self.held.numbered = false;
                self.course = Course::Open;
                return;
            }
            Next::Advance => {}
            Next::GoOnAfterError | Next::Pause | Next::Fail { .. } | Next::Die { .. } => {
                if let Some(ending) = &mut self.held.ending {
                    ending.compensation = Some("failed");
                }
            }
        }
        if let Some(ending) = &mut self.held.ending {
            ending.undo_no += 1;
        }
        self.begin_anew();
    }

    fn retry(&mut self, at: Time, code: &str, now: Time) {
        self.held.progress.retry_count += 1;
        self.held.progress.repeated = false;
        self.held.numbered = false;
        self.next_retry = Some(at);
        self.change(Status::Pending, if code.is_empty() { "retry" } else { code }, now);
        let lane = self.lane();
        self.course = Course::Park(lane, at);
    }

    /// Stops until a person decides.
    pub fn pause(&mut self, cause: &str, now: Time) {
        self.paused = Some(now);
        self.next_retry = None;
        self.change(Status::Paused, cause, now);
        let lane = self.lane();
        self.course = Course::Park(lane, Time::MAX_UTC);
    }

    /// Waits for children, an event, a time or a place; `until` at the latest.
    pub fn wait(&mut self, cause: &str, until: Option<Time>, now: Time) {
        if self.held.status == Status::Waiting {
            self.next_version();
        } else {
            self.change(Status::Waiting, cause, now);
        }
        self.course = Course::Park(WAITING.into(), until.unwrap_or(Time::MAX_UTC));
    }

    /// Notes how the current action ended, for the actions after it.
    pub fn note_step(&mut self, status: &str, output: Option<&str>) {
        if self.held.status == Status::Compensating {
            return;
        }
        if let Some(name) = self.held.action().map(|action| action.name.clone()) {
            self.held.steps.note(&name, status, output);
        }
    }

    /// Goes on to the next action.
    pub fn advance(&mut self) {
        self.held.progress.action_index += 1;
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        let progress = &mut self.held.progress;
        progress.retry_count = 0;
        progress.attempt_no = 0;
        progress.lost_count = 0;
        progress.repeated = false;
        self.held.numbered = false;
        self.held.tried = None;
        self.fresh = true;
        self.claimed = false;
        self.course = Course::Open;
    }

    /// A lost attempt is repeated on the lane for such instances, alone; one that never left this database on its own.
    pub fn repeat_alone(&mut self, now: Time) {
        self.held.progress.lost_count += 1;
        self.held.numbered = false;
        self.change(Status::Pending, "worker_lost", now);
        let is_local = matches!(self.held.action(), Some(Action { perform: Perform::Local(_), .. }));
        let lane = if is_local { self.lane() } else { SOLO.into() };
        self.course = Course::Park(lane, now);
    }

    /// Releases it: its turn on that lane comes later.
    pub fn park(&mut self, lane: Rc<str>, due: Time, cause: &str, now: Time) {
        if self.is_new() && self.changes.is_empty() && self.held.claim.is_some() {
            self.held.claim = None;
            self.held.status = Status::Pending;
        } else {
            self.change(Status::Pending, cause, now);
        }
        self.course = Course::Park(lane, due);
    }

    /// Releases it in the middle of its preparation: the turn is over, and it comes again.
    pub fn put_off(&mut self, now: Time) {
        if std::mem::take(&mut self.held.numbered) {
            // No attempt was made under the number that the claim gave.
            self.held.progress.attempt_no -= 1;
        }
        let lane = self.lane();
        self.park(lane, now, "turn_over", now);
    }

    /// Ends the instance, or begins to: what it started and did is seen to first.
    pub fn finish(&mut self, status: Status, error: Option<(&str, &str)>, now: Time) {
        if let Some((code, message)) = error {
            self.fail_with(code, message);
        }
        let definition = &self.held.definition;
        if status == Status::Success || !(definition.forks || definition.undoes && !self.held.is_branch()) {
            let compensation = (status != Status::Success && !self.held.is_branch()).then_some("none");
            if let Some(compensation) = compensation {
                self.held.ending = Some(Ending { status, compensation: Some(compensation), undo_no: 0, plan: None });
            }
            return self.end(status, error.map_or("done", |(code, _)| code), now);
        }
        self.held.ending.get_or_insert(Ending { status, compensation: None, undo_no: 0, plan: None });
        self.course = Course::Ending;
    }

    /// Ends the instance now.
    pub fn end(&mut self, status: Status, cause: &str, now: Time) {
        self.change(status, cause, now);
        self.end = Some(now);
        self.paused = None;
        self.next_retry = None;
        self.course = Course::End;
        if let Some(parent) = self.held.parent.as_ref().filter(|parent| !parent.detached) {
            self.more.signals.push(parent.id);
        }
        if self.held.definition.waits {
            self.more.closes_waits = Some(true);
        }
        if self.held.definition.workflow.as_ref().is_some_and(|w| w.concurrency.is_some()) && !self.held.is_branch() {
            self.more.place = Some(Place::Leave);
        }
    }

    /// Begins to undo what was done.
    pub fn compensate(&mut self, now: Time) {
        self.held.progress.deadline = None;
        self.change(Status::Compensating, "compensate", now);
        self.begin_anew();
    }

    /// Sets the result of a success.
    pub fn set_result(&mut self, result: String) {
        self.result = Some(result);
    }

    fn fail_with(&mut self, code: &str, message: &str) {
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
            is_branch: held.is_branch(),
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
            error: held.error.clone().map(|error| InstanceError { message: cut(&error.message, summary_chars), ..error }),
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
