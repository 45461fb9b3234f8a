//! From a local action and its values to the call that is made in the database.
//!
//! Pure, like the rendering of requests: a retry makes the same call with the same arguments and the same message id.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::flow::context::quoted;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::perform::{LocalAction, LocalCall, MessageKind, Transport};
use crate::flow::request::{Facts, idempotency_key};
use crate::flow::template::{Text, render_json, render_text};

/// The longest topic, in bytes: names in PostgreSQL have at most 63.
const LONGEST_TOPIC: usize = 63;

/// The longest name of a queue of pgmq, in bytes.
const LONGEST_QUEUE: usize = 47;

/// A call, ready to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedCall {
    /// An SQL function.
    Function {
        /// Its schema, without quotes.
        schema: String,
        /// Its name, without quotes.
        name: String,
        /// Its arguments, the text of a JSON array; None = one, `context`.
        args: Option<String>,
        /// The whole context as JSON text, when `args` is None.
        context: Option<String>,
    },
    /// A message.
    Message {
        /// What carries it.
        transport: Transport,
        /// Channel, prefix or queue; 1–63 bytes.
        topic: String,
        /// Command or event.
        kind: MessageKind,
        /// The envelope, JSON text.
        envelope: String,
    },
}

/// What rendering a call needs from PostgreSQL besides the values of the action's paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// The whole context document.
    Context,
    /// The time of the event, a JSON string.
    EventTime,
    /// The time of the event as above, and its payload in the facts.
    EventTimeAndPayload,
}

/// What [`render`] will need for this action.
pub fn need(local: &LocalAction) -> Need {
    match &local.call {
        LocalCall::Function { args: None, .. } => Need::Context,
        LocalCall::Function { args: Some(_), .. } => Need::Nothing,
        LocalCall::Message { payload: None, .. } => Need::EventTimeAndPayload,
        LocalCall::Message { payload: Some(_), .. } => Need::EventTime,
    }
}

/// Renders a call. `values` are those of the action's `paths`, in order; `extra` is what [`need`]
/// asked for.
///
/// Errors are permanent: `missing_value`, `many_values`, `expression`, `invalid_topic`.
pub fn render(
    local: &LocalAction,
    paths: &[Expression],
    values: &[PathValue],
    extra: Option<&str>,
    facts: &Facts,
) -> Result<RenderedCall, Failure> {
    match &local.call {
        LocalCall::Function { schema, name, args, .. } => {
            let args = args.as_ref().map(|args| render_json(args, values, paths)).transpose()?;
            let context = if args.is_none() { extra.map(str::to_owned) } else { None };
            Ok(RenderedCall::Function { schema: schema.clone(), name: name.clone(), args, context })
        }
        LocalCall::Message { transport, topic, kind, message_type, payload } => {
            let text = |text: &Text| render_text(text, values, paths, |value, out| out.push_str(value));
            let topic = checked_topic(text(topic)?, *transport)?;
            let message_type = message_type.as_ref().map(text).transpose()?;
            let payload = payload.as_ref().map(|payload| render_json(payload, values, paths)).transpose()?;
            let envelope = envelope(
                facts,
                *kind,
                message_type.as_deref().unwrap_or(facts.event_type),
                extra,
                payload.as_deref().unwrap_or(&facts.payload),
            );
            Ok(RenderedCall::Message { transport: *transport, topic, kind: *kind, envelope })
        }
    }
}

fn checked_topic(topic: String, transport: Transport) -> Result<String, Failure> {
    let fault = match topic.len() {
        0 => "is empty",
        length if length > LONGEST_TOPIC => "is longer than 63 bytes",
        length if transport == Transport::Pgmq && length > LONGEST_QUEUE => {
            "is longer than 47 bytes, too long for pgmq"
        }
        _ if topic.contains('\0') => "holds a NUL",
        _ => return Ok(topic),
    };
    Err(Failure::permanent("invalid_topic", format!("the topic {fault}")))
}

/// The envelope of a message (requirements B9, B10).
///
/// `messageId` is the action's idempotency key, so it stays the same over retries; `operationId` is the event's id, by
/// which `rea.operation` finds it. `causationId` names what caused the message: the event.
fn envelope(facts: &Facts, kind: MessageKind, message_type: &str, occurred_at: Option<&str>, payload: &str) -> String {
    let id = idempotency_key(facts.instance_id, facts.action_name, facts.key_no);
    format!(
        "{{\"messageId\":{},\"operationId\":{},\"eventId\":{},\"correlationId\":{},\"causationId\":{},\
         \"occurredAt\":{},\"kind\":{},\"type\":{},\"payload\":{payload}}}",
        quoted(&id),
        quoted(facts.event_id),
        quoted(facts.event_id),
        quoted(facts.correlation_id.unwrap_or(facts.event_id)),
        quoted(facts.event_id),
        occurred_at.unwrap_or("null"),
        quoted(kind.as_str()),
        quoted(message_type),
    )
}

/// The arguments of a call one by one, as JSON text; None when the text is not an array.
pub fn arguments(array: &str) -> Option<Vec<&str>> {
    let values: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    Some(values.into_iter().map(RawValue::get).collect())
}

/// The call in one line for the log, cut at `max_chars` characters; a payload is left out.
pub fn summary(call: &RenderedCall, max_chars: usize) -> String {
    let text = match call {
        RenderedCall::Function { schema, name, args, .. } => {
            format!("{schema}.{name}({})", args.as_deref().unwrap_or("context"))
        }
        RenderedCall::Message { transport, topic, kind, envelope } => {
            let id =
                serde_json::from_str::<Value>(envelope).ok().and_then(|v| Some(v["messageId"].as_str()?.to_owned()));
            format!("{} {topic} {} {}", transport.as_str(), kind.as_str(), id.unwrap_or_default())
        }
    };
    text.chars().take(max_chars).collect()
}
