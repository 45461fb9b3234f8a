//! Reading the actions that run blocks of actions as child instances: `parallel`, `foreach` and `switch`.

use serde_json::Value;

use crate::flow::parse::action::{NAME_RULE, is_name};
use crate::flow::parse::course::{Body, Course};
use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::Templates;
use crate::flow::perform::{Branches, ForkAction, Join, OnBranchFailure};
use crate::flow::problem::{Problem, pointer_to};

/// Most branches of a `parallel` and most cases of a `switch`.
const MOST_BRANCHES: usize = 100;

/// Most children of a `foreach` at the same time that a definition may ask for, and how many it gets unasked.
const MOST_AT_ONCE: i64 = 1_000;
const AT_ONCE: u32 = 10;

/// A fork whose blocks are still to be read.
pub(super) struct Draft<'a> {
    way: Way,
    bodies: Vec<Body<'a>>,
}

enum Way {
    Parallel(Join, OnBranchFailure),
    ForEach { items: usize, max_concurrency: u32 },
    Switch { predicates: Vec<usize> },
}

/// `parallel` carries its keys itself; it has no `config`.
pub(super) fn parallel<'a>(action: &Fields<'a>, followed: bool, problems: &mut Vec<Problem>) -> Option<Draft<'a>> {
    if let Some(config) = action.fields("config", problems) {
        let advice = |key: &str| {
            let own = ["branches", "join", "onBranchFailure"].contains(&key);
            own.then(|| format!("\"{key}\" belongs beside \"config\", not into it"))
        };
        config.refuse_unknown(&[], advice, problems);
    }
    let join = action.word("join", &[("all", Join::All), ("any", Join::Any)], problems).unwrap_or_default();
    let words = [("wait", OnBranchFailure::Wait), ("cancel", OnBranchFailure::Cancel)];
    let on_branch_failure = action.word("onBranchFailure", &words, problems).unwrap_or_default();
    action.required("branches", problems)?;
    let branches = action.fields("branches", problems)?;
    let count = branches.iter().count();
    refuse_number(count, "a parallel action", "branches", action.pointer("branches"), problems);
    let body = |(name, _): (&'a String, &'a Value), problems: &mut Vec<Problem>| {
        let pointer = branches.pointer(name);
        if !is_name(name) {
            let message = format!("a branch's name is {NAME_RULE}");
            problems.push(Problem::error(pointer.clone(), "invalid_name", message));
        }
        // Another branch may fail after this one is done.
        Body { branch: name.clone(), list: branches.list(name, problems), pointer, followed: followed || count > 1 }
    };
    let bodies = branches.iter().take(MOST_BRANCHES).map(|member| body(member, problems)).collect();
    Some(Draft { way: Way::Parallel(join, on_branch_failure), bodies })
}

/// `foreach`: one block, run for each item.
pub(super) fn foreach<'a>(
    config: &Fields<'a>,
    templates: &mut Templates,
    problems: &mut Vec<Problem>,
) -> Option<Draft<'a>> {
    let items = config.required("items", problems);
    let items = items.and_then(|items| templates.one(items, &config.pointer("items"), problems));
    let max_concurrency = config.integer("maxConcurrency", 1..=MOST_AT_ONCE, problems);
    let max_concurrency = max_concurrency.and_then(|number| u32::try_from(number).ok()).unwrap_or(AT_ONCE);
    config.required("actions", problems)?;
    let list = config.list("actions", problems);
    // Another item may fail after this one is done.
    let body = Body { branch: String::new(), list, pointer: config.pointer("actions"), followed: true };
    let way = Way::ForEach { items: items.unwrap_or_default(), max_concurrency };
    Some(Draft { way, bodies: vec![body] })
}

/// `switch`: the first case whose predicate is true.
pub(super) fn switch<'a>(
    config: &Fields<'a>,
    followed: bool,
    templates: &mut Templates,
    problems: &mut Vec<Problem>,
) -> Option<Draft<'a>> {
    config.required("cases", problems)?;
    let cases = config.list("cases", problems)?;
    let place = config.pointer("cases");
    refuse_number(cases.len(), "a switch action", "cases", place.clone(), problems);
    let (mut predicates, mut bodies) = (Vec::new(), Vec::new());
    for (number, case) in cases.iter().take(MOST_BRANCHES).enumerate() {
        let Some(case) = Fields::of(case, pointer_to(&place, number), problems) else { continue };
        case.refuse_unknown(&["when", "actions"], |_| None, problems);
        let when = case.required("when", problems).and_then(|_| case.text("when", problems));
        let when = when.and_then(|text| templates.predicate(text, &case.pointer("when"), problems));
        predicates.push(when.unwrap_or_default());
        let list = case.required("actions", problems).and_then(|_| case.list("actions", problems));
        bodies.push(Body { branch: number.to_string(), list, pointer: case.pointer("actions"), followed });
    }
    if config.get("default").is_some() {
        let list = config.list("default", problems);
        bodies.push(Body { branch: "default".to_owned(), list, pointer: config.pointer("default"), followed });
    }
    Some(Draft { way: Way::Switch { predicates }, bodies })
}

fn refuse_number(count: usize, owner: &str, what: &str, pointer: String, problems: &mut Vec<Problem>) {
    if !(1..=MOST_BRANCHES).contains(&count) {
        let message = format!("{owner} has 1 to {MOST_BRANCHES} {what}, this one has {count}");
        problems.push(Problem::error(pointer, "out_of_range", message));
    }
}

impl<'a> Draft<'a> {
    /// Reads the blocks of the action `name`.
    pub fn finish(self, name: &str, course: &mut Course<'a>, problems: &mut Vec<Problem>) -> ForkAction {
        let (mut join, mut on_branch_failure) = (Join::default(), OnBranchFailure::default());
        let branches = match self.way {
            Way::Parallel(stated_join, stated_failure) => {
                (join, on_branch_failure) = (stated_join, stated_failure);
                let numbers = course.branches(name, &self.bodies, problems);
                Branches::Parallel(self.bodies.into_iter().map(|body| body.branch).zip(numbers).collect())
            }
            Way::ForEach { items, max_concurrency } => {
                let numbers = self.bodies.iter().map(|body| course.each(name, body, problems));
                Branches::ForEach { items, max_concurrency, block: numbers.last().unwrap_or_default() }
            }
            Way::Switch { predicates } => {
                let numbers = course.branches(name, &self.bodies, problems);
                let default = numbers.get(predicates.len()).copied();
                Branches::Switch { cases: predicates.into_iter().zip(numbers).collect(), default }
            }
        };
        ForkAction { branches, join, on_branch_failure }
    }
}
