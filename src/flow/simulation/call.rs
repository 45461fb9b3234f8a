//! What an attempt would send or call, as JSON, and how long it may take.

use super::Database;
use super::event::whole;
use super::play::{Play, Played};
use crate::flow::call::{self, Need, RenderedCall};
use crate::flow::context::quoted;
use crate::flow::definition::{Action, HttpAction, Perform};
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::parse::mocks::Reply;
use crate::flow::perform::{LocalAction, LuaAction, ScriptUse};
use crate::flow::request::{self, Facts, Request};
use crate::flow::response::body_json;
use crate::flow::template::render_json;

/// An attempt that has ended.
#[derive(Debug)]
pub struct Answer {
    /// The instance.
    pub run: usize,
    /// What came back.
    pub reply: Reply,
    /// What was sent or called, JSON text.
    pub request: String,
    /// How long it took, in milliseconds.
    pub cost_ms: u32,
}

/// What an attempt would do.
#[derive(Debug)]
pub struct Rendered {
    /// The request or call, JSON text.
    pub request: String,
    /// Time for it as stated, in milliseconds.
    pub timeout_ms: u32,
}

impl<D: Database> Play<'_, D> {
    /// Renders the coming attempt of the action.
    pub fn rendered(
        &mut self,
        n: usize,
        action: &Action,
        values: &[PathValue],
    ) -> Played<D, Result<Rendered, Failure>> {
        Ok(match &action.perform {
            Perform::Http(http) => self.http(n, action, http, values),
            Perform::Local(local) => self.local(n, action, local, values)?,
            Perform::Lua(lua) => self.lua(action, lua, values),
            other => Err(Failure::permanent("internal", format!("{other:?} has no attempts"))),
        })
    }

    fn http(&self, n: usize, action: &Action, http: &HttpAction, values: &[PathValue]) -> Result<Rendered, Failure> {
        let id = self.acting_id(n);
        let request = request::render(http, &action.paths, values, &self.facts(n, action, &id))?;
        Ok(Rendered { request: shown(&request, http), timeout_ms: http.timeout_ms })
    }

    fn local(
        &mut self,
        n: usize,
        action: &Action,
        local: &LocalAction,
        values: &[PathValue],
    ) -> Played<D, Result<Rendered, Failure>> {
        let path = match call::need(local) {
            Need::Nothing => None,
            Need::Context => Some("$"),
            Need::EventTime | Need::EventTimeAndPayload => Some("$.event.time"),
        };
        let extra = match path {
            None => None,
            Some(path) => match self.values(n, &[whole(path)], None)? {
                Ok(found) => found.into_iter().find_map(|value| value.text),
                Err(failure) => return Ok(Err(failure)),
            },
        };
        let id = self.acting_id(n);
        let called = call::render(local, &action.paths, values, extra.as_deref(), &self.facts(n, action, &id));
        let timeout_ms = local.timeout_ms.unwrap_or(self.settings.action_timeout_ms);
        Ok(called.map(|called| Rendered { request: call_shown(&called), timeout_ms }))
    }

    fn lua(&self, action: &Action, lua: &LuaAction, values: &[PathValue]) -> Result<Rendered, Failure> {
        let args = match &lua.args {
            Some(args) => render_json(args, values, &action.paths)?,
            None => "{}".to_owned(),
        };
        let script = match &lua.script {
            ScriptUse::Stored { name, version: None } => quoted(name),
            ScriptUse::Stored { name, version: Some(version) } => quoted(&format!("{name}@{version}")),
            ScriptUse::Source(_) => "null".to_owned(),
        };
        let timeout_ms = lua.timeout_ms.unwrap_or(self.settings.action_timeout_ms);
        Ok(Rendered { request: format!("{{\"script\":{script},\"args\":{args}}}"), timeout_ms })
    }

    fn facts<'f>(&'f self, n: usize, action: &'f Action, id: &'f str) -> Facts<'f> {
        let run = &self.runs[n];
        Facts {
            instance_id: id,
            event_id: &run.event.id,
            event_type: &run.event.event_type,
            correlation_id: run.event.correlation_id.as_deref(),
            causation_id: run.event.causation_id.as_deref(),
            traceparent: run.event.traceparent.as_deref(),
            span_id: 1,
            attempt_no: run.coming_attempt(),
            key_no: 1,
            action_name: &action.name,
            payload: run.event.payload.to_string().into(),
            version: self.settings.version,
        }
    }
}

/// The request without the headers that tell of the engine: those of the definition, the type and the key stay.
fn shown(request: &Request, http: &HttpAction) -> String {
    let stated = |name: &str| http.headers.iter().any(|(stated, _)| stated == name);
    let stays = |name: &str| stated(name) || name == "Content-Type" || name == http.idempotency_key_header;
    let headers: Vec<String> = request
        .headers
        .iter()
        .filter(|(name, _)| stays(name))
        .map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)))
        .collect();
    let body = body_json(request.body.as_deref().unwrap_or_default().as_bytes());
    format!(
        "{{\"method\":{},\"url\":{},\"headers\":{{{}}},\"body\":{body}}}",
        quoted(&request.method),
        quoted(&request.url),
        headers.join(",")
    )
}

fn call_shown(called: &RenderedCall) -> String {
    match called {
        RenderedCall::Function { schema, name, args, context } => {
            let one = || format!("[{}]", context.as_deref().unwrap_or("null"));
            let args = args.clone().unwrap_or_else(one);
            format!("{{\"function\":{},\"args\":{args}}}", quoted(&format!("{schema}.{name}")))
        }
        RenderedCall::Message { transport, topic, kind, envelope } => format!(
            "{{\"transport\":{},\"topic\":{},\"kind\":{},\"envelope\":{envelope}}}",
            quoted(transport.as_str()),
            quoted(topic),
            quoted(kind.as_str())
        ),
    }
}
