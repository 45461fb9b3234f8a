//! Runs a script on a thread of the pool: its requests go out by the pool's engine, its questions to the main thread.
//!
//! Must never let a script pretend to be another request: rea's own headers are set here.

use std::time::Duration;

use super::inquiry::Question;
use super::{Answer, Request, ScriptTask};
use crate::script::{self, Host, HostError, HttpFailure, HttpRequest, HttpResponse};

/// Runs the task. `send` performs a request, `ask` gets the answer to a question in the time it is given.
pub(super) fn perform(
    task: &ScriptTask,
    send: impl Fn(&Request) -> Answer,
    ask: impl Fn(Question, Duration) -> Result<Option<String>, String>,
) -> Answer {
    let mut host = PoolHost { task, send, ask, requests: 0 };
    Answer::Script(Box::new(script::run(&task.script, &mut host, &task.limits)))
}

struct PoolHost<'t, S, A> {
    task: &'t ScriptTask,
    send: S,
    ask: A,
    /// Requests so far.
    requests: u64,
}

impl<S, A> PoolHost<'_, S, A> {
    /// The script's header lines, then those that are rea's.
    fn headers(&self, given: Vec<(String, String)>) -> Vec<(String, String)> {
        let number = self.requests;
        let mut own = self.task.headers.clone();
        own.push(("X-Rea-Req-Id".into(), format!("{}_{number}", self.task.request_id)));
        let is_own = |name: &str| {
            let is_named = own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
            is_named || name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("x-rea-"))
        };
        let mut headers: Vec<_> = given.into_iter().filter(|(name, _)| !is_own(name)).collect();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("idempotency-key")) {
            headers.push(("Idempotency-Key".into(), format!("{}_{number}", self.task.idempotency_key)));
        }
        headers.extend(own);
        headers
    }
}

impl<S, A> Host for PoolHost<'_, S, A>
where
    S: Fn(&Request) -> Answer,
    A: Fn(Question, Duration) -> Result<Option<String>, String>,
{
    fn http(&mut self, request: HttpRequest) -> Result<HttpResponse, HttpFailure> {
        self.requests += 1;
        let request = Request {
            method: request.method,
            url: request.url,
            headers: self.headers(request.headers),
            body: request.body.map(Into::into),
            timeout: request.timeout,
            want_body: true,
        };
        match (self.send)(&request) {
            Answer::Reply(reply) => {
                let (status, headers, body, cut) = (reply.status, reply.headers, reply.body, reply.cut);
                Ok(HttpResponse { status, headers, body, cut })
            }
            Answer::Failed(failure) => Err(HttpFailure { kind: failure.kind.to_string(), message: failure.message }),
            other => Err(HttpFailure { kind: "internal".into(), message: format!("{other:?}") }),
        }
    }

    fn kv_get(&mut self, key: &str, left: Duration) -> Result<Option<String>, HostError> {
        (self.ask)(Question::Kv(key.to_owned()), left).map_err(HostError)
    }

    fn config(&mut self, key: &str, left: Duration) -> Result<Option<String>, HostError> {
        (self.ask)(Question::Config(key.to_owned()), left).map_err(HostError)
    }
}
