//! `parallel`, `foreach`, `switch` and `workflow`: actions whose work is done by child instances.
//!
//! The parent waits; a child that ends signals it, and it counts its children. What it knows is only what the tables say,
//! so signals may come together, twice or after a crash: each look comes to the same decision.

use super::draft::Draft;
use super::held::Held;
use super::turn::Turn;
use crate::flow::context::{Steps, quoted};
use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::fork::{self, Branch, ChildResult};
use crate::flow::join::{self, Plan, Step, Verdict};
use crate::flow::outcome::Failure;
use crate::flow::perform::{ForkAction, WorkflowAction};
use crate::flow::template::render_json;
use crate::store::payload::Payload;
use crate::store::record::{NewEvent, OfChildren, Parent};
use crate::store::tree::{self, ChildrenState};
use crate::store::work::Event;
use crate::store::{StoreError, work};
use std::rc::Rc;

impl Turn<'_> {
    /// Starts what has to be started, and goes on when enough has come to its end.
    pub fn settle_fork(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        fork: &ForkAction,
        values: &[PathValue],
    ) -> Result<(), StoreError> {
        let branches = match fork::branches(fork, action, values) {
            Ok(branches) => branches,
            Err(failure) => return self.conclude_step(draft, action, Some(failure), None, None),
        };
        let plan = fork::plan(fork, branches.len());
        let Some((state, step)) = self.look_at_children(draft, action, &plan)? else { return Ok(()) };
        for branch in branches.iter().skip(state.count.started).take(step.start) {
            self.start_branch(draft, action, branch);
        }
        self.go_on(draft, action, &state, step)
    }

    /// Starts the child workflow, or goes on when it has come to its end.
    pub fn settle_workflow(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        child: &WorkflowAction,
        values: &[PathValue],
    ) -> Result<(), StoreError> {
        let Some((state, step)) = self.look_at_children(draft, action, &fork::plan_of_workflow())? else {
            return Ok(());
        };
        let mut started = None;
        if step.start > 0 {
            let payload = child.payload.as_ref().map(|payload| render_json(payload, values, &action.paths)).transpose();
            match payload {
                Err(failure) => return self.conclude_step(draft, action, Some(failure), None, None),
                Ok(payload) => match self.start_workflow(draft, action, child, payload)? {
                    Err(failure) => return self.conclude_step(draft, action, Some(failure), None, None),
                    Ok(id) => started = Some(id),
                },
            }
        }
        if !child.wait {
            let id = started.map_or_else(|| "null".to_owned(), |id| quoted(&id.to_string()));
            let response = format!("{{\"body\":{{\"instanceId\":{id}}}}}");
            return self.conclude_step(draft, action, None, Some(response), None);
        }
        self.go_on(draft, action, &state, step)
    }

    /// How the children stand and what that means; `None` when they were started anew after a failure.
    fn look_at_children(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        plan: &Plan,
    ) -> Result<Option<(ChildrenState, Step)>, StoreError> {
        let begins = draft.begins();
        let state = if draft.is_fresh() {
            ChildrenState::default()
        } else {
            tree::children_state(&[(draft.held.id, &action.name)])?.pop().unwrap_or_default()
        };
        if begins {
            draft.number_attempt(self.now);
        }
        if begins && has_failed(plan, &state) {
            if state.undone {
                // It cannot go on where it failed: a new one starts.
                let none = ChildrenState::default();
                let step = join::next(plan, &none.count);
                return Ok(Some((none, step)));
            }
            draft.more.revives_children = Some(action.name.clone());
            draft.wait("children", None, self.now);
            return Ok(None);
        }
        let step = join::next(plan, &state.count);
        Ok(Some((state, step)))
    }

    fn go_on(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        state: &ChildrenState,
        step: Step,
    ) -> Result<(), StoreError> {
        if step.cancel {
            let cause = format!("{} needs no more of its branches", action.name);
            draft.more.of_children =
                Some(OfChildren { request: "cancel", action: Some(action.name.clone()), compensate: true, cause });
        }
        let Some(verdict) = step.verdict else {
            draft.wait("children", None, self.now);
            return Ok(());
        };
        let results = if draft.is_fresh() {
            Vec::new()
        } else {
            tree::children_results(&[(draft.held.id, &action.name)])?.pop().unwrap_or_default()
        };
        if fork::merges(&action.perform) {
            self.merge(draft, action, &results);
        }
        let response = fork::response(&action.perform, &results);
        let failure = fork::failure(verdict, state.failure.as_ref());
        self.conclude_children(draft, action, failure, verdict, response)
    }

    /// What the branches learned is known to the actions after them.
    fn merge(&self, draft: &mut Draft, action: &Action, results: &[ChildResult]) {
        let definition = draft.held.definition.clone();
        for result in results.iter().filter(|result| result.status == "SUCCESS") {
            let block = definition
                .workflow
                .as_ref()
                .and_then(|workflow| workflow.block(&action.name, result.branch.as_deref().unwrap_or_default()));
            let finished = definition.names_before(block, usize::MAX);
            draft.held.steps.merge(&Steps::parse(result.context.as_deref()), finished);
        }
    }

    fn start_branch(&mut self, draft: &Draft, action: &Action, branch: &Branch) {
        let parent = &draft.held;
        // A branch inside of a foreach keeps its item.
        let outer = parent.parent.as_ref().and_then(|up| Some((up.item_index?, up.item.clone()?)));
        let (item_index, item) = branch.item.clone().or(outer).unzip();
        let birth_parent = Parent {
            id: parent.id,
            action: action.name.clone(),
            branch: Some(branch.name.clone()),
            item_index,
            item,
            detached: false,
        };
        let (event, runs) = (parent.event.clone(), (parent.definition.clone(), parent.scripts.clone()));
        let (mut held, birth) = Held::born(event, runs, parent.origin.clone(), Some(birth_parent), self.now);
        held.block = Some(branch.block);
        held.inherited = Some(parent.step_members().into());
        held.progress.deadline = parent.progress.deadline;
        self.born.push(Draft::new(held, birth));
    }

    fn start_workflow(
        &mut self,
        draft: &mut Draft,
        action: &Action,
        child: &WorkflowAction,
        payload: Option<String>,
    ) -> Result<Result<uuid::Uuid, Failure>, StoreError> {
        let name = &child.workflow_name;
        let version = match work::workflow_state(name)? {
            None => {
                return Ok(Err(Failure::permanent("unknown_workflow", format!("there is no workflow \"{name}\""))));
            }
            Some((_, false)) => {
                return Ok(Err(Failure::permanent("workflow_disabled", format!("workflow \"{name}\" is disabled"))));
            }
            Some((version, true)) => version,
        };
        let event = match self.new_event(draft, "rea.workflow".to_owned(), None, payload) {
            Ok(event) => NewEvent { is_routed: false, ..event },
            Err(failure) => return Ok(Err(failure)),
        };
        let definition = self.definitions.get(name, version)?;
        let scripts = self.definitions.newest_scripts(&definition)?;
        let cause = &draft.held.event;
        let own_event = Rc::new(Event {
            uid: event.uid,
            id: event.uid.to_string(),
            event_type: event.event_type.clone(),
            source: String::new(),
            biz_key: event.biz_key.clone(),
            correlation_id: event.correlation_id.clone(),
            causation_id: Some(event.causation_id.clone()),
            traceparent: cause.traceparent.clone(),
            depth: event.depth,
            payload: Payload::External,
        });
        let parent = Parent {
            id: draft.held.id,
            action: action.name.clone(),
            branch: None,
            item_index: None,
            item: None,
            detached: !child.wait,
        };
        let (held, birth) =
            Held::born(own_event, (definition, scripts), draft.held.origin.clone(), Some(parent), self.now);
        let id = held.id;
        let mut born = Draft::new(held, birth);
        // Its event is stored with this turn: it cannot be read before.
        born.park(crate::flow::definition::FLOW_LANE.into(), self.now, "started", self.now);
        self.born.push(born);
        draft.more.events.push(event);
        Ok(Ok(id))
    }
}

fn has_failed(plan: &Plan, state: &ChildrenState) -> bool {
    state.count.started > 0 && join::next(plan, &state.count).verdict.is_some_and(|v| v != Verdict::Succeeded)
}
