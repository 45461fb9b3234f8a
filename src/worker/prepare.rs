//! Getting instances ready to send: `when` is decided, the request rendered, a place on the lane taken.
//!
//! Everything that has to be asked of PostgreSQL is asked once for all instances of the turn; an instance that skips an
//! action, or goes on after an error, takes part in the next round.

use super::board::monotonic_ms;
use super::conclude::question;
use super::draft::{Attempt, Course, Draft};
use super::turn::{Turn, is_open};
use crate::flow::definition::{Action, Body, Perform};
use crate::flow::expression::{Expression, PathValue};
use crate::flow::instance::{Status, after_attempt};
use crate::flow::outcome::{Failure, Outcome};
use crate::flow::request::{self, Facts, Request};
use crate::flow::template;
use crate::store::work::{Answer, Question, evaluate};
use crate::store::{StoreError, subtransaction};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Version in the header User-Agent.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Turn<'_> {
    /// Prepares every open draft until each has a course, or the turn is over.
    pub fn prepare(&mut self) -> Result<(), StoreError> {
        let mut drafts = std::mem::take(&mut self.drafts);
        // From here, so that however long the statements before took, something is prepared.
        self.begun = Instant::now();
        loop {
            let mut open: Vec<&mut Draft> = drafts.iter_mut().filter(|draft| is_open(draft)).collect();
            open.iter_mut().for_each(|draft| self.settle_early(draft));
            open.retain(|draft| is_open(draft));
            if open.is_empty() {
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

    fn prepare_group(&mut self, group: Vec<&mut Draft>) -> Result<(), StoreError> {
        if self.is_over() {
            group.into_iter().for_each(|draft| draft.put_off(self.now));
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

    /// What needs no question: a definition that cannot be used, the deadline, a lane without room.
    fn settle_early(&mut self, draft: &mut Draft) {
        if draft.held.definition.workflow.is_none() {
            let message = "the stored definition cannot be used by this version of rea";
            return draft.finish(Status::Failed, Some(("definition", message)), self.now);
        }
        if draft.held.progress.deadline.is_some_and(|deadline| self.now >= deadline) && draft.held.action().is_some() {
            return self.expire(draft);
        }
        let Some(action) = draft.held.action() else { return };
        let waits = action.when.is_none() && draft.place.is_none();
        if let (true, Some(lane)) = (waits, action.lane.name())
            && (!self.serves(lane)
                || self.ledger.room(self.lanes, lane) == 0
                || self.ledger.held(self.lanes) >= self.capacity_for(action))
        {
            let lane = self.lanes.name(lane);
            draft.park(lane, self.now, "lane_full", self.now);
        }
    }

    fn capacity_for(&self, action: &Action) -> usize {
        if action.perform.is_idempotent() { self.capacity } else { self.threads.min(self.capacity) }
    }

    fn settle(&mut self, draft: &mut Draft, values: Result<Vec<PathValue>, Failure>) -> Result<(), StoreError> {
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.progress.action_index) else {
            self.complete(draft, values);
            return Ok(());
        };
        if let Some(reason) = values.as_ref().ok().and_then(|values| action.skip_reason(values)) {
            self.skip(draft, reason);
            return Ok(());
        }
        if self.is_over() {
            draft.put_off(self.now);
            return Ok(());
        }
        let payload = self.payload(draft, action)?;
        match payload.and_then(|payload| self.ready(draft, action, &values?, payload)) {
            Ok(request) => self.send(draft, action, request),
            Err(failure) => self.fail_unsent(draft, action, failure),
        }
        Ok(())
    }

    /// The payload as text, if the request is made of it.
    fn payload(&self, draft: &Draft, action: &Action) -> Result<Result<Arc<str>, Failure>, StoreError> {
        if !matches!(&action.perform, Perform::Http(http) if http.body == Body::Payload) {
            return Ok(Ok("".into()));
        }
        let event = &draft.held.event;
        if !self.careful {
            return Ok(Ok(event.payload.text(event.uid)?.into()));
        }
        match subtransaction(|| event.payload.text(event.uid)) {
            Ok(text) => Ok(Ok(text.into())),
            Err(error) if error.is_transient() => Err(error),
            Err(error) => Ok(Err(Failure::permanent("payload", format!("could not print the payload: {error}")))),
        }
    }

    /// The workflow is through: its output is its result.
    fn complete(&mut self, draft: &mut Draft, values: Result<Vec<PathValue>, Failure>) {
        let workflow = draft.held.definition.workflow.as_ref();
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

    fn ready(
        &self,
        draft: &Draft,
        action: &Action,
        values: &[PathValue],
        payload: Arc<str>,
    ) -> Result<Request, Failure> {
        let attempt_no = draft.coming_attempt();
        let id = draft.held.id.to_string();
        let event = &draft.held.event;
        let facts = Facts {
            instance_id: &id,
            event_id: &event.id,
            event_type: &event.event_type,
            correlation_id: event.correlation_id.as_deref(),
            causation_id: event.causation_id.as_deref(),
            traceparent: event.traceparent.as_deref(),
            span_id: fastrand::u64(1..),
            attempt_no,
            key_no: draft.held.key_no,
            action_name: &action.name,
            payload,
            version: VERSION,
        };
        let Perform::Http(http) = &action.perform else {
            return Err(Failure::permanent("internal", "not an HTTP action"));
        };
        let mut request = request::render(http, &action.paths, values, &facts)?;
        request.timeout_ms = self.timeout_ms(request.timeout_ms, draft);
        Ok(request)
    }

    /// Never beyond rea.action_timeout, nor beyond the instance's deadline.
    fn timeout_ms(&self, stated: u32, draft: &Draft) -> u32 {
        let left = draft.held.progress.deadline.and_then(|deadline| (deadline - self.now).to_std().ok());
        let cap = left.unwrap_or(Duration::MAX).min(self.settings.action_timeout);
        stated.min(cap.as_millis().clamp(1, u128::from(u32::MAX)) as u32)
    }

    fn send(&mut self, draft: &mut Draft, action: &Action, request: Request) {
        let wanted: Rc<str> = self.lanes.name(action.lane.name().unwrap_or(&request.origin));
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
        self.bytes += request.body.as_ref().map_or(0, |body| body.len());
        draft.course = Course::Send(Box::new(request));
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

fn paths(draft: &Draft) -> &[Expression] {
    match (draft.held.action(), draft.held.definition.workflow.as_ref()) {
        (Some(action), _) => &action.paths,
        (None, Some(workflow)) => &workflow.output_paths,
        (None, None) => &[],
    }
}

fn asks(draft: &Draft) -> bool {
    !paths(draft).is_empty()
}

/// The question that the draft's next step has; `None` when it needs no answer.
fn asked(draft: &Draft) -> Option<Question<'_>> {
    asks(draft).then(|| question(&draft.held, paths(draft), None))
}
