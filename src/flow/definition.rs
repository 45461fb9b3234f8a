//! A workflow as the engine runs it: parsed, checked, with every default filled in.
//!
//! These types hold only what [`crate::flow::parse`] has accepted; whoever has a [`Workflow`] need not check it again.

use std::time::Duration;

use crate::flow::address::Address;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::StatusPattern;
use crate::flow::retry::RetryPolicy;
use crate::flow::template::{Template, Text};

/// One version of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// `workflowName`, 1–255 bytes.
    pub name: String,
    /// The event type that starts it, exact or ending in `.*`; None = started by separate routes only.
    pub trigger_event: Option<String>,
    /// The route's group; in a group the first matching route wins.
    pub route_group: String,
    /// The route's place in its group, lower first.
    pub priority: i32,
    /// What the event must look like besides its type.
    pub matching: Option<Match>,
    /// Longest life of an instance, time spent paused not counted.
    pub timeout: Option<Duration>,
    /// What is done, in this order; 1–1,000.
    pub actions: Vec<Action>,
    /// The result of a successful instance.
    pub output: Option<Template>,
    /// The expressions of `output`.
    pub output_paths: Vec<Expression>,
}

/// Which events of the right type start the workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// The payload contains this object (jsonb `@>`); JSON text.
    Contains(String),
    /// This path predicate over `event` and `payload` is true.
    Path(String),
}

/// One step of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Its identity in logs, keys and references, `[A-Za-z][A-Za-z0-9_]{0,63}`, unique in the workflow.
    pub name: String,
    /// The predicate that must be true for it to run, as an index into `paths`.
    pub when: Option<usize>,
    /// Its retry policy, merged over the workflow's and the defaults.
    pub retry: RetryPolicy,
    /// What a failure for good does to the instance.
    pub on_error: OnError,
    /// What is kept of the response; None = nothing.
    pub output: Option<Template>,
    /// Where its work queues up.
    pub lane: Lane,
    /// What it does.
    pub perform: Perform,
    /// Expressions evaluated before the request: `when` and the request's templates.
    pub paths: Vec<Expression>,
    /// Expressions of `output`, evaluated with `response` in the context.
    pub output_paths: Vec<Expression>,
}

impl Action {
    /// Why the action is skipped; None = it runs. `values` are those of `paths`.
    pub fn skip_reason(&self, values: &[PathValue]) -> Option<&'static str> {
        let value = values.get(self.when?).and_then(|value| value.text.as_deref());
        match value {
            Some("true") => None,
            Some("false") => Some("\"when\" is false"),
            _ => Some(
                "\"when\" is null: it could not be evaluated (missing operand, values of different types, division by zero)",
            ),
        }
    }
}

/// What a failure for good does to the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The instance ends.
    #[default]
    Fail,
    /// The failure is recorded, the flow goes on.
    Continue,
    /// A person decides.
    Pause,
}

/// The queue in front of a downstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lane {
    /// Named by the definition, 1–255 bytes.
    Named(String),
    /// `scheme://host:port` of the URL.
    Origin(String),
    /// `scheme://host:port` of a URL that is known only when rendered.
    Dynamic,
}

/// What an action does.
#[derive(Debug, Clone, PartialEq)]
pub enum Perform {
    /// One HTTP request.
    Http(HttpAction),
}

/// An HTTP request in the making.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpAction {
    /// Upper-cased method.
    pub method: String,
    /// Where it goes.
    pub url: Address,
    /// Headers that the definition adds; names are RFC 9110 tokens, none reserved, none twice.
    pub headers: Vec<(String, Text)>,
    /// Query parameters appended to the URL.
    pub query: Vec<(String, Text)>,
    /// What is sent.
    pub body: Body,
    /// How it is written; decides the default `Content-Type`.
    pub format: Format,
    /// Time for one attempt, everything included, 1–86,400,000 milliseconds.
    pub timeout_ms: u32,
    /// Statuses that mean success; default 2xx.
    pub success: Vec<StatusPattern>,
    /// Whether the request may be sent again when its outcome is unknown.
    pub idempotent: bool,
    /// The header that carries the idempotency key.
    pub idempotency_key_header: String,
}

/// The body of a request.
///
/// Without `body` in the definition, GET, HEAD and DELETE send none and the other methods send the payload;
/// `"body": null` sends none with any method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// None.
    Empty,
    /// The event's payload, byte for byte as PostgreSQL prints it.
    Payload,
    /// A JSON document with templates.
    Json(Template),
    /// Text with templates.
    Text(Text),
    /// Name-value pairs, `application/x-www-form-urlencoded`.
    Form(Vec<(String, Text)>),
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `application/json`
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `text/plain; charset=utf-8`
    Text,
}

impl Format {
    /// The `Content-Type` sent when the definition states none.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Form => "application/x-www-form-urlencoded",
            Format::Text => "text/plain; charset=utf-8",
        }
    }
}
