//! Events in a simulation: as documents, and as what waits ask for.

use std::rc::Rc;

use chrono::{DateTime, Utc};

use super::Database;
use crate::flow::context::quoted;
use crate::flow::emit::Emitted;
use crate::flow::expression::Expression;
use crate::flow::parse::mocks::GivenEvent;
use crate::flow::wait::Wanted;

type Time = DateTime<Utc>;

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// What happened.
    pub event_type: String,
    /// Business key.
    pub biz_key: String,
    /// Business case.
    pub correlation_id: Option<String>,
    /// Event that caused it.
    pub causation_id: Option<String>,
    /// W3C trace context.
    pub traceparent: Option<String>,
    /// Instances between it and an event that an application fired.
    pub depth: i32,
    /// Body as PostgreSQL prints it.
    pub payload: Rc<str>,
    /// When it came.
    pub at: Time,
    /// Member `event` of the context.
    member: String,
}

impl Event {
    /// An event as it was given, coming at `at`.
    pub fn given<D: Database>(
        database: &mut D,
        given: &GivenEvent,
        id: String,
        at: Time,
    ) -> Result<Rc<Event>, D::Error> {
        let time = match &given.occurred_at {
            Some(text) => database.time(text)?.1,
            None => database.time(&at.to_rfc3339())?.1,
        };
        let event = Event {
            id: given.event_id.clone().unwrap_or(id),
            event_type: given.event_type.clone(),
            biz_key: given.biz_key.clone(),
            correlation_id: given.correlation_id.clone(),
            causation_id: given.causation_id.clone(),
            traceparent: given.traceparent.clone(),
            depth: 0,
            payload: given.payload.as_str().into(),
            at,
            member: String::new(),
        };
        event.printed(database, &given.source, &time, &given.attributes)
    }

    /// An event that another one's instance brings forth.
    pub fn emitted<D: Database>(
        database: &mut D,
        cause: &Event,
        emitted: Emitted,
        id: String,
        at: Time,
    ) -> Result<Rc<Event>, D::Error> {
        let time = database.time(&at.to_rfc3339())?.1;
        let event = Event {
            id,
            event_type: emitted.event_type,
            biz_key: emitted.biz_key,
            correlation_id: cause.correlation_id.clone().or_else(|| Some(cause.id.clone())),
            causation_id: Some(cause.id.clone()),
            traceparent: cause.traceparent.clone(),
            depth: cause.depth + 1,
            payload: emitted.payload.map_or_else(|| cause.payload.clone(), Into::into),
            at,
            member: String::new(),
        };
        event.printed(database, "", &time, &emitted.attributes)
    }

    /// The event with its documents as PostgreSQL prints them.
    fn printed<D: Database>(
        mut self,
        database: &mut D,
        source: &str,
        time: &str,
        attributes: &str,
    ) -> Result<Rc<Event>, D::Error> {
        let optional = |text: &Option<String>| text.as_deref().map_or_else(|| "null".to_owned(), quoted);
        self.member = format!(
            "{{\"id\":{},\"type\":{},\"source\":{},\"bizKey\":{},\"time\":{time},\"attributes\":{attributes},\
             \"correlationId\":{},\"causationId\":{}}}",
            quoted(&self.id),
            quoted(&self.event_type),
            quoted(source),
            quoted(&self.biz_key),
            optional(&self.correlation_id),
            optional(&self.causation_id),
        );
        let document = format!("{{{}}}", self.members());
        let printed = database.evaluate(&document, &[whole("$.event"), whole("$.payload")])?.unwrap_or_default();
        if let [member, payload] = printed.as_slice()
            && let (Some(member), Some(payload)) = (&member.text, &payload.text)
        {
            (self.member, self.payload) = (member.clone(), payload.as_str().into());
        }
        Ok(Rc::new(self))
    }

    /// The members `event` and `payload` of the context, without braces.
    pub fn members(&self) -> String {
        format!("\"event\":{},\"payload\":{}", self.member, self.payload)
    }

    /// The event as the output of a wait shows it.
    pub fn as_arrived(&self) -> String {
        let open = self.member.strip_suffix('}').unwrap_or(&self.member);
        format!("{open},\"payload\":{}}}", self.payload)
    }

    /// Whether type and key are those that are waited for.
    pub fn is_near(&self, wanted: &Wanted) -> bool {
        self.event_type == wanted.event_type
            && wanted.biz_key.as_ref().is_none_or(|key| *key == self.biz_key)
            && wanted.correlation_id.as_ref().is_none_or(|id| Some(id) == self.correlation_id.as_ref())
    }
}

/// A path of the engine's own.
pub fn whole(path: &str) -> Expression {
    let (path, source) = (path.to_owned(), path.to_owned());
    Expression { path, many: false, source, default: None, predicate: false, pointer: String::new() }
}
