//! The action types by name, and what sets them apart before their `config` is read.

use crate::flow::parse::fields::Fields;
use crate::flow::problem::{Problem, did_you_mean};

/// An action's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    Local,
    Lua,
    Emit,
    Message,
    Wait,
    Parallel,
    ForEach,
    Switch,
    Workflow,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Http,
        Kind::Local,
        Kind::Lua,
        Kind::Emit,
        Kind::Message,
        Kind::Wait,
        Kind::Parallel,
        Kind::ForEach,
        Kind::Switch,
        Kind::Workflow,
    ];

    /// The word of the language.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Http => "http",
            Kind::Local => "local",
            Kind::Lua => "lua",
            Kind::Emit => "emit",
            Kind::Message => "message",
            Kind::Wait => "wait",
            Kind::Parallel => "parallel",
            Kind::ForEach => "foreach",
            Kind::Switch => "switch",
            Kind::Workflow => "workflow",
        }
    }

    /// Whether it makes attempts that can fail and be repeated, on a lane that can be named.
    pub fn makes_attempts(self) -> bool {
        match self {
            Kind::Http | Kind::Local | Kind::Lua | Kind::Message => true,
            Kind::Emit | Kind::Wait | Kind::Parallel | Kind::ForEach | Kind::Switch | Kind::Workflow => false,
        }
    }

    /// Whether a compensation may be of this type: one step that is over when it is done.
    pub fn can_undo(self) -> bool {
        self.makes_attempts() || self == Kind::Emit
    }

    /// Keys that stand beside the envelope's.
    pub fn own_keys(self) -> &'static [&'static str] {
        match self {
            Kind::Parallel => &["branches", "join", "onBranchFailure"],
            _ => &[],
        }
    }

    /// Keys of its `config`.
    pub fn config_keys(self) -> &'static [&'static str] {
        match self {
            Kind::Http => &super::http::KEYS,
            Kind::Local => &["function", "args", "timeoutMs"],
            Kind::Lua => &["script", "source", "args", "timeoutMs", "cpuMs", "memoryMb"],
            Kind::Emit => &["eventType", "bizKey", "payload", "attributes"],
            Kind::Message => &["transport", "topic", "kind", "type", "payload"],
            Kind::Wait => &["all", "any", "durationSeconds", "until", "lookbackSeconds", "timeoutSeconds", "onTimeout"],
            Kind::Parallel => &[],
            Kind::ForEach => &["items", "maxConcurrency", "actions"],
            Kind::Switch => &["cases", "default"],
            Kind::Workflow => &["workflowName", "payload", "wait"],
        }
    }
}

/// The type of an action; a missing or unknown one has left a problem.
pub(super) fn read(fields: &Fields, problems: &mut Vec<Problem>) -> Option<Kind> {
    let word = fields.required("type", problems).and_then(|_| fields.text("type", problems))?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
    if kind.is_none() {
        let hint = did_you_mean(word, Kind::ALL.map(Kind::word));
        let problem = Problem::error(fields.pointer("type"), "unknown_type", format!("unknown action type \"{word}\""));
        problems.push(problem.maybe_hint(hint));
    }
    kind
}
