//! What follows for an instance: the decision after an attempt carried out on its draft, and every way on from there.

use super::draft::{Course, Draft};
use super::held::Ending;
use super::lane::{SOLO, WAITING};
use crate::flow::definition::Action;
use crate::flow::instance::{Next, Status};
use crate::flow::outcome::Failure;
use crate::flow::perform::Perform;
use crate::store::record::Place;
use chrono::{DateTime, Utc};
use std::rc::Rc;

type Time = DateTime<Utc>;

impl Draft {
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
        let tried = self.held.tried;
        self.begin_later();
        if self.held.progress.attempt_no > 0 {
            self.held.tried = tried;
        }
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
}
