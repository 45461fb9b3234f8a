//! From an action and its values to the request that is sent.
//!
//! Rendering is a pure function of the workflow version, the event, earlier outputs and the attempt's number, so a
//! retry sends the same bytes and no request needs to be stored. Between attempts only `X-Rea-Req-Id` and the span id
//! differ.

use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::form_urlencoded;

use crate::flow::definition::{Body, HttpAction};
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::template::{Text, render_json, render_text};

/// The longest header value that is sent, in bytes.
pub const LONGEST_HEADER: usize = 8_192;

/// What an id needs to be a header value: CloudEvents 1.0, HTTP protocol binding, section 3.1.3.2. The percent sign is
/// encoded too, so the receiver can decode every value.
const NOT_IN_ID: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// What the engine knows about the attempt besides the definition.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// Id of the instance, a UUID as text.
    pub instance_id: &'a str,
    /// The event's id as its source gave it.
    pub event_id: &'a str,
    /// The event's type.
    pub event_type: &'a str,
    /// What the event belongs to.
    pub correlation_id: Option<&'a str>,
    /// What caused the event.
    pub causation_id: Option<&'a str>,
    /// The event's `traceparent` (W3C Trace Context), as received.
    pub traceparent: Option<&'a str>,
    /// Random id of this attempt's span; 0 is not allowed in a trace and becomes 1.
    pub span_id: u64,
    /// Number of the attempt, from 1, counted through.
    pub attempt_no: u32,
    /// Number of the instance's idempotency keys, from 1.
    pub key_no: u32,
    /// Name of the action.
    pub action_name: &'a str,
    /// The event's payload as PostgreSQL prints it.
    pub payload: Arc<str>,
    /// Version of rea.
    pub version: &'a str,
}

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Upper-cased method.
    pub method: String,
    /// Absolute, normalised URL.
    pub url: String,
    /// Lane of the URL: `scheme://host:port`.
    pub origin: String,
    /// Headers in the order sent; every value is visible ASCII, space or tab.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Option<Arc<str>>,
    /// Time for the attempt, in milliseconds.
    pub timeout_ms: u32,
}

/// The key that stays the same over all attempts of an action of an instance.
///
/// `key_no` is 1 but for instances that were retried with fresh keys: then `~2`, `~3` … follow.
pub fn idempotency_key(instance_id: &str, action_name: &str, key_no: u32) -> String {
    match key_no {
        0 | 1 => format!("{instance_id}_{action_name}"),
        fresh => format!("{instance_id}_{action_name}~{fresh}"),
    }
}

/// The id of one attempt; never repeats (requirement A24).
pub fn request_id(instance_id: &str, action_name: &str, attempt_no: u32) -> String {
    format!("{instance_id}_{action_name}_{attempt_no}")
}

/// Renders the request of an action. `values` are those of the action's `paths`, in order.
///
/// Errors are permanent: `missing_value`, `many_values`, `expression`, `invalid_url`, `invalid_header`.
pub fn render(
    http: &HttpAction,
    paths: &[Expression],
    values: &[PathValue],
    facts: &Facts,
) -> Result<Request, Failure> {
    let target = http.url.render(&http.query, values, paths)?;
    let body = body(http, values, paths, facts)?;
    let mut headers = stated_headers(http, values, paths)?;
    if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type".to_owned(), http.format.content_type().to_owned()));
    }
    headers.extend(own_headers(http, facts));
    Ok(Request {
        method: http.method.clone(),
        url: target.url,
        origin: target.origin,
        headers,
        body,
        timeout_ms: http.timeout_ms,
    })
}

fn body(
    http: &HttpAction,
    values: &[PathValue],
    paths: &[Expression],
    facts: &Facts,
) -> Result<Option<Arc<str>>, Failure> {
    Ok(match &http.body {
        Body::Empty => None,
        Body::Payload => Some(facts.payload.clone()),
        Body::Json(template) => Some(render_json(template, values, paths)?.into()),
        Body::Text(text) => Some(plain_text(text, values, paths)?.into()),
        Body::Form(pairs) => Some(form(pairs, values, paths)?.into()),
    })
}

fn form(pairs: &[(String, Text)], values: &[PathValue], paths: &[Expression]) -> Result<String, Failure> {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    for (name, text) in pairs {
        encoded.append_pair(name, &plain_text(text, values, paths)?);
    }
    Ok(encoded.finish())
}

fn plain_text(text: &Text, values: &[PathValue], paths: &[Expression]) -> Result<String, Failure> {
    render_text(text, values, paths, |value, out| out.push_str(value))
}

fn stated_headers(
    http: &HttpAction,
    values: &[PathValue],
    paths: &[Expression],
) -> Result<Vec<(String, String)>, Failure> {
    let rendered = |(name, text): &(String, Text)| {
        let value = plain_text(text, values, paths)?;
        match header_fault(&value) {
            Some(fault) => Err(Failure::permanent("invalid_header", format!("the value of header \"{name}\" {fault}"))),
            None => Ok((name.clone(), value)),
        }
    };
    http.headers.iter().map(rendered).collect()
}

/// What keeps `value` from being a header value, if anything does. Stricter than RFC 9110 section 5.5, which still lets
/// receivers see bytes above 127 that many refuse.
pub fn header_fault(value: &str) -> Option<&'static str> {
    let allowed = |c: char| c == '\t' || c == ' ' || c.is_ascii_graphic();
    if value.len() > LONGEST_HEADER {
        return Some("is longer than 8192 bytes");
    }
    (!value.chars().all(allowed)).then_some("holds a line break or another character that is not visible ASCII")
}

/// The headers that rea adds to every request.
fn own_headers(http: &HttpAction, facts: &Facts) -> Vec<(String, String)> {
    let key = idempotency_key(facts.instance_id, facts.action_name, facts.key_no);
    let request_id = request_id(facts.instance_id, facts.action_name, facts.attempt_no);
    let mut headers = vec![(http.idempotency_key_header.clone(), key), ("X-Rea-Req-Id".to_owned(), request_id)];
    headers.extend(origin_headers(facts));
    headers
}

/// The headers that say where a request comes from; a script's requests have them too.
pub fn origin_headers(facts: &Facts) -> Vec<(String, String)> {
    let optional = [
        ("X-Rea-Correlation-Id", facts.correlation_id.map(header_safe)),
        ("X-Rea-Causation-Id", facts.causation_id.map(header_safe)),
        ("traceparent", facts.traceparent.and_then(|parent| child_trace(parent, facts.span_id))),
    ];
    let mut headers = vec![
        ("X-Rea-Instance-Id".to_owned(), facts.instance_id.to_owned()),
        ("X-Rea-Event-Id".to_owned(), header_safe(facts.event_id)),
        ("X-Rea-Event-Type".to_owned(), header_safe(facts.event_type)),
        ("User-Agent".to_owned(), format!("rea/{}", facts.version)),
    ];
    headers.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    headers
}

fn header_safe(id: &str) -> String {
    utf8_percent_encode(id, NOT_IN_ID).to_string()
}

/// A `traceparent` with the trace id and flags of `parent` and a new span (W3C Trace Context, section 3.2); None when
/// `parent` is not valid. A version above 00 is answered with 00, as the standard asks.
fn child_trace(parent: &str, span_id: u64) -> Option<String> {
    let mut fields = parent.trim().split('-');
    let version = lower_hex(fields.next()?, 2).filter(|version| *version != "ff")?;
    let trace_id = lower_hex(fields.next()?, 32).filter(|id| id.bytes().any(|digit| digit != b'0'))?;
    lower_hex(fields.next()?, 16).filter(|id| id.bytes().any(|digit| digit != b'0'))?;
    let flags = lower_hex(fields.next()?, 2)?;
    if version == "00" && fields.next().is_some() {
        return None;
    }
    Some(format!("00-{trace_id}-{:016x}-{flags}", span_id.max(1)))
}

fn lower_hex(text: &str, length: usize) -> Option<&str> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == length && text.bytes().all(hex)).then_some(text)
}

/// The request in one line for the log, cut at `max_chars` characters (requirement A21); never a header.
pub fn summary(request: &Request, max_chars: usize) -> String {
    let body = request.body.as_deref().unwrap_or_default();
    let gap = if body.is_empty() { "" } else { " " };
    [request.method.as_str(), " ", request.url.as_str(), gap, body]
        .into_iter()
        .flat_map(str::chars)
        .take(max_chars)
        .collect()
}
