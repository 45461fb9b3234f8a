//! The life of an instance: every status against everything that can happen to it.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::{action, with_config};
use crate::flow::definition::OnError;
use crate::flow::instance::{Limits, Next, Progress, Status, after_attempt};
use crate::flow::outcome::{Class, Failure, Outcome};

/// What can happen to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    Success,
    Retryable,
    RetriesUsedUp,
    Permanent,
    Unknown,
    Lost,
    Deadline,
    Cancel,
    Pause,
}

const HAPPENINGS: [Happening; 9] = [
    Happening::Success,
    Happening::Retryable,
    Happening::RetriesUsedUp,
    Happening::Permanent,
    Happening::Unknown,
    Happening::Lost,
    Happening::Deadline,
    Happening::Cancel,
    Happening::Pause,
];

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).unwrap()
}

fn outcome(happening: Happening) -> Outcome {
    let failure = |class| Outcome::Failure(Failure { class, ..Failure::permanent("code", "message") });
    match happening {
        Happening::Success => Outcome::Success,
        Happening::Lost => Outcome::Lost,
        Happening::Permanent => failure(Class::Permanent),
        Happening::Unknown => failure(Class::Unknown),
        _ => failure(Class::Retry),
    }
}

fn attempt(happening: Happening, on_error: OnError) -> Next {
    let mut action = action(&with_config(json!({"idempotent": true})));
    action.on_error = on_error;
    let late = happening == Happening::Deadline;
    let progress = Progress {
        action_index: 0,
        retry_count: if happening == Happening::RetriesUsedUp { action.retry.max_retries } else { 0 },
        attempt_no: 1,
        lost_count: 0,
        first_try: now(),
        deadline: late.then(|| now() - TimeDelta::seconds(1)),
        repeated: false,
    };
    after_attempt(&action, &progress, &outcome(happening), now(), 0.5, &Limits::default())
}

/// Where an instance of this status is next; None: nothing changes, or it cannot happen to it.
fn next(status: Status, happening: Happening, on_error: OnError) -> Option<Status> {
    match happening {
        Happening::Cancel => status.can_be_stopped(false).then_some(Status::Cancelled),
        Happening::Pause => status.can_be_stopped(false).then_some(Status::Paused),
        Happening::Deadline if matches!(status, Status::Pending | Status::Waiting) => Some(Status::Failed),
        _ if status == Status::Running => Some(attempt(happening, on_error).status()),
        _ => None,
    }
}

#[test]
fn everything_that_can_happen_is_decided_and_drawn() {
    for (status, happening) in Status::ALL.into_iter().flat_map(|s| HAPPENINGS.map(|h| (s, h))) {
        for on_error in [OnError::Fail, OnError::Continue, OnError::Pause] {
            let Some(next) = next(status, happening, on_error) else { continue };
            assert!(next == status || status.may_become(next), "{status:?} after {happening:?} is {next:?}");
            // What ends it may first let it wait for children, or compensate.
            if next.is_final() && next != Status::Success {
                assert!(status == Status::Waiting || status.may_become(Status::Waiting), "{status:?}");
                assert!(status.may_become(Status::Compensating) && Status::Compensating.may_become(next), "{next:?}");
            }
        }
    }
}

#[test]
fn the_table_of_what_happens_to_a_running_instance() {
    let expected = [
        (Happening::Success, Status::Running),
        (Happening::Retryable, Status::Pending),
        (Happening::RetriesUsedUp, Status::Dead),
        (Happening::Permanent, Status::Failed),
        (Happening::Unknown, Status::Failed),
        (Happening::Lost, Status::Pending),
        (Happening::Deadline, Status::Failed),
        (Happening::Cancel, Status::Cancelled),
        (Happening::Pause, Status::Paused),
    ];
    for (happening, status) in expected {
        assert_eq!(next(Status::Running, happening, OnError::Fail), Some(status), "{happening:?}");
    }
}

#[test]
fn nothing_stops_what_is_ending_or_has_ended() {
    for status in Status::ALL {
        assert!(!status.can_be_stopped(true));
        let stoppable = !status.is_final() && status != Status::Compensating;
        assert_eq!(status.can_be_stopped(false), stoppable, "{status:?}");
    }
}

#[test]
fn a_final_status_is_left_for_pending_only_and_success_never() {
    for (old, new) in Status::ALL.into_iter().flat_map(|old| Status::ALL.map(|new| (old, new))) {
        assert!(!(old == new && old.may_become(new)), "{old:?}");
        if old.is_final() && old.may_become(new) {
            assert!(old != Status::Success && new == Status::Pending, "{old:?} {new:?}");
        }
    }
}

/// The rule that tests on clusters apply to the history of every instance lists the same steps.
#[test]
fn the_rule_for_the_tables_is_the_same_table() {
    let rules = include_str!("../../../tests/src/invariant.sql");
    let rule = rules.split("-- rule: ").find(|rule| rule.starts_with("a status changes only")).unwrap();
    let list = rule.split("not in (").nth(1).unwrap().split("))").next().unwrap();
    let words: Vec<Status> = list.split('\'').skip(1).step_by(2).map(|word| word.parse().unwrap()).collect();
    let listed: BTreeSet<(&str, &str)> = words.chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let table: BTreeSet<(&str, &str)> = Status::ALL
        .into_iter()
        .flat_map(|old| Status::ALL.map(|new| (old, new)))
        .filter(|(old, new)| old.may_become(*new))
        .map(|(old, new)| (old.as_str(), new.as_str()))
        .collect();
    assert_eq!(listed, table);
}
