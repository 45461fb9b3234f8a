//! The end of a step that had no attempt outside of its turn: its output, its row in the log, and what follows.

use super::conclude::question;
use super::draft::{Attempt, Course, Draft};
use super::turn::Turn;
use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::instance::{Next, after_attempt};
use crate::flow::join::Verdict;
use crate::flow::keep;
use crate::flow::outcome::{Failure, Outcome};
use crate::store::StoreError;

impl Turn<'_> {
    /// The output of an action as it is kept; errors are permanent: those of its templates, `output_too_large`.
    pub fn rendered_output(&self, action: &Action, values: &[PathValue]) -> Result<String, Failure> {
        keep::output(action, values, self.settings.max_output_bytes)
    }

    /// Records the end of a step that had no attempt outside, and carries out what follows. `response` is the document
    /// that its `output` sees, `default` what is kept when the definition names no output.
    pub fn conclude_step(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        failure: Option<Failure>,
        response: Option<String>,
        default: Option<String>,
    ) -> Result<(), StoreError> {
        self.conclude_with(draft, action, failure, (response, default), false)
    }

    /// The same for a fork: it dies when a branch did.
    pub fn conclude_children(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        failure: Option<Failure>,
        verdict: Verdict,
        response: String,
    ) -> Result<(), StoreError> {
        self.conclude_with(draft, action, failure, (Some(response), None), verdict == Verdict::Died)
    }

    fn conclude_with(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        mut failure: Option<Failure>,
        (response, default): (Option<String>, Option<String>),
        died: bool,
    ) -> Result<(), StoreError> {
        draft.number_attempt(self.now);
        if failure.is_none() {
            match self.step_output(draft, action, response.as_deref(), default)? {
                Ok(output) => draft.note_step("SUCCESS", output.as_deref()),
                Err(fault) => failure = Some(fault),
            }
        }
        let failure = failure.or_else(|| self.context_fault(draft));
        let outcome = failure.clone().map_or(Outcome::Success, Outcome::Failure);
        let limits = &self.settings.limits;
        let mut next = after_attempt(action, &draft.held.progress, &outcome, self.now, fastrand::f64(), limits);
        if let (true, Next::Fail { code, message }) = (died, &next) {
            next = Next::Die { code: code.clone(), message: message.clone() };
        }
        let start = draft.held.tried.unwrap_or(self.now);
        let attempt = Attempt {
            start,
            end: self.now,
            cost_ms: (self.now - start).num_milliseconds().clamp(0, i64::from(i32::MAX)) as i32,
            status: if failure.is_none() { "SUCCESS" } else { "FAILED" },
            request: None,
            response: response.map(|text| text.chars().take(self.settings.summary_chars).collect()),
            failure: failure.clone(),
            script: None,
        };
        draft.log(attempt, Some(&next), self.settings.summary_chars);
        draft.carry_out(next, failure.as_ref(), self.now);
        if matches!(draft.course, Course::Open) {
            draft.run_on("continued", self.now);
        }
        Ok(())
    }

    fn step_output(
        &self,
        draft: &Draft,
        action: &Action,
        response: Option<&str>,
        default: Option<String>,
    ) -> Result<Result<Option<String>, Failure>, StoreError> {
        if action.output.is_none() {
            return Ok(default.map(|output| keep::within(output, self.settings.max_output_bytes)).transpose());
        }
        let body = default.map(|output| format!("{{\"body\":{output}}}"));
        let document = response.or(body.as_deref()).unwrap_or("{}");
        let values = self.evaluate(&[question(&draft.held, &action.output_paths, Some(document))])?.pop();
        Ok(values.unwrap_or(Ok(Vec::new())).and_then(|values| self.rendered_output(action, &values)).map(Some))
    }

    /// What is wrong when the outputs together are too large.
    pub fn context_fault(&self, draft: &Draft) -> Option<Failure> {
        let size = draft.held.steps.column().map_or(0, |column| column.len());
        keep::context_fault(size, self.settings.max_context_bytes)
    }
}
