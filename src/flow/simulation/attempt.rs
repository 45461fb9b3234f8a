//! Attempts in a simulation: begun with the reply that the mocks have, judged when their time is over.

use std::time::Duration;

use chrono::TimeDelta;

use super::Database;
use super::call::Answer;
use super::clock::Happening;
use super::play::{Play, Played};
use super::run::Course;
use super::story::{Kind, Line};
use crate::flow::definition::{Action, Perform};
use crate::flow::expression::PathValue;
use crate::flow::fork::{self, ChildResult};
use crate::flow::join::Verdict;
use crate::flow::keep;
use crate::flow::outcome::{Class, Failure, Transport, classify_reply, classify_transport};
use crate::flow::parse::mocks::{Callee, Mocked, Reply};
use crate::flow::response;
use crate::flow::sqlstate;

/// Characters of an answer that the story shows.
const SUMMARY_CHARS: usize = 200;

/// Codes of scripts after which another try may succeed.
const PASSING: [&str; 4] = ["script_retry", "script_error", "script_timeout", "script_cpu"];

/// A reply, judged.
struct Judged {
    failure: Option<Failure>,
    /// What `output` sees as `response`.
    document: Option<String>,
    summary: String,
}

impl<D: Database> Play<'_, D> {
    /// Begins an attempt of an action that calls something outside.
    pub fn begin_attempt(&mut self, n: usize, action: &Action, values: &[PathValue]) -> Played<D> {
        let rendered = match self.rendered(n, action, values)? {
            Ok(rendered) => rendered,
            Err(failure) => {
                self.fail_unsent(n, action, failure);
                return Ok(());
            }
        };
        let reply = self.reply(n, action).unwrap_or_else(|| unmocked(Callee::of(action)));
        self.begin(n, reply, rendered.request, rendered.timeout_ms);
        Ok(())
    }

    /// What the mocks say about the coming attempt.
    pub fn reply(&self, n: usize, action: &Action) -> Option<Reply> {
        let run = &self.runs[n];
        let index = run.item_now().map(|(index, _)| index);
        self.subject.mocks.reply(&action.name, index, Callee::of(action), run.coming_attempt()).cloned()
    }

    /// Sends it off: the answer comes after its time, at the latest when its own time or the instance's is over.
    pub fn begin(&mut self, n: usize, reply: Reply, request: String, timeout_ms: u32) {
        let now = self.now;
        let run = &mut self.runs[n];
        run.number_attempt(now);
        run.course = Course::InFlight;
        let left =
            run.progress.deadline.map(|deadline| (deadline - now).num_milliseconds().clamp(1, i64::from(u32::MAX)));
        let timeout_ms = left.map_or(timeout_ms, |left| timeout_ms.min(left as u32));
        let times_out = matches!(reply.outcome, Mocked::Fail { kind: Transport::Timeout, .. });
        let cost_ms = reply.cost_ms.unwrap_or(if times_out { timeout_ms } else { 0 });
        let late = Mocked::Fail { kind: Transport::Timeout, message: String::new() };
        let (outcome, cost_ms) =
            if cost_ms >= timeout_ms { (late, timeout_ms) } else { (reply.outcome.clone(), cost_ms) };
        let at = now.checked_add_signed(TimeDelta::milliseconds(i64::from(cost_ms))).unwrap_or(now);
        let reply = Reply { outcome, cost_ms: Some(cost_ms) };
        self.run_on(n);
        self.agenda.enter(at, Happening::Answer(Box::new(Answer { run: n, reply, request, cost_ms })));
    }

    /// Judges an attempt and carries out what follows.
    pub fn conclude(&mut self, answer: Answer) -> Played<D> {
        let n = answer.run;
        self.count()?;
        let workflow = self.runs[n].workflow.clone();
        let Some(action) = self.runs[n].action().and_then(|_| workflow.action(self.runs[n].cursor())) else {
            return Ok(());
        };
        if let Perform::Workflow(_) = action.perform {
            self.conclude_mocked_child(n, action, answer)?;
        } else {
            self.conclude_attempt(n, action, answer)?;
        }
        self.obey(n);
        self.go_on(n)
    }

    fn conclude_attempt(&mut self, n: usize, action: &Action, answer: Answer) -> Played<D> {
        let judged = self.judge(action, &answer);
        let mut failure = judged.failure;
        let mut kept = None;
        let document = judged.document.filter(|_| failure.is_none() && action.output.is_some());
        if let Some(document) = document {
            let values = self.values(n, &action.output_paths, Some(&document))?;
            match values.and_then(|values| keep::output(action, &values, self.settings.max_output_bytes)) {
                Ok(output) => kept = Some(output),
                Err(fault) => failure = Some(fault),
            }
        }
        if failure.is_none() {
            self.runs[n].note_step("SUCCESS", kept.as_deref());
        }
        let failure = failure.or_else(|| self.context_fault(n));
        let next = self.next(n, action, failure.as_ref());
        let status = if failure.is_none() { "SUCCESS" } else { "FAILED" };
        let line = Line {
            detail: judged.summary,
            cost_ms: Some(i64::from(answer.cost_ms)),
            request: Some(answer.request),
            output: kept,
            ..self.line(n, Kind::Attempt, action.name.clone(), status)
        };
        self.tell_attempt(n, failure.as_ref(), Some(&next), line);
        self.carry_out(n, next, failure.as_ref());
        Ok(())
    }

    fn judge(&self, action: &Action, answer: &Answer) -> Judged {
        let nothing = |failure| Judged { failure: Some(failure), document: None, summary: String::new() };
        match (&answer.reply.outcome, &action.perform) {
            (Mocked::Answer { status, headers, body }, Perform::Http(http)) => {
                let retry_after =
                    headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.as_str());
                Judged {
                    failure: classify_reply(*status, retry_after, self.now, http),
                    document: Some(response::document(*status, headers, body.as_bytes())),
                    summary: response::summary(*status, body.as_bytes(), SUMMARY_CHARS),
                }
            }
            (Mocked::Fail { kind, message }, Perform::Http(http)) => {
                nothing(classify_transport(*kind, message, false, http))
            }
            (Mocked::Fail { .. }, _) => nothing(sqlstate::timeout(Duration::from_millis(u64::from(answer.cost_ms)))),
            (Mocked::Result(result), _) => Judged {
                failure: None,
                document: Some(format!("{{\"body\":{result}}}")),
                summary: result.chars().take(SUMMARY_CHARS).collect(),
            },
            (Mocked::Error { .. }, _) => nothing(raised(&answer.reply.outcome, Callee::of(action))),
            (Mocked::Answer { .. }, _) => nothing(Failure::permanent("internal", "an answer of another kind")),
        }
    }

    /// A child workflow that is mocked is not played.
    fn conclude_mocked_child(&mut self, n: usize, action: &Action, answer: Answer) -> Played<D> {
        let (status, result, error) = match answer.reply.outcome {
            Mocked::Result(result) => ("SUCCESS", Some(result), None),
            Mocked::Error { code, message, .. } => ("FAILED", None, Some((code, message))),
            Mocked::Answer { .. } | Mocked::Fail { .. } => {
                ("FAILED", None, Some(("deadline".to_owned(), "the workflow's timeout has passed".to_owned())))
            }
        };
        let Perform::Workflow(child) = &action.perform else { return Ok(()) };
        let first = error.clone().map(|(code, message)| (child.workflow_name.clone(), code, message));
        let verdict = if error.is_some() { Verdict::Failed } else { Verdict::Succeeded };
        let results = [ChildResult { branch: None, status: status.to_owned(), context: None, result, error }];
        let response = fork::response(&action.perform, &results);
        self.conclude_with(n, action, fork::failure(verdict, first.as_ref()), (Some(response), None), false)
    }
}

/// What an action without a mock comes to: it succeeds and gives nothing.
fn unmocked(callee: Callee) -> Reply {
    let outcome = match callee {
        Callee::Http => Mocked::Answer { status: 200, headers: Vec::new(), body: String::new() },
        Callee::Database | Callee::Script | Callee::Workflow | Callee::Nobody => Mocked::Result("null".to_owned()),
    };
    Reply { outcome, cost_ms: None }
}

/// The failure behind a mocked error; what is not said follows the code.
fn raised(outcome: &Mocked, callee: Callee) -> Failure {
    let Mocked::Error { code, message, retry, retry_after } = outcome else {
        return Failure::permanent("internal", "no error");
    };
    let known = match callee {
        Callee::Database => sqlstate::class_of(code),
        Callee::Script if PASSING.contains(&code.as_str()) => Class::Retry,
        Callee::Script | Callee::Http | Callee::Workflow | Callee::Nobody => Class::Permanent,
    };
    let class = match retry {
        None => known,
        Some(true) => Class::Retry,
        Some(false) => Class::Permanent,
    };
    Failure { code: code.clone(), message: message.clone(), class, retry_after: *retry_after }
}
