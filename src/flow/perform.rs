//! What actions do besides HTTP: one type per action type of the language, as [`crate::flow::parse`] has accepted it.
//!
//! Templates are compiled; their values come from the action's `paths`. A block is a list of actions that runs as a
//! child instance; it is named by its number in [`crate::flow::definition::Workflow::blocks`].

use std::time::Duration;

use crate::flow::definition::{HttpAction, Match};
use crate::flow::template::{Template, Text};

/// What an action does.
#[derive(Debug, Clone, PartialEq)]
pub enum Perform {
    /// One HTTP request.
    Http(HttpAction),
    /// A call in the database, made by an SQL worker in the transaction that records its success.
    Local(LocalAction),
    /// A script.
    Lua(LuaAction),
    /// A new event, stored in the transaction that records the step.
    Emit(EmitAction),
    /// Waits for events or for a time.
    Wait(WaitAction),
    /// Runs blocks as child instances: `parallel`, `foreach` and `switch`.
    Fork(ForkAction),
    /// Runs another workflow as a child instance.
    Workflow(WorkflowAction),
}

impl Perform {
    /// Whether it only writes what this database holds, so that it needs no lane and no attempt outside.
    pub fn is_internal(&self) -> bool {
        match self {
            Perform::Http(_) | Perform::Local(_) | Perform::Lua(_) => false,
            Perform::Emit(_) | Perform::Wait(_) | Perform::Fork(_) | Perform::Workflow(_) => true,
        }
    }

    /// Whether it may be done again when its outcome is unknown.
    pub fn is_idempotent(&self) -> bool {
        match self {
            Perform::Http(http) => http.idempotent,
            _ => true,
        }
    }
}

/// A call in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalAction {
    /// What is called.
    pub call: LocalCall,
    /// Time for one attempt, 1–86,400,000 milliseconds; None = `rea.action_timeout`.
    pub timeout_ms: Option<u32>,
}

/// What a local action calls.
#[derive(Debug, Clone, PartialEq)]
pub enum LocalCall {
    /// An SQL function.
    Function {
        /// Its schema, as written or without quotes.
        schema: String,
        /// Its name.
        name: String,
        /// Its arguments, a JSON array when rendered; None = one jsonb, the whole context.
        args: Option<Template>,
    },
    /// A message (`message`), sent in an envelope.
    Message {
        /// What carries it.
        transport: Transport,
        /// Channel, prefix or queue.
        topic: Text,
        /// `command` or `event`.
        kind: MessageKind,
        /// What `type` says in the envelope; None = the event's type.
        message_type: Option<Text>,
        /// The body; None = the event's payload.
        payload: Option<Template>,
    },
}

/// What carries a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// NOTIFY; at most 7,999 bytes.
    Notify,
    /// A logical decoding message (`pg_logical_emit_message`).
    Logical,
    /// A queue of the extension pgmq.
    Pgmq,
}

impl Transport {
    /// Its name in definitions, logs and `rea.message_topic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Transport::Notify => "notify",
            Transport::Logical => "logical",
            Transport::Pgmq => "pgmq",
        }
    }
}

/// Whether a message asks for something or reports it; the two never share a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Do this.
    Command,
    /// This happened.
    Event,
}

impl MessageKind {
    /// Its name in definitions and envelopes.
    pub fn as_str(self) -> &'static str {
        match self {
            MessageKind::Command => "command",
            MessageKind::Event => "event",
        }
    }
}

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct LuaAction {
    /// Which.
    pub script: ScriptUse,
    /// What it gets as `args`; None = an empty object.
    pub args: Option<Template>,
    /// Time for one attempt, 1–86,400,000 milliseconds; None = `rea.action_timeout`.
    pub timeout_ms: Option<u32>,
    /// Processor time for one attempt in milliseconds; None = the same as its time.
    pub cpu_ms: Option<u32>,
    /// Memory of the script in MiB, 1–1,024.
    pub memory_mb: u32,
}

/// Which script an action runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptUse {
    /// A stored one: the newest version when the instance starts, or the pinned one.
    Stored {
        /// Its name.
        name: String,
        /// Its version; None = the newest.
        version: Option<i32>,
    },
    /// Written in the definition.
    Source(String),
}

/// A new event.
#[derive(Debug, Clone, PartialEq)]
pub struct EmitAction {
    /// Its type.
    pub event_type: Text,
    /// Its business key; None = that of the instance's event.
    pub biz_key: Option<Text>,
    /// Its body; None = the payload.
    pub payload: Option<Template>,
    /// Its attributes; None = none.
    pub attributes: Option<Template>,
}

/// Waits for events or for a time.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitAction {
    /// For what.
    pub until: WaitFor,
    /// How long it waits at most; None = as long as the instance may live. Never set with a duration or a time.
    pub timeout: Option<Duration>,
    /// What the end of that time means.
    pub on_timeout: OnTimeout,
}

/// What a wait waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitFor {
    /// Events.
    Events {
        /// Which; 1–100.
        awaited: Vec<Awaited>,
        /// Whether all of them have to come, or one.
        all: bool,
        /// How long before the instance's own event they may have come.
        lookback: Duration,
    },
    /// This long.
    Duration(Duration),
    /// Until this time, an RFC 3339 timestamp when rendered.
    Time(Text),
}

/// An event that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Awaited {
    /// Its exact type.
    pub event_type: String,
    /// What joins it to the instance.
    pub key: JoinKey,
    /// What it must look like besides.
    pub matching: Option<Match>,
}

/// What joins an awaited event to the instance.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinKey {
    /// Its business key is this; None = that of the instance's event.
    BizKey(Option<Text>),
    /// Its correlation id is this.
    CorrelationId(Text),
}

/// What the end of a wait's time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnTimeout {
    /// The action fails with code `wait_timeout`.
    #[default]
    Fail,
    /// The flow goes on with `timedOut` true.
    Continue,
}

/// Runs blocks as child instances.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkAction {
    /// Which blocks.
    pub branches: Branches,
    /// How many of them have to succeed.
    pub join: Join,
    /// What the failure of one does to the others.
    pub on_branch_failure: OnBranchFailure,
}

/// The blocks that a fork may run.
#[derive(Debug, Clone, PartialEq)]
pub enum Branches {
    /// `parallel`: all of them, by name; 1–100.
    Parallel(Vec<(String, usize)>),
    /// `foreach`: one block for each item.
    ForEach {
        /// The expression that gives the array, an index into the action's `paths`.
        items: usize,
        /// Most children at the same time, 1–1,000.
        max_concurrency: u32,
        /// The block.
        block: usize,
    },
    /// `switch`: the first case whose predicate is true, else the default, else none.
    Switch {
        /// Predicates, as indexes into the action's `paths`, with their blocks; 1–100.
        cases: Vec<(usize, usize)>,
        /// The block when no case is true.
        default: Option<usize>,
    },
}

/// How many branches have to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// All of them.
    #[default]
    All,
    /// One; the others are cancelled then.
    Any,
}

/// What the failure of a branch does to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBranchFailure {
    /// They run to their end.
    #[default]
    Wait,
    /// They are cancelled.
    Cancel,
}

/// Runs another workflow as a child instance.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowAction {
    /// Its name.
    pub workflow_name: String,
    /// Its payload; None = that of the instance's event.
    pub payload: Option<Template>,
    /// Whether the action waits for its end.
    pub wait: bool,
}
