//! What an attempt does outside of its turn: a request, a script, or a call in the database.

use crate::flow::request::{self, Request};

/// The work of one attempt.
pub enum Task {
    /// A request, for a thread of the pool.
    Http(Request),
    /// A call, for an SQL worker.
    Local(LocalTask),
}

/// A call in the database.
pub struct LocalTask {
    /// What is called.
    pub call: LocalCall,
    /// Role on whose behalf.
    pub role: String,
    /// Time for it, in milliseconds.
    pub timeout_ms: u32,
    /// What the log shows of it.
    pub summary: String,
}

/// A call with its values.
pub enum LocalCall {
    /// An SQL function.
    Function {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
        /// Its arguments, JSON text of an array; `None`: one jsonb, the context.
        args: Option<String>,
        /// The whole context, JSON text, when there are no arguments.
        context: Option<String>,
    },
    /// A message.
    Message {
        /// What carries it.
        transport: crate::flow::perform::Transport,
        /// Channel, prefix or queue.
        topic: String,
        /// Command or event.
        kind: crate::flow::perform::MessageKind,
        /// What is sent, JSON text.
        envelope: String,
    },
}

impl Task {
    /// The lane it would have by itself.
    pub fn origin(&self) -> &str {
        match self {
            Task::Http(request) => &request.origin,
            Task::Local(_) => crate::flow::definition::SQL_LANE,
        }
    }

    /// Start of it, for the log.
    pub fn summary(&self, chars: usize) -> String {
        match self {
            Task::Http(request) => request::summary(request, chars),
            Task::Local(task) => task.summary.chars().take(chars).collect(),
        }
    }

    /// Size of what it holds in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Task::Http(request) => request.body.as_ref().map_or(0, |body| body.len()),
            Task::Local(_) => 0,
        }
    }
}
