//! When to try again: the retry policy, its merging and its arithmetic.
//!
//! The delay is a pure function of the retry's number and a random number, so it can be tested at its edges. It never
//! overflows, is never negative, and is never shorter than what the downstream asked for (up to the cap).

use std::time::Duration;

use crate::flow::outcome::{Class, Failure, StatusPattern};

/// The longest back-off and the longest entry of a schedule that a definition may state, in milliseconds: 365 days.
pub const LONGEST_BACKOFF_MS: u64 = 365 * 24 * 3_600 * 1_000;

/// The most retries that a definition may ask for.
pub const MOST_RETRIES: u32 = 1_000;

/// The largest back-off multiplier that a definition may state.
pub const LARGEST_MULTIPLIER: f64 = 1e9;

/// A kind of failure named in `retryOn` or `neverRetryOn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// An HTTP status: `503`, `"503"`, `"5xx"`.
    Status(StatusPattern),
    /// A failure code: `"timeout"`, `"connect"`, …
    Code(String),
}

impl Condition {
    /// Whether `failure` is of this kind.
    pub fn matches(&self, failure: &Failure) -> bool {
        match self {
            Condition::Status(pattern) => failure.status().is_some_and(|status| pattern.matches(status)),
            Condition::Code(code) => *code == failure.code,
        }
    }
}

/// When and how often a failed action is tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Retries after the first try, 0–[`MOST_RETRIES`].
    pub max_retries: u32,
    /// Delay before the first retry, 1–[`LONGEST_BACKOFF_MS`] milliseconds.
    pub backoff_ms: u64,
    /// Factor from one delay to the next, 1–[`LARGEST_MULTIPLIER`].
    pub multiplier: f64,
    /// Longest delay before jitter, 1–[`LONGEST_BACKOFF_MS`] milliseconds.
    pub max_backoff_ms: u64,
    /// Share by which a delay varies either way, 0–1.
    pub jitter: f64,
    /// Explicit delays in place of the computed ones, taken without jitter; the last one repeats.
    pub schedule: Option<Vec<Duration>>,
    /// Budget over all tries of an action, counted from the start of its first attempt.
    pub max_elapsed: Option<Duration>,
    /// Failures that are worth a retry although the table of outcomes says otherwise.
    pub retry_on: Vec<Condition>,
    /// Failures that are not worth a retry; wins over everything else.
    pub never_retry_on: Vec<Condition>,
}

/// Requirement A19: 1 s, doubling, jitter ±20 %, at most 5 retries.
impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            max_retries: 5,
            backoff_ms: 1_000,
            multiplier: 2.0,
            max_backoff_ms: 300_000,
            jitter: 0.2,
            schedule: None,
            max_elapsed: None,
            retry_on: Vec::new(),
            never_retry_on: Vec::new(),
        }
    }
}

/// The keys that one `retryPolicy` object states; what it leaves out is inherited.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetryKeys {
    /// `maxRetries`
    pub max_retries: Option<u32>,
    /// `backoffMs`
    pub backoff_ms: Option<u64>,
    /// `backoffMultiplier`
    pub multiplier: Option<f64>,
    /// `maxBackoffMs`
    pub max_backoff_ms: Option<u64>,
    /// `jitter`
    pub jitter: Option<f64>,
    /// `schedule`
    pub schedule: Option<Vec<Duration>>,
    /// `maxElapsedSeconds`
    pub max_elapsed: Option<Duration>,
    /// `retryOn`
    pub retry_on: Option<Vec<Condition>>,
    /// `neverRetryOn`
    pub never_retry_on: Option<Vec<Condition>>,
}

impl RetryKeys {
    /// Whether a key that computes delays is stated.
    pub fn states_backoff(&self) -> bool {
        self.backoff_ms.is_some() || self.multiplier.is_some() || self.max_backoff_ms.is_some() || self.jitter.is_some()
    }

    /// `schedule` without `maxRetries` sets the number of retries to its length.
    fn retries(&self) -> Option<u32> {
        let scheduled = || self.schedule.as_ref().and_then(|delays| u32::try_from(delays.len()).ok());
        self.max_retries.or_else(scheduled)
    }
}

impl RetryPolicy {
    /// This policy with `keys` laid over it, key by key.
    ///
    /// A stated schedule replaces the computed delays; stated back-off keys without a schedule replace an inherited
    /// schedule.
    pub fn merged(&self, keys: &RetryKeys) -> RetryPolicy {
        let inherited = if keys.states_backoff() { None } else { self.schedule.clone() };
        RetryPolicy {
            max_retries: keys.retries().unwrap_or(self.max_retries),
            backoff_ms: keys.backoff_ms.unwrap_or(self.backoff_ms),
            multiplier: keys.multiplier.unwrap_or(self.multiplier),
            max_backoff_ms: keys.max_backoff_ms.unwrap_or(self.max_backoff_ms),
            jitter: keys.jitter.unwrap_or(self.jitter),
            schedule: keys.schedule.clone().or(inherited),
            max_elapsed: keys.max_elapsed.or(self.max_elapsed),
            retry_on: keys.retry_on.clone().unwrap_or_else(|| self.retry_on.clone()),
            never_retry_on: keys.never_retry_on.clone().unwrap_or_else(|| self.never_retry_on.clone()),
        }
    }

    /// The time to wait before retry `retry_no` (1 = the first).
    ///
    /// `random` is in [0, 1). `retry_after` is what the downstream asked for; the delay is never shorter than it, up to
    /// `max_retry_after`. Computed delays are at least 1 ms and at most `max_backoff_ms × (1 + jitter)`.
    pub fn delay(
        &self,
        retry_no: u32,
        random: f64,
        retry_after: Option<Duration>,
        max_retry_after: Duration,
    ) -> Duration {
        let own = self.scheduled(retry_no).unwrap_or_else(|| self.computed(retry_no, random));
        let asked = retry_after.unwrap_or_default().min(max_retry_after);
        own.max(asked)
    }

    fn scheduled(&self, retry_no: u32) -> Option<Duration> {
        let delays = self.schedule.as_ref()?;
        let position = usize::try_from(retry_no.max(1) - 1).unwrap_or(usize::MAX);
        delays.get(position).or(delays.last()).copied()
    }

    /// In floating point, where too much is infinity and not a negative number; capped before it becomes an integer.
    fn computed(&self, retry_no: u32, random: f64) -> Duration {
        let exponent = i32::try_from(retry_no.max(1) - 1).unwrap_or(i32::MAX);
        let cap = self.max_backoff_ms as f64;
        let base = (self.backoff_ms as f64 * self.multiplier.powi(exponent)).min(cap);
        let spread = 1.0 - self.jitter + 2.0 * self.jitter * random.clamp(0.0, 1.0);
        let varied = (base * spread).clamp(1.0, (cap * (1.0 + self.jitter)).max(1.0));
        Duration::from_millis((varied as u64).max(1))
    }

    /// The class of `failure` under this policy.
    ///
    /// `neverRetryOn` makes it permanent, `retryOn` makes a permanent one worth a retry; both add to the table of
    /// outcomes, they do not replace it. An unknown outcome stays unknown: a request that must not be sent twice is
    /// not.
    pub fn class_under(&self, failure: &Failure) -> Class {
        let named = |conditions: &[Condition]| conditions.iter().any(|condition| condition.matches(failure));
        match failure.class {
            Class::Unknown => Class::Unknown,
            _ if named(&self.never_retry_on) => Class::Permanent,
            Class::Permanent if named(&self.retry_on) => Class::Retry,
            class @ (Class::Permanent | Class::Retry | Class::RepeatOnce) => class,
        }
    }
}
