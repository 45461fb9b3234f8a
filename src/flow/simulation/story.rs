//! The story that a simulation tells: one line for each thing that happens, in order.

use chrono::TimeDelta;

/// What a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An event came or was brought forth.
    Event,
    /// An attempt of an action, or a step without one, came to its end.
    Attempt,
    /// An instance changed its status.
    Status,
}

impl Kind {
    /// The word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Event => "event",
            Kind::Attempt => "attempt",
            Kind::Status => "status",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Time since the begin.
    pub at: TimeDelta,
    /// The instance: the workflow's name, and `action.branch` or `action[index]` for each instance below it.
    pub path: String,
    /// What it tells of.
    pub kind: Kind,
    /// The action, the workflow or the event type.
    pub subject: String,
    /// SUCCESS, FAILED or SKIPPED of an attempt; the new status of an instance; ARRIVED or EMITTED of an event.
    pub status: String,
    /// Number of the attempt, from 1; 0 when skipped.
    pub attempt_no: Option<u32>,
    /// Code of the failure.
    pub error_code: Option<String>,
    /// What happened, for people.
    pub detail: String,
    /// How long the attempt took, in milliseconds.
    pub cost_ms: Option<i64>,
    /// What would have been sent or called, JSON text.
    pub request: Option<String>,
    /// What later steps see of the action, or the instance's result; JSON text.
    pub output: Option<String>,
}
