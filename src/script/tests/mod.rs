//! Tests of the sandbox: what scripts can say, and that the worst of them end in time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod escape;
mod json;
mod limits;

use super::{ErrorCode, Host, HostError, HttpFailure, HttpRequest, HttpResponse, Limits, Outcome, Report, Script, run};
use std::collections::HashMap;
use std::time::Duration;

/// A world that answers from maps and remembers what it was asked.
#[derive(Default)]
struct World {
    answers: HashMap<String, HttpResponse>,
    kv: HashMap<String, String>,
    config: HashMap<String, String>,
    requests: Vec<HttpRequest>,
}

impl Host for World {
    fn http(&mut self, request: HttpRequest) -> Result<HttpResponse, HttpFailure> {
        let answer = self.answers.get(&request.url).cloned();
        self.requests.push(request);
        answer.ok_or(HttpFailure { kind: "connect".into(), message: "could not connect".into() })
    }

    fn kv_get(&mut self, key: &str, _: Duration) -> Result<Option<String>, HostError> {
        if key == "broken" { Err(HostError("no answer".into())) } else { Ok(self.kv.get(key).cloned()) }
    }

    fn config(&mut self, key: &str, _: Duration) -> Result<Option<String>, HostError> {
        Ok(self.config.get(key).cloned())
    }
}

fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(10),
        cpu: None,
        memory: 64 << 20,
        output: 1 << 20,
        keep_debug: false,
        summary_chars: 100,
        cancelled: || false,
    }
}

fn script(source: &str) -> Script {
    Script { name: "trial".into(), source: source.into(), context: "{}".into(), args: "{}".into() }
}

fn report_with(source: &str, context: &str, limits: &Limits) -> Report {
    run(&Script { context: context.into(), ..script(source) }, &mut World::default(), limits)
}

fn report(source: &str) -> Report {
    report_with(source, "{}", &limits())
}

/// What a script that returns returns.
#[track_caller]
fn returned(source: &str) -> String {
    returned_with(source, "{}")
}

#[track_caller]
fn returned_with(source: &str, context: &str) -> String {
    match report_with(source, context, &limits()).outcome {
        Outcome::Returned(json) => json,
        other => panic!("{source}: {other:?}"),
    }
}

/// Code and message of a script that breaks.
#[track_caller]
fn broken(source: &str) -> (ErrorCode, String) {
    broken_with(source, "{}", &limits())
}

#[track_caller]
fn broken_with(source: &str, context: &str, limits: &Limits) -> (ErrorCode, String) {
    match report_with(source, context, limits).outcome {
        Outcome::Error { code, message } => (code, message),
        other => panic!("{source}: {other:?}"),
    }
}
