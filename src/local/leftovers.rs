//! What a call may leave in the session, and how it is taken away, so that no action sees anything of another.
//!
//! Settings go with their level; NOTIFY belongs to the transaction; LISTEN is refused in background processes. Checked
//! cheaply: an action that left nothing pays next to nothing.

use super::raise::{Raised, caught, raw};
use pgrx::pg_sys;

unsafe extern "C-unwind" {
    fn ResetSequenceCaches();
}

/// XACT_FLAGS_ACCESSEDTEMPNAMESPACE of `access/xact.h`.
const ACCESSED_TEMP: i32 = 1 << 0;

/// Closes cursors and drops temporary tables, as the role and inside its subtransaction.
///
/// A cursor WITH HOLD would run to its end at COMMIT with the worker's rights. An error here fails the call.
pub fn clear_after_success() -> Result<(), Raised> {
    // SAFETY: no portal is active: the worker's statements do not run in portals.
    unsafe {
        caught(|| raw::PortalHashTableDeleteAll())?;
        if pg_sys::MyXactFlags & ACCESSED_TEMP != 0 {
            caught(|| raw::ResetTempTableNamespace())?;
        }
    }
    Ok(())
}

/// Takes away what outlives even a rollback: prepared statements, session advisory locks, values of currval.
pub fn clear_always() {
    // SAFETY: plain functions of the session.
    unsafe {
        pg_sys::DropAllPreparedStatements();
        pg_sys::LockReleaseSession(pg_sys::USER_LOCKMETHOD as pg_sys::LOCKMETHODID);
        ResetSequenceCaches();
    }
}
