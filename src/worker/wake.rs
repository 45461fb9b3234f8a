//! Waking others at commit, once: fire_event arms it, the transaction callback does it.
//!
//! The callback runs after the commit is visible and must not raise, so it only sets latches. PREPARE TRANSACTION
//! forgets what was armed; COMMIT PREPARED is found by the workers' poll.

use super::board::{Seat, board};
use pgrx::pg_sys;
use std::cell::Cell;

thread_local! {
    static ARMED: Cell<u32> = const { Cell::new(0) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Beside the hints of [`Seat`]: the extension was created here, the launcher shall look.
const EXTENSION: u32 = 1 << 31;

/// Wakes the workers of this database when the transaction commits.
pub fn at_commit(hint: u32) {
    register();
    ARMED.set(ARMED.get() | hint);
}

/// Has the end of each transaction noticed, from now on.
pub fn register() {
    if !REGISTERED.replace(true) {
        // SAFETY: the callback stays valid as long as the library is loaded, which is for the life of the process.
        unsafe { pg_sys::RegisterXactCallback(Some(at_end_of_transaction), std::ptr::null_mut()) };
    }
}

/// Tells the launcher when the transaction that creates the extension commits.
pub fn launcher_at_commit() {
    at_commit(EXTENSION);
}

unsafe extern "C-unwind" fn at_end_of_transaction(event: pg_sys::XactEvent::Type, _: *mut std::ffi::c_void) {
    use pg_sys::XactEvent::*;
    match event {
        XACT_EVENT_COMMIT => {
            let armed = ARMED.replace(0);
            if armed != 0 {
                wake(armed);
            }
        }
        XACT_EVENT_ABORT | XACT_EVENT_PREPARE => {
            ARMED.set(0);
            super::absence::let_in();
        }
        _ => {}
    }
}

fn wake(armed: u32) {
    let Some(board) = board() else { return };
    // SAFETY: a plain global of this process.
    let database = unsafe { pg_sys::MyDatabaseId };
    if armed & EXTENSION != 0 {
        board.tell_launcher(database);
    }
    let hint = armed & !EXTENSION;
    if hint != 0 {
        workers(database, hint);
    }
}

/// Wakes the SQL workers of the database: an instance waits for a call.
pub fn sql_workers(database: pg_sys::Oid) {
    let Some(board) = board() else { return };
    board.seats.iter().filter(|seat| seat.is_of(database.to_u32(), Seat::SQL)).for_each(|seat| seat.hint(Seat::QUEUE));
}

/// Wakes the workers of the database that are not SQL workers: an instance waits on a lane of theirs.
pub fn main_workers(database: pg_sys::Oid) {
    let Some(board) = board() else { return };
    board.seats.iter().filter(|seat| seat.is_of(database.to_u32(), Seat::MAIN)).for_each(|seat| seat.hint(Seat::QUEUE));
}

/// Leaves the hint with every worker of the database that it concerns and wakes it: the inbox one of them, SQL workers
/// the queue only.
pub fn workers(database: pg_sys::Oid, hint: u32) {
    use std::sync::atomic::Ordering::Acquire;
    let Some(board) = board() else { return };
    for seat in board.seats.iter().filter(|seat| seat.database.load(Acquire) == database.to_u32()) {
        let main = seat.kind.load(Acquire) == Seat::MAIN;
        let concerned = match hint {
            Seat::INBOX => main && seat.worker_no.load(Acquire) == 0,
            _ => main || hint & Seat::QUEUE != 0,
        };
        if concerned {
            seat.hint(hint);
        }
    }
}

/// Wakes the sessions that wait for one of these events in wait_operation.
pub fn waiters(events: &[uuid::Uuid]) {
    use std::sync::atomic::Ordering::Acquire;
    let Some(board) = board() else { return };
    for waiter in board.waiters.iter().filter(|waiter| waiter.process.pid.load(Acquire) != 0) {
        let awaited = waiter.event.load(Acquire);
        if events.iter().any(|event| low_half(event) == awaited) {
            waiter.process.wake();
        }
    }
}

/// What the board keeps of an event's uid: enough to wake the right sessions and few others.
pub fn low_half(event: &uuid::Uuid) -> u64 {
    event.as_u64_pair().1
}
