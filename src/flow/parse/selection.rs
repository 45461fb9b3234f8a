//! Which events a person means: the filter of `reroute_events`.

use serde_json::Value;

use super::fields::Fields;
use crate::flow::instance::Status;
use crate::flow::problem::{Problem, did_you_mean};

/// Status of an event that nothing matched.
pub const UNROUTED: &str = "UNROUTED";

const KEYS: [&str; 8] = ["eventType", "source", "bizKey", "from", "to", "status", "workflowName", "eventIds"];

/// What events must have in common; None = anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Their type, exact or ending in `.*`.
    pub event_type: Option<String>,
    /// Their source.
    pub source: Option<String>,
    /// Their business key.
    pub biz_key: Option<String>,
    /// They were fired at this time or later; as PostgreSQL reads times.
    pub from: Option<String>,
    /// They were fired before this time.
    pub to: Option<String>,
    /// [`UNROUTED`], or the status of an instance that they started.
    pub status: Option<String>,
    /// Workflow of an instance that they started.
    pub workflow_name: Option<String>,
    /// Their ids, of any source, or uids.
    pub event_ids: Option<Vec<String>>,
}

/// Reads a filter; the selection holds only if there is no problem.
pub fn read(filter: &Value) -> (Selection, Vec<Problem>) {
    let mut problems = Vec::new();
    let Some(fields) = Fields::of(filter, String::new(), &mut problems) else {
        return (Selection::default(), problems);
    };
    fields.refuse_unknown(&KEYS, |_| None, &mut problems);
    let mut text = |key| fields.text(key, &mut problems).map(str::to_owned);
    let selection = Selection {
        event_type: text("eventType"),
        source: text("source"),
        biz_key: text("bizKey"),
        from: text("from"),
        to: text("to"),
        workflow_name: text("workflowName"),
        status: status(&fields, &mut problems),
        event_ids: event_ids(&fields, &mut problems),
    };
    (selection, problems)
}

fn status(fields: &Fields<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    let status = fields.text("status", problems)?;
    if status != UNROUTED && status.parse::<Status>().is_err() {
        let known = Status::ALL.iter().map(|status| status.as_str()).chain([UNROUTED]);
        let message = format!("there is no status \"{status}\"");
        let problem = Problem::error(fields.pointer("status"), "invalid_value", message);
        problems.push(problem.maybe_hint(did_you_mean(status, known)));
    }
    Some(status.to_owned())
}

fn event_ids(fields: &Fields<'_>, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
    let list = fields.list("eventIds", problems)?;
    let ids: Option<Vec<String>> = list.iter().map(|id| id.as_str().map(str::to_owned)).collect();
    if ids.is_none() {
        let message = "\"eventIds\" must be a list of strings";
        problems.push(Problem::error(fields.pointer("eventIds"), "wrong_type", message));
    }
    ids
}
