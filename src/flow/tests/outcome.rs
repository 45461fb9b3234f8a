//! The table of HTTP outcomes, cell by cell.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::http_action;
use crate::flow::outcome::{Class, Failure, StatusPattern, Transport, classify_reply, classify_transport, retry_after};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).unwrap()
}

fn class(status: u16) -> Option<Class> {
    classify_reply(status, None, now(), &http_action(json!({}))).map(|failure| failure.class)
}

#[test]
fn every_status_has_the_class_of_the_table() {
    for status in 0..=999 {
        let expected = match status {
            200..=299 => None,
            408 | 409 | 425 | 429 => Some(Class::Retry),
            501 | 505 => Some(Class::Permanent),
            500..=599 => Some(Class::Retry),
            300..=499 => Some(Class::Permanent),
            _ => Some(Class::Retry),
        };
        assert_eq!(class(status), expected, "{status}");
    }
}

#[test]
fn success_is_what_the_definition_lists() {
    let http = http_action(json!({"success": [304, "404", "4xx", "201"]}));
    let failure = |status| classify_reply(status, None, now(), &http);
    for status in [304, 404, 429, 201] {
        assert_eq!(failure(status), None, "{status}");
    }
    let refused = failure(200).unwrap();
    assert_eq!((refused.code.as_str(), refused.class), ("http_200", Class::Permanent));
}

#[test]
fn the_code_names_the_status() {
    let failure = classify_reply(503, Some("7"), now(), &http_action(json!({}))).unwrap();
    assert_eq!((failure.code.as_str(), failure.status()), ("http_503", Some(503)));
    assert_eq!(failure.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(Failure::permanent("timeout", "").status(), None);
}

#[test]
fn an_answer_counts_as_an_answer_even_when_not_idempotent() {
    let http = http_action(json!({"idempotent": false}));
    assert_eq!(classify_reply(503, None, now(), &http).map(|failure| failure.class), Some(Class::Retry));
}

#[test]
fn retry_after_reads_seconds_and_dates_and_nothing_else() {
    let after = |header: &str| retry_after(header, now());
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(after("5"), seconds(5));
    assert_eq!(after(" 120 "), seconds(120));
    assert_eq!(after("0"), seconds(0));
    assert_eq!(after("9999999999"), seconds(9_999_999_999));
    assert_eq!(after("99999999999999999999999999"), Some(Duration::MAX));
    for garbage in ["", "-3", "+3", "5.5", "5s", "soon", "1e3", "٣", "5, 6", "Tue, 99 Nov 2023 22:13:28 GMT"] {
        assert_eq!(after(garbage), None, "{garbage}");
    }
}

#[test]
fn retry_after_reads_all_three_forms_of_a_date() {
    let eight = Some(Duration::from_secs(8));
    assert_eq!(retry_after("Tue, 14 Nov 2023 22:13:28 GMT", now()), eight);
    assert_eq!(retry_after("Tuesday, 14-Nov-23 22:13:28 GMT", now()), eight);
    assert_eq!(retry_after("Tue Nov 14 22:13:28 2023", now()), eight);
    assert_eq!(retry_after("Tue, 14 Nov 2023 22:13:20 GMT", now()), None, "now is not ahead");
    assert_eq!(retry_after("Tue, 14 Nov 2023 22:13:12 GMT", now()), None, "past");
    assert!(retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now()).is_some());
    assert_eq!(
        retry_after("Tue, 14 Nov 2023 22:13:28 GMT", now() - TimeDelta::seconds(2)),
        Some(Duration::from_secs(10))
    );
}

#[test]
fn every_transport_failure_has_a_class_by_what_the_receiver_may_have_seen() {
    let idempotent = http_action(json!({}));
    let once = http_action(json!({"idempotent": false}));
    for kind in Transport::ALL {
        let class = |reused, http| classify_transport(kind, "", reused, http).class;
        let expected = match kind {
            Transport::Invalid => [Class::Permanent; 4],
            Transport::Dns | Transport::Connect | Transport::Tls | Transport::Local => [Class::Retry; 4],
            Transport::Reset => [Class::Retry, Class::RepeatOnce, Class::Unknown, Class::Unknown],
            Transport::Timeout | Transport::Truncated | Transport::Malformed | Transport::Other => {
                [Class::Retry, Class::Retry, Class::Unknown, Class::Unknown]
            }
        };
        let found = [class(false, &idempotent), class(true, &idempotent), class(false, &once), class(true, &once)];
        assert_eq!(found, expected, "{kind:?}");
    }
}

#[test]
fn transport_failures_say_what_happened() {
    let message = |message| classify_transport(Transport::Connect, message, false, &http_action(json!({}))).message;
    assert_eq!(message("connection to 10.0.0.1:80 refused"), "connection to 10.0.0.1:80 refused");
    assert_eq!(message(""), "could not connect");
    let unknown = classify_transport(Transport::Timeout, "", false, &http_action(json!({"idempotent": false})));
    assert!(unknown.message.ends_with("not known"), "{}", unknown.message);
}

#[test]
fn status_patterns_are_read_strictly() {
    assert_eq!(StatusPattern::from_text("5xx"), Some(StatusPattern::Class(5)));
    assert_eq!(StatusPattern::from_text("5XX"), Some(StatusPattern::Class(5)));
    assert_eq!(StatusPattern::from_text("503"), Some(StatusPattern::Code(503)));
    for bad in ["", "5", "5x", "xxx", "0xx", "6xx", "50x", "+50", "0503", "é03", "5xx ", "099", "600"] {
        assert_eq!(StatusPattern::from_text(bad), None, "{bad}");
    }
}
