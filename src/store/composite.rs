//! Arrays of composite values as statement parameters: rows go to PostgreSQL in one piece, without an array per column.
//!
//! The types stand in `sql/schema/55_change.sql`; a row lists the values in the order of the type's columns.

use super::{Argument, StoreError, pg_time};
use chrono::{DateTime, Utc};
use pgrx::datum::{Datum as BoundDatum, DatumWithOid};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use uuid::Uuid;

/// One column of a row.
pub enum Value<'a> {
    /// uuid
    Id(&'a Uuid),
    /// uuid, or null
    MaybeId(Option<&'a Uuid>),
    /// integer
    Int(i32),
    /// integer, or null
    MaybeInt(Option<i32>),
    /// boolean
    Flag(bool),
    /// double precision
    Float(f64),
    /// bigint, or null
    Big(Option<i64>),
    /// timestamptz, or null
    Time(Option<DateTime<Utc>>),
    /// text
    Text(&'a str),
    /// text, or null
    Maybe(Option<&'a str>),
}

impl Value<'_> {
    fn datum(&self) -> Option<pg_sys::Datum> {
        match self {
            Value::Id(id) => Some(pg_sys::Datum::from(id.as_bytes().as_ptr())),
            Value::MaybeId(id) => id.map(|id| pg_sys::Datum::from(id.as_bytes().as_ptr())),
            Value::Int(number) => Some((*number).into()),
            Value::MaybeInt(number) => number.map(pg_sys::Datum::from),
            Value::Flag(flag) => Some(pg_sys::Datum::from(*flag)),
            Value::Float(number) => Some(pg_sys::Datum::from(number.to_bits())),
            Value::Big(number) => number.map(pg_sys::Datum::from),
            Value::Time(time) => time.map(|time| pg_time(time).into_inner().into()),
            Value::Text(text) => Some(text_datum(text)),
            Value::Maybe(text) => text.map(text_datum),
        }
    }
}

fn text_datum(text: &str) -> pg_sys::Datum {
    // SAFETY: copies the bytes into a new varlena of the current context.
    unsafe { pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), text.len() as i32).into() }
}

/// The rows as an array of the type `rea.<name>`.
pub fn array<'a, R, const N: usize>(
    name: &'static CStr,
    rows: &[R],
    columns: impl Fn(&R) -> [Value<'_>; N],
) -> Result<Argument<'a>, StoreError> {
    let element = type_oid(name)?;
    // SAFETY: the descriptor belongs to the type; heap_form_tuple copies the values, construct_array the tuples.
    unsafe {
        let descriptor = pg_sys::lookup_rowtype_tupdesc(element, -1);
        if (*descriptor).natts as usize != N {
            let problem = format!("type has {} columns, not {N}", (*descriptor).natts);
            return Err(StoreError::Column { statement: "composite", column: N, problem });
        }
        let mut tuples: Vec<pg_sys::Datum> = rows.iter().map(|row| tuple(descriptor, &columns(row))).collect();
        release(descriptor);
        let array = pg_sys::construct_array(
            tuples.as_mut_ptr(),
            tuples.len() as i32,
            element,
            -1,
            false,
            pg_sys::TYPALIGN_DOUBLE as std::ffi::c_char,
        );
        let datum = std::mem::transmute::<pg_sys::Datum, BoundDatum<'a>>(pg_sys::Datum::from(array));
        Ok(DatumWithOid::new_from_datum(Some(datum), pg_sys::get_array_type(element)))
    }
}

unsafe fn tuple<const N: usize>(descriptor: pg_sys::TupleDesc, columns: &[Value<'_>; N]) -> pg_sys::Datum {
    let mut values = [pg_sys::Datum::from(0usize); N];
    let mut nulls = [true; N];
    for (index, column) in columns.iter().enumerate() {
        if let Some(datum) = column.datum() {
            values[index] = datum;
            nulls[index] = false;
        }
    }
    // SAFETY: both arrays have the descriptor's length; the header of a formed tuple is a composite datum.
    unsafe {
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::Datum::from((*tuple).t_data)
    }
}

unsafe fn release(descriptor: pg_sys::TupleDesc) {
    // SAFETY: what ReleaseTupleDesc does for a counted descriptor.
    unsafe {
        if (*descriptor).tdrefcount >= 0 {
            pg_sys::DecrTupleDescRefCount(descriptor);
        }
    }
}

thread_local! {
    static TYPES: RefCell<HashMap<&'static CStr, pg_sys::Oid>> = RefCell::new(HashMap::new());
}

/// Oid of a type in schema rea. A worker leaves when the extension is dropped, so the answer stays right.
fn type_oid(name: &'static CStr) -> Result<pg_sys::Oid, StoreError> {
    if let Some(oid) = TYPES.with_borrow(|types| types.get(name).copied()) {
        return Ok(oid);
    }
    // SAFETY: catalog look-ups inside a transaction.
    let oid = unsafe {
        let schema = pg_sys::get_namespace_oid(c"rea".as_ptr(), true);
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
            pg_sys::Anum_pg_type_oid as i16,
            pg_sys::Datum::from(name.as_ptr()),
            pg_sys::Datum::from(schema),
            pg_sys::Datum::from(0usize),
            pg_sys::Datum::from(0usize),
        )
    };
    if oid == pg_sys::InvalidOid {
        let problem = format!("type rea.{} is missing", name.to_string_lossy());
        return Err(StoreError::Column { statement: "composite", column: 0, problem });
    }
    TYPES.with_borrow_mut(|types| types.insert(name, oid));
    Ok(oid)
}
