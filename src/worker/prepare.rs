//! Getting instances ready: `when` is decided, what needs nothing outside is done, other attempts are rendered and get a
//! place on their lane.
//!
//! Everything that has to be asked of PostgreSQL is asked once for all instances of the turn; an instance that goes on to
//! its next action, or begins to run as a child, takes part in the next round.

use super::board::monotonic_ms;
use super::conclude::question;
use super::draft::{Attempt, Course, Draft};
use super::task::Task;
use super::turn::{Turn, is_open};
use crate::flow::definition::{Action, Perform};
use crate::flow::expression::{Expression, PathValue};
use crate::flow::instance::{Status, after_attempt};
use crate::flow::outcome::{Failure, Outcome};
use crate::flow::template;
use crate::store::work::{Answer, Question, evaluate};
use crate::store::{StoreError, subtransaction};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Turn<'_> {
    /// Prepares every open draft until each has a course, or the turn is over.
    pub fn prepare(&mut self) -> Result<(), StoreError> {
        let mut drafts = std::mem::take(&mut self.drafts);
        // From here, so that however long the statements before took, something is prepared.
        self.begun = Instant::now();
        loop {
            drafts.append(&mut self.born);
            let mut open: Vec<&mut Draft> = drafts.iter_mut().filter(|draft| is_open(draft)).collect();
            for draft in open.iter_mut().filter(|draft| matches!(draft.course, Course::Open)) {
                self.settle_early(draft)?;
            }
            self.settle_all_endings(&mut open)?;
            open.retain(|draft| matches!(draft.course, Course::Open));
            if open.is_empty() {
                if drafts.iter().any(is_open) || !self.born.is_empty() {
                    continue;
                }
                break;
            }
            self.seat.heartbeat.store(monotonic_ms(), Ordering::Release);
            for group in groups(open) {
                self.prepare_group(group)?;
            }
        }
        self.drafts = drafts;
        Ok(())
    }

    fn settle_all_endings(&mut self, open: &mut [&mut Draft]) -> Result<(), StoreError> {
        let mut ending: Vec<&mut Draft> =
            open.iter_mut().map(|draft| &mut **draft).filter(|draft| matches!(draft.course, Course::Ending)).collect();
        if ending.is_empty() { Ok(()) } else { self.settle_endings(&mut ending) }
    }

    fn prepare_group(&mut self, group: Vec<&mut Draft>) -> Result<(), StoreError> {
        if self.is_over() {
            group.into_iter().for_each(|draft| self.put_off(draft));
            return Ok(());
        }
        let questions: Vec<Question<'_>> = group.iter().filter_map(|draft| asked(draft)).collect();
        let mut answers = self.evaluate(&questions)?.into_iter();
        let asking: Vec<bool> = group.iter().map(|draft| asks(draft)).collect();
        drop(questions);
        for (draft, asking) in group.into_iter().zip(asking) {
            let values = if asking { answers.next().unwrap_or(Ok(Vec::new())) } else { Ok(Vec::new()) };
            self.settle(draft, values)?;
        }
        Ok(())
    }

    /// Releases a draft because the turn is over; one that waits looks again at once.
    fn put_off(&self, draft: &mut Draft) {
        match draft.held.status {
            Status::Waiting => draft.wait("turn_over", Some(self.now), self.now),
            _ => draft.put_off(self.now),
        }
    }

    /// What needs no question: what somebody wants, a definition that cannot be used, the deadline, a place to run, an
    /// ending, a lane without room.
    fn settle_early(&mut self, draft: &mut Draft) -> Result<(), StoreError> {
        if draft.held.definition.workflow.is_none() {
            let message = "the stored definition cannot be used by this version of rea";
            draft.finish(Status::Failed, Some(("definition", message)), self.now);
            return Ok(());
        }
        if draft.wanted.is_some() {
            self.obey(draft);
            if !matches!(draft.course, Course::Open) {
                return Ok(());
            }
        }
        if draft.held.status == Status::Compensating {
            return self.settle_undo(draft);
        }
        if draft.held.ending.is_some() {
            draft.course = Course::Ending;
            return Ok(());
        }
        if draft.held.progress.deadline.is_some_and(|deadline| self.now >= deadline) && draft.held.action().is_some() {
            self.expire(draft);
            return Ok(());
        }
        if !self.has_place(draft)? {
            return Ok(());
        }
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.cursor()) else { return Ok(()) };
        let waits = action.when.is_none() && draft.place.is_none() && !action.perform.is_internal();
        if let (true, Some(lane)) = (waits, action.lane.name())
            && (!self.serves(lane)
                || self.ledger.room(self.lanes, lane) == 0
                || self.ledger.held(self.lanes) >= self.capacity_for(action))
        {
            let lane = self.lanes.name(lane);
            draft.park(lane, self.now, "lane_full", self.now);
        }
        Ok(())
    }

    fn capacity_for(&self, action: &Action) -> usize {
        if action.perform.is_idempotent() { self.capacity } else { self.threads.min(self.capacity) }
    }

    fn settle(&mut self, draft: &mut Draft, values: Result<Vec<PathValue>, Failure>) -> Result<(), StoreError> {
        if starts(draft) {
            return self.start(draft, values);
        }
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.cursor()) else {
            self.complete(draft, values);
            return Ok(());
        };
        if let Some(reason) = values.as_ref().ok().and_then(|values| action.skip_reason(values)) {
            self.skip(draft, reason);
            return Ok(());
        }
        if self.is_over() {
            self.put_off(draft);
            return Ok(());
        }
        let values = match values {
            Ok(values) => values,
            Err(failure) if action.perform.is_internal() => {
                return self.conclude_step(draft, action, Some(failure), None, None);
            }
            Err(failure) => {
                self.fail_unsent(draft, action, failure);
                return Ok(());
            }
        };
        match &action.perform {
            Perform::Http(_) | Perform::Local(_) | Perform::Lua(_) => self.settle_attempt(draft, action, &values),
            Perform::Emit(emit) => {
                let emitted = self.emitted(draft, action, emit, &values);
                let failure = match emitted {
                    Ok(event) => {
                        draft.more.events.push(event);
                        None
                    }
                    Err(failure) => Some(failure),
                };
                draft.number_attempt(self.now);
                self.conclude_step(draft, action, failure, None, None)
            }
            Perform::Wait(wait) => self.settle_wait(draft, action, wait, &values),
            Perform::Fork(fork) => self.settle_fork(draft, action, fork, &values),
            Perform::Workflow(child) => self.settle_workflow(draft, action, child, &values),
        }
    }

    fn settle_attempt(&mut self, draft: &mut Draft, action: &Action, values: &[PathValue]) -> Result<(), StoreError> {
        match self.task(draft, action, values)? {
            Ok(task) => self.send(draft, action, task),
            Err(failure) => self.fail_unsent(draft, action, failure),
        }
        Ok(())
    }

    /// The workflow is through: its output is its result.
    fn complete(&mut self, draft: &mut Draft, values: Result<Vec<PathValue>, Failure>) {
        let workflow = draft.held.definition.workflow.as_ref().filter(|_| !draft.held.is_branch());
        let result = match workflow.and_then(|workflow| Some((workflow.output.as_ref()?, &workflow.output_paths))) {
            None => Ok(None),
            Some((template, paths)) => {
                values.and_then(|values| template::render_json(template, &values, paths)).map(Some)
            }
        };
        match result {
            Ok(result) => {
                if let Some(result) = result {
                    draft.set_result(result);
                }
                draft.finish(Status::Success, None, self.now);
            }
            Err(failure) => draft.finish(Status::Failed, Some((&failure.code, &failure.message)), self.now),
        }
    }

    fn send(&mut self, draft: &mut Draft, action: &Action, task: Task) {
        let wanted: Rc<str> = self.lanes.name(action.lane.name().unwrap_or(task.origin()));
        // No capacity at all: rea.enabled is off, nothing new goes out.
        let keeps = self.capacity > 0 && (draft.claimed || draft.place.as_ref() == Some(&wanted));
        if !keeps {
            if let Some(place) = draft.place.take() {
                self.ledger.free(&place);
            }
            if !self.serves(&wanted) || !self.ledger.try_take(self.lanes, &wanted, self.capacity_for(action)) {
                return draft.park(wanted, self.now, "lane_full", self.now);
            }
            draft.place = Some(wanted);
        }
        draft.number_attempt(self.now);
        draft.run_on("claimed", self.now);
        self.bytes += task.bytes();
        draft.course = Course::Send(Box::new(task));
    }

    fn skip(&mut self, draft: &mut Draft, reason: &str) {
        let attempt = Attempt::unsent(self.now, "SKIPPED", Some(Failure::permanent("skipped", reason)));
        draft.log(attempt, None, self.settings.summary_chars);
        draft.note_step("SKIPPED", None);
        draft.advance();
    }

    /// The request could not be made: an attempt that failed before anything was sent.
    fn fail_unsent(&mut self, draft: &mut Draft, action: &Action, failure: Failure) {
        draft.number_attempt(self.now);
        let outcome = Outcome::Failure(failure.clone());
        let next =
            after_attempt(action, &draft.held.progress, &outcome, self.now, fastrand::f64(), &self.settings.limits);
        draft.log(Attempt::unsent(self.now, "FAILED", Some(failure.clone())), Some(&next), self.settings.summary_chars);
        draft.carry_out(next, Some(&failure), self.now);
    }

    /// Asks PostgreSQL all questions at once, or, when careful, each by itself.
    pub fn evaluate(&self, questions: &[Question<'_>]) -> Result<Vec<Result<Vec<PathValue>, Failure>>, StoreError> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        if !self.careful {
            return Ok(evaluate(questions)?.into_iter().map(|answers| Ok(values(answers))).collect());
        }
        questions
            .iter()
            .map(|question| match subtransaction(|| evaluate(std::slice::from_ref(question))) {
                Ok(mut answers) => Ok(Ok(values(answers.pop().unwrap_or_default()))),
                Err(error) if error.is_transient() => Err(error),
                Err(error) => Ok(Err(Failure::permanent("expression", format!("could not evaluate: {error}")))),
            })
            .collect()
    }
}

fn values(answers: Vec<Answer>) -> Vec<PathValue> {
    answers.into_iter().map(|(count, text)| PathValue { count, text }).collect()
}

/// Instances whose payload is small go together; each large one goes alone, so that only one is unpacked at a time.
fn groups(open: Vec<&mut Draft>) -> Vec<Vec<&mut Draft>> {
    let (large, small): (Vec<_>, Vec<_>) = open.into_iter().partition(|draft| draft.held.event.payload.is_large());
    let mut groups: Vec<Vec<&mut Draft>> = large.into_iter().map(|draft| vec![draft]).collect();
    if !small.is_empty() {
        groups.insert(0, small);
    }
    groups
}

/// Whether the instance begins, and its workflow has something to do first.
fn starts(draft: &Draft) -> bool {
    !draft.started && draft.held.definition.prepares_start() && !draft.held.is_branch()
}

fn paths(draft: &Draft) -> &[Expression] {
    if let (true, Some(workflow)) = (starts(draft), draft.held.definition.workflow.as_ref()) {
        return &workflow.start_paths;
    }
    match (draft.held.action(), draft.held.definition.workflow.as_ref()) {
        (Some(action), _) => &action.paths,
        // A branch has no result of its own, and one that compensates is not through.
        (None, Some(workflow)) if !draft.held.is_branch() => &workflow.output_paths,
        (None, _) => &[],
    }
}

fn asks(draft: &Draft) -> bool {
    !paths(draft).is_empty()
}

/// The question that the draft's next step has; `None` when it needs no answer.
fn asked(draft: &Draft) -> Option<Question<'_>> {
    asks(draft).then(|| question(&draft.held, paths(draft), None))
}
