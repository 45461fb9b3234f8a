//! What a simulation is told: the event, and the mocked outcomes and later events.
//!
//! Mocks that could never be used are mistakes: a mistyped name would let the simulation succeed for the wrong reason.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;

use super::fields::Fields;
use super::{Placed, placed_actions};
use crate::flow::definition::{Action, Perform, Workflow};
use crate::flow::outcome::Transport;
use crate::flow::problem::{Problem, did_you_mean, pointer_to};

/// Members of an event, those of `rea.fire_event` and what `rea.export_events` adds.
const EVENT: [&str; 11] = [
    "event_type",
    "biz_key",
    "payload",
    "event_id",
    "source",
    "attributes",
    "correlation_id",
    "causation_id",
    "occurred_at",
    "fire_at",
    "eventUid",
];

/// What a reply can be.
const REPLIES: [&str; 4] = ["status", "fail", "result", "error"];

/// Longest time before or after the event, in seconds: ten years.
const LONGEST_SECONDS: f64 = 315_360_000.0;

/// An event as it is given; JSON members as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenEvent {
    /// What happened.
    pub event_type: String,
    /// Business key.
    pub biz_key: String,
    /// Body.
    pub payload: String,
    /// Id given by its source.
    pub event_id: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// Attributes, an object.
    pub attributes: String,
    /// Trace among the attributes.
    pub traceparent: Option<String>,
    /// Business case.
    pub correlation_id: Option<String>,
    /// Event that caused it.
    pub causation_id: Option<String>,
    /// When it happened, as PostgreSQL reads times.
    pub occurred_at: Option<String>,
    /// When it fires, as PostgreSQL reads times.
    pub fire_at: Option<String>,
}

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What comes back.
    pub outcome: Mocked,
    /// How long the attempt takes, in milliseconds; None = no time, or the whole timeout when it times out.
    pub cost_ms: Option<u32>,
}

/// What comes back from an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Mocked {
    /// An HTTP answer.
    Answer {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: Vec<(String, String)>,
        /// Its body as bytes would be.
        body: String,
    },
    /// No answer.
    Fail {
        /// Why.
        kind: Transport,
        /// The client's sentence; may be empty.
        message: String,
    },
    /// What a call, a script or a child workflow gives, JSON text.
    Result(String),
    /// What a call, a script or a child workflow raises.
    Error {
        /// SQLSTATE or code.
        code: String,
        /// What happened.
        message: String,
        /// Whether another try may succeed; None = as the code says.
        retry: Option<bool>,
        /// The least delay that it asks for.
        retry_after: Option<Duration>,
    },
}

/// What an action calls, as far as its replies differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// `http`
    Http,
    /// `local` and `message`
    Database,
    /// `lua`
    Script,
    /// `workflow`
    Workflow,
    /// Everything else: it has no outcome of its own.
    Nobody,
}

impl Callee {
    /// What the action calls.
    pub fn of(action: &Action) -> Callee {
        match action.perform {
            Perform::Http(_) => Callee::Http,
            Perform::Local(_) => Callee::Database,
            Perform::Lua(_) => Callee::Script,
            Perform::Workflow(_) => Callee::Workflow,
            Perform::Emit(_) | Perform::Wait(_) | Perform::Fork(_) => Callee::Nobody,
        }
    }

    /// Whether it can reply so.
    pub fn takes(self, outcome: &Mocked) -> bool {
        match (self, outcome) {
            (Callee::Http, Mocked::Answer { .. } | Mocked::Fail { .. }) => true,
            (Callee::Database, Mocked::Fail { kind, .. }) => *kind == Transport::Timeout,
            (Callee::Database | Callee::Script | Callee::Workflow, Mocked::Result(_) | Mocked::Error { .. }) => true,
            _ => false,
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Callee::Http => "an http action is answered with \"status\" or ends with \"fail\"",
            Callee::Database => "a call in the database gives a \"result\", an \"error\" or \"fail\": \"timeout\"",
            Callee::Script => "a script gives a \"result\" or an \"error\"",
            Callee::Workflow => "a child workflow gives a \"result\" or an \"error\"; unmocked it is played as well",
            Callee::Nobody => "it calls nobody; what a wait waits for is listed under \"events\"",
        }
    }
}

/// An event that comes while the instance runs, or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterEvent {
    /// How long after the begin; negative: before.
    pub after: TimeDelta,
    /// The event.
    pub event: GivenEvent,
}

/// Everything that a simulation takes from outside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mocks {
    actions: BTreeMap<String, Vec<Reply>>,
    default: Vec<Reply>,
    /// Events in the order in which they are listed.
    pub events: Vec<LaterEvent>,
}

impl Mocks {
    /// The reply to an attempt (from 1) of an action, the undo of one included. `index` is the position of the item
    /// inside of foreach. Of a list the last reply repeats; None = nothing is said.
    pub fn reply(&self, action: &str, index: Option<i32>, callee: Callee, attempt_no: u32) -> Option<&Reply> {
        let of_item = index.and_then(|index| self.actions.get(&format!("{action}[{index}]")));
        let own = of_item.or_else(|| self.actions.get(action));
        let fits = |replies: &&Vec<Reply>| replies.iter().all(|reply| callee.takes(&reply.outcome));
        let replies = own.or_else(|| Some(&self.default).filter(fits))?;
        replies.get(attempt_no.max(1) as usize - 1).or_else(|| replies.last())
    }
}

/// The actions of a workflow and the undo actions, by what they call.
pub fn callees(workflow: &Workflow) -> BTreeMap<String, Callee> {
    let named = |placed: Placed<'_>| (placed.action.name.clone(), Callee::of(placed.action));
    placed_actions(workflow).into_iter().map(named).collect()
}

/// Reads the mocks. `callees` are the actions that they may name, with the undo actions.
pub fn read(mocks: &Value, callees: &BTreeMap<String, Callee>) -> (Mocks, Vec<Problem>) {
    let mut problems = Vec::new();
    let Some(fields) = Fields::of(mocks, String::new(), &mut problems) else { return (Mocks::default(), problems) };
    fields.refuse_unknown(&["actions", "events", "default"], |_| None, &mut problems);
    let actions = actions(&fields, callees, &mut problems);
    let default = fields.get("default").map(|value| replies(value, &fields.pointer("default"), &mut problems));
    let events = fields.list("events", &mut problems).unwrap_or_default();
    let place = |index| pointer_to(&fields.pointer("events"), index);
    let events =
        events.iter().enumerate().filter_map(|(index, event)| later(event, place(index), &mut problems)).collect();
    (Mocks { actions, default: default.unwrap_or_default(), events }, problems)
}

fn actions(
    fields: &Fields<'_>,
    callees: &BTreeMap<String, Callee>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Vec<Reply>> {
    let Some(actions) = fields.fields("actions", problems) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for (name, value) in actions.iter() {
        let pointer = actions.pointer(name);
        let Some(callee) = callees.get(without_index(name)) else {
            let problem = Problem::error(&pointer, "unknown_action", format!("there is no action \"{name}\""));
            problems.push(problem.maybe_hint(did_you_mean(name, callees.keys().map(String::as_str))));
            continue;
        };
        let replies = replies(value, &pointer, problems);
        if replies.iter().any(|reply| !callee.takes(&reply.outcome)) || *callee == Callee::Nobody {
            let message = format!("action \"{name}\" cannot end so");
            problems.push(Problem::error(&pointer, "invalid_value", message).hint(callee.advice()));
        }
        found.insert(name.clone(), replies);
    }
    found
}

/// `name[3]` means `name` for the fourth item.
fn without_index(name: &str) -> &str {
    let index = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match index {
        Some((action, index)) if !index.is_empty() && index.bytes().all(|c| c.is_ascii_digit()) => action,
        _ => name,
    }
}

/// One reply, or a list of them.
fn replies(value: &Value, pointer: &str, problems: &mut Vec<Problem>) -> Vec<Reply> {
    match value {
        Value::Array(list) if list.is_empty() => {
            problems.push(Problem::error(pointer, "invalid_value", "the list has no reply"));
            Vec::new()
        }
        Value::Array(list) => {
            let place = |index| pointer_to(pointer, index);
            list.iter().enumerate().filter_map(|(index, value)| reply(value, place(index), problems)).collect()
        }
        one => reply(one, pointer.to_owned(), problems).into_iter().collect(),
    }
}

fn reply(value: &Value, place: String, problems: &mut Vec<Problem>) -> Option<Reply> {
    let fields = Fields::of(value, place, problems)?;
    let kind = fields.exactly_one(&REPLIES, problems);
    let own: &[&str] = match kind {
        Some("status") => &["status", "headers", "body", "costMs"],
        Some("fail") => &["fail", "message", "costMs"],
        Some(other) => &[other, "costMs"],
        None => &["status", "headers", "body", "fail", "message", "result", "error", "costMs"],
    };
    fields.refuse_unknown(own, |_| None, problems);
    let cost_ms = fields.integer("costMs", 0..=i64::from(i32::MAX), problems).map(|ms| ms as u32);
    let outcome = match kind? {
        "status" => answer(&fields, problems)?,
        "fail" => {
            let words: Vec<(&str, Transport)> = Transport::ALL.iter().map(|kind| (kind.code(), *kind)).collect();
            let kind = fields.word("fail", &words, problems)?;
            Mocked::Fail { kind, message: fields.text("message", problems).unwrap_or_default().to_owned() }
        }
        "result" => Mocked::Result(fields.get("result")?.to_string()),
        _ => error(&fields.fields("error", problems)?, problems)?,
    };
    Some(Reply { outcome, cost_ms })
}

fn answer(fields: &Fields<'_>, problems: &mut Vec<Problem>) -> Option<Mocked> {
    let status = fields.integer("status", 100..=599, problems)? as u16;
    let mut headers = Vec::new();
    for (name, value) in fields.fields("headers", problems).iter().flat_map(Fields::iter) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        headers.push((name.to_ascii_lowercase(), value));
    }
    let body = fields.get("body").map_or_else(String::new, Value::to_string);
    Some(Mocked::Answer { status, headers, body })
}

fn error(fields: &Fields<'_>, problems: &mut Vec<Problem>) -> Option<Mocked> {
    fields.refuse_unknown(&["code", "message", "retry", "retryAfterSeconds"], |_| None, problems);
    fields.required("code", problems)?;
    let retry_after = fields.number("retryAfterSeconds", 0.0..=LONGEST_SECONDS, problems);
    Some(Mocked::Error {
        code: fields.label("code", problems)?,
        message: fields.text("message", problems).unwrap_or("mocked").to_owned(),
        retry: fields.boolean("retry", problems),
        retry_after: retry_after.map(Duration::from_secs_f64),
    })
}

fn later(value: &Value, place: String, problems: &mut Vec<Problem>) -> Option<LaterEvent> {
    let fields = Fields::of(value, place, problems)?;
    let after = match fields.exactly_one(&["afterSeconds", "afterMs"], problems) {
        Some("afterSeconds") => fields.number("afterSeconds", -LONGEST_SECONDS..=LONGEST_SECONDS, problems),
        Some(key) => fields.number(key, -LONGEST_SECONDS * 1e3..=LONGEST_SECONDS * 1e3, problems).map(|ms| ms / 1e3),
        None => None,
    };
    let event = of_fields(&fields, &["afterSeconds", "afterMs"], problems);
    Some(LaterEvent { after: TimeDelta::microseconds((after? * 1e6) as i64), event: event? })
}

/// Reads the event that starts the instance.
pub fn read_event(event: &Value) -> (Option<GivenEvent>, Vec<Problem>) {
    let mut problems = Vec::new();
    let Some(fields) = Fields::of(event, String::new(), &mut problems) else { return (None, problems) };
    let event = of_fields(&fields, &[], &mut problems);
    (event.filter(|_| problems.is_empty()), problems)
}

fn of_fields(fields: &Fields<'_>, besides: &[&str], problems: &mut Vec<Problem>) -> Option<GivenEvent> {
    fields.refuse_unknown(&[EVENT.as_slice(), besides].concat(), |_| None, problems);
    for key in ["event_type", "biz_key"] {
        fields.required(key, problems);
    }
    let json =
        |key: &str| fields.get(key).filter(|value| !value.is_null()).map_or_else(|| "{}".to_owned(), Value::to_string);
    let (payload, attributes) =
        (fields.get("payload").map_or_else(|| "{}".to_owned(), Value::to_string), json("attributes"));
    let traceparent = fields.fields("attributes", problems).and_then(|all| all.get("traceparent")?.as_str());
    let mut text = |key: &str| match fields.get(key) {
        Some(Value::Null) => None,
        _ => fields.text(key, problems).map(str::to_owned),
    };
    Some(GivenEvent {
        event_type: text("event_type")?,
        biz_key: text("biz_key")?,
        payload,
        event_id: text("event_id"),
        source: text("source").unwrap_or_default(),
        traceparent: traceparent.map(str::to_owned),
        attributes,
        correlation_id: text("correlation_id"),
        causation_id: text("causation_id"),
        occurred_at: text("occurred_at"),
        fire_at: text("fire_at"),
    })
}
