//! Calls in the database on behalf of workflows: the only place that runs other people's SQL.
//!
//! A call runs inside the current transaction, in a subtransaction of its own, as the role that defined the workflow,
//! with the settings that a new session of that role would have, and for a limited time. Whatever it leaves behind in the
//! session is gone before the next one ([`leftovers`]). It must never run anything with the worker's own rights: the
//! identity is taken back only when nothing is deferred any more ([`deferred`]).
//!
//! Reading order: [`call`] → [`message`] or [`target`] and [`execute`] → [`guard`] (identity, settings, time) → [`raise`].

mod deferred;
mod execute;
mod guard;
mod leftovers;
mod message;
mod raise;
mod session;
mod target;
mod timer;

pub use crate::flow::call::RenderedCall;
pub use leftovers::clear_always as clear;
pub use timer::{ended_by_own_timer, of_generation};

use crate::flow::outcome::Failure;
use crate::flow::sqlstate;
use crate::store::StoreError;
use pgrx::pg_sys;
use std::ffi::CString;
use std::time::Duration;

/// What a call gives: its result as jsonb text (`None` for SQL null and void), or why it failed.
pub type CallResult = Result<Option<String>, Failure>;

/// Why a call could not be made or did not succeed.
#[derive(Debug)]
enum Fault {
    /// The call failed; everything it did has been rolled back.
    Failed(Failure),
    /// PostgreSQL raised an error in the worker's own part.
    Raised(raise::Raised),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Fault::Failed(failure)
    }
}

impl From<raise::Raised> for Fault {
    fn from(raised: raise::Raised) -> Self {
        Fault::Raised(raised)
    }
}

/// Makes the call as `role`, within `timeout`, in a subtransaction of the current transaction.
///
/// A failure has undone everything that the call did; the transaction can go on. The error is one of the worker's own
/// statements (the table of topics): then the transaction has to end. A call that will not stop after its time takes the
/// process down; see [`timer`].
pub fn call(call: &RenderedCall, role: &str, timeout: Duration) -> Result<CallResult, StoreError> {
    let sending = match call {
        RenderedCall::Function { .. } => String::new(),
        RenderedCall::Message { transport, topic, kind, envelope } => {
            match message::statement_for(*transport, topic, *kind, envelope)? {
                Ok(statement) => statement,
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    };
    let result = match role_oid(role) {
        Ok(role) => guard::as_role(role, timeout, || make(call, role, &sending)),
        Err(failure) => Err(Fault::Failed(failure)),
    };
    leftovers::clear_always();
    Ok(result.map_err(|fault| match fault {
        Fault::Failed(failure) => failure,
        Fault::Raised(raised) => sqlstate::failure(&raised.sqlstate, &raised.message, raised.hint.as_deref()),
    }))
}

fn make(call: &RenderedCall, role: pg_sys::Oid, sending: &str) -> Result<Option<String>, Fault> {
    match call {
        RenderedCall::Function { schema, name, args, context } => {
            let arguments = execute::Arguments::new(args.as_deref(), context.as_deref())?;
            let target = target::find(schema, name, &arguments, role)?;
            execute::function(&target, &arguments)
        }
        RenderedCall::Message { topic, envelope, .. } => execute::send(sending, topic, envelope),
    }
}

/// A role that is gone has lost its rights for good.
fn role_oid(role: &str) -> Result<pg_sys::Oid, Failure> {
    let name = c_string(role)?;
    // SAFETY: a catalog look-up inside a transaction; missing roles give an invalid oid.
    let oid = unsafe { pg_sys::get_role_oid(name.as_ptr(), true) };
    if oid == pg_sys::InvalidOid {
        return Err(privilege(format!("role \"{role}\", which defined the workflow, does not exist any more")));
    }
    Ok(oid)
}

fn privilege(message: String) -> Failure {
    Failure::permanent("privilege", message)
}

fn c_string(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::permanent("invalid_call", "a name or an argument holds a NUL"))
}
