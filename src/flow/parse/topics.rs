//! Commands and events never share a topic: what can be seen of that in one definition.
//!
//! Topics of other workflows, and those made by templates, are looked at when a message is sent.

use std::collections::HashMap;

use crate::flow::definition::Workflow;
use crate::flow::parse::walk::{Placed, placed_actions};
use crate::flow::perform::{LocalCall, MessageKind, Perform, Transport};
use crate::flow::problem::Problem;

/// Complains about every message whose topic carries the other kind already.
pub(super) fn refuse_mixed(workflow: &Workflow, problems: &mut Vec<Problem>) {
    let mut kinds: HashMap<(&'static str, String), MessageKind> = HashMap::new();
    for Placed { pointer, action } in placed_actions(workflow) {
        let Perform::Local(local) = &action.perform else { continue };
        let LocalCall::Message { transport, topic, kind, .. } = &local.call else { continue };
        let Some(topic) = topic.as_fixed() else { continue };
        let first = *kinds.entry((name(*transport), topic.clone())).or_insert(*kind);
        if first != *kind {
            let message = format!("topic \"{topic}\" cannot carry both commands and events");
            let problem = Problem::error(format!("{pointer}/config/topic"), "topic_kind", message);
            problems.push(problem.hint("give commands a topic of their own"));
        }
    }
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Notify => "notify",
        Transport::Logical => "logical",
        Transport::Pgmq => "pgmq",
    }
}
