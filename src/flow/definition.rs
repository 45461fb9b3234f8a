//! A workflow as the engine runs it: parsed, checked, with every default filled in.
//!
//! These types hold only what [`crate::flow::parse`] has accepted; whoever has a [`Workflow`] need not check it again.

use std::time::Duration;

use crate::flow::address::Address;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::{Failure, StatusPattern};
use crate::flow::perform::Awaited;
pub use crate::flow::perform::Perform;
use crate::flow::retry::RetryPolicy;
use crate::flow::template::{Template, Text, render_text};

/// Longest concurrency key, in bytes.
const LONGEST_KEY: usize = 1_024;

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
    /// What is done, in this order; 1–1,000 with those of the blocks.
    pub actions: Vec<Action>,
    /// Lists of actions that run as child instances.
    pub blocks: Vec<Block>,
    /// The result of a successful instance.
    pub output: Option<Template>,
    /// The expressions of `output`.
    pub output_paths: Vec<Expression>,
    /// Events that cancel an instance.
    pub cancel_on: Vec<Awaited>,
    /// How many instances with the same key may run at the same time.
    pub concurrency: Option<Concurrency>,
    /// The expressions of `cancelOn` and `concurrency`.
    pub start_paths: Vec<Expression>,
}

impl Workflow {
    /// The actions of a block, or the workflow's own.
    pub fn actions_of(&self, block: Option<usize>) -> &[Action] {
        match block {
            None => &self.actions,
            Some(number) => self.blocks.get(number).map_or(&[], |block| &block.actions),
        }
    }

    /// The block that a child instance runs: `parent_action` names the action that started it, `branch` the branch.
    pub fn block(&self, parent_action: &str, branch: &str) -> Option<usize> {
        self.blocks.iter().position(|block| {
            block.parent_action == parent_action && (block.branch.is_empty() || block.branch == branch)
        })
    }

    /// The action at the cursor; `None` behind the last one.
    pub fn action(&self, cursor: Cursor) -> Option<&Action> {
        let action = self.actions_of(cursor.block).get(cursor.index)?;
        match (&action.compensate, cursor.undo) {
            (_, false) => Some(action),
            (Compensate::By(undo), true) => Some(undo),
            (Compensate::Unsaid | Compensate::Keep, true) => None,
        }
    }

    /// The names of the actions of a block before that position.
    pub fn names_before(&self, block: Option<usize>, index: usize) -> impl Iterator<Item = &str> {
        self.actions_of(block).iter().take(index).map(|action| action.name.as_str())
    }

    /// Whether an action has an undo.
    pub fn undoes(&self) -> bool {
        self.all_actions().any(|action| matches!(action.compensate, Compensate::By(_)))
    }

    /// Whether an action starts children.
    pub fn forks(&self) -> bool {
        self.all_actions().any(|action| matches!(action.perform, Perform::Fork(_) | Perform::Workflow(_)))
    }

    /// Whether an instance has something to do before its first action.
    pub fn prepares_start(&self) -> bool {
        !self.cancel_on.is_empty() || self.concurrency.is_some()
    }

    /// The key that bounds how many instances run at the same time; None without `concurrency`. `values` are those of
    /// `start_paths`.
    ///
    /// Errors are permanent: those of the template, `concurrency_key` when it is too long.
    pub fn concurrency_key(&self, values: &[PathValue]) -> Result<Option<String>, Failure> {
        let Some(concurrency) = &self.concurrency else { return Ok(None) };
        let write = |value: &str, out: &mut String| out.push_str(value);
        let key = render_text(&concurrency.key, values, &self.start_paths, write)?;
        if key.len() > LONGEST_KEY {
            let message = format!("the concurrency key has {} bytes, at most {LONGEST_KEY} are allowed", key.len());
            return Err(Failure::permanent("concurrency_key", message));
        }
        Ok(Some(key))
    }

    /// All actions, those of the blocks included.
    pub fn all_actions(&self) -> impl Iterator<Item = &Action> {
        self.actions.iter().chain(self.blocks.iter().flat_map(|block| &block.actions))
    }
}

/// Where in a definition an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The block; `None` for the workflow's own actions.
    pub block: Option<usize>,
    /// The action in it.
    pub index: usize,
    /// Whether its undo is meant.
    pub undo: bool,
}

/// A list of actions that runs as a child instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Name of the action that runs it.
    pub parent_action: String,
    /// Name of the branch: a key of `branches`, the number of a case from 0 or `default`; empty for `foreach`, whose
    /// children all run the same block.
    pub branch: String,
    /// What is done, in this order; at least one.
    pub actions: Vec<Action>,
}

/// How many instances with the same key may run at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Concurrency {
    /// The key.
    pub key: Text,
    /// The number, 1–10,000.
    pub limit: u32,
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
    /// How it is undone when the instance fails for good.
    pub compensate: Compensate,
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

/// How an action is undone.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Compensate {
    /// The definition says nothing about it.
    #[default]
    Unsaid,
    /// Not at all, on purpose (`"keep"`).
    Keep,
    /// By this action, named `<name>~undo`.
    By(Box<Action>),
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

/// The lane of local actions; one with a name of its own is `sql:<name>`.
pub const SQL_LANE: &str = "sql";
/// The lane of scripts.
pub const LUA_LANE: &str = "lua";
/// The lane of steps that need nothing outside of the worker.
pub const FLOW_LANE: &str = "~flow";

/// The queue in front of a downstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lane {
    /// Named by the definition, 1–255 bytes; also [`SQL_LANE`], `sql:<name>`, [`LUA_LANE`] and [`FLOW_LANE`].
    Named(String),
    /// `scheme://host:port` of the URL.
    Origin(String),
    /// `scheme://host:port` of a URL that is known only when rendered.
    Dynamic,
}

impl Lane {
    /// Its name, as far as it is known before the action is rendered.
    pub fn name(&self) -> Option<&str> {
        match self {
            Lane::Named(name) | Lane::Origin(name) => Some(name),
            Lane::Dynamic => None,
        }
    }
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
