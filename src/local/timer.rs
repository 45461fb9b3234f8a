//! The time of one call, enforced against functions that trap their cancellation.
//!
//! When the time is over the call is cancelled, and again each second. One that still runs after [`GRACE`] cancellations
//! traps them all: then the process ends itself, which no function can trap, and the board remembers why, so that whoever
//! takes the instance over records the attempt as a timeout. A function that never looks for interrupts cannot be
//! stopped by anybody short of a restart.

use crate::worker::board::board;
use pgrx::pg_sys;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

/// Cancellations, one second apart, before the process ends itself.
const GRACE: u32 = 3;
/// Time between two of them.
const AGAIN_MS: c_int = 1_000;
/// Beyond PostgreSQL's own timeouts: it assigns a free number.
const ANY_NUMBER: c_int = 100;

unsafe extern "C-unwind" {
    fn RegisterTimeout(id: c_int, handler: extern "C-unwind" fn()) -> c_int;
    fn enable_timeout_every(id: c_int, first: i64, every_ms: c_int);
    fn disable_timeout(id: c_int, keep_indicator: bool);
}

static NUMBER: OnceLock<c_int> = OnceLock::new();
static CANCELLED: AtomicU32 = AtomicU32::new(0);
static GENERATION: AtomicI64 = AtomicI64::new(0);

/// Says whose generation ends when a call will not stop.
pub fn of_generation(generation: i64) {
    GENERATION.store(generation, Ordering::Release);
}

/// Whether this generation's process ended itself because a call would not stop.
pub fn ended_by_own_timer(generation: i64) -> bool {
    board().is_some_and(|board| board.overdue.iter().any(|place| place.load(Ordering::Acquire) == generation))
}

/// Runs while a call may take its time.
pub struct Timer;

impl Timer {
    /// Starts the time.
    pub fn start(limit: Duration) -> Timer {
        let micros = i64::try_from(limit.as_micros()).unwrap_or(i64::MAX / 4);
        CANCELLED.store(0, Ordering::Release);
        // SAFETY: the process has its timeouts initialised, as every background worker with a database.
        unsafe {
            let number = *NUMBER.get_or_init(|| RegisterTimeout(ANY_NUMBER, over));
            enable_timeout_every(number, pg_sys::GetCurrentTimestamp().saturating_add(micros), AGAIN_MS);
        }
        Timer
    }

    /// Whether the time was over.
    pub fn is_over(&self) -> bool {
        CANCELLED.load(Ordering::Acquire) > 0
    }
}

impl Drop for Timer {
    /// A cancellation that came too late must not hit what follows.
    fn drop(&mut self) {
        // SAFETY: flags of this process; the timeout is off before they are looked at.
        unsafe {
            if let Some(number) = NUMBER.get() {
                disable_timeout(*number, false);
            }
            if self.is_over() {
                (&raw mut pg_sys::QueryCancelPending).write_volatile(0);
            }
        }
    }
}

/// Runs in a signal handler: only stores flags. PostgreSQL sets the latch itself.
extern "C-unwind" fn over() {
    let times = CANCELLED.fetch_add(1, Ordering::AcqRel);
    // SAFETY: flags of this process, which mirror sig_atomic_t.
    unsafe {
        if times < GRACE {
            (&raw mut pg_sys::QueryCancelPending).write_volatile(1);
        } else {
            note_end();
            (&raw mut pg_sys::ProcDiePending).write_volatile(1);
        }
        (&raw mut pg_sys::InterruptPending).write_volatile(1);
    }
}

fn note_end() {
    let Some(board) = board() else { return };
    let generation = GENERATION.load(Ordering::Acquire);
    if board.overdue.iter().any(|place| place.load(Ordering::Acquire) == generation) {
        return;
    }
    // Generations grow: the smallest is the oldest.
    let oldest = board.overdue.iter().min_by_key(|place| place.load(Ordering::Acquire));
    if let Some(place) = oldest {
        place.store(generation, Ordering::Release);
    }
}
