//! The SQL functions. Each checks its arguments, calls the store as the extension's owner, and shapes the result.
//!
//! They are declared by hand in `sql/schema/6x_*.sql`; here is only what stands behind the symbols. Functions that
//! only read pass the rows of one statement file through ([`read`]); the others have a function of their own.

mod call;
mod define;
mod event;
mod point;
mod read;
mod reroute;
mod resolve;
mod retry;
mod revise;
mod route;
mod schedule;
mod script;
mod simulate;
mod stop;
mod trial;
mod wait;

/// Declares the C symbol behind an SQL function. `$body` is a `fn(&Call) -> Result<Option<Datum>, ApiError>`;
/// `None` is SQL null, an error becomes an SQL error with SQLSTATE, detail and hint.
#[macro_export]
macro_rules! sql_function {
    ($symbol:ident, $finfo:ident, $body:path) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $finfo() -> &'static pgrx::pg_sys::Pg_finfo_record {
            static VERSION_1: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &VERSION_1
        }

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[pgrx::pg_guard]
        pub unsafe extern "C-unwind" fn $symbol(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL passed it to this very call.
            let call = unsafe { $crate::api::Call::new(fcinfo) };
            match $body(&call) {
                Ok(Some(datum)) => datum,
                Ok(None) => {
                    unsafe { (*fcinfo).isnull = true };
                    pgrx::pg_sys::Datum::from(0)
                }
                Err(error) => $crate::api::raise(error),
            }
        }
    };
}

pub(crate) use call::{Call, raise};

use crate::error::ApiError;
use crate::worker::board;
use pgrx::pg_sys;

mod server;

/// What changes something, fire_event apart, needs shared memory: without it nothing would ever run. Reading does not.
fn require_preload() -> Result<(), ApiError> {
    board::board().map(|_| ()).ok_or(ApiError::NotPreloaded)
}

/// Returns the values of one column as the function's result set, for functions that return a set of a plain type.
fn return_column(call: &Call, values: impl Iterator<Item = Option<pg_sys::Datum>>) {
    /// What InitMaterializedSRF calls SRF_SINGLE_USE_EXPECTED: the caller knows the descriptor.
    const USE_EXPECTED: u32 = 1;
    put_rows(call, USE_EXPECTED, values.map(|value| [value]));
}

/// Returns rows of datums as the function's result set.
fn return_rows<const N: usize>(call: &Call, rows: impl Iterator<Item = [Option<pg_sys::Datum>; N]>) {
    put_rows(call, 0, rows);
}

fn put_rows<const N: usize>(call: &Call, flags: u32, rows: impl Iterator<Item = [Option<pg_sys::Datum>; N]>) {
    let fcinfo = call.fcinfo();
    // SAFETY: InitMaterializedSRF checks that the caller takes a set and sets up store and descriptor.
    unsafe {
        pg_sys::InitMaterializedSRF(fcinfo, flags);
        let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        for row in rows {
            let mut values = row.map(|datum| datum.unwrap_or(pg_sys::Datum::from(0)));
            let mut nulls = row.map(|datum| datum.is_none());
            pg_sys::tuplestore_putvalues(
                (*result).setResult,
                (*result).setDesc,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
        }
    }
}
