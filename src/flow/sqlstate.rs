//! What an SQLSTATE means for a local action: whether another try may succeed.
//!
//! The code of the failure is the SQLSTATE itself, so that `retryOn` and `neverRetryOn` can name it. What a function
//! wants to be tried again it raises as [`TRY_AGAIN`].

use std::time::Duration;

use crate::flow::outcome::{Class, Failure};

/// What a function raises to be tried again later; a hint `retry after 30 s` sets the least delay.
pub const TRY_AGAIN: &str = "RE001";

/// Code of an attempt that took longer than its time.
pub const TIMEOUT: &str = "timeout";

/// The class of an SQLSTATE (PostgreSQL manual, appendix A).
///
/// Worth a retry: serialization failures and deadlocks, locks not available, objects in use, connections, resources,
/// shutdowns, cancellations and input/output, and [`TRY_AGAIN`]. Everything else would fail the same way again: wrong
/// data, violated constraints, missing objects and rights, exceptions that the function raised.
pub fn class_of(sqlstate: &str) -> Class {
    let group = sqlstate.get(..2).unwrap_or_default();
    match (group, sqlstate) {
        ("08" | "53" | "58" | "72", _) => Class::Retry,
        (_, "40001" | "40003" | "40P01" | "55P03" | "55006" | TRY_AGAIN) => Class::Retry,
        (_, "57014" | "57P01" | "57P02" | "57P03" | "57P05") => Class::Retry,
        _ => Class::Permanent,
    }
}

/// The five characters of a packed SQLSTATE: six bits each, as PostgreSQL's MAKE_SQLSTATE packs them.
pub fn unpacked(code: i32) -> String {
    (0..5).map(|place| char::from(((code >> (6 * place)) & 0x3f) as u8 + b'0')).collect()
}

/// The failure behind an error that a call raised.
pub fn failure(sqlstate: &str, message: &str, hint: Option<&str>) -> Failure {
    let retry_after = if sqlstate == TRY_AGAIN { hint.and_then(wait_in) } else { None };
    Failure { code: sqlstate.to_owned(), message: message.to_owned(), class: class_of(sqlstate), retry_after }
}

/// The failure of an attempt that took longer than `limit`.
pub fn timeout(limit: Duration) -> Failure {
    Failure {
        code: TIMEOUT.to_owned(),
        message: format!("the call took longer than {} ms; what it did was rolled back", limit.as_millis()),
        class: Class::Retry,
        retry_after: None,
    }
}

/// The delay that a hint asks for: `retry after`, a number, and `ms`, `s` (also without unit), `min` or `h`.
fn wait_in(hint: &str) -> Option<Duration> {
    let lower = hint.to_ascii_lowercase();
    let rest = lower[lower.find("retry after")? + "retry after".len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let number: f64 = rest[..end].trim_end_matches('.').parse().ok()?;
    let unit: String = rest[end..].trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    let seconds = match unit.as_str() {
        "ms" => 0.001,
        "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        _ => 1.0,
    };
    Some(Duration::try_from_secs_f64(number * seconds).unwrap_or(Duration::MAX))
}
