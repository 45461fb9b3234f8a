//! Reading `retryPolicy`.

use std::time::Duration;

use serde_json::Value;

use crate::flow::outcome::{StatusPattern, Transport};
use crate::flow::parse::SECONDS;
use crate::flow::parse::fields::Fields;
use crate::flow::problem::{Problem, did_you_mean, pointer_to};
use crate::flow::retry::{Condition, LARGEST_MULTIPLIER, LONGEST_BACKOFF_MS, MOST_RETRIES, RetryKeys};

const KEYS: [&str; 9] = [
    "maxRetries",
    "backoffMs",
    "backoffMultiplier",
    "maxBackoffMs",
    "jitter",
    "schedule",
    "maxElapsedSeconds",
    "retryOn",
    "neverRetryOn",
];

/// Reads the `retryPolicy` of a workflow or an action; nothing stated when there is none.
pub(super) fn keys(owner: &Fields, problems: &mut Vec<Problem>) -> RetryKeys {
    let Some(fields) = owner.fields("retryPolicy", problems) else { return RetryKeys::default() };
    fields.refuse_unknown(&KEYS, advice, problems);
    let keys = RetryKeys {
        max_retries: fields
            .integer("maxRetries", 0..=i64::from(MOST_RETRIES), problems)
            .and_then(|retries| u32::try_from(retries).ok()),
        backoff_ms: milliseconds(&fields, "backoffMs", problems),
        multiplier: fields.number("backoffMultiplier", 1.0..=LARGEST_MULTIPLIER, problems),
        max_backoff_ms: milliseconds(&fields, "maxBackoffMs", problems),
        jitter: fields.number("jitter", 0.0..=1.0, problems),
        schedule: schedule(&fields, problems),
        max_elapsed: fields.number("maxElapsedSeconds", SECONDS, problems).map(Duration::from_secs_f64),
        retry_on: conditions(&fields, "retryOn", problems),
        never_retry_on: conditions(&fields, "neverRetryOn", problems),
    };
    warn_about_unused(&keys, &fields, problems);
    keys
}

fn advice(key: &str) -> Option<String> {
    match key {
        "maxAttempts" => Some(
            "rea counts retries, not attempts: write \"maxRetries\", which is one less than the attempts".to_owned(),
        ),
        "multiplier" => Some("did you mean \"backoffMultiplier\"?".to_owned()),
        _ => None,
    }
}

fn milliseconds(fields: &Fields, key: &str, problems: &mut Vec<Problem>) -> Option<u64> {
    let longest = i64::try_from(LONGEST_BACKOFF_MS).unwrap_or(i64::MAX);
    fields.integer(key, 1..=longest, problems).and_then(|ms| u64::try_from(ms).ok())
}

fn schedule(fields: &Fields, problems: &mut Vec<Problem>) -> Option<Vec<Duration>> {
    let list = fields.list("schedule", problems)?;
    let longest = LONGEST_BACKOFF_MS / 1_000;
    let delay = |value: &Value| {
        let seconds = value.as_f64().filter(|seconds| (0.0..=longest as f64).contains(seconds))?;
        Some(Duration::from_secs_f64(seconds))
    };
    let delays: Option<Vec<Duration>> = list.iter().map(delay).collect();
    let accepted = delays.filter(|delays| (1..=MOST_RETRIES as usize).contains(&delays.len()));
    if accepted.is_none() {
        let message = format!("\"schedule\" must list 1 to {MOST_RETRIES} delays of 0 to {longest} seconds");
        problems.push(Problem::error(fields.pointer("schedule"), "out_of_range", message));
    }
    accepted
}

fn conditions(fields: &Fields, key: &str, problems: &mut Vec<Problem>) -> Option<Vec<Condition>> {
    let list = fields.list(key, problems)?;
    let read = |(position, value)| {
        condition(value)
            .map_err(|problem| {
                problems.push(Problem { pointer: pointer_to(&fields.pointer(key), position), ..problem })
            })
            .ok()
    };
    Some(list.iter().enumerate().filter_map(read).collect())
}

fn condition(value: &Value) -> Result<Condition, Problem> {
    if let Some(pattern) = status_pattern(value) {
        return Ok(Condition::Status(pattern));
    }
    let known = Transport::ALL.map(Transport::code);
    let near = value.as_str().and_then(|word| did_you_mean(word, known));
    match value.as_str() {
        Some(code) if known.contains(&code) || is_sqlstate(code) || (near.is_none() && is_of_script(code)) => {
            Ok(Condition::Code(code.to_owned()))
        }
        _ => {
            let message = format!(
                "a condition is a status (503, \"5xx\"), an SQLSTATE (\"40001\"), a script's code (\"script_error\") or one of {}",
                known.join(", ")
            );
            Err(Problem::error("", "invalid_condition", message).maybe_hint(near))
        }
    }
}

/// Five digits or capital letters.
fn is_sqlstate(code: &str) -> bool {
    code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// What a script may give as its code: a lower-case word of at most 64 bytes.
fn is_of_script(code: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    code.len() <= 64 && code.starts_with(|c: char| c.is_ascii_lowercase()) && code.chars().all(inner)
}

/// A status as a number (`503`) or a string (`"503"`, `"5xx"`).
pub(super) fn status_pattern(value: &Value) -> Option<StatusPattern> {
    match value {
        Value::Number(code) => {
            code.as_u64().and_then(|code| u16::try_from(code).ok()).and_then(StatusPattern::from_code)
        }
        Value::String(text) => StatusPattern::from_text(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn warn_about_unused(keys: &RetryKeys, fields: &Fields, problems: &mut Vec<Problem>) {
    if keys.schedule.is_some() && keys.states_backoff() {
        let message = "\"schedule\" replaces backoffMs, backoffMultiplier, maxBackoffMs and jitter";
        problems.push(Problem::warning(fields.pointer("schedule"), "unused_key", message));
    }
}

/// Warns where the cap, stated or inherited, is below the first delay that this object asks for.
pub(super) fn warn_about_cap(keys: &RetryKeys, max_backoff_ms: u64, owner: &Fields, problems: &mut Vec<Problem>) {
    if keys.backoff_ms.is_some_and(|first| first > max_backoff_ms) && keys.schedule.is_none() {
        let message = format!("\"backoffMs\" is above the cap \"maxBackoffMs\" of {max_backoff_ms} ms, which wins");
        let pointer = pointer_to(&owner.pointer("retryPolicy"), "backoffMs");
        problems.push(Problem::warning(pointer, "backoff_over_cap", message).hint("raise \"maxBackoffMs\""));
    }
}
