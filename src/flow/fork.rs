//! What a fork runs and what it comes to: its branches, and the document that its `output` sees.
//!
//! How many of them start and when it is over is [`crate::flow::join`]'s.

use std::rc::Rc;

use serde_json::value::RawValue;

use crate::flow::context::quoted;
use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::join::{Plan, Verdict};
use crate::flow::outcome::Failure;
use crate::flow::perform::{Branches, ForkAction, Join, OnBranchFailure, Perform};
use crate::flow::template::value;

/// Most items of a foreach.
const MOST_ITEMS: usize = 10_000;

/// A branch that may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// A key of `branches`, the number of a case or `default`, the index of an item.
    pub name: String,
    /// The block that it runs.
    pub block: usize,
    /// Item of a foreach, JSON text, and its position.
    pub item: Option<(i32, Rc<str>)>,
}

/// What a child came to.
#[derive(Debug, Clone)]
pub struct ChildResult {
    /// Its branch; None = a child workflow.
    pub branch: Option<String>,
    /// Its final status, or that of one that lives on.
    pub status: String,
    /// Its outputs.
    pub context: Option<String>,
    /// Its result.
    pub result: Option<String>,
    /// Code and message of its failure.
    pub error: Option<(String, String)>,
}

/// All branches that the fork may start, in order; `values` are those of the action's paths.
///
/// Errors are permanent: `not_an_array`, `too_many_items`, and those of the template.
pub fn branches(fork: &ForkAction, action: &Action, values: &[PathValue]) -> Result<Vec<Branch>, Failure> {
    match &fork.branches {
        Branches::Parallel(blocks) => {
            Ok(blocks.iter().map(|(name, block)| Branch { name: name.clone(), block: *block, item: None }).collect())
        }
        Branches::ForEach { items, block, .. } => {
            let text = value(*items, values, &action.paths)?;
            let items: Vec<Box<RawValue>> = serde_json::from_str(text)
                .map_err(|_| Failure::permanent("not_an_array", "\"items\" does not give an array"))?;
            if items.len() > MOST_ITEMS {
                let message = format!("\"items\" gives {} items; at most {MOST_ITEMS} are allowed", items.len());
                return Err(Failure::permanent("too_many_items", message));
            }
            let branch = |(index, item): (usize, Box<RawValue>)| Branch {
                name: index.to_string(),
                block: *block,
                item: Some((index as i32, item.get().into())),
            };
            Ok(items.into_iter().enumerate().map(branch).collect())
        }
        Branches::Switch { cases, default } => {
            let is_true = |when: &usize| values.get(*when).and_then(|value| value.text.as_deref()) == Some("true");
            let chosen = cases.iter().enumerate().find(|(_, (when, _))| is_true(when));
            let chosen = chosen.map(|(number, (_, block))| (number.to_string(), *block));
            let chosen = chosen.or_else(|| default.map(|block| ("default".to_owned(), block)));
            Ok(chosen.into_iter().map(|(name, block)| Branch { name, block, item: None }).collect())
        }
    }
}

/// How the fork runs so many branches.
pub fn plan(fork: &ForkAction, branches: usize) -> Plan {
    let max_concurrency = match fork.branches {
        Branches::ForEach { max_concurrency, .. } => max_concurrency as usize,
        Branches::Parallel(_) | Branches::Switch { .. } => branches.max(1),
    };
    Plan { branches, max_concurrency, join: fork.join, on_branch_failure: fork.on_branch_failure }
}

/// How a child workflow runs: it is the only branch.
pub fn plan_of_workflow() -> Plan {
    Plan { branches: 1, max_concurrency: 1, join: Join::All, on_branch_failure: OnBranchFailure::Wait }
}

/// Whether the branches' actions become steps of the parent: their names are unique, but for those of a foreach.
pub fn merges(perform: &Perform) -> bool {
    matches!(perform, Perform::Fork(ForkAction { branches: Branches::Parallel(_) | Branches::Switch { .. }, .. }))
}

/// The document that `output` sees as `response`; the results stand in the order in which the children were started.
pub fn response(perform: &Perform, results: &[ChildResult]) -> String {
    let body = match perform {
        Perform::Fork(ForkAction { branches: Branches::ForEach { .. }, .. }) => {
            format!("[{}]", results.iter().map(document).collect::<Vec<_>>().join(","))
        }
        Perform::Fork(ForkAction { branches: Branches::Switch { .. }, .. }) => {
            results.first().map_or_else(|| "null".to_owned(), document)
        }
        Perform::Fork(ForkAction { branches: Branches::Parallel(_), .. }) => {
            let member = |child: &ChildResult| {
                format!("{}:{}", quoted(child.branch.as_deref().unwrap_or_default()), document(child))
            };
            format!("{{{}}}", results.iter().map(member).collect::<Vec<_>>().join(","))
        }
        _ => results.first().and_then(|child| child.result.clone()).unwrap_or_else(|| "null".to_owned()),
    };
    format!("{{\"body\":{body}}}")
}

fn document(child: &ChildResult) -> String {
    let branch = child.branch.as_deref().map_or_else(|| "null".to_owned(), quoted);
    let steps = child.context.as_deref().unwrap_or("{}");
    let error = child.error.as_ref().map_or_else(
        || "null".to_owned(),
        |(code, message)| format!("{{\"code\":{},\"message\":{}}}", quoted(code), quoted(message)),
    );
    format!("{{\"branch\":{branch},\"status\":{},\"steps\":{steps},\"error\":{error}}}", quoted(&child.status))
}

/// The failure that the verdict means; `first` is branch, code and message of the first that did not succeed.
pub fn failure(verdict: Verdict, first: Option<&(String, String, String)>) -> Option<Failure> {
    if verdict == Verdict::Succeeded {
        return None;
    }
    let message = match first {
        Some((branch, code, message)) => format!("branch \"{branch}\" did not succeed: {code}: {message}"),
        None => "no branch succeeded".to_owned(),
    };
    Some(Failure::permanent("branch_failed", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(branch: &str, status: &str) -> ChildResult {
        let (branch, status) = (Some(branch.to_owned()), status.to_owned());
        ChildResult { branch, status, context: None, result: None, error: None }
    }

    #[test]
    fn a_parallel_fork_shows_its_branches_by_name_and_a_foreach_as_a_list() {
        let fork = |branches| {
            let (join, on_branch_failure) = (Join::All, OnBranchFailure::Wait);
            Perform::Fork(ForkAction { branches, join, on_branch_failure })
        };
        let failed = ChildResult { error: Some(("c".to_owned(), "m".to_owned())), ..result("b", "FAILED") };
        let parallel = response(&fork(Branches::Parallel(Vec::new())), &[result("a", "SUCCESS"), failed]);
        assert_eq!(
            parallel,
            r#"{"body":{"a":{"branch":"a","status":"SUCCESS","steps":{},"error":null},"b":{"branch":"b","status":"FAILED","steps":{},"error":{"code":"c","message":"m"}}}}"#
        );
        let foreach = fork(Branches::ForEach { items: 0, max_concurrency: 1, block: 0 });
        assert_eq!(response(&foreach, &[]), r#"{"body":[]}"#);
        assert_eq!(response(&fork(Branches::Switch { cases: Vec::new(), default: None }), &[]), r#"{"body":null}"#);
    }

    #[test]
    fn the_failure_names_the_first_branch_that_did_not_succeed() {
        let first = ("a".to_owned(), "http_404".to_owned(), "gone".to_owned());
        let failure = failure(Verdict::Failed, Some(&first));
        assert_eq!(failure.map(|f| f.message).as_deref(), Some("branch \"a\" did not succeed: http_404: gone"));
        assert_eq!(super::failure(Verdict::Succeeded, Some(&first)), None);
    }
}
