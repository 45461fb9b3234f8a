//! The event that an action brings forth, and the limits on it.

use crate::flow::context::quoted;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::perform::EmitAction;
use crate::flow::template::{render_json, render_text};

/// Longest event type, in bytes.
const LONGEST_TYPE: usize = 255;
/// Longest business key, in bytes.
const LONGEST_KEY: usize = 1_024;

/// A new event, its templates rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emitted {
    /// What happened.
    pub event_type: String,
    /// Business key.
    pub biz_key: String,
    /// Body, JSON text; None = that of the event that causes it.
    pub payload: Option<String>,
    /// Attributes, JSON text of an object.
    pub attributes: String,
}

/// Bounds that the server sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most events that cause each other.
    pub max_causation_depth: i32,
    /// Largest body, in bytes.
    pub max_payload_bytes: usize,
}

/// The event that causes another.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    /// Its business key.
    pub biz_key: &'a str,
    /// Its trace.
    pub traceparent: Option<&'a str>,
    /// Instances between it and an event that an application fired.
    pub depth: i32,
}

/// Renders the event. `values` are those of the action's `paths`.
///
/// Errors are permanent: those of the templates and of [`checked`].
pub fn render(
    emit: &EmitAction,
    values: &[PathValue],
    paths: &[Expression],
    cause: &Cause<'_>,
    bounds: &Bounds,
) -> Result<Emitted, Failure> {
    let text = |text| render_text(text, values, paths, |value, out| out.push_str(value));
    let json = |template| render_json(template, values, paths);
    let event_type = text(&emit.event_type)?;
    let biz_key = emit.biz_key.as_ref().map(text).transpose()?;
    let attributes = emit.attributes.as_ref().map(json).transpose()?.unwrap_or_else(|| "{}".to_owned());
    let event = checked(event_type, biz_key, emit.payload.as_ref().map(json).transpose()?, cause, bounds)?;
    Ok(Emitted { attributes: with_trace(&attributes, cause.traceparent)?, ..event })
}

/// An event without attributes; without a business key it has that of its cause.
///
/// Errors are permanent: `invalid_event`, `causation_depth`, `payload_too_large`.
pub fn checked(
    event_type: String,
    biz_key: Option<String>,
    payload: Option<String>,
    cause: &Cause<'_>,
    bounds: &Bounds,
) -> Result<Emitted, Failure> {
    let biz_key = biz_key.unwrap_or_else(|| cause.biz_key.to_owned());
    if event_type.is_empty() || event_type.len() > LONGEST_TYPE || biz_key.len() > LONGEST_KEY {
        let message = format!("an event type has 1 to {LONGEST_TYPE} bytes, a business key at most {LONGEST_KEY}");
        return Err(Failure::permanent("invalid_event", message));
    }
    if cause.depth >= bounds.max_causation_depth {
        let message = format!("events caused each other {} times: rea.max_causation_depth allows no more", cause.depth);
        return Err(Failure::permanent("causation_depth", message));
    }
    let most = bounds.max_payload_bytes;
    if payload.as_ref().is_some_and(|payload| payload.len() > most) {
        let message = format!("the payload is larger than rea.max_payload_bytes ({most}) allows");
        return Err(Failure::permanent("payload_too_large", message));
    }
    Ok(Emitted { event_type, biz_key, payload, attributes: "{}".to_owned() })
}

/// The attributes with the trace of the causing event, unless they name one.
fn with_trace(attributes: &str, traceparent: Option<&str>) -> Result<String, Failure> {
    let open = attributes.trim();
    let Some(inner) = open.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return Err(Failure::permanent("invalid_event", "attributes must be an object"));
    };
    let Some(traceparent) = traceparent.filter(|_| !inner.contains("\"traceparent\"")) else {
        return Ok(attributes.to_owned());
    };
    let comma = if inner.trim().is_empty() { "" } else { "," };
    Ok(format!("{{{inner}{comma}\"traceparent\":{}}}", quoted(traceparent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { max_causation_depth: 2, max_payload_bytes: 4 };

    fn code(event_type: &str, payload: Option<&str>, depth: i32) -> String {
        let cause = Cause { biz_key: "k", traceparent: None, depth };
        let event = checked(event_type.to_owned(), None, payload.map(str::to_owned), &cause, &BOUNDS);
        event.map_or_else(|failure| failure.code, |event| event.biz_key)
    }

    #[test]
    fn an_event_inherits_the_key_and_keeps_to_the_limits() {
        assert_eq!(code("a", Some("1234"), 1), "k");
        assert_eq!(code("", None, 0), "invalid_event");
        assert_eq!(code("a", None, 2), "causation_depth");
        assert_eq!(code("a", Some("12345"), 0), "payload_too_large");
    }

    #[test]
    fn the_trace_goes_on_unless_the_attributes_name_one() {
        assert_eq!(with_trace("{}", Some("t")).as_deref(), Ok(r#"{"traceparent":"t"}"#));
        assert_eq!(with_trace(r#"{"a":1}"#, Some("t")).as_deref(), Ok(r#"{"a":1,"traceparent":"t"}"#));
        assert_eq!(with_trace(r#"{"traceparent":"u"}"#, Some("t")).as_deref(), Ok(r#"{"traceparent":"u"}"#));
        assert!(with_trace("1", None).is_err());
    }
}
