//! An event's payload as a worker holds it: small ones as stored, large ones not at all.
//!
//! It becomes text only when it is sent, one at a time, so that a batch of large events, or of events that are small as
//! jsonb and huge as text, cannot fill the memory.

use super::{Row, StoreError, pg_uuid, statements};
use pgrx::pg_sys;
use uuid::Uuid;

/// A payload that has not become text yet.
#[derive(Debug)]
pub enum Payload {
    /// The jsonb as it stands in the row, possibly compressed; never larger than a page.
    Inline(Box<[u8]>),
    /// It stands outside of the row and is read when it is needed.
    External,
}

impl Payload {
    /// Takes the column, from 1, as it is stored.
    pub fn of(row: &Row<'_>, column: i32) -> Payload {
        let Some(datum) = row.datum(column) else { return Payload::External };
        let stored = datum.cast_mut_ptr::<pg_sys::varlena>();
        // SAFETY: a non-null jsonb datum of the row; its size in place is VARSIZE_ANY unless it is a TOAST pointer.
        unsafe {
            if pgrx::varlena::varatt_is_1b_e(stored) {
                return Payload::External;
            }
            let bytes = std::slice::from_raw_parts(stored.cast::<u8>(), pgrx::varsize_any(stored));
            Payload::Inline(bytes.into())
        }
    }

    /// Whether reading it takes a statement of its own.
    pub fn is_large(&self) -> bool {
        matches!(self, Payload::External)
    }

    /// The text, as PostgreSQL prints jsonb.
    pub fn text(&self, event: Uuid) -> Result<String, StoreError> {
        match self {
            Payload::Inline(bytes) => Ok(printed(bytes)),
            Payload::External => {
                let rows = statements::LOAD_PAYLOAD.run(&[pg_uuid(event).into()])?;
                rows.first().map_or_else(|| Ok("null".to_owned()), |row| row.get(1))
            }
        }
    }
}

fn printed(bytes: &[u8]) -> String {
    // SAFETY: the bytes are a jsonb as it was stored, copied to where the server's alignment holds; jsonb_out returns
    // a NUL-terminated string. What it allocates goes with the context.
    unsafe {
        let context = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"rea payload".as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        );
        let before = pg_sys::MemoryContextSwitchTo(context);
        let copy = pg_sys::palloc(bytes.len());
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast::<u8>(), bytes.len());
        let text = pgrx::direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(pg_sys::Datum::from(copy))])
            .map(|text| std::ffi::CStr::from_ptr(text.cast_mut_ptr()).to_string_lossy().into_owned());
        pg_sys::MemoryContextSwitchTo(before);
        pg_sys::MemoryContextDelete(context);
        text.unwrap_or_default()
    }
}
