//! What a wait waits for and what it comes to.
//!
//! Which events have come is the caller's knowledge; whether they are enough is decided here.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::flow::context::quoted;
use crate::flow::definition::Match;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::perform::{Awaited, JoinKey, OnTimeout, WaitAction, WaitFor};
use crate::flow::template::{Text, render_text};

type Time = DateTime<Utc>;

/// An event to wait for, its templates rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Exact type of the event.
    pub event_type: String,
    /// Its business key, or
    pub biz_key: Option<String>,
    /// its correlation id.
    pub correlation_id: Option<String>,
    /// What it must look like besides.
    pub matching: Option<Match>,
}

/// The events to wait for, in the order of the list. `own_key` is the business key of the instance's own event.
///
/// Errors are those of the templates, all permanent.
pub fn wanted(
    awaited: &[Awaited],
    own_key: &str,
    values: &[PathValue],
    paths: &[Expression],
) -> Result<Vec<Wanted>, Failure> {
    let text = |text: &Text| render_text(text, values, paths, |value, out| out.push_str(value));
    let wanted = |awaited: &Awaited| {
        let (biz_key, correlation_id) = match &awaited.key {
            JoinKey::BizKey(None) => (Some(own_key.to_owned()), None),
            JoinKey::BizKey(Some(key)) => (Some(text(key)?), None),
            JoinKey::CorrelationId(id) => (None, Some(text(id)?)),
        };
        let (event_type, matching) = (awaited.event_type.clone(), awaited.matching.clone());
        Ok(Wanted { event_type, biz_key, correlation_id, matching })
    };
    awaited.iter().map(wanted).collect()
}

/// When a wait for a time or a length of time is over; None for one that waits for events. `since` is its begin.
///
/// Errors are permanent: `invalid_time`, and those of the template.
pub fn end(until: &WaitFor, since: Time, values: &[PathValue], paths: &[Expression]) -> Result<Option<Time>, Failure> {
    match until {
        WaitFor::Events { .. } => Ok(None),
        WaitFor::Duration(duration) => Ok(Some(later(since, *duration))),
        WaitFor::Time(text) => time(text, values, paths).map(Some),
    }
}

fn time(text: &Text, values: &[PathValue], paths: &[Expression]) -> Result<Time, Failure> {
    let rendered = render_text(text, values, paths, |value, out| out.push_str(value))?;
    let parsed = DateTime::parse_from_rfc3339(rendered.trim());
    parsed.map(|time| time.with_timezone(&Utc)).map_err(|error| {
        let shown: String = rendered.chars().take(60).collect();
        Failure::permanent("invalid_time", format!("\"{shown}\" is not a time like 2026-01-31T08:00:00Z: {error}"))
    })
}

/// The output of a wait for a time that is over.
pub fn time_output(until: Time) -> String {
    format!("{{\"timedOut\":false,\"until\":{}}}", quoted(&until.to_rfc3339()))
}

/// How a wait for events stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It goes on, until this time at the latest.
    Waits(Option<Time>),
    /// Enough has come, or its time is over and the definition says to go on.
    Over {
        /// Whether its time ran out.
        timed_out: bool,
    },
    /// Its time is over.
    Failed(Failure),
}

/// How a wait for `count` events stands, `all` or any of them, of which `arrived` have come.
pub fn look(wait: &WaitAction, (count, all, arrived): (usize, bool, usize), since: Time, now: Time) -> Look {
    let timeout = wait.timeout.map(|timeout| later(since, timeout));
    let complete = if all { arrived >= count } else { arrived > 0 };
    let timed_out = !complete && timeout.is_some_and(|timeout| timeout <= now);
    match (complete || timed_out, timed_out && wait.on_timeout == OnTimeout::Fail) {
        (false, _) => Look::Waits(timeout),
        (true, false) => Look::Over { timed_out },
        (true, true) => Look::Failed(Failure::permanent("wait_timeout", "the awaited event did not come in time")),
    }
}

/// What later steps see of a wait for events: the first one's type, all of them in the order of the list, each with its
/// type and as JSON text, and whether time ran out.
pub fn output<'a>(arrived: impl Iterator<Item = (&'a str, &'a str)> + Clone, timed_out: bool) -> String {
    let first = arrived.clone().next().map_or_else(|| "null".to_owned(), |(event_type, _)| quoted(event_type));
    let events: Vec<&str> = arrived.map(|(_, event)| event).collect();
    format!("{{\"eventType\":{first},\"events\":[{}],\"timedOut\":{timed_out}}}", events.join(","))
}

/// `time` plus `wait`; the end of time instead of an overflow.
pub fn later(time: Time, wait: Duration) -> Time {
    TimeDelta::from_std(wait).ok().and_then(|wait| time.checked_add_signed(wait)).unwrap_or(Time::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(timeout: Option<u64>, on_timeout: OnTimeout) -> WaitAction {
        let until = WaitFor::Events { awaited: Vec::new(), all: true, lookback: Duration::ZERO };
        WaitAction { until, timeout: timeout.map(Duration::from_secs), on_timeout }
    }

    fn at(second: i64) -> Time {
        DateTime::from_timestamp(second, 0).unwrap_or_default()
    }

    #[test]
    fn all_needs_every_event_and_any_needs_one() {
        let wait = wait(None, OnTimeout::Fail);
        assert_eq!(look(&wait, (2, true, 1), at(0), at(9)), Look::Waits(None));
        assert_eq!(look(&wait, (2, true, 2), at(0), at(9)), Look::Over { timed_out: false });
        assert_eq!(look(&wait, (2, false, 0), at(0), at(9)), Look::Waits(None));
        assert_eq!(look(&wait, (2, false, 1), at(0), at(9)), Look::Over { timed_out: false });
    }

    #[test]
    fn an_event_that_is_there_wins_over_the_end_of_the_time() {
        let wait = wait(Some(5), OnTimeout::Fail);
        assert_eq!(look(&wait, (1, true, 0), at(0), at(4)), Look::Waits(Some(at(5))));
        assert_eq!(look(&wait, (1, true, 1), at(0), at(5)), Look::Over { timed_out: false });
        assert!(matches!(look(&wait, (1, true, 0), at(0), at(5)), Look::Failed(f) if f.code == "wait_timeout"));
    }

    #[test]
    fn a_timeout_may_mean_to_go_on() {
        let wait = wait(Some(5), OnTimeout::Continue);
        assert_eq!(look(&wait, (1, true, 0), at(0), at(5)), Look::Over { timed_out: true });
        assert_eq!(output(std::iter::empty(), true), r#"{"eventType":null,"events":[],"timedOut":true}"#);
        let arrived = [("a", "{}"), ("b", "1")];
        let expected = r#"{"eventType":"a","events":[{},1],"timedOut":false}"#;
        assert_eq!(output(arrived.into_iter(), false), expected);
    }
}
