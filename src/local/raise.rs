//! Errors of PostgreSQL with their SQLSTATE as raised.
//!
//! pgrx knows the SQLSTATEs of the manual only; what users raise themselves it calls an internal error. So the calls of
//! this module are declared here and not taken from pgrx, and the jump out of an error is caught where it lands.

use crate::flow::sqlstate::unpacked;
use cee_scape::{SigJmpBufFields, call_with_sigsetjmp};
use pgrx::pg_sys;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// An error that PostgreSQL raised.
#[derive(Debug)]
pub struct Raised {
    /// Five characters.
    pub sqlstate: String,
    /// Primary message, with the detail behind it.
    pub message: String,
    /// Hint.
    pub hint: Option<String>,
}

/// PostgreSQL's functions without pgrx's catch around them: to be called inside [`caught`] only.
pub mod raw {
    use pgrx::pg_sys;
    use std::ffi::{c_char, c_int, c_long};

    unsafe extern "C-unwind" {
        pub fn SPI_prepare_cursor(
            text: *const c_char,
            count: c_int,
            types: *mut pg_sys::Oid,
            options: c_int,
        ) -> pg_sys::SPIPlanPtr;
        pub fn SPI_execute_plan(
            plan: pg_sys::SPIPlanPtr,
            values: *mut pg_sys::Datum,
            nulls: *const c_char,
            read_only: bool,
            count: c_long,
        ) -> c_int;
        pub fn SPI_getvalue(tuple: pg_sys::HeapTuple, descriptor: pg_sys::TupleDesc, number: c_int) -> *mut c_char;
        pub fn OidInputFunctionCall(
            function: pg_sys::Oid,
            text: *const c_char,
            element: pg_sys::Oid,
            modifier: i32,
        ) -> pg_sys::Datum;
        pub fn AfterTriggerSetState(statement: *mut pg_sys::ConstraintsSetStmt);
        pub fn PortalHashTableDeleteAll();
        pub fn ResetTempTableNamespace();
        pub fn ReleaseCurrentSubTransaction();
    }
}

/// Runs the body and catches what PostgreSQL raises in it.
///
/// # Safety
/// The body calls functions of [`raw`] and holds nothing that would have to be dropped: an error jumps over it.
pub unsafe fn caught<T>(body: impl FnOnce() -> T) -> Result<T, Raised> {
    // SAFETY: as PG_TRY does: the stacks are put back on both ways.
    unsafe {
        let memory = pg_sys::CurrentMemoryContext;
        let exceptions = pg_sys::PG_exception_stack;
        let contexts = pg_sys::error_context_stack;
        let mut result = MaybeUninit::<T>::uninit();
        let jumped = call_with_sigsetjmp(false, |buffer| {
            pg_sys::PG_exception_stack =
                std::mem::transmute::<*const SigJmpBufFields, *mut pg_sys::sigjmp_buf>(std::ptr::from_ref(buffer));
            result.write(body());
            0
        });
        pg_sys::PG_exception_stack = exceptions;
        pg_sys::error_context_stack = contexts;
        if jumped == 0 {
            return Ok(result.assume_init());
        }
        pg_sys::CurrentMemoryContext = memory;
        let data = pg_sys::CopyErrorData();
        let raised = Raised::of(&*data);
        pg_sys::FreeErrorData(data);
        pg_sys::FlushErrorState();
        Err(raised)
    }
}

impl Raised {
    unsafe fn of(data: &pg_sys::ErrorData) -> Raised {
        // SAFETY: the fields are null or NUL-terminated strings.
        unsafe {
            let mut message = text(data.message).unwrap_or_default();
            if let Some(detail) = text(data.detail) {
                message = format!("{message}: {detail}");
            }
            Raised { sqlstate: unpacked(data.sqlerrcode), message, hint: text(data.hint) }
        }
    }
}

unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: by contract null or NUL-terminated.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
