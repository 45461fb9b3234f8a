//! Delays at their edges, merging, and conditions.

use std::time::Duration;

use crate::flow::outcome::{Class, Failure, StatusPattern};
use crate::flow::retry::{Condition, LARGEST_MULTIPLIER, LONGEST_BACKOFF_MS, RetryKeys, RetryPolicy};

const HOUR: Duration = Duration::from_secs(3_600);

fn exact() -> RetryPolicy {
    RetryPolicy { jitter: 0.0, ..RetryPolicy::default() }
}

fn delays(policy: &RetryPolicy, retries: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let delay = |retry_no| u64::try_from(policy.delay(retry_no, 0.5, None, HOUR).as_millis()).unwrap();
    retries.into_iter().map(delay).collect()
}

/// Requirement A19.
#[test]
fn delays_double_from_one_second_up_to_the_cap() {
    assert_eq!(delays(&exact(), 1..=5), [1_000, 2_000, 4_000, 8_000, 16_000]);
    assert_eq!(
        delays(&exact(), [9, 10, 39, 63, 64, 100, 499, u32::MAX]),
        [256_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000]
    );
}

#[test]
fn the_largest_policy_does_not_overflow() {
    let policy = RetryPolicy {
        backoff_ms: LONGEST_BACKOFF_MS,
        max_backoff_ms: LONGEST_BACKOFF_MS,
        multiplier: LARGEST_MULTIPLIER,
        jitter: 1.0,
        ..RetryPolicy::default()
    };
    for retry_no in [0, 1, 2, 39, 63, 64, 100, 499, 1_000, u32::MAX] {
        for random in [0.0, 0.5, 0.999_999, f64::NAN, -1.0, 2.0] {
            let delay = policy.delay(retry_no, random, None, HOUR);
            assert!(delay >= Duration::from_millis(1), "{retry_no} {random}");
            assert!(delay <= Duration::from_millis(2 * LONGEST_BACKOFF_MS), "{retry_no} {random}");
        }
    }
}

#[test]
fn jitter_spreads_both_ways_and_no_further() {
    let policy = RetryPolicy::default();
    assert_eq!(policy.delay(1, 0.0, None, HOUR), Duration::from_millis(800));
    assert!(policy.delay(1, 0.999_999, None, HOUR) <= Duration::from_millis(1_200));
    assert!(policy.delay(30, 0.999_999, None, HOUR) <= Duration::from_millis(360_000));
}

#[test]
fn full_jitter_is_never_no_delay() {
    let policy = RetryPolicy { jitter: 1.0, backoff_ms: 1, ..RetryPolicy::default() };
    assert_eq!(policy.delay(1, 0.0, None, HOUR), Duration::from_millis(1));
}

#[test]
fn retry_after_is_a_lower_bound_up_to_its_cap() {
    let after = |seconds| exact().delay(1, 0.0, Some(Duration::from_secs(seconds)), HOUR);
    assert_eq!(after(0), Duration::from_secs(1));
    assert_eq!(after(5), Duration::from_secs(5));
    assert_eq!(after(9_999_999_999), HOUR);
    assert_eq!(exact().delay(1, 0.0, Some(Duration::MAX), HOUR), HOUR);
    let scheduled = RetryPolicy { schedule: Some(vec![Duration::ZERO]), ..exact() };
    assert_eq!(scheduled.delay(1, 0.0, Some(Duration::from_secs(5)), HOUR), Duration::from_secs(5));
}

#[test]
fn a_schedule_is_taken_as_written_and_its_last_entry_repeats() {
    let seconds = |seconds| Duration::from_secs(seconds);
    let policy = RetryPolicy { schedule: Some(vec![seconds(0), seconds(60)]), ..RetryPolicy::default() };
    assert_eq!(delays(&policy, [1, 2, 3, u32::MAX]), [0, 60_000, 60_000, 60_000]);
}

#[test]
fn a_schedule_sets_the_number_of_retries_unless_stated() {
    let schedule = Some(vec![Duration::from_secs(1); 3]);
    let keys = RetryKeys { schedule: schedule.clone(), ..RetryKeys::default() };
    assert_eq!(RetryPolicy::default().merged(&keys).max_retries, 3);
    let keys = RetryKeys { max_retries: Some(9), ..keys };
    assert_eq!(RetryPolicy::default().merged(&keys).max_retries, 9);
}

#[test]
fn back_off_keys_replace_an_inherited_schedule() {
    let inherited = RetryPolicy { schedule: Some(vec![HOUR]), max_retries: 1, ..RetryPolicy::default() };
    let merged = inherited.merged(&RetryKeys { backoff_ms: Some(5), ..RetryKeys::default() });
    assert_eq!((merged.schedule, merged.backoff_ms, merged.max_retries), (None, 5, 1));
    let merged = inherited.merged(&RetryKeys { max_retries: Some(2), ..RetryKeys::default() });
    assert_eq!((merged.schedule, merged.max_retries), (Some(vec![HOUR]), 2));
}

#[test]
fn nothing_stated_changes_nothing() {
    assert_eq!(RetryPolicy::default().merged(&RetryKeys::default()), RetryPolicy::default());
}

fn failure(code: &str, class: Class) -> Failure {
    Failure { class, ..Failure::permanent(code, "") }
}

#[test]
fn conditions_add_to_the_table_and_never_retry_on_wins() {
    let policy = RetryPolicy {
        retry_on: vec![Condition::Status(StatusPattern::Class(4)), Condition::Code("reset".to_owned())],
        never_retry_on: vec![Condition::Status(StatusPattern::Code(429)), Condition::Code("timeout".to_owned())],
        ..RetryPolicy::default()
    };
    let under = |code, class| policy.class_under(&failure(code, class));
    assert_eq!(under("http_404", Class::Permanent), Class::Retry);
    assert_eq!(under("http_503", Class::Retry), Class::Retry);
    assert_eq!(under("http_429", Class::Retry), Class::Permanent);
    assert_eq!(under("timeout", Class::Retry), Class::Permanent);
    assert_eq!(under("reset", Class::RepeatOnce), Class::RepeatOnce);
    assert_eq!(under("http_501", Class::Permanent), Class::Permanent);
    assert_eq!(under("missing_value", Class::Permanent), Class::Permanent);
    assert_eq!(under("reset", Class::Unknown), Class::Unknown);
    assert_eq!(under("timeout", Class::Unknown), Class::Unknown);
}
