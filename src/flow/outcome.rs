//! How an attempt ended, and what kind of ending that is: the table of HTTP outcomes, once.
//!
//! A failure carries a stable code, a message for people and a class. The class here is the downstream's part of the
//! truth; [`crate::flow::retry`] lays the definition's own wishes over it. Messages never hold a header or a body.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};

use crate::flow::definition::HttpAction;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Another try may succeed.
    Retry,
    /// Another try would end the same way.
    Permanent,
    /// The request may have been carried out and must not be sent twice (`"idempotent": false`): permanent, and
    /// compensation has to treat the action as done.
    Unknown,
    /// The peer closed a connection that had been kept open: send again at once, without using up a retry.
    RepeatOnce,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable name, `[a-z0-9_]+`: `missing_value`, `many_values`, `invalid_url`, `timeout`, `http_503`, …
    pub code: String,
    /// What happened, without secrets, headers or bodies.
    pub message: String,
    /// What kind of failure it is before the definition's `retryOn` and `neverRetryOn`.
    pub class: Class,
    /// How long the downstream asked to be left alone; not yet capped.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that no further try can mend.
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Failure { code: code.into(), message: message.into(), class: Class::Permanent, retry_after: None }
    }

    /// The HTTP status behind this failure, if it was one.
    pub fn status(&self) -> Option<u16> {
        self.code.strip_prefix("http_")?.parse().ok()
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The downstream did what it was asked.
    Success,
    /// It did not, or the request could not be made.
    Failure(Failure),
    /// The worker vanished during the attempt; whether the request was sent is not known.
    Lost,
}

/// What went wrong before there was a complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// The host name has no address, or the look-up failed.
    Dns,
    /// No connection: refused, no route, or not within the time.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// Connected, but not done within the time.
    Timeout,
    /// The connection broke after the request began.
    Reset,
    /// The answer ended early.
    Truncated,
    /// The answer was not HTTP.
    Malformed,
    /// The client would not send this request; nothing was sent.
    Invalid,
    /// This machine ran out of threads or file descriptors; nothing was sent.
    Local,
    /// Anything else.
    Other,
}

impl Transport {
    /// All of them, for tests and for the names that `retryOn` knows.
    pub const ALL: [Transport; 10] = [
        Transport::Dns,
        Transport::Connect,
        Transport::Tls,
        Transport::Timeout,
        Transport::Reset,
        Transport::Truncated,
        Transport::Malformed,
        Transport::Invalid,
        Transport::Local,
        Transport::Other,
    ];

    /// The stable code, as logged and as written in `retryOn` and `neverRetryOn`.
    pub fn code(self) -> &'static str {
        match self {
            Transport::Dns => "dns",
            Transport::Connect => "connect",
            Transport::Tls => "tls",
            Transport::Timeout => "timeout",
            Transport::Reset => "reset",
            Transport::Truncated => "truncated",
            Transport::Malformed => "malformed",
            Transport::Invalid => "invalid_request",
            Transport::Local => "local",
            Transport::Other => "transport",
        }
    }

    /// What happened, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Transport::Dns => "could not resolve the host name",
            Transport::Connect => "could not connect",
            Transport::Tls => "could not establish TLS",
            Transport::Timeout => "no complete answer within the timeout",
            Transport::Reset => "the connection was closed before the answer",
            Transport::Truncated => "the answer ended early",
            Transport::Malformed => "the answer is not valid HTTP",
            Transport::Invalid => "the request could not be built",
            Transport::Local => "this server ran out of threads or file descriptors",
            Transport::Other => "the request failed",
        }
    }

    /// Whether the downstream may have seen the request.
    fn may_have_been_sent(self) -> bool {
        match self {
            Transport::Dns | Transport::Connect | Transport::Tls | Transport::Invalid | Transport::Local => false,
            Transport::Timeout | Transport::Reset | Transport::Truncated | Transport::Malformed | Transport::Other => {
                true
            }
        }
    }
}

/// A status code or a class of them, as written in `success`, `retryOn` and `neverRetryOn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPattern {
    /// One code, 100–599.
    Code(u16),
    /// All codes with this first digit, 1–5: `"5xx"`.
    Class(u16),
}

impl StatusPattern {
    /// Reads `"503"` or `"5xx"`; None for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        let (first, rest) = text.split_at_checked(1)?;
        if rest.eq_ignore_ascii_case("xx") {
            return first.parse().ok().filter(|class| (1..=5).contains(class)).map(StatusPattern::Class);
        }
        let plain = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten().and_then(Self::from_code)
    }

    /// A single code; None outside 100–599 (RFC 9110 section 15).
    pub fn from_code(code: u16) -> Option<Self> {
        (100..=599).contains(&code).then_some(StatusPattern::Code(code))
    }

    /// Whether `status` is meant.
    pub fn matches(self, status: u16) -> bool {
        match self {
            StatusPattern::Code(code) => code == status,
            StatusPattern::Class(class) => status / 100 == class,
        }
    }
}

/// What a complete answer means: None is success.
///
/// The action's `success` comes first. Then 3xx is permanent (never followed); 408, 409, 425, 429 and 5xx except 501
/// and 505 are worth a retry; so is a status outside 200–599, which RFC 9110 section 15 lets a client treat like 5xx;
/// everything else is permanent. `retry_after_header` is the first `Retry-After` of the answer.
pub fn classify_reply(
    status: u16,
    retry_after_header: Option<&str>,
    now: DateTime<Utc>,
    http: &HttpAction,
) -> Option<Failure> {
    if http.success.iter().any(|pattern| pattern.matches(status)) {
        return None;
    }
    let class = match status {
        501 | 505 => Class::Permanent,
        408 | 409 | 425 | 429 | 500..=599 => Class::Retry,
        200..=499 => Class::Permanent,
        _ => Class::Retry,
    };
    Some(Failure {
        code: format!("http_{status:03}"),
        message: reply_message(status),
        class,
        retry_after: retry_after_header.and_then(|header| retry_after(header, now)),
    })
}

fn reply_message(status: u16) -> String {
    match status {
        200..=299 => format!("the downstream answered {status:03}, which \"success\" does not list"),
        300..=399 => format!("the downstream answered {status:03}; redirects are never followed"),
        _ => format!("the downstream answered {status:03}"),
    }
}

/// What a failure without a complete answer means.
///
/// `message` is the client's own sentence, free of secrets; when it is empty the kind speaks for itself. A reset on a
/// connection that had been kept open is repeated at once; when the action is not idempotent and the request may have
/// been sent, the outcome is unknown.
pub fn classify_transport(kind: Transport, message: &str, reused_connection: bool, http: &HttpAction) -> Failure {
    let class = match kind {
        Transport::Invalid => Class::Permanent,
        sent if sent.may_have_been_sent() && !http.idempotent => Class::Unknown,
        Transport::Reset if reused_connection => Class::RepeatOnce,
        _ => Class::Retry,
    };
    Failure { code: kind.code().to_owned(), message: transport_message(kind, message, class), class, retry_after: None }
}

fn transport_message(kind: Transport, message: &str, class: Class) -> String {
    let mut text = if message.is_empty() { kind.describe() } else { message }.to_owned();
    if class == Class::Unknown {
        text.push_str("; whether the request was carried out is not known");
    }
    text
}

/// Reads `Retry-After` (RFC 9110 section 10.2.3): whole seconds or an HTTP date in any of its three forms.
///
/// None for a date that is past and for everything else (signs, fractions, garbage); seconds too large for the type
/// become the largest duration. The caller caps the result.
pub fn retry_after(header: &str, now: DateTime<Utc>) -> Option<Duration> {
    let header = header.trim_matches([' ', '\t']);
    if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(header.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let at = httpdate::parse_http_date(header).ok()?;
    at.duration_since(SystemTime::from(now)).ok().filter(|wait| !wait.is_zero())
}
