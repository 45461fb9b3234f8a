//! Bringing an instance on until it waits for something: its current action is prepared, skipped, begun or concluded.

use super::Database;
use super::event::Event;
use super::play::{Play, Played};
use super::run::{Course, OpenWait};
use super::story::{Kind, Line};
use crate::flow::definition::{Action, Perform};
use crate::flow::emit::{self, Cause};
use crate::flow::expression::{Expression, PathValue};
use crate::flow::instance::{Next, Status, after_attempt};
use crate::flow::keep;
use crate::flow::outcome::{Failure, Outcome};
use crate::flow::perform::EmitAction;
use crate::flow::template::render_json;
use crate::flow::wait::wanted;

/// The middle of the jitter.
const MIDDLE: f64 = 0.5;

/// Values of an action's paths, or why there are none.
type Values = Result<Vec<PathValue>, Failure>;

impl<D: Database> Play<'_, D> {
    /// Brings an instance on as far as it goes now.
    pub fn go_on(&mut self, n: usize) -> Played<D> {
        while matches!(self.runs[n].course, Course::Open | Course::Ending) {
            self.count()?;
            if self.runs[n].course == Course::Ending {
                self.settle_ending(n);
                continue;
            }
            self.settle_early(n);
            if self.runs[n].course == Course::Open {
                self.prepare(n)?;
            }
        }
        Ok(())
    }

    /// What needs no question: a cancellation, an undo that is through, an ending, the deadline.
    fn settle_early(&mut self, n: usize) {
        self.obey(n);
        let run = &self.runs[n];
        if run.course != Course::Open {
            return;
        }
        if run.status == Status::Compensating {
            return self.settle_undo(n);
        }
        if run.ending.is_some() {
            self.runs[n].course = Course::Ending;
        } else if run.progress.deadline.is_some_and(|deadline| self.now >= deadline) && run.action().is_some() {
            self.expire(n);
        }
    }

    fn prepare(&mut self, n: usize) -> Played<D> {
        let workflow = self.runs[n].workflow.clone();
        if !std::mem::replace(&mut self.runs[n].started, true) && workflow.prepares_start() && !self.runs[n].is_branch()
        {
            return self.start(n);
        }
        let Some(action) = self.runs[n].action().and_then(|_| workflow.action(self.runs[n].cursor())) else {
            return self.complete(n);
        };
        let values = self.values(n, &action.paths, None)?;
        if let Some(reason) = values.as_ref().ok().and_then(|values| action.skip_reason(values)) {
            self.skip(n, action, reason);
            return Ok(());
        }
        match values {
            Ok(values) => self.perform(n, action, &values),
            Err(failure) if action.perform.is_internal() => self.conclude_step(n, action, Some(failure), None, None),
            Err(failure) => {
                self.fail_unsent(n, action, failure);
                Ok(())
            }
        }
    }

    fn perform(&mut self, n: usize, action: &Action, values: &[PathValue]) -> Played<D> {
        match &action.perform {
            Perform::Http(_) | Perform::Local(_) | Perform::Lua(_) => self.begin_attempt(n, action, values),
            Perform::Emit(emit) => self.emit(n, action, emit, values),
            Perform::Wait(wait) => self.settle_wait(n, action, wait, values),
            Perform::Fork(fork) => self.settle_fork(n, action, fork, values),
            Perform::Workflow(child) => self.settle_workflow(n, action, child, values),
        }
    }

    /// The values of paths as the current action sees the context; `response` is the document of that name.
    pub fn values(&mut self, n: usize, paths: &[Expression], response: Option<&str>) -> Played<D, Values> {
        if paths.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let document = self.runs[n].context(&self.acting_id(n), response);
        Ok(self.database.evaluate(&document, paths)?)
    }

    /// The instance on whose behalf it acts: the one that did what is undone, else itself.
    pub fn acting_id(&self, n: usize) -> String {
        let owner = self.runs[n].undo().map_or(n, |step| step.owner);
        self.runs[owner].id.clone()
    }

    /// What comes before the first action: the events that cancel the instance are registered.
    fn start(&mut self, n: usize) -> Played<D> {
        let workflow = self.runs[n].workflow.clone();
        let values = self.values(n, &workflow.start_paths, None)?;
        let event = self.runs[n].event.clone();
        let prepared = values.and_then(|values| {
            let cancelling = wanted(&workflow.cancel_on, &event.biz_key, &values, &workflow.start_paths)?;
            workflow.concurrency_key(&values).map(|_| cancelling)
        });
        match prepared {
            Err(failure) => self.finish(n, Status::Failed, Some((failure.code, failure.message))),
            Ok(cancelling) => {
                let open =
                    |(place, wanted)| OpenWait { action: String::new(), place, wanted, since: event.at, found: None };
                self.runs[n].waits.extend(cancelling.into_iter().enumerate().map(open));
                self.look_back_for_cancellation(n)?;
            }
        }
        Ok(())
    }

    /// The workflow is through: its output is its result.
    fn complete(&mut self, n: usize) -> Played<D> {
        let workflow = self.runs[n].workflow.clone();
        let output = workflow.output.as_ref().filter(|_| !self.runs[n].is_branch());
        let Some(template) = output else {
            self.finish(n, Status::Success, None);
            return Ok(());
        };
        let values = self.values(n, &workflow.output_paths, None)?;
        match values.and_then(|values| render_json(template, &values, &workflow.output_paths)) {
            Ok(result) => {
                self.runs[n].result = Some(result);
                self.finish(n, Status::Success, None);
            }
            Err(failure) => self.finish(n, Status::Failed, Some((failure.code, failure.message))),
        }
        Ok(())
    }

    fn skip(&mut self, n: usize, action: &Action, reason: &str) {
        let line = self.line(n, Kind::Attempt, action.name.clone(), "SKIPPED");
        self.tell_attempt(n, None, None, Line { detail: reason.to_owned(), ..line });
        self.runs[n].note_step("SKIPPED", None);
        self.advance(n);
    }

    /// The request could not be made: an attempt that failed before anything was sent.
    pub fn fail_unsent(&mut self, n: usize, action: &Action, failure: Failure) {
        self.runs[n].number_attempt(self.now);
        let next = self.next(n, action, Some(&failure));
        let line = self.line(n, Kind::Attempt, action.name.clone(), "FAILED");
        self.tell_attempt(n, Some(&failure), Some(&next), Line { cost_ms: Some(0), ..line });
        self.carry_out(n, next, Some(&failure));
    }

    /// The decision after an attempt.
    pub fn next(&self, n: usize, action: &Action, failure: Option<&Failure>) -> Next {
        let outcome = failure.cloned().map_or(Outcome::Success, Outcome::Failure);
        let limits = &self.settings.limits;
        after_attempt(action, &self.runs[n].progress, &outcome, self.now, MIDDLE, limits)
    }

    fn emit(&mut self, n: usize, action: &Action, emit: &EmitAction, values: &[PathValue]) -> Played<D> {
        let event = self.runs[n].event.clone();
        let cause = Cause { biz_key: &event.biz_key, traceparent: event.traceparent.as_deref(), depth: event.depth };
        let emitted = emit::render(emit, values, &action.paths, &cause, &self.settings.bounds);
        self.runs[n].number_attempt(self.now);
        match emitted {
            Err(failure) => self.conclude_step(n, action, Some(failure), None, None),
            Ok(emitted) => {
                let id = self.next_event_id();
                let new = Event::emitted(self.database, &event, emitted, id, self.now)?;
                self.conclude_step(n, action, None, None, None)?;
                let path = self.runs[n].path.clone();
                self.tell_event(&new, "EMITTED", &path);
                self.arrive(new)
            }
        }
    }

    /// Tells of the end of a step that had no attempt outside, and carries out what follows. `response` is the document
    /// that its `output` sees, `default` what is kept when the definition names no output.
    pub fn conclude_step(
        &mut self,
        n: usize,
        action: &Action,
        failure: Option<Failure>,
        response: Option<String>,
        default: Option<String>,
    ) -> Played<D> {
        self.conclude_with(n, action, failure, (response, default), false)
    }

    /// The same for a step that dies when `died`, where another one fails.
    pub fn conclude_with(
        &mut self,
        n: usize,
        action: &Action,
        mut failure: Option<Failure>,
        (response, default): (Option<String>, Option<String>),
        died: bool,
    ) -> Played<D> {
        self.runs[n].number_attempt(self.now);
        let mut kept = None;
        if failure.is_none() {
            match self.step_output(n, action, response.as_deref(), default)? {
                Ok(output) => {
                    self.runs[n].note_step("SUCCESS", output.as_deref());
                    kept = output;
                }
                Err(fault) => failure = Some(fault),
            }
        }
        let failure = failure.or_else(|| self.context_fault(n));
        let mut next = self.next(n, action, failure.as_ref());
        if let (true, Next::Fail { code, message }) = (died, &next) {
            next = Next::Die { code: code.clone(), message: message.clone() };
        }
        let status = if failure.is_none() { "SUCCESS" } else { "FAILED" };
        let cost = self.now - self.runs[n].tried.unwrap_or(self.now);
        let line = self.line(n, Kind::Attempt, action.name.clone(), status);
        let line = Line { cost_ms: Some(cost.num_milliseconds()), output: kept, ..line };
        self.tell_attempt(n, failure.as_ref(), Some(&next), line);
        self.carry_out(n, next, failure.as_ref());
        if self.runs[n].course == Course::Open {
            self.run_on(n);
        }
        Ok(())
    }

    fn step_output(
        &mut self,
        n: usize,
        action: &Action,
        response: Option<&str>,
        default: Option<String>,
    ) -> Played<D, Result<Option<String>, Failure>> {
        let most = self.settings.max_output_bytes;
        if action.output.is_none() {
            return Ok(default.map(|output| keep::within(output, most)).transpose());
        }
        let body = default.map(|output| format!("{{\"body\":{output}}}"));
        let document = response.or(body.as_deref()).unwrap_or("{}");
        let values = self.values(n, &action.output_paths, Some(document))?;
        Ok(values.and_then(|values| keep::output(action, &values, most)).map(Some))
    }

    /// What is wrong when the outputs together are too large.
    pub fn context_fault(&self, n: usize) -> Option<Failure> {
        let size = self.runs[n].steps.column().map_or(0, |column| column.len());
        keep::context_fault(size, self.settings.max_context_bytes)
    }
}
