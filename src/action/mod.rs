//! The thread edge: actions that leave the process are performed here.
//!
//! Contract: owned data in ([`Job`]), outcome out ([`Completion`]). A [`Pool`] of threads performs
//! HTTP requests and runs scripts; the caller's thread is never blocked by one and hears of the results through an
//! eventfd. Every job that was submitted is answered exactly once, by a reply, by a failure or by
//! the text of a panic, unless the pool is dropped first.
//!
//! Must never: touch PostgreSQL (no pgrx, no server memory, no signals), print, follow a redirect,
//! send a request twice on its own account, or put headers, bodies or URLs into a message.
//!
//! ```text
//!   submit ──► queue ──► thread: Engine::perform ──► completed ──► eventfd ──► take
//!                                 │
//!        CachingResolver ─► Leased (IdleStore, or Dialer ─► RustlsConnector) ─► ureq ─► body
//! ```

mod attempt;
mod body;
mod buffers;
mod connect;
mod descriptors;
mod failure;
mod http;
mod idle;
mod inquiry;
mod lease;
mod lookup;
mod pool;
mod resolver;
mod script;
mod socket;
mod threads;
mod tls;
mod wake;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::flow::outcome::Failure;
use crate::script::{Limits, Report, Script};
pub use inquiry::{Inquiry, Question};
pub use pool::Pool;

/// One HTTP request as it goes onto the wire. Its `Debug` form shows no secrets.
#[derive(Clone)]
pub struct Request {
    /// Method token, upper case by custom. `CONNECT` is refused.
    pub method: String,
    /// Absolute `http` or `https` URL, already percent-encoded.
    pub url: String,
    /// Header lines in order. Framing headers (`Content-Length`, `Transfer-Encoding`, `Expect`,
    /// `Upgrade`) are refused: they are the engine's own.
    pub headers: Vec<(String, String)>,
    /// Body bytes; `None` sends no body (`Content-Length: 0` where the method expects one).
    pub body: Option<Arc<str>>,
    /// Limit for the whole attempt: DNS, connect, TLS, sending, headers and the last body byte.
    pub timeout: Duration,
    /// `false` keeps only the first 2 kB of the answer, for a summary. The rest is still read, up
    /// to [`Settings::max_response_bytes`], so that the connection can be used again.
    pub want_body: bool,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("timeout", &self.timeout)
            .field("want_body", &self.want_body)
            .finish_non_exhaustive()
    }
}

/// A script with what its requests say about where they come from.
#[derive(Debug, Clone)]
pub struct ScriptTask {
    /// The script, its context and arguments.
    pub script: Script,
    /// What it may use.
    pub limits: Limits,
    /// Header lines of each of its requests, which the script cannot override.
    pub headers: Vec<(String, String)>,
    /// `Idempotency-Key` of its n-th request is this, `_` and n, unless the script gives one.
    pub idempotency_key: String,
    /// `X-Rea-Req-Id` of its n-th request is this, `_` and n.
    pub request_id: String,
}

/// What a thread can do.
#[derive(Debug, Clone)]
pub enum Task {
    /// Send a request.
    Http(Request),
    /// Run a script.
    Script(Box<ScriptTask>),
}

/// A task with the caller's name for it.
#[derive(Debug, Clone)]
pub struct Job {
    /// Comes back unchanged in [`Completion::token`] and [`Inquiry::token`].
    pub token: u64,
    /// What to do.
    pub task: Task,
}

/// A complete HTTP answer, whatever its status (100 to 999).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Header lines in order of arrival per name, names in lower case. Bytes that are not UTF-8
    /// become U+FFFD. At most 32 kB on the wire and 128 lines.
    pub headers: Vec<(String, String)>,
    /// The decoded body, at most [`Settings::max_response_bytes`], or 2 kB without `want_body`.
    pub body: Vec<u8>,
    /// `true` if the body is not whole for the reason in `cut_reason`. A body that is short only
    /// because `want_body` was false is not cut.
    pub cut: bool,
    /// Why the body was cut off; `None` if it was not.
    pub cut_reason: Option<CutReason>,
}

/// Why the body of a [`Reply`] is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CutReason {
    /// More bytes than [`Settings::max_response_bytes`], counted after decompression.
    #[error("response body is over the size limit")]
    TooLarge,
    /// `Content-Encoding` names something that was not offered, or the gzip data is broken.
    #[error("response body could not be decoded")]
    BadEncoding,
}

/// What kind of failure kept an attempt from getting an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TransportError {
    /// The request itself cannot be sent (URL, method, header); trying again will not help.
    #[error("request")]
    Request,
    /// The host name has no address, or the look-up failed.
    #[error("dns")]
    Dns,
    /// No address could be connected to.
    #[error("connect")]
    Connect,
    /// Handshake or certificate trouble, at any time of the connection.
    #[error("tls")]
    Tls,
    /// The attempt's time was over, in whatever phase.
    #[error("timeout")]
    Timeout,
    /// The connection ended without an answer, or was reset.
    #[error("reset")]
    Reset,
    /// The answer began and did not come to its end.
    #[error("truncated")]
    Truncated,
    /// The answer is not HTTP, or its headers are over the limits.
    #[error("malformed")]
    Malformed,
    /// This machine ran out of threads or file descriptors.
    #[error("local")]
    Local,
}

/// An attempt that ended without a complete answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportFailure {
    /// The kind, for retry rules.
    pub kind: TransportError,
    /// One readable sentence without any header, body or URL in it.
    pub message: String,
    /// `true` if the request went over a connection that had served an earlier one.
    pub reused_connection: bool,
    /// `true` if bytes of the request may have left: the outcome at the receiver is unknown.
    pub sent: bool,
    /// Status of the answer, if its headers had arrived.
    pub status: Option<u16>,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The receiver answered.
    Reply(Reply),
    /// It did not.
    Failed(TransportFailure),
    /// A call in the database ended: its result as JSON text, `None` for none.
    Local(Result<Option<String>, Failure>),
    /// A script ended, one way or another.
    Script(Box<Report>),
    /// A bug: the code that performs the request panicked; place and text of the panic.
    Panicked(String),
}

/// The end of one job.
#[derive(Debug, Clone)]
pub struct Completion {
    /// [`Job::token`].
    pub token: u64,
    /// How it ended.
    pub answer: Answer,
    /// Wall clock when a thread took the job up.
    pub started: SystemTime,
    /// `started` plus `elapsed`, so that a jump of the wall clock never makes it earlier.
    pub ended: SystemTime,
    /// Time taken by the monotonic clock.
    pub elapsed: Duration,
}

/// What a pool may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Most requests and scripts at the same time, 1 or more. Lowered if the process may not open enough
    /// sockets; see [`Pool::capacity`].
    pub max_threads: usize,
    /// Longest response body that is kept, in bytes after decompression.
    pub max_response_bytes: usize,
    /// PEM file with certificates that are trusted besides the built-in roots.
    pub ca_file: Option<PathBuf>,
    /// Most unused connections that are kept open, over all hosts; at least `max_threads` is
    /// sensible.
    pub max_idle_connections: usize,
}

/// Why a pool could not be made or changed.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The CA file could not be read.
    #[error("could not read CA file \"{}\": {source}", path.display())]
    CaUnreadable {
        /// [`Settings::ca_file`].
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The CA file was read and cannot be used.
    #[error("invalid CA file \"{}\": {reason}", path.display())]
    CaInvalid {
        /// [`Settings::ca_file`].
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file descriptor that announces completions could not be made.
    #[error("could not create an event descriptor: {0}")]
    Wake(#[source] std::io::Error),
}
