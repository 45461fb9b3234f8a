//! One call of an SQL function: its arguments as they came, its caller, and the way its errors leave.

use crate::error::ApiError;
use crate::store::Argument;
use crate::store::owner::Caller;
use pgrx::datum::{Datum as BoundDatum, DatumWithOid, FromDatum, IntoDatum};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;

/// The call behind an `fcinfo`.
pub struct Call {
    fcinfo: pg_sys::FunctionCallInfo,
    /// Who called.
    pub caller: Caller,
}

impl Call {
    /// Reads the caller; the arguments are read when asked for.
    ///
    /// # Safety
    /// `fcinfo` is the one that PostgreSQL passed to the function that runs.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Call {
        // SAFETY: by contract.
        Call { fcinfo, caller: unsafe { Caller::of(fcinfo) } }
    }

    /// The raw call, for functions that return sets.
    pub fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }

    /// The argument, from 0; `None` when it is null.
    pub fn datum(&self, index: usize) -> Option<pg_sys::Datum> {
        // SAFETY: PostgreSQL passes nargs arguments; the SQL declarations fix how many.
        unsafe {
            let arguments = (*self.fcinfo).args.as_slice((*self.fcinfo).nargs as usize);
            arguments.get(index).filter(|argument| !argument.isnull).map(|argument| argument.value)
        }
    }

    /// The argument as a statement's parameter of that type, untouched.
    pub fn parameter(&self, index: usize, oid: pg_sys::Oid) -> Argument<'_> {
        parameter(self.datum(index), oid)
    }

    /// The argument as a value of Rust.
    pub fn value<T: FromDatum>(&self, index: usize) -> Option<T> {
        // SAFETY: the SQL declaration fixes the type.
        self.datum(index).and_then(|datum| unsafe { T::from_datum(datum, false) })
    }

    /// The argument, which must not be null.
    pub fn required<T: FromDatum>(&self, index: usize, name: &'static str) -> Result<T, ApiError> {
        self.value(index).ok_or(ApiError::NullArgument(name))
    }

    /// The jsonb argument as text.
    pub fn json(&self, index: usize) -> Option<String> {
        // SAFETY: the SQL declaration fixes the type; jsonb_out returns a NUL-terminated string of this encoding.
        self.datum(index).map(|datum| unsafe {
            let text = pgrx::direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(datum)]);
            match text {
                Some(text) => std::ffi::CStr::from_ptr(text.cast_mut_ptr()).to_string_lossy().into_owned(),
                None => String::new(),
            }
        })
    }
}

/// A datum as a statement's parameter.
pub fn parameter<'a>(datum: Option<pg_sys::Datum>, oid: pg_sys::Oid) -> Argument<'a> {
    match datum {
        // SAFETY: the datum is of that type by the SQL declaration and lives as long as the call.
        Some(datum) => unsafe { DatumWithOid::new_from_datum(Some(bound(datum)), oid) },
        None => DatumWithOid::null_oid(oid),
    }
}

unsafe fn bound<'a>(datum: pg_sys::Datum) -> BoundDatum<'a> {
    // SAFETY: a bound datum is the datum with a lifetime.
    unsafe { std::mem::transmute::<pg_sys::Datum, BoundDatum<'a>>(datum) }
}

/// A value as a function's result.
pub fn returned<T: IntoDatum>(value: T) -> Result<Option<pg_sys::Datum>, ApiError> {
    Ok(value.into_datum())
}

/// Leaves the function with an SQL error.
pub fn raise(error: ApiError) -> ! {
    ErrorReport::from(error).report(pgrx::PgLogLevel::ERROR);
    // INVARIANT: reporting at level ERROR never returns.
    unreachable!()
}
