//! Waits in a simulation: events are matched with what is waited for when they come, and when a wait begins.

use std::rc::Rc;

use chrono::{DateTime, TimeDelta, Utc};

use super::Database;
use super::event::Event;
use super::play::{Play, Played, spell};
use super::run::{Course, OpenWait};
use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::instance::Status;
use crate::flow::perform::{WaitAction, WaitFor};
use crate::flow::wait::{Look, Wanted, end, look, output, time_output, wanted};

impl<D: Database> Play<'_, D> {
    /// Begins the wait, or looks whether it is over.
    pub fn settle_wait(&mut self, n: usize, action: &Action, wait: &WaitAction, values: &[PathValue]) -> Played<D> {
        let begins = self.runs[n].status != Status::Waiting;
        if begins {
            self.runs[n].number_attempt(self.now);
        }
        if let WaitFor::Events { awaited, all, lookback } = &wait.until {
            if begins {
                let event = self.runs[n].event.clone();
                let wanted = match wanted(awaited, &event.biz_key, values, &action.paths) {
                    Ok(wanted) => wanted,
                    Err(failure) => return self.conclude_step(n, action, Some(failure), None, None),
                };
                let lookback = TimeDelta::from_std(*lookback).unwrap_or(TimeDelta::MAX);
                let since = event.at.checked_sub_signed(lookback).unwrap_or(DateTime::<Utc>::MIN_UTC);
                self.register(n, &action.name, wanted, since)?;
            }
            return self.look(n, action, wait, (awaited.len(), *all));
        }
        match end(&wait.until, self.runs[n].progress.first_try, values, &action.paths) {
            Err(failure) => self.conclude_step(n, action, Some(failure), None, None),
            Ok(Some(until)) if until <= self.now => self.conclude_step(n, action, None, None, Some(time_output(until))),
            Ok(until) => {
                let length = until.map(|until| spell(until - self.now)).unwrap_or_default();
                self.wait(n, &format!("{} waits {length}", action.name), until);
                Ok(())
            }
        }
    }

    fn look(&mut self, n: usize, action: &Action, wait: &WaitAction, (count, all): (usize, bool)) -> Played<D> {
        let own = |open: &&OpenWait| open.action == action.name;
        let found: Vec<usize> = self.runs[n].waits.iter().filter(own).filter_map(|open| open.found).collect();
        let since = self.runs[n].progress.first_try;
        let (failure, timed_out) = match look(wait, (count, all, found.len()), since, self.now) {
            Look::Waits(timeout) => {
                let detail = self.awaited(n, action, all, timeout.map(|timeout| timeout - self.now));
                self.wait(n, &detail, timeout);
                return Ok(());
            }
            Look::Over { timed_out } => (None, timed_out),
            Look::Failed(failure) => (Some(failure), true),
        };
        self.close_waits(n);
        let arrived: Vec<(String, String)> = found
            .iter()
            .filter_map(|place| self.events.get(*place))
            .map(|event| (event.event_type.clone(), event.as_arrived()))
            .collect();
        let events = arrived.iter().map(|(event_type, event)| (event_type.as_str(), event.as_str()));
        let output = output(events, timed_out);
        self.conclude_step(n, action, failure, None, Some(output))
    }

    /// It waits for nothing any more but for what would cancel it. What was found stays found: an event completes one
    /// wait of an instance.
    pub fn close_waits(&mut self, n: usize) {
        for open in self.runs[n].waits.iter_mut().filter(|open| !open.action.is_empty()) {
            open.wanted.event_type.clear();
        }
    }

    fn awaited(&self, n: usize, action: &Action, all: bool, left: Option<TimeDelta>) -> String {
        let missing = |open: &&OpenWait| open.action == action.name && open.found.is_none();
        let name = |open: &OpenWait| {
            let key = open.wanted.biz_key.as_ref().or(open.wanted.correlation_id.as_ref());
            format!("{} of {}", open.wanted.event_type, key.map(String::as_str).unwrap_or_default())
        };
        let names: Vec<String> = self.runs[n].waits.iter().filter(missing).map(name).collect();
        let most = left.map(|left| format!(", at most {}", spell(left))).unwrap_or_default();
        format!("{} waits for {}{most}", action.name, names.join(if all { " and " } else { " or " }))
    }

    fn register(&mut self, n: usize, action_name: &str, wanted: Vec<Wanted>, since: DateTime<Utc>) -> Played<D> {
        let waits = &mut self.runs[n].waits;
        waits.retain(|open| open.action != action_name || open.found.is_some());
        for (place, wanted) in wanted.into_iter().enumerate() {
            if !waits.iter().any(|open| open.action == action_name && open.place == place) {
                waits.push(OpenWait { action: action_name.to_owned(), place, wanted, since, found: None });
            }
        }
        waits.sort_by_key(|open| open.place);
        for place in 0..self.events.len() {
            self.fulfil(n, place, Some(action_name))?;
        }
        Ok(())
    }

    /// An event comes: it completes waits of instances that are not at an end.
    pub fn arrive(&mut self, event: Rc<Event>) -> Played<D> {
        let place = self.events.len();
        self.events.push(event.clone());
        for n in 0..self.runs.len() {
            let Some(action_name) = self.fulfil(n, place, None)? else { continue };
            self.note_cancellation(n, &action_name, &event);
            if self.runs[n].status == Status::Waiting || action_name.is_empty() {
                self.signal(n);
            }
        }
        Ok(())
    }

    /// Events since the instance's own that cancel it, looked up when it begins.
    pub fn look_back_for_cancellation(&mut self, n: usize) -> Played<D> {
        for place in 0..self.events.len() {
            if let Some(action_name) = self.fulfil(n, place, Some(""))? {
                let event = self.events[place].clone();
                self.note_cancellation(n, &action_name, &event);
            }
        }
        Ok(())
    }

    fn note_cancellation(&mut self, n: usize, action_name: &str, event: &Event) {
        if action_name.is_empty() {
            self.runs[n].wanted = Some((true, format!("cancelled by event {}", event.event_type)));
        }
    }

    /// Lets an event complete the first open wait of an instance that asks for it; `of` restricts it to the waits of one
    /// action. Returns the action whose wait it was.
    fn fulfil(&mut self, n: usize, place: usize, of: Option<&str>) -> Played<D, Option<String>> {
        let event = self.events[place].clone();
        let run = &self.runs[n];
        let taken = run.waits.iter().any(|open| open.found == Some(place));
        if taken || Rc::ptr_eq(&event, &run.event) || run.course == Course::Ended {
            return Ok(None);
        }
        for index in 0..self.runs[n].waits.len() {
            let open = &self.runs[n].waits[index];
            let asks = of.is_none_or(|action_name| open.action == action_name);
            if !asks || open.found.is_some() || event.at < open.since || !event.is_near(&open.wanted) {
                continue;
            }
            let fits = match open.wanted.matching.clone() {
                None => true,
                Some(matching) => self.database.matches(&format!("{{{}}}", event.members()), &matching)?,
            };
            if fits {
                let open = &mut self.runs[n].waits[index];
                open.found = Some(place);
                return Ok(Some(open.action.clone()));
            }
        }
        Ok(None)
    }
}
