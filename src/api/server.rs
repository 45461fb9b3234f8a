//! `worker_seats`, `server_state`: what only shared memory knows, for the views and `doctor`.

use super::call::{Call, returned};
use crate::error::ApiError;
use crate::guc;
use crate::worker::board::{Seat, board, monotonic_ms};
use pgrx::{IntoDatum, JsonB, pg_sys};
use std::sync::atomic::Ordering;

sql_function!(rea_worker_seats, pg_finfo_rea_worker_seats, worker_seats);
sql_function!(rea_server_state, pg_finfo_rea_server_state, server_state);
sql_function!(rea_extension_created, pg_finfo_rea_extension_created, extension_created);

fn worker_seats(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    // SAFETY: a plain global of this process.
    let database = unsafe { pg_sys::MyDatabaseId };
    let seats = board().into_iter().flat_map(|board| &board.seats).filter(|seat| {
        seat.database.load(Ordering::Acquire) == database.to_u32()
            && seat.state.load(Ordering::Acquire) == Seat::RUNNING
    });
    let rows = seats.map(|seat| {
        [
            (seat.worker_no.load(Ordering::Acquire) as i32).into_datum(),
            seat.process.pid.load(Ordering::Acquire).into_datum(),
            seat.generation.load(Ordering::Acquire).into_datum(),
            (monotonic_ms() - seat.heartbeat.load(Ordering::Acquire)).into_datum(),
            if seat.kind.load(Ordering::Acquire) == Seat::SQL { "sql" } else { "main" }.into_datum(),
        ]
    });
    super::return_rows(call, rows);
    Ok(None)
}

fn server_state(_call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    let board = board();
    let state = serde_json::json!({
        "preloaded": board.is_some(),
        "libraryVersion": env!("CARGO_PKG_VERSION"),
        "launcherPid": board.map_or(0, |board| board.launcher.pid.load(Ordering::Acquire)),
        "outOfSlots": board.is_some_and(|board| board.out_of_slots.load(Ordering::Acquire)),
        "conflictingRepeats": board.map_or(0, |board| board.conflicting_repeats.load(Ordering::Relaxed)),
        "enabled": guc::enabled(),
        "workers": guc::workers(),
        "sqlWorkers": guc::sql_workers(),
    });
    returned(JsonB(state))
}

/// Called once by the install script: the launcher shall look at this database when the transaction commits.
fn extension_created(_call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    crate::worker::wake::launcher_at_commit();
    Ok(None)
}
