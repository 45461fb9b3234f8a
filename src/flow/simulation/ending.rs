//! How an instance that failed or was cancelled comes to its end: children first, then what was done is undone.

use std::rc::Rc;

use super::Database;
use super::play::Play;
use super::run::{Course, Ending, Run, Up};
use crate::flow::instance::Status;
use crate::flow::undo::{self, Done};

impl<D: Database> Play<'_, D> {
    /// Brings an instance that is ending a step further: it ends, waits for its children, or begins to undo.
    pub fn settle_ending(&mut self, n: usize) {
        let Some(ending) = self.runs[n].ending.clone() else { return };
        if self.live_children(n).next().is_some() {
            let cause = self.runs[n].error.as_ref().map_or_else(|| "failed".to_owned(), |(code, _)| code.clone());
            self.cancel_children(n, None, ending.compensation != Some("none"), &cause);
            self.close_waits(n);
            return self.wait(n, "waits for what it started to end", None);
        }
        if ending.compensation.is_none() && !self.runs[n].is_branch() {
            let plan = undo::steps(&self.runs[n].workflow, n, &self.runs[n].step_members(), &self.done(n));
            if !plan.is_empty() {
                let detail = format!("undoes {} {}", plan.len(), if plan.len() == 1 { "action" } else { "actions" });
                let ending = Ending { compensation: Some("running"), plan: Rc::new(plan), ..ending };
                let run = &mut self.runs[n];
                run.ending = Some(ending);
                run.progress.deadline = None;
                self.change(n, Status::Compensating, &detail);
                return self.runs[n].begin_anew();
            }
        }
        let compensation = if self.runs[n].is_branch() { None } else { ending.compensation.or(Some("none")) };
        self.end(n, ending.status, compensation);
    }

    /// Ends an instance all of whose undo actions are through.
    pub fn settle_undo(&mut self, n: usize) {
        let Some(ending) = self.runs[n].ending.clone() else { return };
        if ending.undo_no >= ending.plan.len() {
            let compensation = if ending.compensation == Some("failed") { "failed" } else { "done" };
            self.end(n, ending.status, Some(compensation));
        }
    }

    /// Carries out a cancellation, unless the instance is ending anyway.
    pub fn obey(&mut self, n: usize) {
        let run = &mut self.runs[n];
        let Some((compensate, cause)) = run.wanted.take() else { return };
        if run.ending.is_some() || run.course == Course::Ended {
            return;
        }
        let compensation = (!compensate).then_some("none");
        run.ending = Some(Ending { status: Status::Cancelled, compensation, undo_no: 0, plan: Rc::default() });
        run.error = Some(("cancelled".to_owned(), cause));
        run.course = Course::Ending;
    }

    /// Asks that the live children are cancelled, those of one action or all; a child workflow undoes what it did by
    /// itself if it shall `compensate`.
    pub fn cancel_children(&mut self, n: usize, of: Option<&str>, compensate: bool, cause: &str) {
        let of_action = |up: &Up| of.is_none_or(|action_name| up.action == action_name);
        let meant = |child: &usize| self.runs[*child].parent.as_ref().is_some_and(of_action);
        let live: Vec<usize> = self.live_children(n).filter(meant).collect();
        for child in live {
            self.runs[child].wanted = Some((compensate, cause.to_owned()));
            self.signal(child);
        }
    }

    fn live_children(&self, n: usize) -> impl Iterator<Item = usize> {
        let is_child =
            move |run: &Run| run.end.is_none() && run.parent.as_ref().is_some_and(|up| up.run == n && !up.detached);
        self.runs.iter().enumerate().filter(move |(_, run)| is_child(run)).map(|(place, _)| place)
    }

    /// What an instance and its branches did, the last first.
    fn done(&self, n: usize) -> Vec<Done<usize>> {
        let mut owners = vec![n];
        let mut next = 0;
        while let Some(owner) = owners.get(next).copied() {
            let is_branch = |run: &Run| run.is_branch() && run.parent.as_ref().is_some_and(|up| up.run == owner);
            owners.extend(self.runs.iter().enumerate().filter(|(_, run)| is_branch(run)).map(|(place, _)| place));
            next += 1;
        }
        let mut found = Vec::new();
        for owner in owners {
            let run = &self.runs[owner];
            let mut names: Vec<&str> = run.done.iter().map(|ended| ended.action.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let ends = run.done.iter().filter(|ended| ended.action == name);
                let Some(last) = ends.clone().map(|ended| (ended.at, ended.order, owner)).max() else { continue };
                let done = Done {
                    owner,
                    block: run
                        .parent
                        .as_ref()
                        .filter(|_| owner != n)
                        .and_then(|up| Some((up.action.clone(), up.branch.clone()?))),
                    action: name.to_owned(),
                    succeeded: ends.clone().any(|ended| ended.succeeded),
                    item: run.item.as_ref().map(|(index, item)| (*index, item.to_string())),
                    context: run.steps.column(),
                };
                found.push((last, done));
            }
        }
        found.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        found.into_iter().map(|(_, done)| done).collect()
    }
}
