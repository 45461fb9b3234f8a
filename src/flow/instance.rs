//! The life of an instance, and the one decision in it: what follows an attempt.
//!
//! ```text
//!                         claimed                     last action succeeded
//!     ┌──────▶ PENDING ──────────────▶ RUNNING ──────────────────────────────────▶ SUCCESS
//!     │           ▲                    │ │ │ │
//!     │           │  retry, repetition,│ │ │ │  error that no retry mends,
//!     │           └── next action ─────┘ │ │ ├── unknown outcome, deadline ──────▶ FAILED
//!     │                                  │ │ └── retries used up, worker lost ───▶ DEAD
//!     │                                  │ │
//!     ├─ event, timer, children ─ WAITING◀┘└─▶PAUSED  (onError: pause, or by hand)
//!     │                                         │
//!     └─ resumed by hand ───────────────────────┘
//!
//!     PENDING, WAITING ─── deadline, onTimeout: fail, no branch succeeded ────────▶ FAILED, DEAD
//!     PENDING, RUNNING, WAITING, PAUSED ─── cancelled: by hand, cancelOn, a parent ▶ CANCELLED
//!     FAILED, DEAD, CANCELLED ─── retry_instance, replay; a branch with its parent ▶ PENDING
//!
//!     Before it ends other than SUCCESS, an instance with children is WAITING until they have ended (cancelled, if
//!     they live), and one that has something to undo is COMPENSATING; `end_status` keeps how it will end.
//!
//!         any of the four ─── end is decided ─▶ WAITING ── children ended ─▶ COMPENSATING ─▶ FAILED, DEAD, CANCELLED
//!
//!     Nothing else leaves a final state.
//! ```
//!
//! The decision never looks at a clock and never writes: the caller carries it out under its guards.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::flow::definition::{Action, OnError};
use crate::flow::outcome::{Class, Failure, Outcome};

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Waits for its turn or for `next_retry_time`.
    Pending,
    /// Claimed by a worker.
    Running,
    /// Waits for an event, a timer or children.
    Waiting,
    /// Waits for a person.
    Paused,
    /// Undoes what was done.
    Compensating,
    /// All actions done.
    Success,
    /// Ended by an error that no retry mends, or by the deadline.
    Failed,
    /// Ended because the retries are used up.
    Dead,
    /// Ended by hand.
    Cancelled,
}

/// A word that is no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a status")]
pub struct UnknownStatus(String);

impl Status {
    /// Every status, in the order of a life.
    pub const ALL: [Status; 9] = [
        Status::Pending,
        Status::Running,
        Status::Waiting,
        Status::Paused,
        Status::Compensating,
        Status::Success,
        Status::Failed,
        Status::Dead,
        Status::Cancelled,
    ];

    /// The word stored in the tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "PENDING",
            Status::Running => "RUNNING",
            Status::Waiting => "WAITING",
            Status::Paused => "PAUSED",
            Status::Compensating => "COMPENSATING",
            Status::Success => "SUCCESS",
            Status::Failed => "FAILED",
            Status::Dead => "DEAD",
            Status::Cancelled => "CANCELLED",
        }
    }

    /// Whether an instance may go from this status to another one in one step: the diagram as a table.
    pub fn may_become(self, new: Status) -> bool {
        use Status::{Cancelled, Compensating, Dead, Failed, Paused, Pending, Running, Success, Waiting};
        match self {
            Pending => matches!(new, Running | Waiting | Paused | Compensating | Failed | Cancelled),
            Running => new != Running,
            Waiting => matches!(new, Pending | Running | Paused | Compensating | Failed | Dead | Cancelled),
            Paused => matches!(new, Pending | Waiting | Compensating | Failed | Cancelled),
            Compensating => matches!(new, Failed | Dead | Cancelled),
            Failed | Dead | Cancelled => new == Pending,
            Success => false,
        }
    }

    /// Whether an instance in this status can still be cancelled or paused; `is_ending`: its end is decided.
    pub fn can_be_stopped(self, is_ending: bool) -> bool {
        match self {
            Status::Pending | Status::Running | Status::Waiting | Status::Paused => !is_ending,
            Status::Compensating | Status::Success | Status::Failed | Status::Dead | Status::Cancelled => false,
        }
    }

    /// Whether nothing but `retry_instance` or a replay can leave it.
    pub fn is_final(self) -> bool {
        match self {
            Status::Success | Status::Failed | Status::Dead | Status::Cancelled => true,
            Status::Pending | Status::Running | Status::Waiting | Status::Paused | Status::Compensating => false,
        }
    }
}

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Status::ALL.into_iter().find(|status| status.as_str() == word).ok_or_else(|| UnknownStatus(word.to_owned()))
    }
}

/// Where the current action stands, as it was before the attempt's outcome is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Position of the action in the workflow, from 0.
    pub action_index: usize,
    /// Retries that this action has used up.
    pub retry_count: u32,
    /// Number of the attempt that just ended, from 1; never reset.
    pub attempt_no: u32,
    /// Attempts of this action whose worker vanished, this one not counted.
    pub lost_count: u32,
    /// Start of the action's first attempt.
    pub first_try: DateTime<Utc>,
    /// When the instance has to be over.
    pub deadline: Option<DateTime<Utc>>,
    /// Whether this attempt was itself a repetition at once ([`Next::RepeatNow`] after a reset).
    pub repeated: bool,
}

/// Bounds that the server sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest `Retry-After` that is honoured.
    pub max_retry_after: Duration,
    /// Lost attempts of one action after which the instance is given up; at least 1.
    pub max_lost: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_retry_after: Duration::from_secs(3_600), max_lost: 3 }
    }
}

/// What follows an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The action is done; go on with the one after it.
    Advance,
    /// The action is recorded as failed; go on with the one after it (`onError: continue`).
    GoOnAfterError,
    /// Try the action again at this time; uses up a retry.
    RetryAt(DateTime<Utc>),
    /// Try the action again at once; uses up none.
    RepeatNow,
    /// Stop until a person decides (`onError: pause`).
    Pause,
    /// The instance ends FAILED.
    Fail {
        /// Code of the failure.
        code: String,
        /// Its message.
        message: String,
    },
    /// The instance ends DEAD.
    Die {
        /// Code of the last failure, or `worker_lost`.
        code: String,
        /// Its message.
        message: String,
    },
}

impl Next {
    /// Status that it leads to, if nothing has to be seen to before an end.
    pub fn status(&self) -> Status {
        match self {
            Next::Advance | Next::GoOnAfterError => Status::Running,
            Next::RetryAt(_) | Next::RepeatNow => Status::Pending,
            Next::Pause => Status::Paused,
            Next::Fail { .. } => Status::Failed,
            Next::Die { .. } => Status::Dead,
        }
    }
}

/// Decides what follows an attempt of `action` that ended with `outcome` at `now`.
///
/// `random` is in [0, 1) and only varies the back-off. A success always advances, even after the deadline: the caller
/// looks at the deadline before the next action. Without success the deadline ends the instance whatever `onError`
/// says.
pub fn after_attempt(
    action: &Action,
    progress: &Progress,
    outcome: &Outcome,
    now: DateTime<Utc>,
    random: f64,
    limits: &Limits,
) -> Next {
    if *outcome == Outcome::Success {
        return Next::Advance;
    }
    if progress.deadline.is_some_and(|deadline| now >= deadline) {
        return Next::Fail { code: "deadline".to_owned(), message: "the workflow's timeout has passed".to_owned() };
    }
    match outcome {
        Outcome::Success => Next::Advance,
        Outcome::Failure(failure) => after_failure(action, progress, failure, now, random, limits),
        Outcome::Lost => after_loss(action, progress, limits),
    }
}

fn after_failure(
    action: &Action,
    progress: &Progress,
    failure: &Failure,
    now: DateTime<Utc>,
    random: f64,
    limits: &Limits,
) -> Next {
    match action.retry.class_under(failure) {
        Class::Permanent | Class::Unknown => under_on_error(action, fail(&failure.code, &failure.message)),
        Class::RepeatOnce if !progress.repeated => Next::RepeatNow,
        Class::RepeatOnce | Class::Retry => match retry_time(action, progress, failure, now, random, limits) {
            Some(at) => Next::RetryAt(at),
            None => under_on_error(action, die(&failure.code, &failure.message)),
        },
    }
}

/// A lost attempt says nothing about the action, so it uses no retry; but an action that takes its worker down each
/// time has to end.
fn after_loss(action: &Action, progress: &Progress, limits: &Limits) -> Next {
    if !action.perform.is_idempotent() {
        let message = "the worker was lost during the attempt; whether the request was sent is not known";
        return under_on_error(action, fail("unknown_outcome", message));
    }
    if progress.lost_count.saturating_add(1) >= limits.max_lost {
        let message = format!("the worker was lost during {} attempts of this action", limits.max_lost);
        return under_on_error(action, die("worker_lost", &message));
    }
    Next::RepeatNow
}

/// When to retry; None when the number of retries or the time for them is used up.
///
/// A retry that would start after the deadline is put on the deadline, so that the deadline and not the retry ends the
/// instance.
fn retry_time(
    action: &Action,
    progress: &Progress,
    failure: &Failure,
    now: DateTime<Utc>,
    random: f64,
    limits: &Limits,
) -> Option<DateTime<Utc>> {
    let policy = &action.retry;
    if progress.retry_count >= policy.max_retries {
        return None;
    }
    let delay = policy.delay(progress.retry_count + 1, random, failure.retry_after, limits.max_retry_after);
    let at = later(now, delay);
    if policy.max_elapsed.is_some_and(|budget| at > later(progress.first_try, budget)) {
        return None;
    }
    Some(progress.deadline.map_or(at, |deadline| at.min(deadline)))
}

/// `onError` decides both where the instance would fail and where it would die.
fn under_on_error(action: &Action, end: Next) -> Next {
    match action.on_error {
        OnError::Fail => end,
        OnError::Continue => Next::GoOnAfterError,
        OnError::Pause => Next::Pause,
    }
}

fn fail(code: &str, message: &str) -> Next {
    Next::Fail { code: code.to_owned(), message: message.to_owned() }
}

fn die(code: &str, message: &str) -> Next {
    Next::Die { code: code.to_owned(), message: message.to_owned() }
}

/// `time` plus `wait`; the end of time instead of an overflow.
fn later(time: DateTime<Utc>, wait: Duration) -> DateTime<Utc> {
    TimeDelta::from_std(wait).ok().and_then(|wait| time.checked_add_signed(wait)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}
