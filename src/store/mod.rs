//! The PostgreSQL edge: the only place that talks SPI. One function per statement of `sql/query/`.
//!
//! Statements are prepared once per process and kept. Worker code runs inside [`transaction`], API code inside
//! [`as_owner`], and never the other way round. Nothing here decides anything: see [`crate::flow`].

pub mod after;
pub mod claim;
mod composite;
pub mod local;
pub mod owner;
pub mod payload;
pub mod record;
pub mod schedule;
pub mod script;
pub mod simulation;
mod spi;
mod statement;
mod transaction;
pub mod tree;
pub mod upkeep;
mod value;
pub mod wait;
pub mod work;
pub mod write;

pub use spi::{Argument, Row, Rows, connected};
pub use statement::{Statement, statements};
pub use transaction::{extension_is_present, subtransaction, transaction};
pub use value::{Clock, pg_time, pg_uuid, utc, uuid};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use thiserror::Error;

/// What can go wrong below the SQL API.
#[derive(Debug, Error)]
pub enum StoreError {
    /// PostgreSQL raised an error.
    #[error("{message}")]
    Postgres {
        /// Its SQLSTATE.
        code: PgSqlErrorCode,
        /// Its message.
        message: String,
        /// Its detail.
        detail: Option<String>,
        /// Its hint.
        hint: Option<String>,
    },
    /// A column of a statement's result is null or of another type: the library and the schema do not fit.
    #[error("statement {statement} returned an unusable column {column}: {problem}")]
    Column {
        /// The statement.
        statement: &'static str,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// The transaction was rolled back on purpose.
    #[error("rolled back")]
    RolledBack,
    /// SPI refused a call.
    #[error("could not run statement {statement}: SPI code {code}")]
    Spi {
        /// The statement.
        statement: &'static str,
        /// SPI's answer.
        code: i32,
    },
}

impl StoreError {
    /// Whether the same work may succeed a moment later: lock, serialization, resource and connection classes.
    pub fn is_transient(&self) -> bool {
        use PgSqlErrorCode::*;
        match self {
            StoreError::Postgres { code, .. } => matches!(
                *code,
                ERRCODE_T_R_DEADLOCK_DETECTED
                    | ERRCODE_T_R_SERIALIZATION_FAILURE
                    | ERRCODE_LOCK_NOT_AVAILABLE
                    | ERRCODE_QUERY_CANCELED
                    | ERRCODE_READ_ONLY_SQL_TRANSACTION
                    | ERRCODE_DISK_FULL
                    | ERRCODE_OUT_OF_MEMORY
                    | ERRCODE_INSUFFICIENT_RESOURCES
                    | ERRCODE_IO_ERROR
            ),
            StoreError::Column { .. } | StoreError::Spi { .. } | StoreError::RolledBack => false,
        }
    }
}

impl From<StoreError> for ErrorReport {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Postgres { code, message, detail, hint } => {
                let mut report = ErrorReport::new(code, message, "rea");
                if let Some(detail) = detail {
                    report = report.set_detail(detail);
                }
                if let Some(hint) = hint {
                    report = report.set_hint(hint);
                }
                report
            }
            other => ErrorReport::new(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, other.to_string(), "rea"),
        }
    }
}
