//! Scripts: Luau in a sandbox with hard limits.
//!
//! Contract: [`run`] performs one script in a world of its own and always comes back, at the latest a moment after its
//! limits: wall time, CPU time and memory hold whatever the script does, and no `pcall` can swallow the end. What a
//! script may reach is listed in `library`; everything else is absent. Data goes in and comes out as JSON text whose
//! shape and numbers survive, or the failure says where they would not.
//!
//! Must never: touch PostgreSQL or the file system, keep anything for the next script, or print. What a script asks of
//! the world goes through its [`Host`].
//!
//! ```text
//!   run ─► compile ─► Vm ─► library (what is there) ─► decode (ctx, args) ─► the script ─► encode ─► Report
//!                      │                                   │
//!                   Memory (allocator)   Session (limits, rea.*, log) ─► Host
//! ```

mod api;
mod compile;
mod convert;
mod decode;
mod encode;
mod exact;
mod kv;
mod library;
mod memory;
mod perform;
mod report;
mod session;
mod vm;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use compile::{CompileError, MAX_SOURCE_BYTES, check};
pub use perform::run;
pub use report::{Call, ErrorCode, KvSet, LogLine, Outcome, Report};

/// A script and what it gets.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its name, for error messages.
    pub name: String,
    /// Luau source, at most [`MAX_SOURCE_BYTES`].
    pub source: String,
    /// JSON text of the global `ctx`.
    pub context: String,
    /// JSON text of the global `args`.
    pub args: String,
}

/// What a script may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Time by the clock, waiting for HTTP included.
    pub wall: Duration,
    /// Time of computing; `None`: as much as `wall`.
    pub cpu: Option<Duration>,
    /// Bytes that the script's values may take, garbage that is not collected yet included. At least 1 MiB is sensible:
    /// the empty world takes about 300 kB.
    pub memory: usize,
    /// Longest result as JSON, in bytes.
    pub output: usize,
    /// Whether log lines of level debug are kept.
    pub keep_debug: bool,
    /// Characters kept of texts in the list of calls.
    pub summary_chars: usize,
    /// Asked every few milliseconds; `true` ends the script with [`ErrorCode::Cancelled`].
    pub cancelled: fn() -> bool,
}

/// One HTTP request of a script. Its `Debug` form is not for logs.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// Method token, upper case.
    pub method: String,
    /// The URL as the script gave it.
    pub url: String,
    /// Header lines as the script gave them, sorted by name.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<String>,
    /// Time it may take as a whole: never more than the script has left.
    pub timeout: Duration,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the body is cut off.
    pub cut: bool,
}

/// Why nothing came back.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct HttpFailure {
    /// One word for the kind, like `timeout` or `connect`.
    pub kind: String,
    /// A sentence.
    pub message: String,
}

/// A question about the key-value store or the configuration that was not answered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

/// The world as a script sees it. Its calls may block, but no longer than the time they are given.
pub trait Host {
    /// Performs a request.
    ///
    /// # Errors
    /// [`HttpFailure`] if there is no complete answer.
    fn http(&mut self, request: HttpRequest) -> Result<HttpResponse, HttpFailure>;

    /// The value stored under a key, as JSON text.
    ///
    /// # Errors
    /// [`HostError`] if the store did not answer within `left`.
    fn kv_get(&mut self, key: &str, left: Duration) -> Result<Option<String>, HostError>;

    /// The configuration under a key, as JSON text.
    ///
    /// # Errors
    /// [`HostError`] if there was no answer within `left`.
    fn config(&mut self, key: &str, left: Duration) -> Result<Option<String>, HostError>;
}
