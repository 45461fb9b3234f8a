//! What a turn takes in hand: what a dead worker held, what is due, what was signalled or asked for, what is new.

use super::draft::Draft;
use super::held::Held;
use super::turn::{Intake, Turn};
use crate::flow::definition::FLOW_LANE;
use crate::flow::instance::Status;
use crate::store::claim::{self, Claimed, Wanted};
use crate::store::work::{self, Routed};
use crate::store::{StoreError, subtransaction, tree, wait};
use std::collections::HashMap;
use std::rc::Rc;
use uuid::Uuid;

/// Lanes that were claimed from, and whether there may be more.
type Found = Vec<(Rc<str>, bool)>;

impl Turn<'_> {
    /// Events taken although everything is busy, so that waits and other lanes go on.
    const TRICKLE: usize = 16;

    /// Takes over what a dead generation held: its attempts are lost.
    pub fn rescue(&mut self, intake: &Intake) -> Result<usize, StoreError> {
        let Some(dead) = intake.dead_generation else { return Ok(0) };
        let overdue = crate::local::ended_by_own_timer(dead);
        let drafts = self.adopt_all(claim::take_over(dead, self.generation, intake.batch)?)?;
        let count = drafts.len();
        for mut draft in drafts {
            self.record_loss(&mut draft, overdue)?;
            self.drafts.push(draft);
        }
        Ok(count)
    }

    /// Ends instances whose deadline has passed.
    pub fn claim_expired(&mut self, intake: &Intake) -> Result<usize, StoreError> {
        if !intake.expired {
            return Ok(0);
        }
        let drafts = self.adopt_all(claim::claim_expired(self.generation, self.now, intake.batch)?)?;
        let count = drafts.len();
        for mut draft in drafts {
            self.expire(&mut draft);
            self.drafts.push(draft);
        }
        Ok(count)
    }

    /// Takes waiting instances in hand that were signalled. Whether there may be more.
    pub fn claim_signalled(&mut self, intake: &Intake) -> Result<bool, StoreError> {
        if !intake.signalled {
            return Ok(false);
        }
        let signalled = claim::claim_signalled(self.generation, self.now, intake.batch)?;
        let drafts = self.adopt_all(signalled.claimed)?;
        self.drafts.extend(drafts);
        self.cancels |= signalled.cancels;
        Ok(signalled.more)
    }

    /// Takes instances in hand that somebody wants cancelled or paused.
    pub fn claim_requested(&mut self, intake: &Intake) -> Result<(), StoreError> {
        if !intake.requested {
            return Ok(());
        }
        let rows = claim::claim_requested(self.generation, intake.batch)?;
        let wanted: HashMap<Uuid, Wanted> = claim::requests_in_hand(self.generation)?.into_iter().collect();
        // Another worker may have done what was wanted just before this one got the row.
        let (rows, done): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| wanted.contains_key(&row.instance_id));
        claim::release(&done.iter().map(|row| row.instance_id).collect::<Vec<_>>(), self.generation)?;
        for mut draft in self.adopt_all(rows)? {
            draft.wanted = wanted.get(&draft.held.id).cloned();
            self.drafts.push(draft);
        }
        Ok(())
    }

    /// Claims what is due: steps that need no downstream always, others as far as there is room.
    pub fn claim(&mut self, batch: usize) -> Result<Found, StoreError> {
        let mut found = self.claim_internal(batch)?;
        let room = self.lanes.due(self.now, &self.ledger, self.spare().min(batch));
        if room.is_empty() {
            return Ok(found);
        }
        let mut got = vec![0; room.len()];
        for mut draft in self.adopt_all(claim::claim_due(&room, self.generation, self.now)?)? {
            let lane = draft.held.queue.as_ref().map(|queue| queue.lane.clone());
            if let Some(index) = room.iter().position(|(name, _)| Some(name) == lane.as_ref()) {
                got[index] += 1;
                self.ledger.take(&room[index].0);
                draft.place = Some(room[index].0.clone());
                draft.claimed = true;
            }
            self.drafts.push(draft);
        }
        found.extend(room.into_iter().zip(got).map(|((lane, room), got)| (lane, got == room)));
        Ok(found)
    }

    fn claim_internal(&mut self, batch: usize) -> Result<Found, StoreError> {
        let mut found = Vec::new();
        if !self.may_begin() {
            return Ok(found);
        }
        for lane in self.lanes.internal_due(self.now) {
            let rows = if &*lane == FLOW_LANE {
                claim::claim_due(&[(lane.clone(), batch)], self.generation, self.now)?
            } else {
                claim::claim_waiting(self.generation, self.now, batch)?
            };
            found.push((lane, rows.len() >= batch));
            let drafts = self.adopt_all(rows)?;
            self.drafts.extend(drafts);
        }
        Ok(found)
    }

    fn adopt_all(&mut self, rows: Vec<Claimed>) -> Result<Vec<Draft>, StoreError> {
        let mut drafts = Vec::with_capacity(rows.len());
        for row in rows {
            let definition = self.definitions.get(&row.workflow.0, row.workflow.1)?;
            let lane = self.lanes.name(&row.lane);
            let mut draft = Draft::of(Held::claimed(row, definition, lane));
            // One that was retried lost its place and what would cancel it when it ended.
            draft.started = draft.held.status != Status::Running;
            drafts.push(draft);
        }
        self.inherit(&mut drafts)?;
        Ok(drafts)
    }

    /// Gives branches what they may read of the instances above them.
    fn inherit(&self, drafts: &mut [Draft]) -> Result<(), StoreError> {
        let branches: Vec<Uuid> =
            drafts.iter().filter(|draft| draft.held.is_branch()).map(|draft| draft.held.id).collect();
        if branches.is_empty() {
            return Ok(());
        }
        let lineage = tree::lineage(&branches)?;
        for draft in drafts.iter_mut().filter(|draft| draft.held.is_branch()) {
            let ancestors = lineage.get(&draft.held.id).map_or(&[][..], Vec::as_slice);
            draft.held.inherited = Some(draft.held.definition.inherited(ancestors));
        }
        Ok(())
    }

    /// Takes events from the inbox; those that somebody waits for complete the waits.
    pub fn route(&mut self, mark: i64, batch: usize) -> Result<usize, StoreError> {
        let limit = self.spare().max(Self::TRICKLE).min(batch);
        let routed = if self.careful { route_one(mark)? } else { work::route_events(mark, limit)? };
        let count = routed.len();
        let mut uids: Vec<Uuid> = routed.iter().map(|event| event.event.uid).collect();
        uids.dedup();
        self.complete_waits(&uids)?;
        for event in routed {
            match &event.chosen {
                None => self.unrouted.push(event.event.uid),
                Some(chosen) => {
                    let definition = self.definitions.get(&chosen.workflow_name, chosen.workflow_version)?;
                    let scripts = self.definitions.newest_scripts(&definition)?;
                    let (held, birth) = Held::new(&event, chosen, (definition, scripts), self.now);
                    self.drafts.push(Draft::new(held, birth));
                }
            }
        }
        Ok(count)
    }

    fn complete_waits(&mut self, uids: &[Uuid]) -> Result<(), StoreError> {
        let (waits, cancels) = if self.careful {
            // An event that cannot be compared completes nothing.
            match subtransaction(|| wait::complete_waits(uids, self.now)) {
                Err(error) if !error.is_transient() => (false, false),
                other => other?,
            }
        } else {
            wait::complete_waits(uids, self.now)?
        };
        self.completed_waits |= waits;
        self.cancels |= cancels;
        Ok(())
    }

    /// Ends a draft whose deadline has passed.
    pub fn expire(&self, draft: &mut Draft) {
        draft.finish(Status::Failed, Some(("deadline", "the workflow's timeout has passed")), self.now);
    }
}

/// Routes the next event alone; one whose routes cannot be evaluated is set aside as unrouted.
fn route_one(mark: i64) -> Result<Vec<Routed>, StoreError> {
    match subtransaction(|| work::route_events(mark, 1)) {
        Err(error) if !error.is_transient() => {
            work::set_aside_event("match_error", mark)?;
            Ok(Vec::new())
        }
        other => other,
    }
}
