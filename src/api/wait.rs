//! `wait_operation`: a bounded wait that only speeds up the answer (requirement B5); the truth is in the tables.

use super::call::Call;
use crate::error::ApiError;
use crate::store::{StoreError, statements};
use crate::worker::board::{Waiter, board};
use crate::worker::wake::low_half;
use crate::{guc, sql_function};
use pgrx::pg_sys;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

sql_function!(rea_wait_operation, pg_finfo_rea_wait_operation, wait_operation);

/// Looks this often although nobody woke it.
const POLL: Duration = Duration::from_millis(250);
/// PG_WAIT_EXTENSION.
const WAIT_EVENT: u32 = 0x0700_0000;

fn wait_operation(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let _: String = call.required(0, "event_id")?;
    let timeout: i32 = call.required(2, "timeout_ms")?;
    let timeout = Duration::from_millis(timeout.max(0) as u64).min(guc::max_wait());
    refuse_frozen_snapshot()?;
    let found = find(call)?;
    if found.as_ref().is_some_and(|found| found.own) {
        return Err(ApiError::WrongState {
            message: "the event was fired by this transaction, which has not committed".into(),
            hint: "Commit first: nothing runs before that.",
        });
    }
    let place = found.as_ref().and_then(|found| Place::take(&found.uid));
    let start = Instant::now();
    loop {
        let (document, done) = look(call)?;
        let elapsed = start.elapsed();
        if done || place.is_none() || elapsed >= timeout {
            return Ok(document);
        }
        sleep((timeout - elapsed).min(POLL));
    }
}

/// A transaction with one snapshot for all its statements would never see the end.
fn refuse_frozen_snapshot() -> Result<(), ApiError> {
    // SAFETY: a plain global of this process.
    if unsafe { pg_sys::XactIsoLevel } > pg_sys::XACT_READ_COMMITTED as i32 {
        return Err(ApiError::WrongState {
            message: "wait_operation cannot see progress in a REPEATABLE READ or SERIALIZABLE transaction".into(),
            hint: "Call it in a READ COMMITTED transaction, best in none.",
        });
    }
    Ok(())
}

struct Found {
    uid: uuid::Uuid,
    own: bool,
}

fn find(call: &Call) -> Result<Option<Found>, ApiError> {
    let found = call.caller.as_owner(|| {
        let rows =
            statements::FIND_EVENT.run(&[call.parameter(0, pg_sys::TEXTOID), call.parameter(1, pg_sys::TEXTOID)])?;
        rows.first()
            .map(|row| {
                let writer: pg_sys::TransactionId = row.get(2)?;
                // SAFETY: a look at this backend's own transaction and its subtransactions.
                let own = unsafe { pg_sys::TransactionIdIsCurrentTransactionId(writer) };
                Ok(Found { uid: crate::store::uuid(row.get(1)?), own })
            })
            .transpose()
    })?;
    Ok(found)
}

/// The document as it stands, and whether it is final.
fn look(call: &Call) -> Result<(Option<pg_sys::Datum>, bool), ApiError> {
    let looked = call.caller.as_owner(|| {
        let rows = statements::OPERATION_OF_EVENT.run(&[
            call.parameter(0, pg_sys::TEXTOID),
            call.parameter(1, pg_sys::TEXTOID),
            call.caller.role.into(),
        ])?;
        Ok::<_, StoreError>(rows.first().and_then(|row| row.copied(1)))
    })?;
    let text = looked.and_then(|datum| {
        // SAFETY: the statement returns jsonb.
        unsafe { <pgrx::JsonB as pgrx::FromDatum>::from_datum(datum, false) }
    });
    let status = text.and_then(|json| json.0.get("status").and_then(|s| s.as_str()).map(str::to_owned));
    let done = !matches!(status.as_deref(), Some("ACCEPTED" | "PENDING" | "RUNNING"));
    Ok((looked, done))
}

fn sleep(time: Duration) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: MyLatch is this process's own.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, time.as_millis().max(1) as std::ffi::c_long, WAIT_EVENT);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// A place among the waiters, given back when dropped, also when the wait is cancelled.
struct Place(&'static Waiter);

impl Place {
    /// `None` when rea.max_waiters sessions wait already: the caller is answered at once.
    fn take(event: &uuid::Uuid) -> Option<Place> {
        let board = board()?;
        let waiters = &board.waiters[..guc::max_waiters().min(board.waiters.len())];
        // SAFETY: a plain global of this process.
        let pid = unsafe { pg_sys::MyProcPid };
        let waiter = waiters.iter().find(|waiter| {
            let holder = waiter.process.pid.load(Ordering::Acquire);
            // A session that was terminated while it waited could not give its place back.
            let free = holder == 0 || is_gone(holder);
            free && waiter.process.pid.compare_exchange(holder, pid, Ordering::AcqRel, Ordering::Acquire).is_ok()
        })?;
        waiter.event.store(low_half(event), Ordering::Release);
        waiter.process.enter();
        Some(Place(waiter))
    }
}

fn is_gone(pid: i32) -> bool {
    // SAFETY: signal 0 only asks whether the process exists.
    unsafe { libc::kill(pid, 0) == -1 && *libc::__errno_location() == libc::ESRCH }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.process.leave();
    }
}
