//! Reading the `config` of a `wait` action, and events that are waited for wherever they are named.

use std::time::Duration;

use serde_json::Value;

use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::Templates;
use crate::flow::parse::{LONGEST_SECONDS, SECONDS, matching};
use crate::flow::perform::{Awaited, JoinKey, OnTimeout, WaitAction, WaitFor};
use crate::flow::problem::{Problem, pointer_to};

/// Most events of one list.
const MOST_EVENTS: usize = 100;

/// How long before the instance's own event an awaited one may have come, unless the definition says otherwise.
const LOOKBACK: Duration = Duration::from_secs(60);

/// Keys that say something about waiting for events only.
const OF_EVENTS: [&str; 3] = ["timeoutSeconds", "lookbackSeconds", "onTimeout"];

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<WaitAction> {
    let way = config.exactly_one(&["all", "any", "durationSeconds", "until"], problems)?;
    let timeout = config.number("timeoutSeconds", SECONDS, problems).map(Duration::from_secs_f64);
    let lookback = config.number("lookbackSeconds", 0.0..=LONGEST_SECONDS, problems);
    let lookback = lookback.map_or(LOOKBACK, Duration::from_secs_f64);
    let words = [("fail", OnTimeout::Fail), ("continue", OnTimeout::Continue)];
    let on_timeout = config.word("onTimeout", &words, problems);
    if on_timeout.is_some() && config.get("timeoutSeconds").is_none() && matches!(way, "all" | "any") {
        let message = "\"onTimeout\" has no effect without \"timeoutSeconds\"";
        problems.push(Problem::warning(config.pointer("onTimeout"), "unused_key", message));
    }
    let until = match way {
        "durationSeconds" => {
            refuse_keys_of_events(config, problems);
            WaitFor::Duration(Duration::from_secs_f64(config.number(way, SECONDS, problems)?))
        }
        "until" => {
            refuse_keys_of_events(config, problems);
            WaitFor::Time(until(config, templates, problems)?)
        }
        _ => WaitFor::Events { awaited: events(config, way, templates, problems), all: way == "all", lookback },
    };
    Some(WaitAction { until, timeout, on_timeout: on_timeout.unwrap_or_default() })
}

fn refuse_keys_of_events(config: &Fields, problems: &mut Vec<Problem>) {
    for key in OF_EVENTS.into_iter().filter(|key| config.get(key).is_some()) {
        let message = format!("\"{key}\" belongs to waiting for events");
        problems.push(Problem::error(config.pointer(key), "conflicting_keys", message));
    }
}

/// A time without a template is looked at here; one with a template when it is rendered.
fn until(
    config: &Fields,
    templates: &mut Templates,
    problems: &mut Vec<Problem>,
) -> Option<crate::flow::template::Text> {
    let stated = config.text("until", problems)?;
    let pointer = config.pointer("until");
    let text = templates.text(config.get("until")?, &pointer, problems)?;
    if text.as_fixed().is_some_and(|fixed| chrono::DateTime::parse_from_rfc3339(&fixed).is_err()) {
        let message = format!("\"{stated}\" is not a time");
        let problem = Problem::error(pointer, "invalid_value", message);
        problems.push(problem.hint("write a time with its offset, as in 2030-01-31T08:00:00Z, or a template"));
    }
    Some(text)
}

/// Reads the list of events at `key`.
pub(super) fn events(
    owner: &Fields,
    key: &str,
    templates: &mut Templates,
    problems: &mut Vec<Problem>,
) -> Vec<Awaited> {
    let Some(list) = owner.list(key, problems) else { return Vec::new() };
    let pointer = owner.pointer(key);
    if !(1..=MOST_EVENTS).contains(&list.len()) {
        let message = format!("\"{key}\" lists 1 to {MOST_EVENTS} events, this one {}", list.len());
        problems.push(Problem::error(pointer, "out_of_range", message));
        return Vec::new();
    }
    let read = |(number, value)| event(value, pointer_to(&pointer, number), templates, problems);
    list.iter().enumerate().filter_map(read).collect()
}

fn event(value: &Value, place: String, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<Awaited> {
    let fields = Fields::of(value, place, problems)?;
    fields.refuse_unknown(&["eventType", "bizKey", "correlationId", "match"], advice, problems);
    let event_type = fields.required("eventType", problems).and_then(|_| fields.label("eventType", problems));
    if event_type.as_ref().is_some_and(|event_type| event_type.contains(['*']) || event_type.contains("${")) {
        let message = "\"eventType\" is the exact type of one event, without * and templates";
        problems.push(Problem::error(fields.pointer("eventType"), "invalid_event_type", message));
    }
    let mut text = |key: &str, problems: &mut Vec<Problem>| {
        fields.get(key).and_then(|value| templates.text(value, &fields.pointer(key), problems))
    };
    let (biz_key, correlation_id) = (text("bizKey", problems), text("correlationId", problems));
    if fields.get("bizKey").is_some() && fields.get("correlationId").is_some() {
        let message = "an event is joined by \"bizKey\" or by \"correlationId\", not by both";
        problems.push(Problem::error(fields.pointer("correlationId"), "conflicting_keys", message));
    }
    let matching = matching(&fields, problems);
    let key = correlation_id.map_or(JoinKey::BizKey(biz_key), JoinKey::CorrelationId);
    Some(Awaited { event_type: event_type?, key, matching })
}

fn advice(key: &str) -> Option<String> {
    match key {
        "type" | "event" => Some("the event's type is \"eventType\"".to_owned()),
        "when" => Some("what the event must look like is \"match\"".to_owned()),
        _ => None,
    }
}
