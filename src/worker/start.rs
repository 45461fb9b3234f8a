//! What an instance does before its first action: events that cancel it are registered, and a workflow with `concurrency`
//! gives it a place or lets it wait for one.

use super::draft::Draft;
use super::turn::Turn;
use crate::flow::expression::PathValue;
use crate::flow::instance::Status;
use crate::flow::outcome::Failure;
use crate::store::record::Place;
use crate::store::{StoreError, wait};

impl Turn<'_> {
    /// Does what comes before the first action.
    pub fn start(&mut self, draft: &mut Draft, values: Result<Vec<PathValue>, Failure>) -> Result<(), StoreError> {
        draft.started = true;
        let prepared = values.and_then(|values| {
            self.register_cancel_on(draft, &values)?;
            concurrency_key(draft, &values)
        });
        match prepared {
            Err(failure) => draft.finish(Status::Failed, Some((&failure.code, &failure.message)), self.now),
            Ok(None) => {}
            Ok(Some(_)) if draft.held.has_place => {}
            Ok(Some(key)) => {
                // It looks for a place once it has queued up: the order of the events decides.
                draft.more.place = Some(Place::Enter(key));
                draft.begin_later();
                draft.wait("concurrency", Some(self.now), self.now);
            }
        }
        Ok(())
    }

    /// Whether the instance may run. One that may not waits; it is signalled when a place becomes free.
    pub fn has_place(&self, draft: &mut Draft) -> Result<bool, StoreError> {
        let definition = draft.held.definition.clone();
        let Some(concurrency) = definition.workflow.as_ref().and_then(|workflow| workflow.concurrency.as_ref()) else {
            return Ok(true);
        };
        if draft.is_new() || draft.held.has_place || draft.held.is_branch() {
            return Ok(true);
        }
        let Some(state) = wait::place_state(&[draft.held.id])?.remove(&draft.held.id) else { return Ok(true) };
        draft.held.has_place = true;
        if state.taken {
            return Ok(true);
        }
        if state.ahead < i64::from(concurrency.limit) {
            draft.more.place = Some(Place::Take);
            draft.begin_later();
            draft.run_on("place", self.now);
            return Ok(true);
        }
        draft.held.has_place = false;
        draft.begin_later();
        draft.wait("concurrency", None, self.now);
        Ok(false)
    }
}

fn concurrency_key(draft: &Draft, values: &[PathValue]) -> Result<Option<String>, Failure> {
    draft.held.definition.workflow.as_ref().map_or(Ok(None), |workflow| workflow.concurrency_key(values))
}
