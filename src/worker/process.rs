//! What every background process of rea does alike: signals, settings of its session, and the one place where it waits.

use pgrx::pg_sys;
use std::ffi::CStr;
use std::os::fd::RawFd;
use std::time::Duration;

unsafe extern "C-unwind" {
    #[cfg_attr(feature = "pg18", link_name = "pqsignal_be")]
    fn pqsignal(signal: i32, handler: Option<unsafe extern "C-unwind" fn(i32)>);
    fn die(signal: i32);
    fn SignalHandlerForConfigReload(signal: i32);
}

/// PG_WAIT_EXTENSION: the wait event shown in pg_stat_activity.
const WAIT_EVENT: u32 = 0x0700_0000;

/// SIGTERM ends the process at the next interrupt check, even inside a long statement; SIGHUP asks for a reload.
pub fn handle_signals() {
    // SAFETY: the handlers are PostgreSQL's own.
    unsafe {
        pqsignal(libc::SIGTERM, Some(die));
        pqsignal(libc::SIGHUP, Some(SignalHandlerForConfigReload));
        pg_sys::BackgroundWorkerUnblockSignals();
    }
}

/// What a session of rea sets for itself, whatever the database, the role or the configuration file say.
const PINNED: [(&CStr, &CStr); 20] = [
    (c"statement_timeout", c"0"),
    (c"lock_timeout", c"0"),
    (c"idle_in_transaction_session_timeout", c"0"),
    (c"idle_session_timeout", c"0"),
    (c"transaction_timeout", c"0"),
    (c"default_transaction_isolation", c"read committed"),
    (c"default_transaction_read_only", c"off"),
    (c"default_transaction_deferrable", c"off"),
    (c"synchronous_commit", c"on"),
    (c"search_path", c"pg_catalog, pg_temp"),
    (c"TimeZone", c"UTC"),
    (c"DateStyle", c"ISO"),
    (c"plan_cache_mode", c"force_generic_plan"),
    // Plans are kept for the life of the process and made when the tables may be empty: always by index.
    (c"enable_seqscan", c"off"),
    (c"enable_hashjoin", c"off"),
    (c"enable_mergejoin", c"off"),
    (c"jit", c"off"),
    (c"log_statement", c"none"),
    (c"log_min_duration_statement", c"-1"),
    (c"row_security", c"off"),
];

/// Names of the settings that a session of rea pins.
pub fn pinned_settings() -> impl Iterator<Item = &'static CStr> {
    PINNED.iter().map(|(name, _)| *name)
}

/// Sets what the session must not inherit from the database, the role or the configuration file.
///
/// As a SET of the session would, so that what the configuration says stays known and follows a reload.
pub fn own_settings() {
    for (name, value) in PINNED {
        // SAFETY: plain setting of the own session; settings this version does not have are passed over.
        unsafe {
            if !pg_sys::GetConfigOption(name.as_ptr(), true, false).is_null() {
                pg_sys::SetConfigOption(
                    name.as_ptr(),
                    value.as_ptr(),
                    pg_sys::GucContext::PGC_SUSET,
                    pg_sys::GucSource::PGC_S_SESSION,
                );
            }
        }
    }
}

/// Waits until woken, until `fd` is readable, or until the time is over; then handles interrupts. Returns whether the
/// configuration was read anew.
pub fn wait(fd: Option<RawFd>, timeout: Duration) -> bool {
    let mut events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    if fd.is_some() {
        events |= pg_sys::WL_SOCKET_READABLE;
    }
    let timeout = timeout.as_millis().min(3_600_000) as std::ffi::c_long;
    // SAFETY: MyLatch is this process's own.
    unsafe {
        pg_sys::WaitLatchOrSocket(pg_sys::MyLatch, events as i32, fd.unwrap_or(-1), timeout, WAIT_EVENT);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    attend()
}

/// Handles interrupts (termination, barriers of DROP DATABASE) and a pending reload. Returns whether the configuration
/// was read anew.
pub fn attend() -> bool {
    pgrx::check_for_interrupts!();
    // SAFETY: flags of this process; the volatile write mirrors sig_atomic_t.
    unsafe {
        let pending = &raw mut pg_sys::ConfigReloadPending;
        if pending.read_volatile() == 0 {
            return false;
        }
        pending.write_volatile(0);
        pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
    }
    true
}

/// Shows in pg_stat_activity what the process is at.
pub fn report(state: pg_sys::BackendState::Type, activity: &CStr) {
    // SAFETY: the string is copied.
    unsafe { pg_sys::pgstat_report_activity(state, activity.as_ptr()) };
}
