//! The settings, `rea.*`. Each is a private static with a typed getter; nothing else reads them.
//!
//! All of them are server-wide and take effect at a reload: workers serve everybody, so no session can change them.
//! They may be read on the main thread of a process only; threads get copies.

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::time::Duration;

static ENABLED: GucSetting<bool> = GucSetting::<bool>::new(true);
static WORKERS: GucSetting<i32> = GucSetting::<i32>::new(1);
static SQL_WORKERS: GucSetting<i32> = GucSetting::<i32>::new(1);
static HTTP_THREADS: GucSetting<i32> = GucSetting::<i32>::new(256);
static CLAIM_BATCH: GucSetting<i32> = GucSetting::<i32>::new(200);
static LANE_MAX_IN_FLIGHT: GucSetting<i32> = GucSetting::<i32>::new(64);
static HEARTBEAT_TIMEOUT: GucSetting<i32> = GucSetting::<i32>::new(30_000);
static POLL_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(1_000);
static ALERT_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(300);
static ACTION_TIMEOUT: GucSetting<i32> = GucSetting::<i32>::new(10_000);
static MAX_RETRY_AFTER: GucSetting<i32> = GucSetting::<i32>::new(3_600);
static MAX_CAUSATION_DEPTH: GucSetting<i32> = GucSetting::<i32>::new(32);
static MAX_PAYLOAD_BYTES: GucSetting<i32> = GucSetting::<i32>::new(64 << 20);
static MAX_CONTEXT_BYTES: GucSetting<i32> = GucSetting::<i32>::new(1 << 20);
static MAX_RESPONSE_BYTES: GucSetting<i32> = GucSetting::<i32>::new(1 << 20);
static MAX_OUTPUT_BYTES: GucSetting<i32> = GucSetting::<i32>::new(64 << 10);
static SUMMARY_CHARS: GucSetting<i32> = GucSetting::<i32>::new(500);
static MAX_WAIT: GucSetting<i32> = GucSetting::<i32>::new(60_000);
static MAX_WAITERS: GucSetting<i32> = GucSetting::<i32>::new(64);
static LOG_LEVEL: GucSetting<LogLevel> = GucSetting::<LogLevel>::new(LogLevel::Info);
static CA_FILE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);

/// What is kept of the log lines of scripts.
#[derive(Clone, Copy, PartialEq, Eq, pgrx::PostgresGucEnum)]
pub enum LogLevel {
    /// All but those of level debug.
    #[name = c"info"]
    Info,
    /// All.
    #[name = c"debug"]
    Debug,
}

/// Defines every setting and reserves the prefix, so that a misspelt one is an error.
pub fn init() {
    boolean(
        c"rea.enabled",
        &ENABLED,
        c"Lets workers route events and run actions; when off, events are stored and wait.",
    );
    number(
        c"rea.workers",
        &WORKERS,
        1,
        16,
        GucFlags::default(),
        c"Starts this many workers in each database that holds the extension.",
    );
    number(
        c"rea.sql_workers",
        &SQL_WORKERS,
        0,
        16,
        GucFlags::default(),
        c"Starts this many processes for local actions and messages in each database that holds the extension.",
    );
    number(
        c"rea.http_threads",
        &HTTP_THREADS,
        1,
        4096,
        GucFlags::default(),
        c"Lets each worker perform up to this many HTTP requests at once.",
    );
    number(
        c"rea.claim_batch",
        &CLAIM_BATCH,
        1,
        10_000,
        GucFlags::default(),
        c"Takes at most this many events or due instances in one transaction.",
    );
    number(
        c"rea.lane_max_in_flight",
        &LANE_MAX_IN_FLIGHT,
        1,
        4096,
        GucFlags::default(),
        c"Sends at most this many requests at once to one downstream.",
    );
    number(
        c"rea.heartbeat_timeout",
        &HEARTBEAT_TIMEOUT,
        1_000,
        3_600_000,
        GucFlags::UNIT_MS,
        c"Takes back the instances of a worker that has not moved for this long.",
    );
    number(
        c"rea.poll_interval",
        &POLL_INTERVAL,
        100,
        60_000,
        GucFlags::UNIT_MS,
        c"Looks for work at least this often, for the rare commits that cannot wake a worker.",
    );
    number(
        c"rea.alert_interval",
        &ALERT_INTERVAL,
        1,
        86_400,
        GucFlags::UNIT_S,
        c"Announces new dead letters and unrouted events this often.",
    );
    number(
        c"rea.action_timeout",
        &ACTION_TIMEOUT,
        10,
        86_400_000,
        GucFlags::UNIT_MS,
        c"Time for one attempt of a local or lua action that states none.",
    );
    number(
        c"rea.max_retry_after",
        &MAX_RETRY_AFTER,
        0,
        604_800,
        GucFlags::UNIT_S,
        c"Follows a Retry-After header up to this delay.",
    );
    GucRegistry::define_enum_guc(
        c"rea.log_level",
        c"Keeps log lines of scripts from this level on: info or debug.",
        c"",
        &LOG_LEVEL,
        GucContext::Sighup,
        GucFlags::default(),
    );
    number(
        c"rea.max_causation_depth",
        &MAX_CAUSATION_DEPTH,
        1,
        1_000,
        GucFlags::default(),
        c"Events that may cause each other in a chain; the next emit or child workflow fails.",
    );
    number(
        c"rea.max_payload_bytes",
        &MAX_PAYLOAD_BYTES,
        1_024,
        1 << 29,
        GucFlags::UNIT_BYTE,
        c"Refuses events with a larger payload.",
    );
    number(
        c"rea.max_context_bytes",
        &MAX_CONTEXT_BYTES,
        1_024,
        1 << 28,
        GucFlags::UNIT_BYTE,
        c"Fails an instance whose collected outputs become larger.",
    );
    number(
        c"rea.max_response_bytes",
        &MAX_RESPONSE_BYTES,
        1_024,
        1 << 28,
        GucFlags::UNIT_BYTE,
        c"Cuts off a response body, after decompression, at this size.",
    );
    number(
        c"rea.max_output_bytes",
        &MAX_OUTPUT_BYTES,
        64,
        1 << 28,
        GucFlags::UNIT_BYTE,
        c"Fails an action whose output is larger.",
    );
    number(
        c"rea.summary_chars",
        &SUMMARY_CHARS,
        0,
        10_000,
        GucFlags::default(),
        c"Keeps this many characters of requests, responses and errors in the logs.",
    );
    number(
        c"rea.max_wait",
        &MAX_WAIT,
        0,
        3_600_000,
        GucFlags::UNIT_MS,
        c"Lets wait_operation wait no longer than this.",
    );
    number(
        c"rea.max_waiters",
        &MAX_WAITERS,
        0,
        256,
        GucFlags::default(),
        c"Lets at most this many sessions wait in wait_operation; more are answered at once.",
    );
    text(c"rea.ca_file", &CA_FILE, c"Trusts the certificate authorities in this PEM file, besides the public ones.");
    unsafe { pgrx::pg_sys::MarkGUCPrefixReserved(c"rea".as_ptr()) };
}

fn boolean(name: &'static CStr, setting: &'static GucSetting<bool>, effect: &'static CStr) {
    GucRegistry::define_bool_guc(name, effect, c"", setting, GucContext::Sighup, GucFlags::default());
}

fn number(
    name: &'static CStr,
    setting: &'static GucSetting<i32>,
    min: i32,
    max: i32,
    unit: GucFlags,
    effect: &'static CStr,
) {
    GucRegistry::define_int_guc(name, effect, c"", setting, min, max, GucContext::Sighup, unit);
}

fn text(name: &'static CStr, setting: &'static GucSetting<Option<CString>>, effect: &'static CStr) {
    GucRegistry::define_string_guc(name, effect, c"", setting, GucContext::Sighup, GucFlags::SUPERUSER_ONLY);
}

fn millis(setting: &GucSetting<i32>) -> Duration {
    Duration::from_millis(setting.get().max(0) as u64)
}

fn count(setting: &GucSetting<i32>) -> usize {
    setting.get().max(0) as usize
}

/// Whether workers may route and run.
pub fn enabled() -> bool {
    ENABLED.get()
}
/// Workers per database, 1–16.
pub fn workers() -> usize {
    count(&WORKERS)
}
/// SQL workers per database, 0–16.
pub fn sql_workers() -> usize {
    count(&SQL_WORKERS)
}
/// Upper bound of HTTP threads per worker.
pub fn http_threads() -> usize {
    count(&HTTP_THREADS)
}
/// Rows taken in one transaction (requirement A17).
pub fn claim_batch() -> usize {
    count(&CLAIM_BATCH)
}
/// Bound of a lane's attempts in flight.
pub fn lane_max_in_flight() -> usize {
    count(&LANE_MAX_IN_FLIGHT)
}
/// Silence after which a worker counts as dead.
pub fn heartbeat_timeout() -> Duration {
    millis(&HEARTBEAT_TIMEOUT)
}
/// Longest sleep of a worker.
pub fn poll_interval() -> Duration {
    millis(&POLL_INTERVAL)
}
/// Period of the alert (requirement A20).
pub fn alert_interval() -> Duration {
    Duration::from_secs(count(&ALERT_INTERVAL) as u64)
}
/// Time for an attempt of a local or lua action that states none.
pub fn action_timeout() -> Duration {
    millis(&ACTION_TIMEOUT)
}
/// Cap of Retry-After.
pub fn max_retry_after() -> Duration {
    Duration::from_secs(count(&MAX_RETRY_AFTER) as u64)
}
/// Whether log lines of scripts of level debug are kept (requirement C13).
pub fn logs_debug() -> bool {
    LOG_LEVEL.get() == LogLevel::Debug
}
/// How many events may cause each other in a chain (requirement C1).
pub fn max_causation_depth() -> i32 {
    MAX_CAUSATION_DEPTH.get()
}
/// Limit of an event's payload in bytes.
pub fn max_payload_bytes() -> usize {
    count(&MAX_PAYLOAD_BYTES)
}
/// Limit of an instance's collected outputs in bytes.
pub fn max_context_bytes() -> usize {
    count(&MAX_CONTEXT_BYTES)
}
/// Limit of a response body in bytes.
pub fn max_response_bytes() -> usize {
    count(&MAX_RESPONSE_BYTES)
}
/// Limit of one action's output in bytes.
pub fn max_output_bytes() -> usize {
    count(&MAX_OUTPUT_BYTES)
}
/// Characters kept in summaries (requirement A21).
pub fn summary_chars() -> usize {
    count(&SUMMARY_CHARS)
}
/// Cap of wait_operation's timeout.
pub fn max_wait() -> Duration {
    millis(&MAX_WAIT)
}
/// Sessions that may wait at once.
pub fn max_waiters() -> usize {
    count(&MAX_WAITERS)
}
/// Extra certificate authorities.
pub fn ca_file() -> Option<PathBuf> {
    let path = CA_FILE.get()?;
    let path = path.to_str().ok()?;
    (!path.is_empty()).then(|| PathBuf::from(path))
}
