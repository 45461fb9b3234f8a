//! What became of the attempts: answers are judged, outputs extracted, and the pure decision carried out.

use super::draft::{Attempt, Draft};
use super::held::Held;
use super::turn::Turn;
use crate::action::{Answer, Completion, CutReason, Reply, TransportError, TransportFailure};
use crate::flow::definition::{Action, Perform};
use crate::flow::expression::PathValue;
use crate::flow::instance::{Next, after_attempt};
use crate::flow::outcome::{Class, Failure, Outcome, Transport, classify_reply, classify_transport};
use crate::flow::{response, template};
use crate::store::StoreError;
use crate::store::work::Question;
use chrono::{DateTime, Utc};

impl Turn<'_> {
    /// Judges completed attempts and carries out what follows.
    pub fn conclude(&mut self, completed: &[(Held, Completion)]) -> Result<(), StoreError> {
        let outputs = self.outputs(completed)?;
        for ((held, completion), output) in completed.iter().zip(outputs) {
            let mut draft = Draft::of(held.clone());
            draft.place = held.sent.as_ref().map(|sent| sent.place.clone());
            self.conclude_one(&mut draft, completion, output);
            self.drafts.push(draft);
        }
        Ok(())
    }

    /// The output of each completed attempt: `None` when there is none to extract.
    fn outputs(
        &mut self,
        completed: &[(Held, Completion)],
    ) -> Result<Vec<Option<Result<String, Failure>>>, StoreError> {
        let mut questions = Vec::new();
        let mut asked = Vec::with_capacity(completed.len());
        for (held, completion) in completed {
            let wanted = wanted_output(held, completion, self.now);
            asked.push(wanted.is_some());
            if let Some((action, reply)) = wanted {
                let document = response::document(reply.status, &reply.headers, &reply.body);
                questions.push(question(held, &action.output_paths, Some(&document)));
            }
        }
        let mut answers = self.evaluate(&questions)?.into_iter();
        drop(questions);
        Ok(completed
            .iter()
            .zip(asked)
            .map(|((held, completion), asked)| {
                let values = if asked { answers.next() } else { None }?;
                let (action, reply) = wanted_output(held, completion, self.now)?;
                Some(values.and_then(|values| self.output(action, reply, &values)))
            })
            .collect())
    }

    fn output(&self, action: &Action, reply: &Reply, values: &[PathValue]) -> Result<String, Failure> {
        match reply.cut_reason {
            Some(CutReason::TooLarge) => {
                return Err(Failure::permanent(
                    "response_too_large",
                    "the response is larger than rea.max_response_bytes, so output cannot be taken from it",
                ));
            }
            Some(CutReason::BadEncoding) => {
                return Err(Failure::permanent(
                    "response_encoding",
                    "the response could not be decoded, so output cannot be taken from it",
                ));
            }
            None => {}
        }
        let Some(template) = &action.output else { return Ok("null".into()) };
        let output = template::render_json(template, values, &action.output_paths)?;
        if output.len() > self.settings.max_output_bytes {
            let message = format!(
                "the output has {} bytes, rea.max_output_bytes allows {}",
                output.len(),
                self.settings.max_output_bytes
            );
            return Err(Failure::permanent("output_too_large", message));
        }
        Ok(output)
    }

    fn conclude_one(&mut self, draft: &mut Draft, completion: &Completion, output: Option<Result<String, Failure>>) {
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.progress.action_index) else { return };
        let failure = match &output {
            Some(Err(failure)) => Some(failure.clone()),
            _ => judge(action, &completion.answer, self.now),
        };
        if failure.is_none() {
            let output = output.and_then(Result::ok);
            draft.note_step("SUCCESS", output.as_deref());
        }
        let failure = failure.or_else(|| self.context_fault(draft));
        let outcome = failure.clone().map_or(Outcome::Success, Outcome::Failure);
        let next =
            after_attempt(action, &draft.held.progress, &outcome, self.now, fastrand::f64(), &self.settings.limits);
        let status = answered(&completion.answer);
        if let Some(place) = &draft.place {
            self.noted.push((place.clone(), failure.is_none(), status == Some(410), completion.elapsed));
        }
        let attempt = Attempt {
            start: time(completion.started),
            end: time(completion.ended),
            cost_ms: completion.elapsed.as_millis().min(i32::MAX as u128) as i32,
            status: if failure.is_none() { "SUCCESS" } else { "FAILED" },
            request: draft.held.sent.as_ref().map(|sent| sent.summary.clone()),
            response: reply(&completion.answer)
                .map(|reply| response::summary(reply.status, &reply.body, self.settings.summary_chars)),
            failure: failure.clone(),
        };
        draft.log(attempt, Some(&next), self.settings.summary_chars);
        draft.carry_out(next, failure.as_ref(), self.now);
    }

    fn context_fault(&self, draft: &Draft) -> Option<Failure> {
        let size = draft.held.steps.column().map_or(0, |column| column.len());
        (size > self.settings.max_context_bytes).then(|| {
            let message = format!(
                "the outputs together have {size} bytes, rea.max_context_bytes allows {}",
                self.settings.max_context_bytes
            );
            Failure::permanent("context_too_large", message)
        })
    }

    /// Records the attempt of an instance whose worker vanished.
    pub fn record_loss(&mut self, draft: &mut Draft) {
        let definition = draft.held.definition.clone();
        let Some(action) = definition.action(draft.held.progress.action_index) else {
            return draft.finish(
                crate::flow::instance::Status::Failed,
                Some(("definition", "the definition cannot be used")),
                self.now,
            );
        };
        let message = "the worker vanished during the attempt; whether the request was carried out is not known";
        let failure =
            Failure { code: "worker_lost".into(), message: message.into(), class: Class::Unknown, retry_after: None };
        let next = after_attempt(
            action,
            &draft.held.progress,
            &Outcome::Lost,
            self.now,
            fastrand::f64(),
            &self.settings.limits,
        );
        let start = draft.held.tried.unwrap_or(self.now);
        let attempt = Attempt {
            start,
            end: self.now,
            cost_ms: (self.now - start).num_milliseconds().clamp(0, i64::from(i32::MAX)) as i32,
            status: "LOST",
            request: None,
            response: None,
            failure: Some(failure.clone()),
        };
        draft.log(attempt, None, self.settings.summary_chars);
        match next {
            Next::RepeatNow => draft.repeat_alone(self.now),
            next => draft.carry_out(next, Some(&failure), self.now),
        }
    }
}

/// The paths of a template, with the document they are asked of.
pub fn question<'a>(
    held: &Held,
    paths: &'a [crate::flow::expression::Expression],
    response: Option<&str>,
) -> Question<'a> {
    use crate::flow::context::quoted;
    let id = held.id.to_string();
    let name = held.action().map(|action| action.name.as_str()).unwrap_or_default();
    // Written out only for paths that may look at it: with many actions it is long.
    let steps = if paths
        .iter()
        .any(|path| path.path.contains("steps") || path.path.contains("**") || !path.path.starts_with("$."))
    {
        held.steps.document(held.definition.names_before(held.progress.action_index))
    } else {
        "{}".to_owned()
    };
    let response = response.map(|document| format!(",\"response\":{document}")).unwrap_or_default();
    let extra = format!(
        "{{\"steps\":{steps},\"instance\":{{\"id\":\"{id}\",\"workflowName\":{},\"workflowVersion\":{}}},\
         \"action\":{{\"name\":{},\"idempotencyKey\":{}}}{response}}}",
        quoted(&held.definition.name),
        held.definition.version,
        quoted(name),
        quoted(&crate::flow::request::idempotency_key(&id, name, held.key_no)),
    );
    Question { event: held.event.uid, extra, paths: paths.iter().map(|path| (path.path.as_str(), path.many)).collect() }
}

fn wanted_output<'a>(
    held: &'a Held,
    completion: &'a Completion,
    now: DateTime<Utc>,
) -> Option<(&'a Action, &'a Reply)> {
    let action = held.action()?;
    action.output.as_ref()?;
    let reply = reply(&completion.answer)?;
    judge(action, &completion.answer, now).is_none().then_some((action, reply))
}

fn reply(answer: &Answer) -> Option<&Reply> {
    match answer {
        Answer::Reply(reply) => Some(reply),
        Answer::Failed(_) | Answer::Panicked(_) => None,
    }
}

fn answered(answer: &Answer) -> Option<u16> {
    reply(answer).map(|reply| reply.status)
}

/// What the answer means for the action; `None` is success.
fn judge(action: &Action, answer: &Answer, now: DateTime<Utc>) -> Option<Failure> {
    let Perform::Http(http) = &action.perform else { return None };
    match answer {
        Answer::Reply(reply) => {
            let retry_after =
                reply.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.as_str());
            classify_reply(reply.status, retry_after, now, http)
        }
        Answer::Failed(failure) => {
            Some(classify_transport(transport(failure), &failure.message, failure.reused_connection, http))
        }
        Answer::Panicked(message) => {
            Some(Failure::permanent("internal", format!("the HTTP client panicked: {message}")))
        }
    }
}

/// The failure in the words of the language: a timeout before anything was sent is a failed connection.
fn transport(failure: &TransportFailure) -> Transport {
    match failure.kind {
        TransportError::Request => Transport::Invalid,
        TransportError::Dns => Transport::Dns,
        TransportError::Connect => Transport::Connect,
        TransportError::Tls if failure.sent => Transport::Reset,
        TransportError::Tls => Transport::Tls,
        TransportError::Timeout if failure.sent => Transport::Timeout,
        TransportError::Timeout => Transport::Connect,
        TransportError::Reset => Transport::Reset,
        TransportError::Truncated => Transport::Truncated,
        TransportError::Malformed => Transport::Malformed,
        TransportError::Local if failure.sent => Transport::Other,
        TransportError::Local => Transport::Local,
    }
}

fn time(time: std::time::SystemTime) -> DateTime<Utc> {
    DateTime::<Utc>::from(time)
}
