//! Reading the `config` of an `http` action.

use serde_json::Value;

use crate::flow::address::Address;
use crate::flow::definition::{Body, Format, HttpAction};
use crate::flow::outcome::StatusPattern;
use crate::flow::parse::action::FUNCTION_HINT;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::policy::status_pattern;
use crate::flow::parse::templates::Templates;
use crate::flow::problem::{Problem, did_you_mean, pointer_to};
use crate::flow::request::header_fault;
use crate::flow::template::Text;

/// Keys of `config`.
pub(super) const KEYS: [&str; 12] = [
    "method",
    "url",
    "headers",
    "query",
    "body",
    "format",
    "timeoutMs",
    "success",
    "idempotent",
    "auth",
    "sign",
    "idempotencyKeyHeader",
];

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const DEFAULT_KEY_HEADER: &str = "Idempotency-Key";

/// Headers that rea or the client sets: what names the request, and what RFC 9110 and 9112 use to frame it.
const RESERVED: [&str; 12] = [
    "traceparent",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "user-agent",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "expect",
];

const RESERVED_PREFIXES: [&str; 2] = ["x-rea-", "webhook-"];

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<HttpAction> {
    config.refuse_later(&["auth", "sign"], problems);
    let method = method(config, problems);
    let key_header = key_header(config, problems);
    let url = url(config, templates, problems);
    let headers = headers(config, &key_header, templates, problems);
    let query = pairs(config, "query", templates, problems);
    let format = format(config, problems);
    let body = body(config, &method, format, templates, problems);
    let timeout_ms = timeout(config, problems);
    let success = success(config, problems);
    let idempotent = config.boolean("idempotent", problems).unwrap_or(true);
    Some(HttpAction {
        method,
        url: url?,
        headers,
        query,
        body,
        format,
        timeout_ms: timeout_ms?,
        success,
        idempotent,
        idempotency_key_header: key_header,
    })
}

/// The key of the time for one attempt.
pub(super) const TIMEOUT_HINT: &str = "an attempt's timeout is \"timeoutMs\", in milliseconds";

/// What was meant by a key that does not exist.
pub(super) fn advice(key: &str) -> Option<String> {
    match key {
        "beanClass" => Some(FUNCTION_HINT.to_owned()),
        "timeout" | "timeoutSeconds" => Some(TIMEOUT_HINT.to_owned()),
        "payload" | "data" | "json" => Some("what is sent is \"body\"".to_owned()),
        _ => None,
    }
}

fn method(config: &Fields, problems: &mut Vec<Problem>) -> String {
    let stated = config.text("method", problems).unwrap_or("POST");
    let method = stated.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let message = format!("\"method\" is one of {}", METHODS.join(", "));
        let hint = did_you_mean(stated, METHODS);
        problems.push(Problem::error(config.pointer("method"), "invalid_method", message).maybe_hint(hint));
    }
    method
}

fn timeout(config: &Fields, problems: &mut Vec<Problem>) -> Option<u32> {
    if config.get("timeoutMs").is_none() {
        problems.push(
            config.missing("timeoutMs").hint("every http action states the time for one attempt, everything included"),
        );
    }
    config.milliseconds("timeoutMs", problems)
}

fn url(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<Address> {
    config.required("url", problems)?;
    config.text("url", problems)?;
    let pointer = config.pointer("url");
    let text = templates.text(config.get("url")?, &pointer, problems)?;
    Address::compile(text)
        .map_err(|error| {
            let problem = Problem::error(pointer, "invalid_url", error.to_string());
            problems.push(problem.maybe_hint(error.hint().map(str::to_owned)));
        })
        .ok()
}

fn key_header(config: &Fields, problems: &mut Vec<Problem>) -> String {
    let Some(name) = config.text("idempotencyKeyHeader", problems) else { return DEFAULT_KEY_HEADER.to_owned() };
    let pointer = config.pointer("idempotencyKeyHeader");
    if !is_token(name) {
        problems.push(bad_header_name(name, pointer));
    } else if is_reserved(name) || name.eq_ignore_ascii_case("content-type") {
        let message = format!("header \"{name}\" cannot carry the idempotency key");
        problems.push(Problem::error(pointer, "reserved_header", message));
    }
    name.to_owned()
}

fn headers(
    config: &Fields,
    key_header: &str,
    templates: &mut Templates,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Text)> {
    let headers = pairs(config, "headers", templates, problems);
    let place = config.pointer("headers");
    for (position, (name, text)) in headers.iter().enumerate() {
        let pointer = pointer_to(&place, name);
        let twice = headers[..position].iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        if !is_token(name) {
            problems.push(bad_header_name(name, pointer));
        } else if is_reserved(name) || name.eq_ignore_ascii_case(key_header) {
            let message = format!("header \"{name}\" is set by rea and cannot be stated");
            problems.push(Problem::error(pointer, "reserved_header", message));
        } else if twice {
            problems.push(Problem::error(pointer, "duplicate_name", format!("header \"{name}\" is stated twice")));
        } else if let Some(fault) = text.fixed_parts().find_map(header_fault) {
            let message = format!("the value of header \"{name}\" {fault}");
            problems.push(Problem::error(pointer, "invalid_header", message));
        }
    }
    headers
}

fn bad_header_name(name: &str, pointer: String) -> Problem {
    let message = format!("\"{}\" is not a header name", name.escape_debug());
    Problem::error(pointer, "invalid_header", message)
        .hint("letters, digits and - are always right (RFC 9110 section 5.1)")
}

/// RFC 9110 section 5.6.2.
fn is_token(name: &str) -> bool {
    let symbol = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= 255 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || symbol(byte))
}

fn is_reserved(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    RESERVED.contains(&lower.as_str()) || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
}

fn pairs(config: &Fields, key: &str, templates: &mut Templates, problems: &mut Vec<Problem>) -> Vec<(String, Text)> {
    let Some(fields) = config.fields(key, problems) else { return Vec::new() };
    templates.pairs(&fields, problems)
}

fn format(config: &Fields, problems: &mut Vec<Problem>) -> Format {
    let pointer = config.pointer("format");
    match config.text("format", problems) {
        None | Some("json") => Format::Json,
        Some("form") => Format::Form,
        Some("text") => Format::Text,
        Some("cloudevents") => {
            problems.push(Problem::error(pointer, "not_available", "format \"cloudevents\" is not available yet"));
            Format::Json
        }
        Some(other) => {
            let hint = did_you_mean(other, ["json", "form", "text"]);
            let message = "\"format\" is \"json\", \"form\" or \"text\"";
            problems.push(Problem::error(pointer, "invalid_value", message).maybe_hint(hint));
            Format::Json
        }
    }
}

fn body(config: &Fields, method: &str, format: Format, templates: &mut Templates, problems: &mut Vec<Problem>) -> Body {
    let pointer = config.pointer("body");
    match (config.get("body"), format) {
        (Some(Value::Null), _) => Body::Empty,
        (None, _) if matches!(method, "GET" | "HEAD" | "DELETE") => Body::Empty,
        (None, Format::Json) => Body::Payload,
        (None, Format::Form | Format::Text) => {
            problems.push(config.missing("body").hint("only format \"json\" has a default, the payload"));
            Body::Empty
        }
        (Some(value), Format::Json) => Body::Json(templates.json(value, &pointer, problems)),
        (Some(_), Format::Form) => Body::Form(pairs(config, "body", templates, problems)),
        (Some(value), Format::Text) => templates.text(value, &pointer, problems).map_or(Body::Empty, Body::Text),
    }
}

fn success(config: &Fields, problems: &mut Vec<Problem>) -> Vec<StatusPattern> {
    let Some(list) = config.list("success", problems) else { return vec![StatusPattern::Class(2)] };
    let patterns: Option<Vec<StatusPattern>> = list.iter().map(status_pattern).collect();
    patterns.filter(|patterns| !patterns.is_empty()).unwrap_or_else(|| {
        let message = "\"success\" lists at least one status, each like 200 or \"2xx\"";
        problems.push(Problem::error(config.pointer("success"), "invalid_value", message));
        Vec::new()
    })
}
