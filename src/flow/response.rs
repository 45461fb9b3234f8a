//! An HTTP response as the member `response` of the context document.
//!
//! A body that jsonb can hold is given as JSON; any other as text, so that no answer of a receiver can make a statement
//! fail. jsonb cannot hold NUL, lone surrogates, numbers beyond numeric's range, and here nesting beyond 128 levels.

use crate::flow::context::quoted;
use serde_json::Value;

/// Largest exponent and length of a number that is surely within numeric's range (131072 digits before, 16383 after the
/// point).
const MAX_EXPONENT: i64 = 16_000;
const MAX_DIGITS: usize = 16_000;

/// The document: `status`, `headers` (lower-case names; of repeated ones the last), `body`.
pub fn document(status: u16, headers: &[(String, String)], body: &[u8]) -> String {
    let headers: serde_json::Map<String, Value> =
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), Value::String(clean(value)))).collect();
    format!("{{\"status\":{status},\"headers\":{},\"body\":{}}}", Value::Object(headers), body_json(body))
}

/// The body as JSON text: itself, a string, or null when it is empty.
pub fn body_json(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return "null".to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) if jsonb_can_hold(&value) => text.to_owned(),
        _ => quoted(&clean(text)),
    }
}

fn jsonb_can_hold(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => is_within_numeric(&number.to_string()),
        Value::String(text) => !text.contains('\0'),
        Value::Array(items) => items.iter().all(jsonb_can_hold),
        Value::Object(members) => members.iter().all(|(key, value)| !key.contains('\0') && jsonb_can_hold(value)),
    }
}

fn is_within_numeric(number: &str) -> bool {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    digits.len() <= MAX_DIGITS && exponent.parse::<i64>().is_ok_and(|exponent| exponent.abs() <= MAX_EXPONENT)
}

/// Text that PostgreSQL can store: NUL becomes U+FFFD.
pub fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Status and start of the body for the log, cut at `max_chars` characters.
pub fn summary(status: u16, body: &[u8], max_chars: usize) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(max_chars.saturating_mul(4))]);
    format!("{status} {}", clean(&text)).trim_end().chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &[u8]) -> String {
        body_json(text)
    }

    #[test]
    fn json_passes_through_byte_for_byte() {
        assert_eq!(body(br#"{"a": 1.10, "b": [1e3]}"#), r#"{"a": 1.10, "b": [1e3]}"#);
        assert_eq!(body(b"null"), "null");
    }

    #[test]
    fn an_empty_body_is_null_and_a_byte_order_mark_does_not_matter() {
        assert_eq!(body(b""), "null");
        assert_eq!(body(b" \n"), "null");
        assert_eq!(body("\u{feff}{\"a\":1}".as_bytes()), "{\"a\":1}");
    }

    #[test]
    fn what_jsonb_cannot_hold_becomes_text() {
        for hostile in [r#"{"a":"\u0000"}"#, r#"["\ud800"]"#, "1e999999", "OK", "{\"a\":", "[1] [2]"] {
            assert!(body(hostile.as_bytes()).starts_with('"'), "{hostile}");
        }
        let deep = format!("{}{}", "[".repeat(6_000), "]".repeat(6_000));
        assert!(body(deep.as_bytes()).starts_with('"'));
        assert_eq!(body(b"a\0b\xff"), "\"a\u{fffd}b\u{fffd}\"");
    }

    #[test]
    fn headers_are_lower_case_strings() {
        let headers = [("X-Id".to_owned(), "7\0".to_owned())];
        assert_eq!(document(200, &headers, b""), "{\"status\":200,\"headers\":{\"x-id\":\"7\u{fffd}\"},\"body\":null}");
    }

    #[test]
    fn a_summary_is_cut_between_characters() {
        assert_eq!(summary(200, "äöü".as_bytes(), 6), "200 äö");
        assert_eq!(summary(204, b"", 500), "204");
        assert_eq!(summary(200, b"abc", 0), "");
    }
}
