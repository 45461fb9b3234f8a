//! The processes: one launcher for the server, workers for each database that holds the extension.
//!
//! The main thread of a worker is the only one that talks to PostgreSQL; the threads of its pool perform HTTP requests.
//! No transaction is ever open while an action runs. Follow a call: [`launcher`] starts [`serve`], whose loop runs one
//! [`turn`] after the other: [`conclude`] what ended, claim and route what is due, [`prepare`] what goes out.

mod absence;
mod announce;
mod answer;
pub mod board;
mod clock;
mod conclude;
mod course;
mod definition;
mod draft;
mod effects;
mod emit;
mod ending;
mod fork;
mod held;
mod inbox;
mod inquiry;
mod intake;
mod lane;
mod launcher;
mod maintenance;
mod pool;
mod prepare;
mod process;
mod render;
mod script;
mod serve;
mod sql;
mod sql_call;
mod start;
mod step;
mod task;
mod turn;
mod undo;
mod waits;

pub mod wake;

pub use process::pinned_settings;

use pgrx::bgworkers::{BackgroundWorkerBuilder, BgWorkerStartTime};
use pgrx::pg_sys;
use std::time::Duration;

/// Name of the library as bgworkers load it.
const LIBRARY: &str = "rea";

/// Reserves shared memory and registers the launcher; does nothing when the library is loaded later than at server
/// start, or during pg_upgrade, where nothing may run.
pub fn init() {
    // SAFETY: plain globals, read while the library is loaded.
    let (preloading, upgrading) =
        unsafe { (pg_sys::process_shared_preload_libraries_in_progress, pg_sys::IsBinaryUpgrade) };
    if !preloading {
        return;
    }
    board::init();
    if upgrading {
        return;
    }
    absence::init();
    BackgroundWorkerBuilder::new("rea launcher")
        .set_type("rea launcher")
        .set_library(LIBRARY)
        .set_function("rea_launcher_main")
        .enable_spi_access()
        .set_start_time(BgWorkerStartTime::RecoveryFinished)
        .set_restart_time(Some(Duration::from_secs(1)))
        .load();
}
