//! What became of the attempts: answers are judged, outputs extracted, and the pure decision carried out.

use super::answer::{Judged, judge};
use super::draft::{Attempt, Draft};
use super::held::Held;
use super::turn::Turn;
use crate::action::Completion;
use crate::flow::definition::{Action, Perform};
use crate::flow::instance::{Next, Status, after_attempt};
use crate::flow::outcome::{Class, Failure, Outcome};
use crate::flow::sqlstate;
use crate::store::StoreError;
use crate::store::work::Question;
use chrono::{DateTime, Utc};
use std::time::Duration;

impl Turn<'_> {
    /// Judges completed attempts and carries out what follows.
    pub fn conclude(&mut self, completed: &[(Held, Completion)]) -> Result<(), StoreError> {
        let judged: Vec<Option<Judged>> = completed
            .iter()
            .map(|(held, completion)| {
                Some(judge(held.action()?, &completion.answer, self.now, self.settings.summary_chars))
            })
            .collect();
        let outputs = self.outputs(completed, &judged)?;
        for (((held, completion), judged), output) in completed.iter().zip(judged).zip(outputs) {
            let mut draft = Draft::of(held.clone());
            draft.place = held.sent.as_ref().map(|sent| sent.place.clone());
            if let Some(judged) = judged {
                self.conclude_one(&mut draft, completion, judged, output);
            }
            draft.wanted = self.wanted.get(&draft.held.id).cloned();
            self.obey(&mut draft);
            self.drafts.push(draft);
        }
        Ok(())
    }

    /// The output of each completed attempt: `None` when there is none to extract.
    fn outputs(
        &mut self,
        completed: &[(Held, Completion)],
        judged: &[Option<Judged>],
    ) -> Result<Vec<Option<Result<String, Failure>>>, StoreError> {
        let mut questions = Vec::new();
        let mut asked = Vec::with_capacity(completed.len());
        for ((held, _), judged) in completed.iter().zip(judged) {
            let action = held.action().filter(|action| action.output.is_some());
            let document = judged.as_ref().and_then(|judged| judged.document.as_deref());
            let wanted = action.zip(document);
            asked.push(wanted.is_some());
            if let Some((action, document)) = wanted {
                questions.push(question(held, &action.output_paths, Some(document)));
            }
        }
        let mut answers = self.evaluate(&questions)?.into_iter();
        drop(questions);
        Ok(completed
            .iter()
            .zip(asked)
            .map(|((held, _), asked)| {
                let values = if asked { answers.next() } else { None }?;
                let action = held.action()?;
                Some(values.and_then(|values| self.rendered_output(action, &values)))
            })
            .collect())
    }

    fn conclude_one(
        &mut self,
        draft: &mut Draft,
        completion: &Completion,
        judged: Judged,
        output: Option<Result<String, Failure>>,
    ) {
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.cursor()) else { return };
        let failure = match &output {
            Some(Err(failure)) => Some(failure.clone()),
            _ => judged.failure,
        };
        if failure.is_none() {
            let output = output.and_then(Result::ok);
            draft.note_step("SUCCESS", output.as_deref());
        }
        let failure = failure.or_else(|| self.context_fault(draft));
        self.failure = failure.clone();
        let outcome = failure.clone().map_or(Outcome::Success, Outcome::Failure);
        let limits = &self.settings.limits;
        let next = after_attempt(action, &draft.held.progress, &outcome, self.now, fastrand::f64(), limits);
        if let Some(place) = &draft.place {
            self.noted.push((place.clone(), failure.is_none(), judged.gone, completion.elapsed));
        }
        let attempt = Attempt {
            start: time(completion.started),
            end: time(completion.ended),
            cost_ms: completion.elapsed.as_millis().min(i32::MAX as u128) as i32,
            status: if failure.is_none() { "SUCCESS" } else { "FAILED" },
            request: draft.held.sent.as_ref().map(|sent| sent.summary.clone()),
            response: judged.summary,
            failure: failure.clone(),
            script: judged.script,
        };
        if failure.is_none() {
            draft.more.kv_sets.extend(judged.kv_sets);
        }
        draft.log(attempt, Some(&next), self.settings.summary_chars);
        draft.carry_out(next, failure.as_ref(), self.now);
    }

    /// Records the attempt of an instance whose worker vanished.
    ///
    /// `overdue`: its process ended itself because the call in it would not stop after its time.
    pub fn record_loss(&mut self, draft: &mut Draft, overdue: bool) -> Result<(), StoreError> {
        if draft.held.status == Status::Compensating {
            self.settle_undo(draft)?;
        }
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.cursor()) else {
            draft.finish(Status::Failed, Some(("definition", "the definition cannot be used")), self.now);
            return Ok(());
        };
        let (failure, outcome) = loss(action, overdue, self.settings.action_timeout);
        let limits = &self.settings.limits;
        let next = after_attempt(action, &draft.held.progress, &outcome, self.now, fastrand::f64(), limits);
        let start = draft.held.tried.unwrap_or(self.now);
        let attempt = Attempt {
            start,
            end: self.now,
            cost_ms: (self.now - start).num_milliseconds().clamp(0, i64::from(i32::MAX)) as i32,
            status: if outcome == Outcome::Lost { "LOST" } else { "FAILED" },
            request: None,
            response: None,
            failure: Some(failure.clone()),
            script: None,
        };
        draft.log(attempt, Some(&next), self.settings.summary_chars);
        match next {
            Next::RepeatNow => draft.repeat_alone(self.now),
            next => draft.carry_out(next, Some(&failure), self.now),
        }
        Ok(())
    }
}

/// What became of an attempt whose worker vanished. A call in the database was rolled back with it.
fn loss(action: &Action, overdue: bool, default_timeout: Duration) -> (Failure, Outcome) {
    let (message, class) = match &action.perform {
        Perform::Local(local) if overdue => {
            let stated = local.timeout_ms.map(|ms| Duration::from_millis(u64::from(ms)));
            let failure = sqlstate::timeout(stated.unwrap_or(default_timeout));
            return (failure.clone(), Outcome::Failure(failure));
        }
        Perform::Local(_) => ("the worker vanished during the call; what it did was rolled back", Class::Retry),
        _ => {
            ("the worker vanished during the attempt; whether the request was carried out is not known", Class::Unknown)
        }
    };
    let failure = Failure { code: "worker_lost".into(), message: message.into(), class, retry_after: None };
    (failure, Outcome::Lost)
}

/// The paths of a template, with the document they are asked of.
pub fn question<'a>(
    held: &Held,
    paths: &'a [crate::flow::expression::Expression],
    response: Option<&str>,
) -> Question<'a> {
    // Written out only for paths that may look at it: with many actions it is long.
    let looks = |path: &str| path.contains("steps") || path.contains("**") || !path.starts_with("$.");
    let with_steps = paths.iter().any(|path| looks(&path.path));
    let extra = held.context(with_steps, response);
    Question { event: held.event.uid, extra, paths: paths.iter().map(|path| (path.path.as_str(), path.many)).collect() }
}

fn time(time: std::time::SystemTime) -> DateTime<Utc> {
    DateTime::<Utc>::from(time)
}
