//! Another role's identity, settings and subtransaction around a call, for a limited time.
//!
//! Order: settings level → settings → identity → subtransaction → time; taken back in reverse. Deferred triggers have run
//! and cursors are closed before the identity is given up.

use super::raise::{caught, raw};
use super::timer::Timer;
use super::{Fault, deferred, leftovers, session};
use crate::flow::sqlstate;
use pgrx::pg_sys;
use std::time::Duration;

/// Runs the body as `role`: all of it, or nothing of it.
pub fn as_role<T>(role: pg_sys::Oid, timeout: Duration, body: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    // SAFETY: level and identity are put back on both ways; nothing between can leave this function otherwise.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        let result = session::as_new_session_of(role).and_then(|()| {
            let (mut user, mut context) = (pg_sys::InvalidOid, 0);
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            pg_sys::SetUserIdAndSecContext(role, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32);
            let result = alone(timeout, body);
            pg_sys::SetUserIdAndSecContext(user, context);
            result
        });
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// Runs the body in a subtransaction, and what it deferred, within the time.
fn alone<T>(timeout: Duration, body: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    // SAFETY: owner and context are put back on both ways, as PL/pgSQL does.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        let context = pg_sys::CurrentMemoryContext;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let timer = Timer::start(timeout);
        let result = body().and_then(|value| {
            deferred::run()?;
            leftovers::clear_after_success()?;
            Ok(value)
        });
        // A function may trap its cancellation and return as if nothing had happened.
        let result = if timer.is_over() { Err(Fault::Failed(sqlstate::timeout(timeout))) } else { result };
        drop(timer);
        let result = result.and_then(|value| {
            caught(|| raw::ReleaseCurrentSubTransaction())?;
            Ok(value)
        });
        if result.is_err() {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
        }
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        result
    }
}
