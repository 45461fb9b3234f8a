//! Going through a workflow with its blocks and compensations, and the place of each action in the definition.

use crate::flow::definition::{Action, Compensate, Match, Workflow};
use crate::flow::expression::Expression;
use crate::flow::perform::{Awaited, Branches, Perform, WaitFor};
use crate::flow::problem::pointer_to;

/// A path that PostgreSQL has to check by casting it to `jsonpath`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse {
    /// Where it stands in the definition (RFC 6901).
    pub pointer: String,
    /// The path.
    pub path: String,
    /// Whether it has to be a predicate.
    pub predicate: bool,
}

/// An action, or the compensation of one, with its place.
#[derive(Debug, Clone)]
pub struct Placed<'w> {
    /// Where it stands in the definition (RFC 6901).
    pub pointer: String,
    /// The action.
    pub action: &'w Action,
}

/// Every path of the workflow, `match` included; a template that is written twice in an action is listed once.
pub fn path_uses(workflow: &Workflow) -> Vec<PathUse> {
    let mut uses: Vec<PathUse> = predicate_of(workflow.matching.as_ref(), "").into_iter().collect();
    uses.extend(workflow.start_paths.iter().map(path_use));
    uses.extend(predicates_of(&workflow.cancel_on, "/cancelOn"));
    for Placed { pointer, action } in placed_actions(workflow) {
        uses.extend(action.paths.iter().map(path_use));
        if let Perform::Wait(wait) = &action.perform
            && let WaitFor::Events { awaited, all, .. } = &wait.until
        {
            uses.extend(predicates_of(awaited, &format!("{pointer}/config/{}", if *all { "all" } else { "any" })));
        }
        uses.extend(action.output_paths.iter().map(path_use));
    }
    uses.extend(workflow.output_paths.iter().map(path_use));
    uses
}

fn path_use(expression: &Expression) -> PathUse {
    PathUse { pointer: expression.pointer.clone(), path: expression.path.clone(), predicate: expression.predicate }
}

fn predicate_of(matching: Option<&Match>, owner: &str) -> Option<PathUse> {
    match matching? {
        Match::Path(path) => Some(PathUse { pointer: pointer_to(owner, "match"), path: path.clone(), predicate: true }),
        Match::Contains(_) => None,
    }
}

fn predicates_of(awaited: &[Awaited], list: &str) -> Vec<PathUse> {
    let of_one = |(number, one): (usize, &Awaited)| predicate_of(one.matching.as_ref(), &pointer_to(list, number));
    awaited.iter().enumerate().filter_map(of_one).collect()
}

/// All actions in the order of the definition, each followed by its compensation and by the actions inside it.
pub fn placed_actions(workflow: &Workflow) -> Vec<Placed<'_>> {
    let mut found = Vec::new();
    list(workflow, &workflow.actions, "/actions", &mut found);
    found
}

fn list<'w>(workflow: &'w Workflow, actions: &'w [Action], place: &str, found: &mut Vec<Placed<'w>>) {
    for (position, action) in actions.iter().enumerate() {
        let pointer = pointer_to(place, position);
        let inner = inner_lists(action, &pointer);
        let undo = match &action.compensate {
            Compensate::By(undo) => Some(Placed { pointer: pointer_to(&pointer, "compensate"), action: undo }),
            Compensate::Unsaid | Compensate::Keep => None,
        };
        found.push(Placed { pointer, action });
        found.extend(undo);
        for (pointer, block) in inner {
            list(workflow, workflow.actions_of(Some(block)), &pointer, found);
        }
    }
}

/// The lists of actions inside an action: pointer and number of the block.
fn inner_lists(action: &Action, pointer: &str) -> Vec<(String, usize)> {
    let Perform::Fork(fork) = &action.perform else { return Vec::new() };
    match &fork.branches {
        Branches::Parallel(branches) => {
            branches.iter().map(|(name, block)| (format!("{pointer}/branches/{name}"), *block)).collect()
        }
        Branches::ForEach { block, .. } => vec![(format!("{pointer}/config/actions"), *block)],
        Branches::Switch { cases, default } => {
            let cases = cases.iter().enumerate();
            let cases = cases.map(|(number, (_, block))| (format!("{pointer}/config/cases/{number}/actions"), *block));
            cases.chain(default.map(|block| (format!("{pointer}/config/default"), block))).collect()
        }
    }
}
