//! Deferred constraints and triggers run as the role, before its identity is given up.
//!
//! Left alone they would run at COMMIT with the worker's rights. A trigger may defer itself again while it runs; so a
//! second pass follows under SECURITY_RESTRICTED_OPERATION, in which PostgreSQL refuses to defer anything.

use super::raise::{Raised, caught, raw};
use pgrx::pg_sys;

/// Runs everything that is deferred.
pub fn run() -> Result<(), Raised> {
    set_all_immediate()?;
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: the context is put back on both ways.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(user, context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32);
        let result = set_all_immediate();
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// SET CONSTRAINTS ALL IMMEDIATE.
fn set_all_immediate() -> Result<(), Raised> {
    let mut statement = pg_sys::ConstraintsSetStmt {
        type_: pg_sys::NodeTag::T_ConstraintsSetStmt,
        constraints: std::ptr::null_mut(),
        deferred: false,
    };
    let statement = &raw mut statement;
    // SAFETY: the statement is only read.
    unsafe { caught(|| raw::AfterTriggerSetState(statement)) }
}
