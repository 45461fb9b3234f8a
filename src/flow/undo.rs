//! What an instance has to undo when it fails for good: its own actions and those of its branches, the last first.
//!
//! The order is that of what was done; each undo sees the steps as they stood before its action.

use std::rc::Rc;

use crate::flow::context::Steps;
use crate::flow::definition::{Action, Compensate, Cursor, Workflow};
use crate::flow::perform::Perform;

/// Codes of failures after which an action may have had its effect all the same: a request was sent, no answer came.
/// Codes of scripts (`script…`) are such, too.
pub const UNKNOWN_EFFECT: [&str; 7] =
    ["timeout", "reset", "truncated", "malformed", "transport", "unknown_outcome", "worker_lost"];

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

/// Whether an attempt that failed with this code may have had its effect.
pub fn has_unknown_effect(code: &str) -> bool {
    UNKNOWN_EFFECT.contains(&code) || code.starts_with("script")
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
    fn the_statement_that_finds_what_was_done_knows_the_same_codes() {
        let statement = include_str!("../../sql/query/done_actions.sql");
        for code in UNKNOWN_EFFECT {
            assert!(statement.contains(&format!("'{code}'")), "{code}");
        }
        assert!(statement.contains("'script%'"));
        assert_eq!(statement.matches('\'').count() / 2, UNKNOWN_EFFECT.len() + 7, "a code that only SQL knows");
    }
}
