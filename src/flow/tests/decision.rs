//! What follows an attempt: the whole product of outcomes, policies, `onError` and times, against the rules in words.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::{action, with_config};
use crate::flow::definition::{Action, OnError, Perform};
use crate::flow::instance::{Limits, Next, Progress, Status, after_attempt};
use crate::flow::outcome::{Class, Failure, Outcome, StatusPattern};
use crate::flow::retry::{Condition, RetryPolicy};

const CLASSES: [Class; 4] = [Class::Retry, Class::Permanent, Class::Unknown, Class::RepeatOnce];
const ON_ERROR: [OnError; 3] = [OnError::Fail, OnError::Continue, OnError::Pause];

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).unwrap()
}

fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

fn progress() -> Progress {
    Progress {
        action_index: 0,
        retry_count: 0,
        attempt_no: 1,
        lost_count: 0,
        first_try: now(),
        deadline: None,
        repeated: false,
    }
}

/// Back-off of exactly 1 s, 2 s, 4 s …, two retries.
fn step(on_error: OnError, idempotent: bool) -> Action {
    let mut action = action(&with_config(json!({"idempotent": idempotent})));
    action.retry = RetryPolicy { max_retries: 2, jitter: 0.0, ..RetryPolicy::default() };
    action.on_error = on_error;
    action
}

fn failed(class: Class) -> Outcome {
    Outcome::Failure(Failure { class, ..Failure::permanent("http_503", "m") })
}

fn after(action: &Action, progress: &Progress, outcome: &Outcome) -> Next {
    after_attempt(action, progress, outcome, now(), 0.5, &Limits::default())
}

/// The end that `onError` makes of a failure for good.
fn end(on_error: OnError, end: Next) -> Next {
    match on_error {
        OnError::Fail => end,
        OnError::Continue => Next::GoOnAfterError,
        OnError::Pause => Next::Pause,
    }
}

fn fail(code: &str) -> Next {
    Next::Fail { code: code.to_owned(), message: String::new() }
}

fn die(code: &str) -> Next {
    Next::Die { code: code.to_owned(), message: String::new() }
}

/// Without the message, which the product does not check.
fn bare(next: Next) -> Next {
    match next {
        Next::Fail { code, .. } => fail(&code),
        Next::Die { code, .. } => die(&code),
        other => other,
    }
}

/// The rules, written down a second time and in another order than the code.
fn expected(action: &Action, progress: &Progress, outcome: &Outcome) -> Next {
    let Perform::Http(http) = &action.perform else { panic!("an http action") };
    let on_error = action.on_error;
    let left = progress.retry_count < action.retry.max_retries;
    let overdue = progress.deadline.is_some_and(|deadline| deadline <= now());
    let retry = || {
        let at = now() + seconds(1 << progress.retry_count);
        Next::RetryAt(progress.deadline.map_or(at, |deadline| deadline.min(at)))
    };
    match outcome {
        Outcome::Success => Next::Advance,
        _ if overdue => fail("deadline"),
        Outcome::Lost if !http.idempotent => end(on_error, fail("unknown_outcome")),
        Outcome::Lost if progress.lost_count < 2 => Next::RepeatNow,
        Outcome::Lost => end(on_error, die("worker_lost")),
        Outcome::Failure(failure) => match failure.class {
            Class::Permanent | Class::Unknown => end(on_error, fail("http_503")),
            Class::RepeatOnce if !progress.repeated => Next::RepeatNow,
            Class::RepeatOnce | Class::Retry if left => retry(),
            Class::RepeatOnce | Class::Retry => end(on_error, die("http_503")),
        },
    }
}

#[test]
fn the_whole_product_follows_the_rules() {
    let outcomes = || CLASSES.map(failed).into_iter().chain([Outcome::Success, Outcome::Lost]);
    let deadlines = [None, Some(seconds(-1)), Some(seconds(0)), Some(TimeDelta::milliseconds(1)), Some(seconds(60))];
    let mut cells = 0;
    for (on_error, idempotent) in ON_ERROR.into_iter().flat_map(|on_error| [(on_error, true), (on_error, false)]) {
        let action = step(on_error, idempotent);
        for (retry_count, lost_count, repeated) in
            (0..=3).flat_map(|retries| (0..=3).flat_map(move |lost| [(retries, lost, false), (retries, lost, true)]))
        {
            for (outcome, deadline) in outcomes().flat_map(|outcome| deadlines.map(|at| (outcome.clone(), at))) {
                let deadline = deadline.map(|ahead| now() + ahead);
                let progress = Progress { retry_count, lost_count, repeated, deadline, ..progress() };
                let next = bare(after(&action, &progress, &outcome));
                assert_eq!(next, expected(&action, &progress, &outcome), "{on_error:?} {progress:?} {outcome:?}");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 3 * 2 * 4 * 4 * 2 * 6 * 5);
}

#[test]
fn a_dead_instance_keeps_the_code_and_message_of_its_last_failure() {
    let progress = Progress { retry_count: 2, ..progress() };
    let next = after(&step(OnError::Fail, true), &progress, &failed(Class::Retry));
    assert_eq!(next, Next::Die { code: "http_503".to_owned(), message: "m".to_owned() });
}

#[test]
fn no_retries_means_one_try() {
    let mut action = step(OnError::Fail, true);
    action.retry.max_retries = 0;
    assert_eq!(bare(after(&action, &progress(), &failed(Class::Retry))), die("http_503"));
}

#[test]
fn a_retry_after_the_budget_is_not_made() {
    let mut action = step(OnError::Fail, true);
    let started = |ago| Progress { first_try: now() - seconds(ago), ..progress() };
    action.retry.max_elapsed = Some(Duration::from_secs(10));
    let retry = Next::RetryAt(now() + seconds(1));
    assert_eq!(after(&action, &started(9), &failed(Class::Retry)), retry, "exactly at its end is within");
    assert_eq!(bare(after(&action, &started(10), &failed(Class::Retry))), die("http_503"));
    assert_eq!(bare(after(&action, &started(1_000_000), &failed(Class::Retry))), die("http_503"));
}

#[test]
fn a_retry_waits_as_long_as_the_downstream_asks() {
    let asked = |after| {
        Outcome::Failure(Failure {
            class: Class::Retry,
            retry_after: Some(after),
            ..Failure::permanent("http_429", "")
        })
    };
    let action = step(OnError::Fail, true);
    let next = after(&action, &progress(), &asked(Duration::from_secs(90)));
    assert_eq!(next, Next::RetryAt(now() + seconds(90)));
    let next = after(&action, &progress(), &asked(Duration::MAX));
    assert_eq!(next, Next::RetryAt(now() + seconds(3_600)), "capped");
    let deadline = Some(now() + seconds(30));
    let next = after(&action, &Progress { deadline, ..progress() }, &asked(Duration::from_secs(90)));
    assert_eq!(next, Next::RetryAt(now() + seconds(30)), "put on the deadline");
}

#[test]
fn the_definition_may_overrule_the_table() {
    let mut action = step(OnError::Fail, true);
    action.retry.retry_on = vec![Condition::Status(StatusPattern::Class(5))];
    assert_eq!(after(&action, &progress(), &failed(Class::Permanent)), Next::RetryAt(now() + seconds(1)));
    action.retry.never_retry_on = vec![Condition::Status(StatusPattern::Code(503))];
    for class in CLASSES {
        assert_eq!(bare(after(&action, &progress(), &failed(class))), fail("http_503"), "{class:?}");
    }
}

#[test]
fn times_at_the_end_of_time_do_not_overflow() {
    let mut action = step(OnError::Fail, true);
    action.retry.max_elapsed = Some(Duration::MAX);
    let limits = Limits { max_retry_after: Duration::MAX, ..Limits::default() };
    let failure =
        Failure { class: Class::Retry, retry_after: Some(Duration::MAX), ..Failure::permanent("http_429", "") };
    let next = after_attempt(&action, &progress(), &Outcome::Failure(failure), now(), 0.5, &limits);
    assert_eq!(next, Next::RetryAt(DateTime::<Utc>::MAX_UTC));
    let counters = Progress { retry_count: u32::MAX, lost_count: u32::MAX, ..progress() };
    assert_eq!(bare(after(&action, &counters, &failed(Class::Retry))), die("http_503"));
    assert_eq!(bare(after(&action, &counters, &Outcome::Lost)), die("worker_lost"));
}

#[test]
fn statuses_read_back_as_written_and_four_are_final() {
    for status in Status::ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
    }
    let ends: Vec<&str> = Status::ALL.into_iter().filter(|status| status.is_final()).map(Status::as_str).collect();
    assert_eq!(ends, ["SUCCESS", "FAILED", "DEAD", "CANCELLED"]);
    assert!("pending".parse::<Status>().is_err());
}
