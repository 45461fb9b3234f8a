//! The course of a workflow while it is read: which actions are over at a place, and the blocks found so far.
//!
//! An action sees what is over before it in its own list and before the actions around it. What ran inside `parallel`
//! and `switch` is seen afterwards too; what ran inside `foreach` is not, because it ran once for each item.

use std::collections::HashSet;

use serde_json::Value;

use crate::flow::definition::{Action, Block};
use crate::flow::parse::action::{self, Place};
use crate::flow::parse::templates::{Scope, Stage};
use crate::flow::problem::{Problem, pointer_to};
use crate::flow::retry::RetryPolicy;

/// How deep lists of actions may stand inside each other.
const DEEPEST: usize = 16;

/// What has been read of a workflow.
#[derive(Default)]
pub(super) struct Course<'a> {
    /// Names of all actions, those still to come included.
    pub all: Vec<&'a str>,
    /// The workflow's policy, which every action starts from.
    pub policy: RetryPolicy,
    /// Names of actions that are over at this place.
    done: Vec<&'a str>,
    /// Names of actions that are over but not seen here: inside a `foreach`, or in another branch.
    apart: HashSet<&'a str>,
    /// Names that are taken.
    taken: HashSet<&'a str>,
    blocks: Vec<Block>,
    depth: usize,
    loops: usize,
}

/// A list of actions that runs as a child instance.
pub(super) struct Body<'a> {
    /// Its name among the action's blocks; see [`Block::branch`].
    pub branch: String,
    /// Its actions as written; None has left a problem.
    pub list: Option<&'a [Value]>,
    /// Its pointer.
    pub pointer: String,
    /// Whether something may still fail after its last action, so that it would have to be undone.
    pub followed: bool,
}

impl<'a> Course<'a> {
    /// The start of a workflow with these actions.
    pub fn new(all: Vec<&'a str>, policy: RetryPolicy) -> Self {
        Course { all, policy, ..Course::default() }
    }

    /// What expressions can see here.
    pub fn scope(&self, stage: Stage) -> Scope<'_> {
        Scope { stage, in_loop: self.loops > 0, done: &self.done, apart: Some(&self.apart), all: &self.all }
    }

    /// Takes a name; false if another action has it.
    pub fn take(&mut self, name: &'a str) -> bool {
        self.taken.insert(name)
    }

    /// From here on the action is over.
    pub fn over(&mut self, name: &'a str) {
        self.done.push(name);
    }

    /// All blocks, at the end.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.blocks)
    }

    /// Reads a list of actions.
    pub fn actions(&mut self, body: &Body<'a>, problems: &mut Vec<Problem>) -> Vec<Action> {
        let list = body.list.unwrap_or_default();
        let mut actions = Vec::with_capacity(list.len());
        for (position, value) in list.iter().enumerate() {
            let followed = body.followed || position + 1 < list.len();
            let place = Place { pointer: pointer_to(&body.pointer, position), followed };
            actions.extend(action::read(value, place, self, problems));
        }
        actions
    }

    /// Reads blocks that do not see each other; their numbers. What they did is seen afterwards.
    pub fn branches(&mut self, parent: &str, bodies: &[Body<'a>], problems: &mut Vec<Problem>) -> Vec<usize> {
        let before = self.done.len();
        let mut merged = Vec::new();
        let mut numbers = Vec::with_capacity(bodies.len());
        for body in bodies {
            numbers.push(self.block(parent, body, problems));
            let own = self.done.split_off(before);
            self.apart.extend(&own);
            merged.extend(own);
        }
        self.done.extend(merged);
        numbers
    }

    /// Reads the block that runs once for each item; its number. What it did is not seen afterwards.
    pub fn each(&mut self, parent: &str, body: &Body<'a>, problems: &mut Vec<Problem>) -> usize {
        let before = self.done.len();
        self.loops += 1;
        let number = self.block(parent, body, problems);
        self.loops -= 1;
        let own = self.done.split_off(before);
        self.apart.extend(own);
        number
    }

    fn block(&mut self, parent: &str, body: &Body<'a>, problems: &mut Vec<Problem>) -> usize {
        let number = self.blocks.len();
        self.blocks.push(Block { parent_action: parent.to_owned(), branch: body.branch.clone(), actions: Vec::new() });
        if self.depth == DEEPEST {
            let message = format!("actions may stand {DEEPEST} levels deep inside each other");
            problems.push(Problem::error(body.pointer.clone(), "out_of_range", message));
            return number;
        }
        if body.list.is_some_and(<[Value]>::is_empty) {
            let problem = Problem::error(body.pointer.clone(), "out_of_range", "there must be at least one action");
            problems.push(problem.hint("leave out what does nothing"));
        }
        self.depth += 1;
        let actions = self.actions(body, problems);
        self.depth -= 1;
        if let Some(block) = self.blocks.get_mut(number) {
            block.actions = actions;
        }
        number
    }
}

/// The names of these actions and of all inside them, in order; one that has none is "". Its length is their number.
pub(super) fn names<'a>(list: &'a [Value], into: &mut Vec<&'a str>) {
    for action in list {
        into.push(action.get("name").and_then(Value::as_str).unwrap_or_default());
        for inner in inner_lists(action) {
            names(inner, into);
        }
    }
}

/// Wherever an action holds actions, whatever its type. Depth is bounded: the JSON parser reads 127 levels.
fn inner_lists(action: &Value) -> impl Iterator<Item = &[Value]> {
    let config = action.get("config");
    let member = move |key: &str| config.and_then(|config| config.get(key));
    let branches = action.get("branches").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
    let cases = member("cases").and_then(Value::as_array).into_iter().flatten().filter_map(|case| case.get("actions"));
    let lists = branches.chain(member("actions")).chain(cases).chain(member("default"));
    lists.filter_map(|list| list.as_array().map(Vec::as_slice))
}
