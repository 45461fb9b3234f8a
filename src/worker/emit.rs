//! `emit`: a new event, stored with the step that brings it forth.

use super::draft::Draft;
use super::turn::Turn;
use crate::flow::definition::Action;
use crate::flow::emit::{self, Bounds, Cause, Emitted};
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::perform::EmitAction;
use crate::guc;
use crate::store::record::NewEvent;
use uuid::Uuid;

impl Turn<'_> {
    /// The event that the action brings forth.
    pub fn emitted(
        &self,
        draft: &Draft,
        action: &Action,
        emit: &EmitAction,
        values: &[PathValue],
    ) -> Result<NewEvent, Failure> {
        let event = emit::render(emit, values, &action.paths, &cause(draft), &bounds())?;
        Ok(new_event(draft, event))
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
        let event = emit::checked(event_type, biz_key, payload, &cause(draft), &bounds())?;
        Ok(new_event(draft, event))
    }
}

/// The bounds as the server sets them now.
pub fn bounds() -> Bounds {
    Bounds { max_causation_depth: guc::max_causation_depth(), max_payload_bytes: guc::max_payload_bytes() }
}

fn cause(draft: &Draft) -> Cause<'_> {
    let event = &draft.held.event;
    Cause { biz_key: &event.biz_key, traceparent: event.traceparent.as_deref(), depth: event.depth }
}

fn new_event(draft: &Draft, event: Emitted) -> NewEvent {
    let cause = &draft.held.event;
    NewEvent {
        uid: Uuid::now_v7(),
        event_type: event.event_type,
        biz_key: event.biz_key,
        payload: event.payload,
        attributes: event.attributes,
        correlation_id: cause.correlation_id.clone().or_else(|| Some(cause.id.clone())),
        causation_id: cause.id.clone(),
        depth: cause.depth + 1,
        is_routed: true,
    }
}
