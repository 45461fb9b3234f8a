//! Every error that an SQL caller can see: its SQLSTATE, message, detail and hint, in one place.
//!
//! Wording follows PostgreSQL's message style: lower case, no full stop in messages, sentences in hints.

use crate::store::StoreError;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use thiserror::Error;

/// What can go wrong in the SQL API.
#[derive(Debug, Error)]
pub enum ApiError {
    /// A required argument is null.
    #[error("{0} must not be null")]
    NullArgument(&'static str),
    /// An argument is empty or holds what it must not hold.
    #[error("{field} {problem}")]
    BadArgument {
        /// Name of the argument.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: &'static str,
    },
    /// An argument is larger than its limit, in bytes.
    #[error("{field} is too long: {bytes} bytes, the limit is {limit}")]
    TooLong {
        /// Name of the argument.
        field: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A definition has mistakes; one line each.
    #[error("{message}")]
    BadDefinition {
        /// The first mistake.
        message: String,
        /// All mistakes with their JSON pointers.
        detail: String,
        /// What to do about the first.
        hint: Option<String>,
    },
    /// A script breaks the grammar.
    #[error("{message}")]
    BadScript {
        /// What, and in which line.
        message: String,
    },
    /// A named object does not exist, or the caller may not see it.
    #[error("{kind} \"{name}\" does not exist")]
    NotFound {
        /// Kind of object.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What to do.
        hint: &'static str,
    },
    /// Two routes could only be told apart by chance.
    #[error("route \"{name}\" would tie with route \"{other}\": same group, event type, priority and match")]
    RouteTie {
        /// The new route.
        name: String,
        /// The one that exists.
        other: String,
    },
    /// The object is in a state that does not allow this.
    #[error("{message}")]
    WrongState {
        /// What the state is.
        message: String,
        /// What to do.
        hint: &'static str,
    },
    /// A simulation did not come to its end; with the steps it took.
    #[error("the simulation was given up after {0} steps")]
    TooManySteps(usize),
    /// The library was not loaded at server start.
    #[error("rea is not loaded at server start")]
    NotPreloaded,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ApiError> for ErrorReport {
    fn from(error: ApiError) -> Self {
        use PgSqlErrorCode::*;
        let message = error.to_string();
        let (code, detail, hint): (_, Option<String>, Option<String>) = match error {
            ApiError::NullArgument(_) => (ERRCODE_NULL_VALUE_NOT_ALLOWED, None, None),
            ApiError::BadArgument { hint, .. } => (ERRCODE_INVALID_PARAMETER_VALUE, None, Some(hint.into())),
            ApiError::TooLong { field: "payload", .. } => (
                ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                None,
                Some("Store large data in a table of your own and fire a reference to it, or raise rea.max_payload_bytes.".into()),
            ),
            ApiError::TooLong { field: "script source", .. } => (
                ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                None,
                Some("Split the script, and keep the data that it needs in the configuration.".into()),
            ),
            ApiError::TooLong { field: "value", .. } => {
                (ERRCODE_PROGRAM_LIMIT_EXCEEDED, None, Some("Split the value over several keys.".into()))
            }
            ApiError::TooLong { .. } => (
                ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                None,
                Some("Use a shorter value, for example a hash, and keep the long one in the payload.".into()),
            ),
            ApiError::BadDefinition { detail, hint, .. } => (ERRCODE_INVALID_PARAMETER_VALUE, Some(detail), hint),
            ApiError::BadScript { .. } => (
                ERRCODE_SYNTAX_ERROR,
                None,
                Some("The language is Luau; docs/reference/lua.md tells how it differs from Lua 5.x.".into()),
            ),
            ApiError::NotFound { hint, .. } => (ERRCODE_UNDEFINED_OBJECT, None, Some(hint.into())),
            ApiError::RouteTie { .. } => (
                ERRCODE_DUPLICATE_OBJECT,
                None,
                Some("Give one of them another priority, or put them into different groups if both shall run.".into()),
            ),
            ApiError::WrongState { hint, .. } => (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, None, Some(hint.into())),
            ApiError::TooManySteps(_) => (
                ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                None,
                Some("Give it less to do: fewer items in the payload, or a mock that ends its retries or its chain of workflows.".into()),
            ),
            ApiError::NotPreloaded => (
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                None,
                Some("Add rea to shared_preload_libraries and restart the server.".into()),
            ),
            ApiError::Store(store) => return store.into(),
        };
        let report = ErrorReport::new(code, message, "rea");
        let report = match detail {
            Some(detail) => report.set_detail(detail),
            None => report,
        };
        match hint {
            Some(hint) => report.set_hint(hint),
            None => report,
        }
    }
}
