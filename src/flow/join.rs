//! How a fork goes on: which branches start, whether the others are stopped, and what it comes to.
//!
//! Pure arithmetic on how many children there are in which state. A branch that failed, was skipped or was cancelled
//! votes too, so that no parent waits for ever (requirement B7).

use crate::flow::perform::{Join, OnBranchFailure};

/// What a fork is to do in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Branches to run.
    pub branches: usize,
    /// Most of them at the same time; at least 1.
    pub max_concurrency: usize,
    /// How many have to succeed.
    pub join: Join,
    /// What the failure of one does to the others.
    pub on_branch_failure: OnBranchFailure,
}

/// How its children stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Children {
    /// Started so far.
    pub started: usize,
    /// Not at an end yet.
    pub live: usize,
    /// Ended SUCCESS.
    pub succeeded: usize,
    /// Ended FAILED.
    pub failed: usize,
    /// Ended DEAD.
    pub dead: usize,
    /// Ended CANCELLED.
    pub cancelled: usize,
}

impl Children {
    fn unsuccessful(&self) -> usize {
        self.failed + self.dead + self.cancelled
    }
}

/// What a fork comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Enough branches succeeded.
    Succeeded,
    /// Too few did, and none of them for want of retries.
    Failed,
    /// Too few did, and one of them used up its retries.
    Died,
}

/// How a fork goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Branches to start now, after those already started.
    pub start: usize,
    /// Whether the live ones are to be cancelled.
    pub cancel: bool,
    /// What it comes to; None = it waits.
    pub verdict: Option<Verdict>,
}

/// Decides how a fork goes on.
pub fn next(plan: &Plan, children: &Children) -> Step {
    let enough = plan.join == Join::Any && children.succeeded > 0;
    if enough {
        return Step { start: 0, cancel: children.live > 0, verdict: Some(Verdict::Succeeded) };
    }
    let stops =
        plan.join == Join::All && children.unsuccessful() > 0 && plan.on_branch_failure == OnBranchFailure::Cancel;
    let left = plan.branches.saturating_sub(children.started);
    let start = if stops { 0 } else { left.min(plan.max_concurrency.saturating_sub(children.live)) };
    if children.live > 0 || start > 0 {
        return Step { start, cancel: stops && children.live > 0, verdict: None };
    }
    Step { start: 0, cancel: false, verdict: Some(verdict(plan, children)) }
}

fn verdict(plan: &Plan, children: &Children) -> Verdict {
    let failed = match plan.join {
        Join::All => children.unsuccessful() > 0,
        Join::Any => plan.branches > 0,
    };
    match (failed, children.dead) {
        (false, _) => Verdict::Succeeded,
        (true, 0) => Verdict::Failed,
        (true, _) => Verdict::Died,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(branches: usize, max_concurrency: usize, join: Join, on_branch_failure: OnBranchFailure) -> Plan {
        Plan { branches, max_concurrency, join, on_branch_failure }
    }

    #[test]
    fn nothing_to_do_succeeds_at_once() {
        let none = plan(0, 10, Join::All, OnBranchFailure::Wait);
        assert_eq!(next(&none, &Children::default()).verdict, Some(Verdict::Succeeded));
    }

    #[test]
    fn no_more_run_at_once_than_allowed() {
        let plan = plan(5, 2, Join::All, OnBranchFailure::Wait);
        assert_eq!(next(&plan, &Children::default()).start, 2);
        let one_done = Children { started: 2, live: 1, succeeded: 1, ..Children::default() };
        assert_eq!(next(&plan, &one_done), Step { start: 1, cancel: false, verdict: None });
    }

    #[test]
    fn a_failure_stops_the_others_only_if_the_definition_says_so() {
        let children = Children { started: 2, live: 1, failed: 1, ..Children::default() };
        let waits = next(&plan(3, 2, Join::All, OnBranchFailure::Wait), &children);
        assert_eq!(waits, Step { start: 1, cancel: false, verdict: None });
        let cancels = next(&plan(3, 2, Join::All, OnBranchFailure::Cancel), &children);
        assert_eq!(cancels, Step { start: 0, cancel: true, verdict: None });
    }

    #[test]
    fn any_goes_on_with_the_first_success_and_cancels_the_rest() {
        let children = Children { started: 3, live: 2, succeeded: 1, ..Children::default() };
        let step = next(&plan(3, 3, Join::Any, OnBranchFailure::Wait), &children);
        assert_eq!(step, Step { start: 0, cancel: true, verdict: Some(Verdict::Succeeded) });
    }

    #[test]
    fn a_branch_that_used_up_its_retries_makes_the_fork_die() {
        let children = Children { started: 2, failed: 1, dead: 1, ..Children::default() };
        let step = next(&plan(2, 2, Join::All, OnBranchFailure::Wait), &children);
        assert_eq!(step.verdict, Some(Verdict::Died));
    }

    proptest! {
        /// Whatever the branches come to, in whatever order: the fork ends, once, and starts each branch at most once.
        #[test]
        fn every_fork_ends(
            branches in 0usize..20, max in 1usize..8, any: bool, cancels: bool,
            ends in prop::collection::vec((0usize..4, any::<prop::sample::Index>()), 40),
        ) {
            let join = if any { Join::Any } else { Join::All };
            let on_failure = if cancels { OnBranchFailure::Cancel } else { OnBranchFailure::Wait };
            let plan = plan(branches, max, join, on_failure);
            let mut children = Children::default();
            let mut verdict = None;
            for (end, _) in ends {
                let step = next(&plan, &children);
                children.started += step.start;
                children.live += step.start;
                prop_assert!(children.started <= branches && children.live <= max);
                if step.verdict.is_some() {
                    verdict = step.verdict;
                    break;
                }
                prop_assert!(children.live > 0);
                children.live -= 1;
                match if step.cancel { 3 } else { end } {
                    0 => children.succeeded += 1,
                    1 => children.failed += 1,
                    2 => children.dead += 1,
                    _ => children.cancelled += 1,
                }
            }
            prop_assert!(verdict.is_some());
        }
    }
}
