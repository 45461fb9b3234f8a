//! `wait`: for events, for a time, for a length of time; and the events that cancel an instance.
//!
//! A wait for events is registered and committed first; then the instance looks for events already there, and routing
//! looks for waits. So no event can fall between the two, whatever the order of commits (requirement B8).

use super::draft::Draft;
use super::turn::Turn;
use crate::flow::context::quoted;
use crate::flow::definition::{Action, Match};
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::perform::{Awaited, JoinKey, OnTimeout, WaitAction, WaitFor};
use crate::flow::template::{Text, render_text};
use crate::store::StoreError;
use crate::store::record::NewWait;
use crate::store::wait::{self, Arrived};
use chrono::{DateTime, TimeDelta, Utc};
use std::time::Duration;

type Time = DateTime<Utc>;

impl Turn<'_> {
    /// Begins the wait, or looks whether it is over.
    pub fn settle_wait(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        wait: &WaitAction,
        values: &[PathValue],
    ) -> Result<(), StoreError> {
        let begins = draft.begins();
        if begins {
            draft.number_attempt(self.now);
        }
        let since = draft.held.progress.first_try;
        let until = match &wait.until {
            WaitFor::Events { awaited, all, lookback } => {
                let timeout = wait.timeout.map(|timeout| later(since, timeout));
                return if begins {
                    self.register(draft, action, (awaited, *lookback), values)
                } else {
                    self.look(draft, action, wait, (awaited.len(), *all, timeout))
                };
            }
            WaitFor::Duration(duration) => Ok(later(since, *duration)),
            WaitFor::Time(text) => time(text, values, &action.paths),
        };
        match until {
            Err(failure) => self.conclude_step(draft, action, Some(failure), None, None),
            Ok(until) if until <= self.now => {
                let output = format!("{{\"timedOut\":false,\"until\":{}}}", quoted(&until.to_rfc3339()));
                self.conclude_step(draft, action, None, None, Some(output))
            }
            Ok(until) => {
                draft.wait("wait", Some(until), self.now);
                Ok(())
            }
        }
    }

    /// Registers the wait; the instance looks for events that are there already once that is committed.
    fn register(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        (awaited, lookback): (&[Awaited], Duration),
        values: &[PathValue],
    ) -> Result<(), StoreError> {
        let own_key = draft.held.event.biz_key.clone();
        match new_waits(&action.name, awaited, lookback, &own_key, values, &action.paths) {
            Err(failure) => self.conclude_step(draft, action, Some(failure), None, None),
            Ok(waits) => {
                draft.more.waits = waits;
                draft.wait("wait", Some(self.now), self.now);
                Ok(())
            }
        }
    }

    fn look(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        wait: &WaitAction,
        (count, all, timeout): (usize, bool, Option<Time>),
    ) -> Result<(), StoreError> {
        let is_complete = |arrived: &[Arrived]| if all { arrived.len() >= count } else { !arrived.is_empty() };
        let mut arrived = wait::look_back(&[(draft.held.id, &action.name)], self.now)?.pop().unwrap_or_default();
        let is_over = timeout.is_some_and(|timeout| timeout <= self.now);
        if is_over && !is_complete(&arrived) {
            // An event that another worker is about to note for this wait would be lost for one that comes later.
            arrived = wait::last_look(draft.held.id, &action.name)?;
        }
        let complete = is_complete(&arrived);
        let timed_out = !complete && is_over;
        if !complete && !timed_out {
            draft.wait("wait", timeout, self.now);
            return Ok(());
        }
        draft.more.closes_waits = Some(false);
        let failure = (timed_out && wait.on_timeout == OnTimeout::Fail)
            .then(|| Failure::permanent("wait_timeout", "the awaited event did not come in time"));
        self.conclude_step(draft, action, failure, None, Some(outcome(&arrived, timed_out)))
    }

    /// The events that cancel the instance, registered when it begins.
    pub fn register_cancel_on(&self, draft: &mut Draft, values: &[PathValue]) -> Result<(), Failure> {
        let definition = draft.held.definition.clone();
        let Some(workflow) = &definition.workflow else { return Ok(()) };
        let own_key = draft.held.event.biz_key.clone();
        let waits = new_waits("", &workflow.cancel_on, Duration::ZERO, &own_key, values, &workflow.start_paths)?;
        draft.more.waits.extend(waits);
        Ok(())
    }
}

/// What later steps see of a wait: the first event's type, all events in the order of the list, whether time ran out.
fn outcome(arrived: &[Arrived], timed_out: bool) -> String {
    let first = arrived.first().map_or_else(|| "null".to_owned(), |first| quoted(&first.event_type));
    let events: Vec<&str> = arrived.iter().map(|arrived| arrived.event.as_str()).collect();
    format!("{{\"eventType\":{first},\"events\":[{}],\"timedOut\":{timed_out}}}", events.join(","))
}

fn new_waits(
    action_name: &str,
    awaited: &[Awaited],
    lookback: Duration,
    own_key: &str,
    values: &[PathValue],
    paths: &[Expression],
) -> Result<Vec<NewWait>, Failure> {
    let text = |text: &Text| render_text(text, values, paths, |value, out| out.push_str(value));
    let wait = |(place, awaited): (usize, &Awaited)| {
        let (biz_key, correlation_id) = match &awaited.key {
            JoinKey::BizKey(None) => (Some(own_key.to_owned()), None),
            JoinKey::BizKey(Some(key)) => (Some(text(key)?), None),
            JoinKey::CorrelationId(id) => (None, Some(text(id)?)),
        };
        let (match_contains, match_path) = match &awaited.matching {
            None => (None, None),
            Some(Match::Contains(object)) => (Some(object.clone()), None),
            Some(Match::Path(path)) => (None, Some(path.clone())),
        };
        let (action_name, event_type) = (action_name.to_owned(), awaited.event_type.clone());
        let wait_no = place as i32;
        Ok(NewWait { action_name, wait_no, event_type, biz_key, correlation_id, match_contains, match_path, lookback })
    };
    awaited.iter().enumerate().map(wait).collect()
}

fn time(text: &Text, values: &[PathValue], paths: &[Expression]) -> Result<Time, Failure> {
    let rendered = render_text(text, values, paths, |value, out| out.push_str(value))?;
    let parsed = DateTime::parse_from_rfc3339(rendered.trim());
    parsed.map(|time| time.with_timezone(&Utc)).map_err(|error| {
        let shown: String = rendered.chars().take(60).collect();
        Failure::permanent("invalid_time", format!("\"{shown}\" is not a time like 2026-01-31T08:00:00Z: {error}"))
    })
}

fn later(time: Time, wait: Duration) -> Time {
    TimeDelta::from_std(wait).ok().and_then(|wait| time.checked_add_signed(wait)).unwrap_or(Time::MAX_UTC)
}
