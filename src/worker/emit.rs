//! `emit`: a new event, stored with the step that brings it forth.

use super::draft::Draft;
use super::turn::Turn;
use crate::flow::context::quoted;
use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::perform::EmitAction;
use crate::flow::template::{render_json, render_text};
use crate::guc;
use crate::store::record::NewEvent;
use uuid::Uuid;

/// Longest event type, in bytes.
const LONGEST_TYPE: usize = 255;
/// Longest business key, in bytes.
const LONGEST_KEY: usize = 1_024;

impl Turn<'_> {
    /// The event that the action brings forth.
    pub fn emitted(
        &self,
        draft: &Draft,
        action: &Action,
        emit: &EmitAction,
        values: &[PathValue],
    ) -> Result<NewEvent, Failure> {
        let text = |text| render_text(text, values, &action.paths, |value, out| out.push_str(value));
        let json = |template| render_json(template, values, &action.paths);
        let event_type = text(&emit.event_type)?;
        let biz_key = emit.biz_key.as_ref().map(text).transpose()?;
        let attributes = emit.attributes.as_ref().map(json).transpose()?.unwrap_or_else(|| "{}".to_owned());
        let new = self.new_event(draft, event_type, biz_key, emit.payload.as_ref().map(json).transpose()?)?;
        Ok(NewEvent { attributes: with_trace(&attributes, draft.held.event.traceparent.as_deref())?, ..new })
    }

    /// An event caused by the draft's own; errors are permanent: `invalid_event`, `causation_depth`,
    /// `payload_too_large`.
    pub fn new_event(
        &self,
        draft: &Draft,
        event_type: String,
        biz_key: Option<String>,
        payload: Option<String>,
    ) -> Result<NewEvent, Failure> {
        let cause = &draft.held.event;
        let biz_key = biz_key.unwrap_or_else(|| cause.biz_key.clone());
        if event_type.is_empty() || event_type.len() > LONGEST_TYPE || biz_key.len() > LONGEST_KEY {
            let message = format!("an event type has 1 to {LONGEST_TYPE} bytes, a business key at most {LONGEST_KEY}");
            return Err(Failure::permanent("invalid_event", message));
        }
        if cause.depth >= guc::max_causation_depth() {
            let message =
                format!("events caused each other {} times: rea.max_causation_depth allows no more", cause.depth);
            return Err(Failure::permanent("causation_depth", message));
        }
        let most = guc::max_payload_bytes();
        if payload.as_ref().is_some_and(|payload| payload.len() > most) {
            let message = format!("the payload is larger than rea.max_payload_bytes ({most}) allows");
            return Err(Failure::permanent("payload_too_large", message));
        }
        Ok(NewEvent {
            uid: Uuid::now_v7(),
            event_type,
            biz_key,
            payload,
            attributes: "{}".to_owned(),
            correlation_id: cause.correlation_id.clone().or_else(|| Some(cause.id.clone())),
            causation_id: cause.id.clone(),
            depth: cause.depth + 1,
            is_routed: true,
        })
    }
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
