//! What an instance has to undo when it fails for good, read from what is stored.
//!
//! The plan is read from the logs, which never change, so it is the same after a crash; the instance keeps only how many
//! of its steps are through.

use super::definition::Definition;
use crate::flow::undo;
use crate::store::StoreError;
use crate::store::tree;
use uuid::Uuid;

/// One action to undo.
pub type UndoStep = undo::UndoStep<Uuid>;

/// All of them, in the order in which they are undone.
#[derive(Debug)]
pub struct UndoPlan {
    /// The steps.
    pub steps: Vec<UndoStep>,
}

impl UndoPlan {
    /// The plan of an instance that runs this definition; `own` are the members of `steps` as it knows them.
    pub fn load(instance: Uuid, definition: &Definition, own: &str) -> Result<UndoPlan, StoreError> {
        let Some(workflow) = definition.workflow.as_ref().filter(|_| definition.undoes) else {
            return Ok(UndoPlan { steps: Vec::new() });
        };
        let done = tree::done_actions(instance)?;
        Ok(UndoPlan { steps: undo::steps(workflow, instance, own, &done) })
    }
}
