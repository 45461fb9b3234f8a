//! SPI with kept plans, without the parts of pgrx's client that assign a transaction id to statements that only read.

use super::{Statement, StoreError};
use pgrx::datum::{DatumWithOid, FromDatum, IntoDatum};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;

/// A parameter with its type.
pub type Argument<'a> = DatumWithOid<'a>;

thread_local! {
    static PLANS: RefCell<HashMap<&'static str, pg_sys::SPIPlanPtr>> = RefCell::new(HashMap::new());
}

/// Rows that a statement returned; they live until the surrounding [`connected`] ends.
pub struct Rows {
    table: *mut pg_sys::SPITupleTable,
    count: usize,
    /// Rows returned or changed.
    pub processed: usize,
    statement: &'static str,
}

/// One row of [`Rows`].
pub struct Row<'a> {
    rows: &'a Rows,
    tuple: pg_sys::HeapTuple,
}

/// Connects SPI for the closure; results must not leave it.
pub fn connected<R>(body: impl FnOnce() -> Result<R, StoreError>) -> Result<R, StoreError> {
    // SAFETY: on an error PostgreSQL's abort handling ends the SPI level.
    unsafe { pg_sys::SPI_connect() };
    let result = body();
    unsafe { pg_sys::SPI_finish() };
    result
}

impl Statement {
    /// Runs the statement with its kept plan. Must run inside [`connected`].
    pub fn run(&'static self, arguments: &[Argument<'_>]) -> Result<Rows, StoreError> {
        let plan = self.plan(arguments)?;
        let mut datums = Vec::with_capacity(arguments.len());
        let mut nulls = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let datum = argument.datum();
            nulls.push(if datum.is_some() { b' ' as std::ffi::c_char } else { b'n' as std::ffi::c_char });
            datums.push(datum.map_or(pg_sys::Datum::from(0), |d| d.sans_lifetime()));
        }
        // SAFETY: plan is a kept plan with exactly these parameter types (checked by SPI_getargcount in plan()).
        let code = unsafe { pg_sys::SPI_execute_plan(plan, datums.as_mut_ptr(), nulls.as_ptr(), false, 0) };
        if code < 0 {
            return Err(StoreError::Spi { statement: self.name, code });
        }
        unsafe {
            let table = pg_sys::SPI_tuptable;
            let count = if table.is_null() { 0 } else { (*table).numvals as usize };
            Ok(Rows { table, count, processed: pg_sys::SPI_processed as usize, statement: self.name })
        }
    }

    fn plan(&'static self, arguments: &[Argument<'_>]) -> Result<pg_sys::SPIPlanPtr, StoreError> {
        if let Some(plan) = PLANS.with_borrow(|plans| plans.get(self.name).copied()) {
            return Ok(plan);
        }
        let mut types: Vec<pg_sys::Oid> = arguments.iter().map(|argument| argument.oid()).collect();
        let plan = self.prepare(&mut types)?;
        unsafe { pg_sys::SPI_keepplan(plan) };
        PLANS.with_borrow_mut(|plans| plans.insert(self.name, plan));
        Ok(plan)
    }

    /// Parses and plans the statement for these parameter types.
    pub fn prepare(&self, types: &mut [pg_sys::Oid]) -> Result<pg_sys::SPIPlanPtr, StoreError> {
        let failed = |code| StoreError::Spi { statement: self.name, code };
        let text = CString::new(self.text).map_err(|_| failed(pg_sys::SPI_ERROR_ARGUMENT))?;
        // SAFETY: text is NUL-terminated, types has the given length.
        let plan = unsafe { pg_sys::SPI_prepare(text.as_ptr(), types.len() as i32, types.as_mut_ptr()) };
        if plan.is_null() { Err(failed(unsafe { pg_sys::SPI_result })) } else { Ok(plan) }
    }
}

impl Drop for Rows {
    /// A turn runs many statements in one connection: what each returned must not stay until its end.
    fn drop(&mut self) {
        // SAFETY: the table is this statement's own, and still in SPI's list unless an error has ended the connection;
        // SPI_freetuptable looks for it there first.
        if !self.table.is_null() {
            unsafe { pg_sys::SPI_freetuptable(self.table) };
        }
    }
}

impl Rows {
    /// Number of rows that can be read.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.count).map(|index| Row { rows: self, tuple: unsafe { *(*self.table).vals.add(index) } })
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }

    /// Copies the rows into the result set of a function that called InitMaterializedSRF.
    ///
    /// # Safety
    /// `fcinfo` is the one of that call.
    pub unsafe fn copy_into_result(&self, fcinfo: pg_sys::FunctionCallInfo) {
        for row in self.iter() {
            // SAFETY: resultinfo was set up by InitMaterializedSRF; the store copies the tuple.
            unsafe {
                let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
                pg_sys::tuplestore_puttuple((*result).setResult, row.tuple);
            }
        }
    }
}

impl Row<'_> {
    /// The column, from 1; `None` when it is null.
    pub fn maybe<T: FromDatum + IntoDatum>(&self, column: usize) -> Result<Option<T>, StoreError> {
        let mut is_null = false;
        // SAFETY: the tuple and its descriptor live as long as Rows; an out-of-range column yields null.
        unsafe {
            let descriptor = (*self.rows.table).tupdesc;
            let oid = pg_sys::SPI_gettypeid(descriptor, column as i32);
            if !T::is_compatible_with(oid) {
                return Err(self.unusable(column, format!("type oid {}", oid.to_u32())));
            }
            let datum = pg_sys::SPI_getbinval(self.tuple, descriptor, column as i32, &mut is_null);
            Ok(T::from_datum(datum, is_null))
        }
    }

    /// The column, from 1, which must not be null.
    pub fn get<T: FromDatum + IntoDatum>(&self, column: usize) -> Result<T, StoreError> {
        self.maybe(column)?.ok_or_else(|| self.unusable(column, "null".into()))
    }

    /// The column, from 1, as the tuple has it; lives as long as the rows.
    pub fn datum(&self, column: i32) -> Option<pg_sys::Datum> {
        let mut is_null = false;
        // SAFETY: see maybe.
        let datum = unsafe { pg_sys::SPI_getbinval(self.tuple, (*self.rows.table).tupdesc, column, &mut is_null) };
        (!is_null).then_some(datum)
    }

    /// The column, from 1, copied into the context that was current before [`connected`]; `None` when it is null.
    pub fn copied(&self, column: i32) -> Option<pg_sys::Datum> {
        let mut is_null = false;
        // SAFETY: type, length and value come from the same descriptor.
        unsafe {
            let descriptor = (*self.rows.table).tupdesc;
            let datum = pg_sys::SPI_getbinval(self.tuple, descriptor, column, &mut is_null);
            if is_null {
                return None;
            }
            let (mut length, mut by_value) = (0, false);
            pg_sys::get_typlenbyval(pg_sys::SPI_gettypeid(descriptor, column), &mut length, &mut by_value);
            Some(pg_sys::SPI_datumTransfer(datum, by_value, i32::from(length)))
        }
    }

    fn unusable(&self, column: usize, problem: String) -> StoreError {
        StoreError::Column { statement: self.rows.statement, column, problem }
    }
}
