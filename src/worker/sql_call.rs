//! One call of an SQL worker: made and recorded in one transaction, or rolled back and recorded as failed in another.

use super::effects::Effects;
use super::held::Held;
use super::lane::Ledger;
use super::process;
use super::sql::{PAUSE_AFTER_FAILURE, SqlWorker};
use super::task::LocalTask;
use crate::action::{Answer, Completion};
use crate::flow::call;
use crate::flow::outcome::Failure;
use crate::flow::sqlstate;
use crate::local;
use crate::store::{self, StoreError};
use pgrx::pg_sys;
use std::ffi::CString;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// Characters of a call shown in pg_stat_activity.
const SHOWN: usize = 200;

/// What became of an attempt whose call was made.
enum Recorded {
    /// Committed.
    Yes(Box<Effects>),
    /// Rolled back: the attempt failed after all.
    Failed(Failure),
    /// Rolled back: the instance is in other hands.
    Refused,
    /// Rolled back: the extension is gone.
    Gone,
}

impl SqlWorker {
    /// Makes the call and records the attempt, together or one after the other. `None` when the extension is gone.
    pub(super) fn carry_out(&mut self, held: &Held, task: &LocalTask) -> Option<Effects> {
        report_call(task);
        let (started, begun) = (SystemTime::now(), Instant::now());
        let failure = match self.call(held, task, (started, begun)) {
            Recorded::Yes(effects) => return Some(*effects),
            Recorded::Gone => return None,
            Recorded::Refused => return Some(self.let_go(held)),
            Recorded::Failed(failure) => failure,
        };
        let completed = [(held.clone(), completion(Err(failure), (started, begun)))];
        loop {
            match self.turn_alone(&completed) {
                Ok(effects) => return effects,
                Err(error) => self.complain(&error),
            }
            process::wait(None, PAUSE_AFTER_FAILURE);
            if self.reason_to_leave().is_some() {
                // Whoever takes the instance over records the attempt as lost.
                return Some(self.let_go(held));
            }
        }
    }

    /// Makes the call and, in the same transaction, records it.
    fn call(&mut self, held: &Held, task: &LocalTask, begin: (SystemTime, Instant)) -> Recorded {
        let mut verdict = None;
        let result = store::transaction(|| {
            self.seat.calling.store(true, Ordering::Release);
            let answer = local::call(&task.call, &task.role, Duration::from_millis(u64::from(task.timeout_ms)))?;
            self.seat.calling.store(false, Ordering::Release);
            let succeeded = answer.is_ok();
            let Some(effects) = self.turn(&[(held.clone(), completion(answer, begin))])? else {
                verdict = Some(Recorded::Gone);
                return Err(StoreError::RolledBack);
            };
            // What was called must not stay done unless its success is what is recorded.
            let unfit = match &effects.failure {
                _ if effects.refused > 0 => Some(Recorded::Refused),
                Some(failure) if succeeded => Some(Recorded::Failed(failure.clone())),
                _ => None,
            };
            if unfit.is_some() {
                verdict = unfit;
                return Err(StoreError::RolledBack);
            }
            Ok(effects)
        });
        self.seat.calling.store(false, Ordering::Release);
        match (result, verdict) {
            (Ok(effects), _) => Recorded::Yes(Box::new(effects)),
            (Err(_), Some(verdict)) => verdict,
            (Err(error), None) => {
                local::clear();
                Recorded::Failed(after(&error))
            }
        }
    }

    /// Gives up an instance that is in other hands, or soon will be.
    fn let_go(&mut self, held: &Held) -> Effects {
        let mut ledger = Ledger::default();
        if let Some(sent) = &held.sent {
            ledger.free(&sent.place);
        }
        Effects::new(ledger, Vec::new())
    }
}

fn completion(answer: local::CallResult, (started, begun): (SystemTime, Instant)) -> Completion {
    let elapsed = begun.elapsed();
    Completion { token: 0, answer: Answer::Local(answer), started, ended: started + elapsed, elapsed }
}

/// The failure behind an error that came after the call, at the latest at COMMIT.
fn after(error: &StoreError) -> Failure {
    match error {
        StoreError::Postgres { code, message, hint, .. } => {
            sqlstate::failure(&sqlstate::unpacked(*code as i32), message, hint.as_deref())
        }
        other => Failure::permanent("unrecordable", other.to_string()),
    }
}

/// Shows the call in pg_stat_activity.
fn report_call(task: &LocalTask) {
    let text = CString::new(format!("rea call {}", call::summary(&task.call, SHOWN)));
    process::report(pg_sys::BackendState::STATE_RUNNING, &text.unwrap_or_default());
}
