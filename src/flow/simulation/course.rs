//! What becomes of an instance after a decision: it goes on, tries again, waits, stops or ends.

use chrono::{DateTime, Utc};

use super::Database;
use super::play::{Play, spell};
use super::run::{Course, Ended, Ending};
use super::story::{Kind, Line};
use crate::flow::instance::{Next, Status};
use crate::flow::outcome::Failure;
use crate::flow::undo::may_have_effect;

type Time = DateTime<Utc>;

impl<D: Database> Play<'_, D> {
    /// Changes the status. One that compensates keeps that status until it ends.
    pub fn change(&mut self, n: usize, new: Status, detail: &str) {
        let run = &mut self.runs[n];
        let new = if run.status == Status::Compensating && !new.is_final() { Status::Compensating } else { new };
        let changed = run.status != new;
        run.status = new;
        let told = match new {
            Status::Pending | Status::Running => false,
            Status::Waiting
            | Status::Paused
            | Status::Compensating
            | Status::Success
            | Status::Failed
            | Status::Dead
            | Status::Cancelled => true,
        };
        if changed && told {
            let name = run.workflow.name.clone();
            let (code, result) = if new.is_final() {
                (run.error.as_ref().map(|(code, _)| code.clone()), run.result.clone())
            } else {
                (None, None)
            };
            let line = self.line(n, Kind::Status, name, new.as_str());
            self.tell(Line { detail: detail.to_owned(), error_code: code, output: result, ..line });
        }
    }

    /// Carries out what follows an attempt; `failure` is what it ended with.
    pub fn carry_out(&mut self, n: usize, next: Next, failure: Option<&Failure>) {
        if self.runs[n].status == Status::Compensating {
            return self.carry_out_undo(n, next);
        }
        match next {
            Next::Advance => self.advance(n),
            Next::GoOnAfterError => {
                self.runs[n].note_step("FAILED", None);
                self.advance(n);
            }
            Next::RetryAt(at) => self.retry(n, at),
            Next::RepeatNow => self.repeat(n),
            Next::Pause => {
                let (code, message) = failure.map(|f| (f.code.clone(), f.message.clone())).unwrap_or_default();
                let detail = format!("{code}: a person decides");
                self.runs[n].error = Some((code, message));
                self.change(n, Status::Paused, &detail);
                self.park(n, None);
            }
            Next::Fail { code, message } => self.finish(n, Status::Failed, Some((code, message))),
            Next::Die { code, message } => self.finish(n, Status::Dead, Some((code, message))),
        }
    }

    /// An undo that failed for good is noted; the others are made all the same.
    fn carry_out_undo(&mut self, n: usize, next: Next) {
        match next {
            Next::RetryAt(at) => return self.retry(n, at),
            Next::RepeatNow => return self.repeat(n),
            Next::Advance => {}
            Next::GoOnAfterError | Next::Pause | Next::Fail { .. } | Next::Die { .. } => {
                if let Some(ending) = &mut self.runs[n].ending {
                    ending.compensation = Some("failed");
                }
            }
        }
        if let Some(ending) = &mut self.runs[n].ending {
            ending.undo_no += 1;
        }
        self.runs[n].begin_anew();
    }

    fn retry(&mut self, n: usize, at: Time) {
        let run = &mut self.runs[n];
        run.progress.retry_count += 1;
        run.progress.repeated = false;
        run.numbered = false;
        self.change(n, Status::Pending, "");
        self.park(n, Some(at));
    }

    fn repeat(&mut self, n: usize) {
        let run = &mut self.runs[n];
        run.progress.repeated = true;
        run.numbered = false;
        run.course = Course::Open;
    }

    /// Goes on to the next action.
    pub fn advance(&mut self, n: usize) {
        self.runs[n].progress.action_index += 1;
        self.runs[n].begin_anew();
    }

    /// Waits, until then at the latest.
    pub fn wait(&mut self, n: usize, detail: &str, until: Option<Time>) {
        self.change(n, Status::Waiting, detail);
        self.park(n, until);
    }

    /// Goes on at once with an action that needs nothing outside.
    pub fn run_on(&mut self, n: usize) {
        self.change(n, Status::Running, "");
    }

    /// Ends an instance whose deadline has passed, or begins to.
    pub fn expire(&mut self, n: usize) {
        let error = ("deadline".to_owned(), "the workflow's timeout has passed".to_owned());
        self.finish(n, Status::Failed, Some(error));
    }

    /// Ends the instance, or begins to: what it started and did is seen to first.
    pub fn finish(&mut self, n: usize, status: Status, error: Option<(String, String)>) {
        let run = &mut self.runs[n];
        if error.is_some() {
            run.error = error;
        }
        let sees_to_more = run.workflow.forks() || run.workflow.undoes() && !run.is_branch();
        if status == Status::Success || !sees_to_more {
            return self.end(n, status, None);
        }
        run.ending.get_or_insert(Ending { status, compensation: None, undo_no: 0, plan: Default::default() });
        run.course = Course::Ending;
    }

    /// Ends the instance now.
    pub fn end(&mut self, n: usize, status: Status, compensation: Option<&str>) {
        let run = &mut self.runs[n];
        run.end = Some(self.now);
        run.waits.clear();
        let error = run.error.as_ref().filter(|_| status != Status::Success);
        let mut detail = error.map(|(code, message)| format!("{code}: {message}")).unwrap_or_default();
        if let Some(compensation) = compensation.filter(|_| run.workflow.undoes()) {
            detail.push_str(&format!("; compensation {compensation}"));
        }
        let parent = run.parent.clone();
        self.change(n, status, &detail);
        self.runs[n].course = Course::Ended;
        self.runs[n].look_no += 1;
        if let Some(up) = parent.filter(|up| !up.detached) {
            self.signal(up.run);
        }
    }

    /// Tells of the end of an attempt and keeps what undoing needs.
    pub fn tell_attempt(&mut self, n: usize, failure: Option<&Failure>, next: Option<&Next>, line: Line) {
        let run = &mut self.runs[n];
        let skipped = line.status == "SKIPPED";
        let sent = line.request.is_some();
        let counts = failure.is_none_or(|failure| sent && may_have_effect(&failure.code));
        if counts && !skipped && run.undo().is_none() {
            let (action, at) = (run.action_name(), self.now);
            let order = run.done.len();
            run.done.push(Ended { action, succeeded: failure.is_none(), at, order });
        }
        let attempt_no = Some(if skipped { 0 } else { run.progress.attempt_no });
        let mut detail = failure.map_or(line.detail, |failure| failure.message.clone());
        match next {
            Some(Next::RetryAt(at)) => detail.push_str(&format!("; next try after {}", spell(*at - self.now))),
            Some(Next::RepeatNow) => detail.push_str("; repeated at once"),
            Some(Next::GoOnAfterError) => detail.push_str("; the flow goes on"),
            Some(Next::Advance | Next::Pause | Next::Fail { .. } | Next::Die { .. }) | None => {}
        }
        let error_code = failure.filter(|_| !skipped).map(|failure| failure.code.clone());
        self.tell(Line { attempt_no, error_code, detail, ..line });
    }
}
