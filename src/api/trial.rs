//! `test_script`: a script is tried and timed alone, in the caller's session. Nothing is sent, nothing is stored.
//!
//! While the script runs, the session only looks at two flags of the server now and then; it comes back to react.

use super::call::Call;
use super::script::check_source;
use crate::error::ApiError;
use crate::script::{self, Host, HostError, HttpFailure, HttpRequest, HttpResponse, Limits, Outcome, Report, Script};
use crate::sql_function;
use crate::store;
use pgrx::{IntoDatum, pg_sys};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::Duration;

sql_function!(rea_test_script, pg_finfo_rea_test_script, test_script);

/// Name of the script in messages.
const NAME: &str = "script";
/// Longest result, in bytes.
const MAX_OUTPUT: usize = 16 << 20;
/// Characters of the values in the list of calls.
const SUMMARY_CHARS: usize = 500;

fn test_script(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let source: String = call.required(0, "source")?;
    let json = |index: usize, name: &'static str| call.json(index).ok_or(ApiError::NullArgument(name));
    let script = Script { name: NAME.into(), source, context: json(1, "ctx")?, args: json(2, "args")? };
    let runs = number(call, 3, "runs", 1..=10_000)?;
    let mocks = mocks(&json(4, "mocks")?)?;
    let limits = Limits {
        wall: Duration::from_millis(number(call, 5, "timeout_ms", 1..=86_400_000)? as u64),
        cpu: None,
        memory: number(call, 6, "memory_mb", 1..=1_024)? as usize * (1 << 20),
        output: MAX_OUTPUT,
        keep_debug: true,
        summary_chars: SUMMARY_CHARS,
        cancelled: is_wanted_back,
    };
    check_source(NAME, &script.source)?;
    let config = call.caller.as_owner(store::script::config_all)?;
    let mut stage = Stage { mocks, config };
    let mut times = Vec::new();
    let last = loop {
        let report = script::run(&script, &mut stage, &limits);
        // Leaves from here if the session was told to.
        pgrx::check_for_interrupts!();
        times.push((report.elapsed, report.cpu));
        if times.len() >= runs as usize || !matches!(report.outcome, Outcome::Returned(_)) {
            break report;
        }
    };
    super::return_rows(call, std::iter::once(row(&last, &times)));
    Ok(None)
}

/// Whether the session has been cancelled or is to end.
fn is_wanted_back() -> bool {
    // SAFETY: flags that signal handlers of this thread set; reading them does nothing else.
    unsafe {
        std::ptr::read_volatile(&raw const pg_sys::QueryCancelPending) != 0
            || std::ptr::read_volatile(&raw const pg_sys::ProcDiePending) != 0
    }
}

fn number(
    call: &Call,
    index: usize,
    field: &'static str,
    range: std::ops::RangeInclusive<i32>,
) -> Result<i32, ApiError> {
    let number: i32 = call.required(index, field)?;
    if range.contains(&number) {
        return Ok(number);
    }
    let problem = format!("must be between {} and {}", range.start(), range.end());
    Err(ApiError::BadArgument { field, problem, hint: "The manual tells what it limits: docs/reference/lua.md." })
}

/// The answers to requests, by URL.
fn mocks(text: &str) -> Result<HashMap<String, HttpResponse>, ApiError> {
    let refused = |problem: &str| ApiError::BadArgument {
        field: "mocks",
        problem: problem.to_owned(),
        hint: "Write, for example, {\"http://stock/items\": {\"status\": 200, \"headers\": {}, \"body\": []}}.",
    };
    let Ok(Value::Object(mocks)) = serde_json::from_str::<Value>(text) else {
        return Err(refused("must be an object of URLs"));
    };
    let answer = |mock: &Value| {
        let mock = mock.as_object()?;
        let known = ["status", "headers", "body"];
        let status = mock.get("status").map_or(Some(200), |status| status.as_u64().and_then(|s| u16::try_from(s).ok()));
        let headers = mock.get("headers").map_or(Some(Map::new()), |headers| headers.as_object().cloned())?;
        let headers = headers.iter().map(|(name, value)| Some((name.to_lowercase(), value.as_str()?.to_owned())));
        let body = match mock.get("body") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => text.clone().into_bytes(),
            Some(json) => json.to_string().into_bytes(),
        };
        let headers = headers.collect::<Option<Vec<_>>>()?;
        let response = HttpResponse { status: status?, headers, body, cut: false };
        mock.keys().all(|key| known.contains(&key.as_str())).then_some(response)
    };
    mocks
        .iter()
        .map(|(url, mock)| Some((url.clone(), answer(mock)?)))
        .collect::<Option<_>>()
        .ok_or_else(|| refused("must hold objects with status, headers (an object of strings) and body only"))
}

/// The world of a trial.
struct Stage {
    mocks: HashMap<String, HttpResponse>,
    config: HashMap<String, String>,
}

impl Host for Stage {
    fn http(&mut self, request: HttpRequest) -> Result<HttpResponse, HttpFailure> {
        self.mocks.get(&request.url).cloned().ok_or_else(|| HttpFailure {
            kind: "request".into(),
            message: "test_script sends nothing, and mocks has no answer for this URL".into(),
        })
    }

    fn kv_get(&mut self, _: &str, _: Duration) -> Result<Option<String>, HostError> {
        Ok(None)
    }

    fn config(&mut self, key: &str, _: Duration) -> Result<Option<String>, HostError> {
        Ok(self.config.get(key).cloned())
    }
}

fn row(last: &Report, times: &[(Duration, Duration)]) -> [Option<pg_sys::Datum>; 12] {
    let (outcome, result, code, error) = match &last.outcome {
        Outcome::Returned(json) => ("returned", Some(json.clone()), None, None),
        Outcome::Retry { reason, .. } => ("retry", None, Some("script_retry"), Some(reason.clone())),
        Outcome::Fail { code, reason } => ("fail", None, Some(code.as_str()), Some(reason.clone())),
        Outcome::Error { code, message } => ("error", None, Some(code.as_str()), Some(message.clone())),
    };
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let count = times.len().max(1) as f64;
    let mean = |part: fn(&(Duration, Duration)) -> Duration| times.iter().map(part).map(millis).sum::<f64>() / count;
    let max = times.iter().map(|(elapsed, _)| millis(*elapsed)).fold(0.0, f64::max);
    [
        outcome.into_datum(),
        result.and_then(jsonb),
        code.into_datum(),
        error.into_datum(),
        jsonb(last.log_json()),
        jsonb(last.calls_json()),
        jsonb(kv_json(last)),
        (times.len() as i32).into_datum(),
        mean(|(elapsed, _)| *elapsed).into_datum(),
        max.into_datum(),
        mean(|(_, cpu)| *cpu).into_datum(),
        i32::try_from(last.peak_memory / 1024).unwrap_or(i32::MAX).into_datum(),
    ]
}

/// What would be set: an object of key to value; a key that would be removed has the value null.
fn kv_json(report: &Report) -> String {
    let member = |key: &str, value: Option<&str>| format!("{}:{}", Value::from(key), value.unwrap_or("null"));
    let members = report.kv_sets.iter().map(|set| member(&set.key, set.value.as_deref()));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// JSON text as jsonb.
fn jsonb(text: String) -> Option<pg_sys::Datum> {
    let text = std::ffi::CString::new(text).ok()?;
    // SAFETY: jsonb_in takes a C string of the server's encoding and copies it.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(pg_sys::Datum::from(text.as_ptr()))]) }
}
