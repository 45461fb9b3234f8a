//! What an attempt does outside of its turn: a request, a script, or a call in the database.

use crate::action::ScriptTask;
use crate::flow::call::{self, RenderedCall};
use crate::flow::request::{self, Request};

/// The work of one attempt.
pub enum Task {
    /// A request, for a thread of the pool.
    Http(Request),
    /// A script, for a thread of the pool.
    Script(Box<ScriptTask>),
    /// A call, for an SQL worker.
    Local(LocalTask),
}

/// A call in the database.
pub struct LocalTask {
    /// What is called.
    pub call: RenderedCall,
    /// Role on whose behalf.
    pub role: String,
    /// Time for it, in milliseconds.
    pub timeout_ms: u32,
}

impl Task {
    /// The lane it would have by itself.
    pub fn origin(&self) -> &str {
        match self {
            Task::Http(request) => &request.origin,
            Task::Script(_) => crate::flow::definition::LUA_LANE,
            Task::Local(_) => crate::flow::definition::SQL_LANE,
        }
    }

    /// Start of it, for the log.
    pub fn summary(&self, chars: usize) -> String {
        match self {
            Task::Http(request) => request::summary(request, chars),
            Task::Script(task) => format!("{} {}", task.script.name, task.script.args).chars().take(chars).collect(),
            Task::Local(task) => call::summary(&task.call, chars),
        }
    }

    /// Size of what it holds in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Task::Http(request) => request.body.as_ref().map_or(0, |body| body.len()),
            Task::Script(task) => task.script.context.len() + task.script.args.len(),
            Task::Local(_) => 0,
        }
    }
}
