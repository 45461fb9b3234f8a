//! What is known after a script: how it ended, what it did, what it took.

use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime};

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It returned; the value as JSON text (`null` when it returned nothing).
    Returned(String),
    /// It called `rea.retry`.
    Retry {
        /// The reason it gave.
        reason: String,
        /// How long to wait at least.
        after: Option<Duration>,
    },
    /// It called `rea.fail`: trying again will not help.
    Fail {
        /// The code it gave, `script_failed` if none.
        code: String,
        /// The reason it gave.
        reason: String,
    },
    /// It broke, or hit a limit.
    Error {
        /// What kind.
        code: ErrorCode,
        /// One readable text, with script and line where they are known.
        message: String,
    },
}

/// Why a script was ended by something other than its own will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// An error that the script raised or ran into.
    Error,
    /// The source does not compile.
    Compile,
    /// Wall time was over.
    Timeout,
    /// CPU time was over.
    Cpu,
    /// It needed more memory than it may have.
    Memory,
    /// What it returned cannot be JSON, or is too large.
    Output,
    /// `ctx` or `args` cannot be given to it.
    Input,
    /// Somebody asked for its end.
    Cancelled,
}

impl ErrorCode {
    /// Whether the same script may do better another time.
    pub fn may_pass(self) -> bool {
        match self {
            ErrorCode::Error | ErrorCode::Timeout | ErrorCode::Cpu | ErrorCode::Cancelled => true,
            ErrorCode::Compile | ErrorCode::Memory | ErrorCode::Output | ErrorCode::Input => false,
        }
    }

    /// The code as retry rules name it.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Error => "script_error",
            ErrorCode::Compile => "script_compile",
            ErrorCode::Timeout => "script_timeout",
            ErrorCode::Cpu => "script_cpu",
            ErrorCode::Memory => "script_memory",
            ErrorCode::Output => "script_output",
            ErrorCode::Input => "script_input",
            ErrorCode::Cancelled => "script_cancelled",
        }
    }
}

/// One call of `rea.http` or `rea.kv.set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// `http` or `kv.set`.
    pub kind: &'static str,
    /// Method and URL without user, query and fragment; or the key.
    pub target: String,
    /// Status, kind and text of the failure, or the value that is set; cut to a summary.
    pub result: String,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
}

/// One line of `rea.log` or `print`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// `debug`, `info`, `warning` or `error`.
    pub level: &'static str,
    /// The text.
    pub text: String,
    /// When it was logged.
    pub time: SystemTime,
}

/// A change of the key-value store that is to be made together with the attempt's success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvSet {
    /// The key.
    pub key: String,
    /// JSON text of the value; `None` removes the key.
    pub value: Option<String>,
    /// Time until it vanishes by itself, more than 0, at most ten years; `None`: never.
    pub ttl: Option<Duration>,
}

/// A script's end and everything it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Its calls in order, the first 100.
    pub calls: Vec<Call>,
    /// Calls beyond those.
    pub calls_dropped: u64,
    /// Its changes of the key-value store, one per key, in order of the last set. To be made only if it returned.
    pub kv_sets: Vec<KvSet>,
    /// Its log, at most 200 lines and 64 kB.
    pub log: Vec<LogLine>,
    /// Lines beyond those.
    pub log_dropped: u64,
    /// Time by the clock.
    pub elapsed: Duration,
    /// Time of computing.
    pub cpu: Duration,
    /// Most bytes that its values took at once.
    pub peak_memory: usize,
}

impl Report {
    /// The calls as a JSON array of `{"kind", "target", "result", "at", "ms"}`; `at` in milliseconds since 1970.
    pub fn calls_json(&self) -> String {
        let calls = self.calls.iter().map(|call| {
            json!({"kind": call.kind, "target": call.target, "result": call.result,
                   "at": millis(call.started), "ms": call.elapsed.as_millis() as u64})
        });
        with_rest(calls.collect(), self.calls_dropped).to_string()
    }

    /// The log as a JSON array of `{"level", "text", "at"}`; `at` in milliseconds since 1970.
    pub fn log_json(&self) -> String {
        let lines =
            self.log.iter().map(|line| json!({"level": line.level, "text": line.text, "at": millis(line.time)}));
        with_rest(lines.collect(), self.log_dropped).to_string()
    }
}

/// The list, and as its last entry how many did not fit.
fn with_rest(mut list: Vec<Value>, dropped: u64) -> Value {
    if dropped > 0 {
        list.push(json!({"dropped": dropped}));
    }
    Value::Array(list)
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// When something began, by both clocks.
pub(super) struct Began {
    /// The wall clock.
    pub(super) at: SystemTime,
    /// The monotonic one.
    pub(super) clock: Instant,
}

impl Began {
    /// Now.
    pub(super) fn now() -> Began {
        Began { at: SystemTime::now(), clock: Instant::now() }
    }
}
