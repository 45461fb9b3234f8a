//! What a turn does to one instance: attempts and changes are noted here and written once, at the end of the turn.

use super::held::{Held, Sent};
use super::lane::SOLO;
use crate::flow::instance::{Next, Status};
use crate::flow::outcome::Failure;
use crate::flow::request::Request;
use crate::store::record::{AttemptRow, Birth, ChangeRow, InstanceError, InstanceRow, QueueRow, Record};
use chrono::{DateTime, Utc};
use std::rc::Rc;

type Time = DateTime<Utc>;

/// Where a draft goes.
pub enum Course {
    /// Its current action has to be prepared.
    Open,
    /// The request goes out after the commit; it takes the place that the draft holds.
    Send(Box<Request>),
    /// It is released: lane and due time.
    Park(Rc<str>, Time),
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
    birth: Option<Birth>,
    guard_version: i32,
    attempts: Vec<AttemptRow>,
    changes: Vec<ChangeRow>,
    error: Option<InstanceError>,
    result: Option<String>,
    next_retry: Option<Time>,
    paused: Option<Time>,
    end: Option<Time>,
    queue_before: Option<QueueRow>,
}

impl Draft {
    /// A new instance, stored with this turn.
    pub fn new(held: Held, birth: Birth) -> Draft {
        Draft { guard_version: 0, birth: Some(birth), ..Draft::of(held) }
    }

    /// An instance that this worker holds.
    pub fn of(held: Held) -> Draft {
        Draft {
            guard_version: held.version,
            queue_before: held.queue.clone(),
            course: Course::Open,
            place: None,
            claimed: false,
            birth: None,
            attempts: Vec::new(),
            changes: Vec::new(),
            error: None,
            result: None,
            next_retry: None,
            paused: None,
            end: None,
            held,
        }
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

    fn change(&mut self, new: Status, cause: &str, now: Time) {
        self.log_claim();
        let old = Some(self.held.status);
        let log_id = self.next_version();
        self.changes.push(ChangeRow {
            instance_id: self.held.id,
            log_id,
            time: now,
            old,
            new,
            cause: cause.to_owned(),
        });
        self.held.status = new;
    }

    /// Carries out what follows an attempt; `failure` is what the attempt ended with.
    pub fn carry_out(&mut self, next: Next, failure: Option<&Failure>, now: Time) {
        let code = failure.map_or("", |failure| failure.code.as_str());
        match next {
            Next::Advance => self.advance(),
            Next::GoOnAfterError => {
                self.note_step("FAILED", None);
                self.advance();
            }
            Next::RetryAt(at) => {
                self.held.progress.retry_count += 1;
                self.held.progress.repeated = false;
                self.held.numbered = false;
                self.next_retry = Some(at);
                self.change(Status::Pending, if code.is_empty() { "retry" } else { code }, now);
                let lane = self.lane();
                self.course = Course::Park(lane, at);
            }
            Next::RepeatNow => {
                self.held.progress.repeated = true;
                self.held.numbered = false;
                self.course = Course::Open;
            }
            Next::Pause => {
                let (code, message) =
                    failure.map_or(("worker_lost", "the worker was lost"), |f| (f.code.as_str(), f.message.as_str()));
                self.fail_with(code, message);
                self.paused = Some(now);
                self.change(Status::Paused, code, now);
                let lane = self.lane();
                self.course = Course::Park(lane, Time::MAX_UTC);
            }
            Next::Fail { code, message } => self.finish(Status::Failed, Some((&code, &message)), now),
            Next::Die { code, message } => self.finish(Status::Dead, Some((&code, &message)), now),
        }
    }

    /// Notes how the current action ended, for the actions after it.
    pub fn note_step(&mut self, status: &str, output: Option<&str>) {
        if let Some(name) = self.held.action().map(|action| action.name.clone()) {
            self.held.steps.note(&name, status, output);
        }
    }

    /// Goes on to the next action.
    pub fn advance(&mut self) {
        let progress = &mut self.held.progress;
        progress.action_index += 1;
        progress.retry_count = 0;
        progress.attempt_no = 0;
        progress.lost_count = 0;
        progress.repeated = false;
        self.held.numbered = false;
        self.held.tried = None;
        self.claimed = false;
        self.course = Course::Open;
    }

    /// A lost attempt is repeated on the lane for such instances, alone.
    pub fn repeat_alone(&mut self, now: Time) {
        self.held.progress.lost_count += 1;
        self.held.numbered = false;
        self.change(Status::Pending, "worker_lost", now);
        self.course = Course::Park(SOLO.into(), now);
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

    /// Ends the instance.
    pub fn finish(&mut self, status: Status, error: Option<(&str, &str)>, now: Time) {
        if let Some((code, message)) = error {
            self.fail_with(code, message);
        }
        self.change(status, error.map_or("done", |(code, _)| code), now);
        self.end = Some(now);
        self.course = Course::End;
    }

    /// Sets the result of a success.
    pub fn set_result(&mut self, result: String) {
        self.result = Some(result);
    }

    fn fail_with(&mut self, code: &str, message: &str) {
        let action = self.held.action().map(|action| action.name.clone());
        self.error = Some(InstanceError { action, code: code.to_owned(), message: message.to_owned() });
    }

    /// The lane it queues on now.
    pub fn lane(&self) -> Rc<str> {
        let known = self.held.static_lane();
        match (known, &self.held.sent, &self.held.queue) {
            (Some(lane), _, _) => lane.into(),
            (None, Some(sent), _) => sent.origin.clone(),
            (None, None, Some(queue)) if &*queue.lane != SOLO => queue.lane.clone(),
            (None, None, _) => "http".into(),
        }
    }

    /// The rows of this draft, and the instance with the request to send, if any.
    pub fn into_record(self, summary_chars: usize, now: Time) -> (Record, Held, Option<Request>) {
        let Draft { mut held, course, .. } = self;
        held.sent = None;
        let paused = self.paused.is_some();
        let before = self.queue_before;
        let progress = held.progress;
        let row = |lane: &Rc<str>, due: Time, kept: bool| QueueRow {
            due,
            deadline: progress.deadline.filter(|_| !paused),
            kept,
            attempt_no: progress.attempt_no as i32,
            lost_count: progress.lost_count as i32,
            lane: lane.clone(),
        };
        let (queue_after, sending) = match course {
            Course::Send(request) => {
                let due = before.as_ref().map_or(now, |queue| queue.due);
                let place = self.place.clone().unwrap_or_else(|| request.origin.as_str().into());
                let origin = request.origin.as_str().into();
                let summary = crate::flow::request::summary(&request, summary_chars);
                let body_bytes = request.body.as_ref().map_or(0, |body| body.len());
                held.sent = Some(Sent { summary, origin, place: place.clone(), body_bytes });
                (Some(row(&place, due, true)), Some(*request))
            }
            Course::Park(lane, due) => (Some(row(&lane, due, false)), None),
            Course::Open | Course::End => (None, None),
        };
        held.queue = queue_after.clone();
        let instance = InstanceRow {
            instance_id: held.id,
            birth: self.birth,
            guard_version: self.guard_version,
            version: held.version,
            workflow_name: held.definition.name.clone(),
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
            error: self.error.map(|error| InstanceError { message: cut(&error.message, summary_chars), ..error }),
        };
        let record =
            Record { instance, queue_before: before, queue_after, attempts: self.attempts, changes: self.changes };
        (record, held, sending)
    }
}

fn cut(text: &str, chars: usize) -> String {
    crate::flow::response::clean(text).chars().take(chars).collect()
}
