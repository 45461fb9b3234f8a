//! Transactions of background workers, with a real abort path, and subtransactions for the one row that fails.

use super::StoreError;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;
use std::panic::AssertUnwindSafe;

/// Runs the body in a transaction of its own: commits when it returns `Ok`, else aborts, whatever was raised.
///
/// For background workers only. An error at commit is returned like any other.
pub fn transaction<R>(body: impl FnOnce() -> Result<R, StoreError>) -> Result<R, StoreError> {
    let result = PgTryBuilder::new(AssertUnwindSafe(|| {
        // SAFETY: the process is a background worker with a database connection, outside of any transaction.
        unsafe {
            pg_sys::SetCurrentStatementStartTimestamp();
            pg_sys::StartTransactionCommand();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        }
        let value = super::connected(body)?;
        unsafe {
            pg_sys::PopActiveSnapshot();
            pg_sys::CommitTransactionCommand();
        }
        Ok(value)
    }))
    .catch_others(|cause| Err(store_error(cause)))
    .execute();
    if result.is_err() {
        // SAFETY: brings the session back to idle from any state, as PostgreSQL's own main loop does.
        unsafe { pg_sys::AbortCurrentTransaction() };
    }
    result
}

/// Runs the body in a subtransaction, so that its error undoes only what it did.
pub fn subtransaction<R>(body: impl FnOnce() -> Result<R, StoreError>) -> Result<R, StoreError> {
    // SAFETY: owner and context are put back on both ways, as PL/pgSQL does.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        let context = pg_sys::CurrentMemoryContext;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let result = PgTryBuilder::new(AssertUnwindSafe(body)).catch_others(|cause| Err(store_error(cause))).execute();
        match &result {
            Ok(_) => pg_sys::ReleaseCurrentSubTransaction(),
            Err(_) => pg_sys::RollbackAndReleaseCurrentSubTransaction(),
        }
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        result
    }
}

/// Locks the extension against DROP until the transaction ends, and says whether it is still there.
///
/// DROP EXTENSION takes the same lock first, so it and a worker can never wait for each other's tables.
pub fn extension_is_present(extension: pg_sys::Oid) -> bool {
    // SAFETY: plain lock and catalog look-up inside a transaction.
    unsafe {
        pg_sys::LockDatabaseObject(
            pg_sys::ExtensionRelationId,
            extension,
            0,
            pg_sys::AccessShareLock as pg_sys::LOCKMODE,
        );
        pg_sys::get_extension_oid(c"rea".as_ptr(), true) == extension
    }
}

fn store_error(cause: CaughtError) -> StoreError {
    match cause {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => StoreError::Postgres {
            code: report.sql_error_code(),
            message: report.message().to_string(),
            detail: report.detail().map(str::to_string),
            hint: report.hint().map(str::to_string),
        },
        CaughtError::RustPanic { ereport, .. } => StoreError::Postgres {
            code: PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            message: ereport.message().to_string(),
            detail: None,
            hint: None,
        },
    }
}
