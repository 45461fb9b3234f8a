//! `wait`: for events, for a time, for a length of time; and the events that cancel an instance.
//!
//! A wait for events is registered and committed first; then the instance looks for events already there, and routing
//! looks for waits. So no event can fall between the two, whatever the order of commits (requirement B8).

use super::draft::Draft;
use super::turn::Turn;
use crate::flow::definition::{Action, Match};
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::perform::{Awaited, WaitAction, WaitFor};
use crate::flow::wait::{Look, end, look, output, time_output, wanted};
use crate::store::StoreError;
use crate::store::record::NewWait;
use crate::store::wait;
use std::time::Duration;

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
        if let WaitFor::Events { awaited, all, lookback } = &wait.until {
            return if begins {
                self.register(draft, action, (awaited, *lookback), values)
            } else {
                self.look(draft, action, wait, (awaited.len(), *all))
            };
        }
        match end(&wait.until, draft.held.progress.first_try, values, &action.paths) {
            Err(failure) => self.conclude_step(draft, action, Some(failure), None, None),
            Ok(Some(until)) if until <= self.now => {
                self.conclude_step(draft, action, None, None, Some(time_output(until)))
            }
            Ok(until) => {
                draft.wait("wait", until, self.now);
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
                draft.more.waits.extend(waits);
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
        (count, all): (usize, bool),
    ) -> Result<(), StoreError> {
        let since = draft.held.progress.first_try;
        let mut arrived = wait::look_back(&[(draft.held.id, &action.name)], self.now)?.pop().unwrap_or_default();
        let mut found = look(wait, (count, all, arrived.len()), since, self.now);
        if matches!(found, Look::Failed(_) | Look::Over { timed_out: true }) {
            // An event that another worker is about to note for this wait would be lost for one that comes later.
            arrived = wait::last_look(draft.held.id, &action.name)?;
            found = look(wait, (count, all, arrived.len()), since, self.now);
        }
        let (failure, timed_out) = match found {
            Look::Waits(timeout) => {
                draft.wait("wait", timeout, self.now);
                return Ok(());
            }
            Look::Over { timed_out } => (None, timed_out),
            Look::Failed(failure) => (Some(failure), true),
        };
        draft.more.closes_waits = Some(false);
        let events = arrived.iter().map(|arrived| (arrived.event_type.as_str(), arrived.event.as_str()));
        self.conclude_step(draft, action, failure, None, Some(output(events, timed_out)))
    }

    /// The events that cancel the instance, registered when it begins.
    pub fn register_cancel_on(&self, draft: &mut Draft, values: &[PathValue]) -> Result<(), Failure> {
        let definition = draft.held.definition.clone();
        let Some(workflow) = &definition.workflow else { return Ok(()) };
        let own_key = draft.held.event.biz_key.clone();
        let waits = new_waits("", &workflow.cancel_on, Duration::ZERO, &own_key, values, &workflow.start_paths)?;
        if !waits.is_empty() {
            // What came since its own event is looked up once this is committed.
            draft.more.signals.push(draft.held.id);
            draft.more.waits.extend(waits);
        }
        Ok(())
    }
}

fn new_waits(
    action_name: &str,
    awaited: &[Awaited],
    lookback: Duration,
    own_key: &str,
    values: &[PathValue],
    paths: &[Expression],
) -> Result<Vec<NewWait>, Failure> {
    let wanted = wanted(awaited, own_key, values, paths)?.into_iter().enumerate();
    let new = wanted.map(|(place, wanted)| {
        let (match_contains, match_path) = match wanted.matching {
            None => (None, None),
            Some(Match::Contains(object)) => (Some(object), None),
            Some(Match::Path(path)) => (None, Some(path)),
        };
        NewWait {
            action_name: action_name.to_owned(),
            wait_no: place as i32,
            event_type: wanted.event_type,
            biz_key: wanted.biz_key,
            correlation_id: wanted.correlation_id,
            match_contains,
            match_path,
            lookback,
        }
    });
    Ok(new.collect())
}
