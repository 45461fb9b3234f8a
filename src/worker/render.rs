//! From an action and its values to the task of an attempt.

use super::draft::Draft;
use super::task::{LocalTask, Task};
use super::turn::Turn;
use crate::flow::call::{self, Need};
use crate::flow::definition::{Action, Body, HttpAction, Perform};
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::perform::LocalAction;
use crate::flow::request::{self, Facts, Request};
use crate::store::work::{self, Question};
use crate::store::{StoreError, subtransaction};
use std::sync::Arc;

/// Version in the header User-Agent.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Turn<'_> {
    /// The task of the action's coming attempt.
    pub fn task(
        &mut self,
        draft: &Draft,
        action: &Action,
        values: &[PathValue],
    ) -> Result<Result<Task, Failure>, StoreError> {
        match &action.perform {
            Perform::Http(http) => {
                let payload = if http.body == Body::Payload { self.payload(draft)? } else { Ok("".into()) };
                Ok(payload.and_then(|payload| self.request(draft, action, http, values, payload)).map(Task::Http))
            }
            Perform::Lua(lua) => {
                Ok(self.script(draft, action, lua, values)?.map(|script| Task::Script(Box::new(script))))
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
        let id = draft.held.acting_id();
        let facts = facts(draft, action, &id, payload);
        let mut request = request::render(http, &action.paths, values, &facts)?;
        request.timeout_ms = self.timeout_ms(request.timeout_ms, draft);
        Ok(request)
    }

    /// Not beyond the instance's deadline.
    pub fn timeout_ms(&self, stated: u32, draft: &Draft) -> u32 {
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
        let need = call::need(local);
        let extra = match need {
            Need::Nothing => None,
            Need::Context => Some(self.whole_context(draft)?),
            Need::EventTime | Need::EventTimeAndPayload => Some(self.event_time(draft)?),
        };
        let payload = if need == Need::EventTimeAndPayload { self.payload(draft)? } else { Ok("".into()) };
        let rendered = extra.transpose().and_then(|extra| {
            let id = draft.held.acting_id();
            let facts = facts(draft, action, &id, payload?);
            call::render(local, &action.paths, values, extra.as_deref(), &facts)
        });
        let default = self.settings.action_timeout.as_millis().clamp(1, u128::from(u32::MAX)) as u32;
        let timeout_ms = self.timeout_ms(local.timeout_ms.unwrap_or(default), draft);
        let role = draft.held.definition.defined_by.to_string();
        Ok(rendered.map(|call| Task::Local(LocalTask { call, role, timeout_ms })))
    }

    /// The context document in full, as a local action or a script without arguments sees it.
    pub fn whole_context(&self, draft: &Draft) -> Result<Result<String, Failure>, StoreError> {
        let load = || work::context(draft.held.event.uid, &draft.held.context(true, None));
        if !self.careful {
            return load().map(Ok);
        }
        match subtransaction(load) {
            Err(error) if !error.is_transient() => {
                Ok(Err(Failure::permanent("context", format!("could not build the context: {error}"))))
            }
            loaded => loaded.map(Ok),
        }
    }

    /// The time of the event as JSON text.
    fn event_time(&self, draft: &Draft) -> Result<Result<String, Failure>, StoreError> {
        let event = draft.held.event.uid;
        let question = Question { event, extra: "{}".to_owned(), paths: vec![("$.event.time", false)] };
        let values = self.evaluate(&[question])?.pop().unwrap_or(Ok(Vec::new()));
        Ok(values.map(|values| values.into_iter().find_map(|value| value.text).unwrap_or_else(|| "null".to_owned())))
    }
}

/// What the engine knows about the draft's coming attempt, made by the instance of that id.
pub fn facts<'a>(draft: &'a Draft, action: &'a Action, id: &'a str, payload: Arc<str>) -> Facts<'a> {
    let event = &draft.held.event;
    Facts {
        instance_id: id,
        event_id: &event.id,
        event_type: &event.event_type,
        correlation_id: event.correlation_id.as_deref(),
        causation_id: event.causation_id.as_deref(),
        traceparent: event.traceparent.as_deref(),
        span_id: fastrand::u64(1..),
        attempt_no: draft.coming_attempt(),
        key_no: draft.held.key_no,
        action_name: &action.name,
        payload,
        version: VERSION,
    }
}
