//! Instances above and below those in hand.

use super::{StoreError, pg_uuid, statements, uuid};
use crate::flow::fork::ChildResult;
use crate::flow::join::Children;
use crate::flow::undo::Done;
use std::collections::HashMap;
use uuid::Uuid;

/// How the children of one action stand.
#[derive(Debug, Clone, Default)]
pub struct ChildrenState {
    /// How many are in which state.
    pub count: Children,
    /// Branch, error code and message of the first that ended without success.
    pub failure: Option<(String, String, String)>,
    /// Whether what one of them did was undone: it cannot go on where it failed.
    pub undone: bool,
}

/// An instance above a branch in hand.
#[derive(Debug)]
pub struct Ancestor {
    /// The block that it runs: parent action and branch; `None` for the workflow's own actions.
    pub block: Option<(String, String)>,
    /// Its action that leads to the branch in hand.
    pub through: String,
    /// Its outputs.
    pub context: Option<String>,
}

fn asked(parents: &[(Uuid, &str)]) -> (Vec<pgrx::Uuid>, Vec<String>) {
    parents.iter().map(|(id, action)| (pg_uuid(*id), (*action).to_owned())).unzip()
}

/// How the children of these actions of these instances stand, in the same order.
pub fn children_state(parents: &[(Uuid, &str)]) -> Result<Vec<ChildrenState>, StoreError> {
    let mut states = vec![ChildrenState::default(); parents.len()];
    let (ids, actions) = asked(parents);
    for row in statements::CHILDREN_STATE.run(&[ids.into(), actions.into()])?.iter() {
        let count = |column| row.get::<i64>(column).map(|count| count.max(0) as usize);
        let place: i32 = row.get(1)?;
        let branch: Option<String> = row.maybe(8)?;
        let failure =
            branch.map(|branch| Ok((branch, row.maybe(9)?.unwrap_or_default(), row.maybe(10)?.unwrap_or_default())));
        if let Some(state) = states.get_mut((place - 1).max(0) as usize) {
            state.count = Children {
                started: count(2)?,
                live: count(3)?,
                succeeded: count(4)?,
                failed: count(5)?,
                dead: count(6)?,
                cancelled: count(7)?,
            };
            state.failure = failure.transpose()?;
            state.undone = row.get(11)?;
        }
    }
    Ok(states)
}

/// What the children of these actions of these instances came to, in the order of the questions and of their start.
pub fn children_results(parents: &[(Uuid, &str)]) -> Result<Vec<Vec<ChildResult>>, StoreError> {
    let mut results: Vec<Vec<ChildResult>> = parents.iter().map(|_| Vec::new()).collect();
    let (ids, actions) = asked(parents);
    for row in statements::CHILDREN_RESULTS.run(&[ids.into(), actions.into()])?.iter() {
        let place: i32 = row.get(1)?;
        let code: Option<String> = row.maybe(7)?;
        let error = match code {
            Some(code) => Some((code, row.maybe(8)?.unwrap_or_default())),
            None => None,
        };
        let result = ChildResult {
            branch: row.maybe(3)?,
            status: row.get(4)?,
            context: row.maybe(5)?,
            result: row.maybe(6)?,
            error,
        };
        if let Some(results) = results.get_mut((place - 1).max(0) as usize) {
            results.push(result);
        }
    }
    Ok(results)
}

/// The instances above each of these branches, from the one that runs the workflow down.
pub fn lineage(branches: &[Uuid]) -> Result<HashMap<Uuid, Vec<Ancestor>>, StoreError> {
    let mut lineage: HashMap<Uuid, Vec<Ancestor>> = HashMap::new();
    let ids: Vec<pgrx::Uuid> = branches.iter().copied().map(pg_uuid).collect();
    for row in statements::LINEAGE.run(&[ids.into()])?.iter() {
        let action: Option<String> = row.maybe(3)?;
        let branch: Option<String> = row.maybe(4)?;
        let ancestor = Ancestor { block: action.zip(branch), through: row.get(5)?, context: row.maybe(6)? };
        lineage.entry(uuid(row.get(1)?)).or_default().push(ancestor);
    }
    Ok(lineage)
}

/// Which of these instances have children that are not at an end; those of actions that wait for none are left out.
pub fn with_live_children(parents: &[Uuid]) -> Result<Vec<Uuid>, StoreError> {
    let ids: Vec<pgrx::Uuid> = parents.iter().copied().map(pg_uuid).collect();
    statements::LIVE_PARENTS.run(&[ids.into()])?.iter().map(|row| Ok(uuid(row.get(1)?))).collect()
}

/// What this instance and its branches did, the last first.
pub fn done_actions(instance: Uuid) -> Result<Vec<Done<Uuid>>, StoreError> {
    let rows = statements::DONE_ACTIONS.run(&[pg_uuid(instance).into()])?;
    rows.iter()
        .map(|row| {
            let action: Option<String> = row.maybe(2)?;
            let branch: Option<String> = row.maybe(3)?;
            let index: Option<i32> = row.maybe(6)?;
            let item: Option<String> = row.maybe(7)?;
            Ok(Done {
                owner: uuid(row.get(1)?),
                block: action.zip(branch),
                action: row.get(4)?,
                succeeded: row.get(5)?,
                item: index.zip(item),
                context: row.maybe(8)?,
            })
        })
        .collect()
}
