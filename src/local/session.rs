//! The settings that a call finds: those of a new session of its role in this database.
//!
//! The worker pins some settings for its own statements; they go back to what the configuration says. What ALTER
//! DATABASE and ALTER ROLE set comes on top. All of it ends with the level that [`super::guard`] has opened.

use super::Fault;
use crate::flow::outcome::{Class, Failure};
use crate::store::{StoreError, local};
use crate::worker::pinned_settings;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};

/// Settings that a call never gets: identities, and times that PostgreSQL would enforce on the worker itself.
const NEVER: [&str; 5] = ["role", "session_authorization", "transaction_timeout", "statement_timeout", "is_superuser"];

/// Sets everything for this role.
pub fn as_new_session_of(role: pg_sys::Oid) -> Result<(), Fault> {
    for name in pinned_settings() {
        if !NEVER.iter().any(|never| never.as_bytes() == name.to_bytes()) {
            set(name, None);
        }
    }
    for (name, value) in local::session_settings(role).map_err(unreadable)? {
        if NEVER.contains(&name.as_str()) {
            continue;
        }
        if let (Ok(name), Ok(value)) = (CString::new(name), CString::new(value)) {
            set(&name, Some(&value));
        }
    }
    Ok(())
}

fn unreadable(error: StoreError) -> Fault {
    let message = format!("could not read the settings of the session: {error}");
    Fault::Failed(Failure { code: "session".into(), message, class: Class::Retry, retry_after: None })
}

/// Sets one; without a value, to what a reload of the configuration would give. One that cannot be set is passed over.
fn set(name: &CStr, value: Option<&CStr>) {
    // SAFETY: the strings outlive the call; at this level no error is raised, the setting stays as it is.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.map_or(std::ptr::null(), CStr::as_ptr),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            pg_sys::DEBUG2 as i32,
            false,
        );
    }
}
