//! What the answer to an attempt means: success or which failure, and what its action's `output` may read.

use crate::action::{Answer, CutReason, Reply, TransportError, TransportFailure};
use crate::flow::definition::{Action, HttpAction, Perform};
use crate::flow::outcome::{Class, Failure, Transport, classify_reply, classify_transport};
use crate::flow::response;
use crate::script::{KvSet, Outcome as Returned, Report};
use chrono::{DateTime, Utc};

/// An answer, judged.
pub struct Judged {
    /// The failure; `None` is success.
    pub failure: Option<Failure>,
    /// The document that `output` sees as `response`, when it is wanted and there is one.
    pub document: Option<String>,
    /// Start of the answer, for the log.
    pub summary: Option<String>,
    /// Whether the receiver is gone for good.
    pub gone: bool,
    /// What a script did and wrote, JSON text of two arrays.
    pub script: Option<(String, String)>,
    /// Changes that a script makes in the key-value store, if nothing fails.
    pub kv_sets: Vec<KvSet>,
}

/// Judges the answer to an attempt of the action.
pub fn judge(action: &Action, answer: &Answer, now: DateTime<Utc>, summary_chars: usize) -> Judged {
    let nothing =
        Judged { failure: None, document: None, summary: None, gone: false, script: None, kv_sets: Vec::new() };
    match (answer, &action.perform) {
        (Answer::Reply(reply), Perform::Http(http)) => judge_reply(action, http, reply, now, summary_chars),
        (Answer::Failed(failure), Perform::Http(http)) => {
            let kind = transport(failure);
            let failure = classify_transport(kind, &failure.message, failure.reused_connection, http);
            Judged { failure: Some(failure), ..nothing }
        }
        (Answer::Local(Ok(result)), _) => {
            let body = result.as_deref().unwrap_or("null");
            let summary = Some(body.chars().take(summary_chars).collect());
            Judged { document: Some(format!("{{\"body\":{body}}}")), summary, ..nothing }
        }
        (Answer::Local(Err(failure)), _) => Judged { failure: Some(failure.clone()), ..nothing },
        (Answer::Script(report), _) => judge_script(report, summary_chars),
        (Answer::Panicked(message), _) => {
            let failure = Failure::permanent("internal", format!("the attempt panicked: {message}"));
            Judged { failure: Some(failure), ..nothing }
        }
        (Answer::Reply(_) | Answer::Failed(_), _) => {
            Judged { failure: Some(Failure::permanent("internal", "an answer of another kind")), ..nothing }
        }
    }
}

fn judge_reply(action: &Action, http: &HttpAction, reply: &Reply, now: DateTime<Utc>, summary_chars: usize) -> Judged {
    let retry_after = reply.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.as_str());
    let failure = classify_reply(reply.status, retry_after, now, http);
    let wanted = failure.is_none() && action.output.is_some();
    let unreadable = if wanted { unreadable(reply) } else { None };
    let document =
        (wanted && unreadable.is_none()).then(|| response::document(reply.status, &reply.headers, &reply.body));
    Judged {
        failure: failure.or(unreadable),
        document,
        summary: Some(response::summary(reply.status, &reply.body, summary_chars)),
        gone: reply.status == 410,
        script: None,
        kv_sets: Vec::new(),
    }
}

/// What a script returned is its `response.body`. An error of its own may pass; what would end the same way is permanent.
fn judge_script(report: &Report, summary_chars: usize) -> Judged {
    let (failure, document, summary) = match &report.outcome {
        Returned::Returned(json) => (None, Some(format!("{{\"body\":{json}}}")), json),
        Returned::Retry { reason, after } => {
            let retry =
                Failure { class: Class::Retry, retry_after: *after, ..Failure::permanent("script_retry", reason) };
            (Some(retry), None, reason)
        }
        Returned::Fail { code, reason } => (Some(Failure::permanent(code, reason)), None, reason),
        Returned::Error { code, message } => {
            let class = if code.may_pass() { Class::Retry } else { Class::Permanent };
            (Some(Failure { class, ..Failure::permanent(code.as_str(), message) }), None, message)
        }
    };
    let summary = Some(summary.chars().take(summary_chars).collect());
    let script = Some((report.calls_json(), report.log_json()));
    let kv_sets = if failure.is_none() { report.kv_sets.clone() } else { Vec::new() };
    Judged { failure, document, summary, gone: false, script, kv_sets }
}

fn unreadable(reply: &Reply) -> Option<Failure> {
    match reply.cut_reason? {
        CutReason::TooLarge => Some(Failure::permanent(
            "response_too_large",
            "the response is larger than rea.max_response_bytes, so output cannot be taken from it",
        )),
        CutReason::BadEncoding => Some(Failure::permanent(
            "response_encoding",
            "the response could not be decoded, so output cannot be taken from it",
        )),
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
