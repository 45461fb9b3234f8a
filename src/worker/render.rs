//! From an action and its values to the task of an attempt.

use super::draft::Draft;
use super::task::{LocalCall, LocalTask, Task};
use super::turn::Turn;
use crate::flow::definition::{Action, Body, HttpAction, Perform};
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::perform::{self, LocalAction};
use crate::flow::request::{self, Facts, Request};
use crate::flow::template::{render_json, render_text};
use crate::store::{StoreError, subtransaction, work};
use std::sync::Arc;

/// Version in the header User-Agent.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Turn<'_> {
    /// The task of the action's coming attempt.
    pub fn task(
        &self,
        draft: &Draft,
        action: &Action,
        values: &[PathValue],
    ) -> Result<Result<Task, Failure>, StoreError> {
        match &action.perform {
            Perform::Http(http) => {
                let payload = if http.body == Body::Payload { self.payload(draft)? } else { Ok("".into()) };
                Ok(payload.and_then(|payload| self.request(draft, action, http, values, payload)).map(Task::Http))
            }
            Perform::Local(local) => self.local(draft, action, local, values),
            other => Ok(Err(Failure::permanent("internal", format!("{other:?} has no attempts")))),
        }
    }

    /// The payload as text.
    fn payload(&self, draft: &Draft) -> Result<Result<Arc<str>, Failure>, StoreError> {
        let event = &draft.held.event;
        if !self.careful {
            return Ok(Ok(event.payload.text(event.uid)?.into()));
        }
        match subtransaction(|| event.payload.text(event.uid)) {
            Ok(text) => Ok(Ok(text.into())),
            Err(error) if error.is_transient() => Err(error),
            Err(error) => Ok(Err(Failure::permanent("payload", format!("could not print the payload: {error}")))),
        }
    }

    fn request(
        &self,
        draft: &Draft,
        action: &Action,
        http: &HttpAction,
        values: &[PathValue],
        payload: Arc<str>,
    ) -> Result<Request, Failure> {
        let attempt_no = draft.coming_attempt();
        let id = draft.held.acting_id();
        let event = &draft.held.event;
        let facts = Facts {
            instance_id: &id,
            event_id: &event.id,
            event_type: &event.event_type,
            correlation_id: event.correlation_id.as_deref(),
            causation_id: event.causation_id.as_deref(),
            traceparent: event.traceparent.as_deref(),
            span_id: fastrand::u64(1..),
            attempt_no,
            key_no: draft.held.key_no,
            action_name: &action.name,
            payload,
            version: VERSION,
        };
        let mut request = request::render(http, &action.paths, values, &facts)?;
        request.timeout_ms = self.timeout_ms(request.timeout_ms, draft);
        Ok(request)
    }

    /// Not beyond the instance's deadline.
    fn timeout_ms(&self, stated: u32, draft: &Draft) -> u32 {
        let left = draft.held.progress.deadline.and_then(|deadline| (deadline - self.now).to_std().ok());
        left.map_or(stated, |left| stated.min(left.as_millis().clamp(1, u128::from(u32::MAX)) as u32))
    }

    fn local(
        &self,
        draft: &Draft,
        action: &Action,
        local: &LocalAction,
        values: &[PathValue],
    ) -> Result<Result<Task, Failure>, StoreError> {
        let call = match &local.call {
            perform::LocalCall::Function { schema, name, args, .. } => {
                let args = match args.as_ref().map(|args| render_json(args, values, &action.paths)).transpose() {
                    Ok(args) => args,
                    Err(failure) => return Ok(Err(failure)),
                };
                let context = if args.is_some() { None } else { Some(self.whole_context(draft)?) };
                LocalCall::Function { schema: schema.clone(), name: name.clone(), args, context }
            }
            perform::LocalCall::Message { .. } => match self.message(draft, action, &local.call, values)? {
                Ok(call) => call,
                Err(failure) => return Ok(Err(failure)),
            },
        };
        let summary = summary(&call);
        let default = self.settings.action_timeout.as_millis().clamp(1, u128::from(u32::MAX)) as u32;
        let timeout_ms = self.timeout_ms(local.timeout_ms.unwrap_or(default), draft);
        let role = draft.held.definition.defined_by.to_string();
        Ok(Ok(Task::Local(LocalTask { call, role, timeout_ms, summary })))
    }

    /// The context document in full, as a local action or a script without arguments sees it.
    fn whole_context(&self, draft: &Draft) -> Result<String, StoreError> {
        work::context(draft.held.event.uid, &draft.held.context(true, None))
    }

    fn message(
        &self,
        draft: &Draft,
        action: &Action,
        call: &perform::LocalCall,
        values: &[PathValue],
    ) -> Result<Result<LocalCall, Failure>, StoreError> {
        let perform::LocalCall::Message { transport, topic, kind, message_type, payload } = call else {
            return Ok(Err(Failure::permanent("internal", "not a message")));
        };
        let text = |text| render_text(text, values, &action.paths, |value, out| out.push_str(value));
        let rendered = text(topic).and_then(|topic| {
            let message_type = message_type.as_ref().map(text).transpose()?;
            let payload = payload.as_ref().map(|payload| render_json(payload, values, &action.paths)).transpose()?;
            Ok((topic, message_type, payload))
        });
        let (topic, message_type, payload) = match rendered {
            Ok(rendered) => rendered,
            Err(failure) => return Ok(Err(failure)),
        };
        let payload = match payload {
            Some(payload) => payload,
            None => match self.payload(draft)? {
                Ok(payload) => payload.to_string(),
                Err(failure) => return Ok(Err(failure)),
            },
        };
        let event = &draft.held.event;
        let word = match kind {
            perform::MessageKind::Command => "command",
            perform::MessageKind::Event => "event",
        };
        let id = request::idempotency_key(&draft.held.acting_id(), &action.name, draft.held.key_no);
        // Built by hand around the payload, which passes through untouched.
        let facts = serde_json::json!({
            "messageId": id,
            "operationId": event.id,
            "eventId": event.id,
            "correlationId": event.correlation_id,
            "causationId": event.causation_id,
            "occurredAt": draft.held.progress.first_try.to_rfc3339(),
            "kind": word,
            "type": message_type.unwrap_or_else(|| event.event_type.clone()),
        })
        .to_string();
        let envelope = format!("{},\"payload\":{payload}}}", facts.trim_end_matches('}'));
        Ok(Ok(LocalCall::Message { transport: *transport, topic, kind: *kind, envelope }))
    }
}

fn summary(call: &LocalCall) -> String {
    match call {
        LocalCall::Function { schema, name, args, .. } => {
            format!("{schema}.{name}({})", args.as_deref().map_or("context", |args| args.trim_matches(['[', ']'])))
        }
        LocalCall::Message { topic, envelope, .. } => format!("{topic} {envelope}"),
    }
}
