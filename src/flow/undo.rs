//! What an instance has to undo when it fails for good: its own actions and those of its branches, the last first.
//!
//! The order is that of what was done; each undo sees the steps as they stood before its action.

use std::rc::Rc;

use crate::flow::context::Steps;
use crate::flow::definition::{Action, Compensate, Cursor, Workflow};
use crate::flow::perform::Perform;

/// Codes of failures of which it is sure that nothing was done: nothing was sent. Refusals by status, `http_…`, are
/// such, too.
pub const WITHOUT_EFFECT: [&str; 5] = ["dns", "connect", "tls", "local", "invalid_request"];

/// An action that ran and may have to be undone.
#[derive(Debug, Clone)]
pub struct Done<I> {
    /// Instance that ran it: the one that fails or one of its branches.
    pub owner: I,
    /// Its block: parent action and branch; None = the workflow's own actions.
    pub block: Option<(String, String)>,
    /// The action.
    pub action: String,
    /// Whether an attempt succeeded; else one has an unknown outcome.
    pub succeeded: bool,
    /// Item and its position, inside of foreach.
    pub item: Option<(i32, String)>,
    /// The owner's outputs.
    pub context: Option<String>,
}

/// One action to undo.
#[derive(Debug, Clone)]
pub struct UndoStep<I> {
    /// Instance that did it: the one that fails or one of its branches.
    pub owner: I,
    /// Its undo in the definition.
    pub cursor: Cursor,
    /// Members of `steps` that the undo sees, JSON text.
    pub members: Rc<str>,
    /// Item and its position, inside of foreach.
    pub item: Option<(i32, Rc<str>)>,
}

/// Whether an attempt that was sent and failed with this code may have had its effect: no answer came, or the action
/// failed afterwards, on its output.
pub fn may_have_effect(code: &str) -> bool {
    !WITHOUT_EFFECT.contains(&code) && !code.starts_with("http_")
}

/// What `instance` has to undo, in this order. `own` are the members of `steps` as it knows them, `done` what it and its
/// branches did, the last first.
pub fn steps<I: Copy + PartialEq>(workflow: &Workflow, instance: I, own: &str, done: &[Done<I>]) -> Vec<UndoStep<I>> {
    done.iter().filter_map(|done| step(workflow, instance, own, done)).collect()
}

fn step<I: Copy + PartialEq>(workflow: &Workflow, instance: I, own: &str, done: &Done<I>) -> Option<UndoStep<I>> {
    let block = match &done.block {
        None => None,
        Some((parent_action, branch)) => Some(workflow.block(parent_action, branch)?),
    };
    let index = workflow.actions_of(block).iter().position(|action| action.name == done.action)?;
    let action = workflow.actions_of(block).get(index)?;
    if !matches!(action.compensate, Compensate::By(_)) || !(done.succeeded || may_be_done(action)) {
        return None;
    }
    let members = if done.owner == instance {
        own.to_owned()
    } else {
        let finished = workflow.names_before(block, index);
        Steps::parse(done.context.as_deref()).members(Some(own), finished)
    };
    Some(UndoStep {
        owner: done.owner,
        cursor: Cursor { block, index, undo: true },
        members: members.into(),
        item: done.item.as_ref().map(|(index, item)| (*index, item.as_str().into())),
    })
}

/// Whether an attempt without a success may still have had its effect: not one whose effects are this database's own.
fn may_be_done(action: &Action) -> bool {
    match action.perform {
        Perform::Http(_) | Perform::Lua(_) => true,
        Perform::Local(_) | Perform::Emit(_) | Perform::Wait(_) | Perform::Fork(_) | Perform::Workflow(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_that_find_what_was_done_know_the_same_codes() {
        let listed = WITHOUT_EFFECT.map(|code| format!("'{code}'")).join(", ");
        let told = include_str!("../../sql/schema/65_tree.sql");
        for statement in [include_str!("../../sql/query/done_actions.sql"), told] {
            assert!(statement.contains(&format!("a.error_code not in ({listed})")), "{listed}");
            assert!(statement.contains("a.error_code not like 'http\\_%'"));
        }
        assert!(!may_have_effect("http_500") && !may_have_effect("dns") && may_have_effect("timeout"));
    }
}
