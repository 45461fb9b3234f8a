//! Forks and child workflows in a simulation: their children are instances of the same simulation.

use std::rc::Rc;

use super::clock::Happening;
use super::event::Event;
use super::play::{Play, Played};
use super::run::{Run, Up};
use super::{Database, Stored};
use crate::flow::context::{Steps, quoted};
use crate::flow::definition::{Action, Workflow};
use crate::flow::emit::{Cause, checked};
use crate::flow::expression::PathValue;
use crate::flow::fork::{self, Branch, ChildResult};
use crate::flow::instance::Status;
use crate::flow::join::{self, Children, Plan, Step, Verdict};
use crate::flow::outcome::Failure;
use crate::flow::perform::{ForkAction, WorkflowAction};
use crate::flow::template::render_json;

/// How the children of one action stand.
struct State {
    count: Children,
    /// Branch, code and message of the first that ended without success.
    first: Option<(String, String, String)>,
    /// Whether what one of them did was undone.
    undone: bool,
}

impl<D: Database> Play<'_, D> {
    /// Starts what has to be started, and goes on when enough has come to its end.
    pub fn settle_fork(&mut self, n: usize, action: &Action, fork: &ForkAction, values: &[PathValue]) -> Played<D> {
        let branches = match fork::branches(fork, action, values) {
            Ok(branches) => branches,
            Err(failure) => return self.conclude_step(n, action, Some(failure), None, None),
        };
        let Some((state, step)) = self.look_at_children(n, action, &fork::plan(fork, branches.len())) else {
            return Ok(());
        };
        for branch in branches.iter().skip(state.count.started).take(step.start) {
            self.count()?;
            self.start_branch(n, action, branch);
        }
        self.go_on_with(n, action, &state, step)
    }

    /// Starts the child workflow, or goes on when it has come to its end; one that is mocked is an attempt.
    pub fn settle_workflow(
        &mut self,
        n: usize,
        action: &Action,
        child: &WorkflowAction,
        values: &[PathValue],
    ) -> Played<D> {
        let Some((state, step)) = self.look_at_children(n, action, &fork::plan_of_workflow()) else { return Ok(()) };
        let mut started = None;
        if step.start > 0 {
            let payload = child.payload.as_ref().map(|payload| render_json(payload, values, &action.paths)).transpose();
            let payload = match payload {
                Ok(payload) => payload,
                Err(failure) => return self.conclude_step(n, action, Some(failure), None, None),
            };
            if let Some(reply) = self.reply(n, action).filter(|_| child.wait) {
                let payload = payload.unwrap_or_else(|| self.runs[n].event.payload.to_string());
                let request = format!("{{\"workflowName\":{},\"payload\":{payload}}}", quoted(&child.workflow_name));
                self.begin(n, reply, request, u32::MAX);
                return Ok(());
            }
            match self.start_workflow(n, action, child, payload)? {
                Err(failure) => return self.conclude_step(n, action, Some(failure), None, None),
                Ok(id) => started = Some(id),
            }
        }
        if !child.wait {
            let id = started.map_or_else(|| "null".to_owned(), |id| quoted(&id));
            let response = format!("{{\"body\":{{\"instanceId\":{id}}}}}");
            return self.conclude_step(n, action, None, Some(response), None);
        }
        self.go_on_with(n, action, &state, step)
    }

    /// How the children stand and what that means; None when they were started anew after a failure.
    fn look_at_children(&mut self, n: usize, action: &Action, plan: &Plan) -> Option<(State, Step)> {
        let begins = self.runs[n].status != Status::Waiting;
        let state = self.state(n, &action.name);
        if begins {
            self.runs[n].number_attempt(self.now);
        }
        let step = join::next(plan, &state.count);
        let failed = step.verdict.is_some_and(|verdict| verdict != Verdict::Succeeded);
        if begins && state.count.started > 0 && failed && state.undone {
            // It cannot go on where it failed: a new one starts.
            let none = State { count: Children::default(), first: None, undone: false };
            let step = join::next(plan, &none.count);
            return Some((none, step));
        }
        if begins && state.count.started > 0 && failed {
            self.revive(n, &action.name);
            self.wait(n, &format!("{} starts its branches again", action.name), None);
            return None;
        }
        Some((state, step))
    }

    fn go_on_with(&mut self, n: usize, action: &Action, state: &State, step: Step) -> Played<D> {
        if step.cancel {
            let cause = format!("{} needs no more of its branches", action.name);
            self.cancel_children(n, Some(&action.name), true, &cause);
        }
        let Some(verdict) = step.verdict else {
            let live = state.count.live + step.start;
            let detail = format!("{} waits for {live} {}", action.name, if live == 1 { "child" } else { "children" });
            self.wait(n, &detail, None);
            return Ok(());
        };
        let results = self.results(n, &action.name);
        if fork::merges(&action.perform) {
            self.merge(n, &action.name, &results);
        }
        let response = fork::response(&action.perform, &results);
        let failure = fork::failure(verdict, state.first.as_ref());
        self.conclude_with(n, action, failure, (Some(response), None), verdict == Verdict::Died)
    }

    /// What the branches learned is known to the actions after them.
    fn merge(&mut self, n: usize, action_name: &str, results: &[ChildResult]) {
        let workflow = self.runs[n].workflow.clone();
        for result in results.iter().filter(|result| result.status == Status::Success.as_str()) {
            let block = workflow.block(action_name, result.branch.as_deref().unwrap_or_default());
            let finished = workflow.names_before(block, usize::MAX);
            let learned = Steps::parse(result.context.as_deref());
            self.runs[n].steps.merge(&learned, finished);
        }
    }

    /// The children of an action in the order in which they were started; of child workflows only the newest.
    fn children(&self, n: usize, action_name: &str) -> Vec<&Run> {
        let is_child = |run: &&Run| run.parent.as_ref().is_some_and(|up| up.run == n && up.action == action_name);
        let mut children: Vec<&Run> = self.runs.iter().filter(is_child).collect();
        if children.last().is_some_and(|newest| !newest.is_branch()) {
            children.drain(..children.len() - 1);
        }
        children
    }

    fn state(&self, n: usize, action_name: &str) -> State {
        let mut count = Children::default();
        let children = self.children(n, action_name);
        let undone = children.iter().any(|child| was_undone(child));
        let mut failed: Vec<&Run> = Vec::new();
        for child in children {
            count.started += 1;
            match child.status {
                Status::Success => count.succeeded += 1,
                Status::Failed => count.failed += 1,
                Status::Dead => count.dead += 1,
                Status::Cancelled => count.cancelled += 1,
                Status::Pending | Status::Running | Status::Waiting | Status::Paused | Status::Compensating => {
                    count.live += 1;
                }
            }
            if child.status.is_final() && child.status != Status::Success {
                failed.push(child);
            }
        }
        let first = failed.into_iter().min_by_key(|child| child.end).map(|child| {
            let branch = child.parent.as_ref().and_then(|up| up.branch.clone());
            let (code, message) = child.error.clone().unwrap_or_default();
            (branch.unwrap_or_else(|| child.workflow.name.clone()), code, message)
        });
        State { count, first, undone }
    }

    fn results(&self, n: usize, action_name: &str) -> Vec<ChildResult> {
        let result = |child: &Run| ChildResult {
            branch: child.parent.as_ref().and_then(|up| up.branch.clone()),
            status: child.status.as_str().to_owned(),
            context: child.steps.column(),
            result: child.result.clone(),
            error: child.error.clone().filter(|_| child.status != Status::Success),
        };
        self.children(n, action_name).into_iter().map(result).collect()
    }

    fn start_branch(&mut self, n: usize, action: &Action, branch: &Branch) {
        let parent = &self.runs[n];
        let (workflow, event) = (parent.workflow.clone(), parent.event.clone());
        let mut child = Run::new(self.runs.len() + 1, workflow, parent.version, event, self.now);
        child.path = match &branch.item {
            Some((index, _)) => format!("{}/{}[{index}]", parent.path, action.name),
            None => format!("{}/{}.{}", parent.path, action.name, branch.name),
        };
        child.block = Some(branch.block);
        // A branch inside of a foreach keeps its item.
        child.item = branch.item.clone().or_else(|| parent.item.clone());
        child.inherited = parent.step_members();
        child.progress.deadline = parent.progress.deadline;
        let (action, branch) = (action.name.clone(), Some(branch.name.clone()));
        child.parent = Some(Up { run: n, action, branch, detached: false });
        self.add(child, self.now);
    }

    fn start_workflow(
        &mut self,
        n: usize,
        action: &Action,
        child: &WorkflowAction,
        payload: Option<String>,
    ) -> Played<D, Result<String, Failure>> {
        let name = &child.workflow_name;
        let (version, workflow) = match self.child_workflow(name)? {
            None => return Ok(Err(Failure::permanent("unknown_workflow", format!("there is no workflow \"{name}\"")))),
            Some(Stored { enabled: false, .. }) => {
                return Ok(Err(Failure::permanent("workflow_disabled", format!("workflow \"{name}\" is disabled"))));
            }
            Some(Stored { workflow: None, .. }) => {
                let message = "the stored definition cannot be used by this version of rea";
                return Ok(Err(Failure::permanent("definition", message)));
            }
            Some(Stored { version, workflow: Some(workflow), .. }) => (version, workflow),
        };
        let event = self.runs[n].event.clone();
        let cause = Cause { biz_key: &event.biz_key, traceparent: event.traceparent.as_deref(), depth: event.depth };
        let new = match checked("rea.workflow".to_owned(), None, payload, &cause, &self.settings.bounds) {
            Ok(new) => new,
            Err(failure) => return Ok(Err(failure)),
        };
        let id = self.next_event_id();
        let own_event = Event::emitted(self.database, &event, new, id, self.now)?;
        let mut run = Run::new(self.runs.len() + 1, Rc::new(workflow), version, own_event, self.now);
        run.path = format!("{}/{}", self.runs[n].path, action.name);
        run.parent = Some(Up { run: n, action: action.name.clone(), branch: None, detached: !child.wait });
        let id = run.id.clone();
        self.add(run, self.now);
        Ok(Ok(id))
    }

    /// A workflow that calls itself is played as it is given, also when another one is stored under its name.
    fn child_workflow(&mut self, name: &str) -> Played<D, Option<Stored>> {
        let own: &Workflow = &self.subject.workflow;
        if name == own.name {
            return Ok(Some(Stored { version: self.subject.version, enabled: true, workflow: Some(own.clone()) }));
        }
        Ok(self.database.workflow(name)?)
    }

    /// Starts children again that ended without success, where they stopped.
    fn revive(&mut self, n: usize, action_name: &str) {
        let (deadline, now) = (self.runs[n].progress.deadline, self.now);
        for child in 0..self.runs.len() {
            let run = &mut self.runs[child];
            let is_child = run.parent.as_ref().is_some_and(|up| up.run == n && up.action == action_name);
            if !is_child || !run.status.is_final() || run.status == Status::Success || was_undone(run) {
                continue;
            }
            (run.ending, run.error, run.end) = (None, None, None);
            run.status = Status::Pending;
            run.progress.retry_count = 0;
            run.progress.deadline = if run.is_branch() {
                deadline
            } else {
                run.progress.deadline.and_then(|own| now.checked_add_signed(own - run.begin))
            };
            let due = run.progress.deadline;
            (run.tried, run.numbered) = (None, false);
            if let Some(due) = due {
                self.agenda.enter(due, Happening::Deadline(child));
            }
            self.park(child, Some(now));
        }
    }
}

/// Whether what it did was undone, so that it cannot go on where it failed.
fn was_undone(run: &Run) -> bool {
    run.ending.as_ref().and_then(|ending| ending.compensation).is_some_and(|word| word != "none")
}
