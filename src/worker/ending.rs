//! How an instance that failed or was cancelled comes to its end: its children are stopped first, then what it and they
//! did is undone, then it ends. And what others want of it: to be cancelled or paused.

use super::draft::{Course, Draft};
use super::held::Ending;
use super::turn::Turn;
use super::undo::UndoPlan;
use crate::flow::instance::Status;
use crate::store::claim::Wanted;
use crate::store::record::{InstanceError, OfChildren};
use crate::store::{StoreError, tree};
use std::rc::Rc;
use uuid::Uuid;

impl Turn<'_> {
    /// Brings drafts that are ending a step further: each ends, waits for its children, or begins to undo.
    pub fn settle_endings(&mut self, drafts: &mut [&mut Draft]) -> Result<(), StoreError> {
        let parents: Vec<Uuid> =
            drafts.iter().filter(|d| d.held.definition.forks && !d.is_new()).map(|d| d.held.id).collect();
        let live = if parents.is_empty() { Vec::new() } else { tree::with_live_children(&parents)? };
        for draft in drafts {
            let Some(ending) = draft.held.ending.clone() else { continue };
            if live.contains(&draft.held.id) {
                let compensate = ending.compensation != Some("none");
                draft.more.of_children =
                    Some(OfChildren { request: "cancel", action: None, compensate, cause: reason(draft) });
                draft.more.closes_waits = draft.held.definition.waits.then_some(false);
                draft.wait("children", None, self.now);
            } else {
                self.undo_or_end(draft, ending)?;
            }
        }
        Ok(())
    }

    fn undo_or_end(&mut self, draft: &mut Draft, ending: Ending) -> Result<(), StoreError> {
        if ending.compensation.is_none() && !draft.held.is_branch() {
            if draft.held.definition.undoes && draft.has_unwritten_attempts() {
                // The plan is read from the logs: what this turn adds to them must be there.
                draft.wait("compensate", Some(self.now), self.now);
                return Ok(());
            }
            let plan = UndoPlan::load(draft.held.id, &draft.held.definition, &draft.held.step_members())?;
            if !plan.steps.is_empty() {
                draft.held.ending = Some(Ending { compensation: Some("running"), plan: Some(Rc::new(plan)), ..ending });
                draft.compensate(self.now);
                return Ok(());
            }
        }
        let compensation = if draft.held.is_branch() { None } else { ending.compensation.or(Some("none")) };
        draft.held.ending = Some(Ending { compensation, ..ending });
        let cause = cause(draft);
        draft.end(ending.status, &cause, self.now);
        Ok(())
    }

    /// Looks up what has to be undone, for instances that were claimed in the middle of it, and ends those that are
    /// through.
    pub fn settle_undo(&mut self, draft: &mut Draft) -> Result<(), StoreError> {
        let Some(mut ending) = draft.held.ending.clone() else { return Ok(()) };
        if ending.plan.is_none() {
            let plan = UndoPlan::load(draft.held.id, &draft.held.definition, &draft.held.step_members())?;
            ending.plan = Some(Rc::new(plan));
            draft.held.ending = Some(ending.clone());
        }
        if ending.plan.as_ref().is_some_and(|plan| ending.undo_no >= plan.steps.len()) {
            let compensation = if ending.compensation == Some("failed") { "failed" } else { "done" };
            draft.held.ending = Some(Ending { compensation: Some(compensation), ..ending });
            draft.end(ending.status, "compensated", self.now);
        }
        Ok(())
    }

    /// Carries out what somebody wants of the instance, unless it is ending anyway.
    pub fn obey(&mut self, draft: &mut Draft) {
        let Some(wanted) = draft.wanted.take() else { return };
        draft.more.obeyed = true;
        if !draft.held.status.can_be_stopped(draft.held.ending.is_some()) {
            draft.number_anew();
            return;
        }
        match wanted {
            Wanted::Cancel { compensate, cause } => {
                let compensation = (!compensate).then_some("none");
                draft.held.ending = Some(Ending { status: Status::Cancelled, compensation, undo_no: 0, plan: None });
                draft.held.error = Some(InstanceError { action: None, code: "cancelled".into(), message: cause });
                draft.course = Course::Ending;
            }
            Wanted::Pause { cause } => {
                if draft.held.definition.forks {
                    draft.more.of_children =
                        Some(OfChildren { request: "pause", action: None, compensate: false, cause: cause.clone() });
                }
                draft.pause(&cause, self.now);
            }
        }
    }
}

/// What the children are told: why a person or an event cancels, else the code of the failure.
fn reason(draft: &Draft) -> String {
    match &draft.held.error {
        Some(error) if error.code == "cancelled" => error.message.clone(),
        _ => cause(draft),
    }
}

fn cause(draft: &Draft) -> String {
    draft.held.error.as_ref().map_or_else(|| "failed".to_owned(), |error| error.code.clone())
}
