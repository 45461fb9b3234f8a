//! What an instance has to undo when it fails for good: its own actions and those of its branches, the last first.
//!
//! The plan is read from the logs, which never change, so it is the same after a crash; the instance keeps only how many
//! of its steps are through.

use super::definition::{Cursor, Definition};
use crate::flow::context::Steps;
use crate::flow::definition::{Action, Compensate};
use crate::flow::perform::Perform;
use crate::store::StoreError;
use crate::store::tree::{self, Done};
use std::rc::Rc;
use uuid::Uuid;

/// One action to undo.
#[derive(Debug)]
pub struct UndoStep {
    /// Instance that did it: the one in hand or one of its branches.
    pub owner: Uuid,
    /// Its undo in the definition.
    pub cursor: Cursor,
    /// Members of `steps` that the undo sees, JSON text.
    pub members: Rc<str>,
    /// Item and its position, inside of foreach.
    pub item: Option<(i32, Rc<str>)>,
}

/// All of them, in the order in which they are undone.
#[derive(Debug)]
pub struct UndoPlan {
    /// The steps.
    pub steps: Vec<UndoStep>,
}

impl UndoPlan {
    /// The plan of an instance that runs this definition; `own` are the members of `steps` as it knows them.
    pub fn load(instance: Uuid, definition: &Definition, own: &str) -> Result<UndoPlan, StoreError> {
        if !definition.undoes {
            return Ok(UndoPlan { steps: Vec::new() });
        }
        let done = tree::done_actions(instance)?;
        Ok(UndoPlan { steps: done.iter().filter_map(|done| step(instance, definition, own, done)).collect() })
    }
}

fn step(instance: Uuid, definition: &Definition, own: &str, done: &Done) -> Option<UndoStep> {
    let workflow = definition.workflow.as_ref()?;
    let block = match &done.block {
        None => None,
        Some((parent_action, branch)) => Some(workflow.block(parent_action, branch)?),
    };
    let index = definition.actions(block).iter().position(|action| action.name == done.action)?;
    let action = definition.actions(block).get(index)?;
    if !matches!(action.compensate, Compensate::By(_)) || !(done.succeeded || may_be_done(action)) {
        return None;
    }
    let members = if done.owner == instance {
        own.to_owned()
    } else {
        let finished = definition.names_before(block, index);
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
