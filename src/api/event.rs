//! `fire_event`, `fire_events`, `fire_on_change`: an event enters in the caller's transaction; `cancel_event` takes one
//! back that was to fire later.
//!
//! Almost nothing happens here: the event row, its dedupe key when the source gave an id, one inbox row, and a note to
//! wake the worker at commit. No route, no workflow and no worker is needed for it to succeed (requirement A23).

use super::call::{Call, parameter, returned};
use crate::error::ApiError;
use crate::store::{self, StoreError, statements};
use crate::worker::board::{Seat, board};
use crate::worker::wake;
use crate::{guc, sql_function};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::{pg_sys, prelude::*};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

sql_function!(rea_fire_event, pg_finfo_rea_fire_event, fire_event);
sql_function!(rea_cancel_event, pg_finfo_rea_cancel_event, cancel_event);

const EVENT_TYPE: usize = 0;
const BIZ_KEY: usize = 1;
const PAYLOAD: usize = 2;
const EVENT_ID: usize = 3;
const SOURCE: usize = 4;
const ATTRIBUTES: usize = 5;
const CORRELATION_ID: usize = 6;
const CAUSATION_ID: usize = 7;
const OCCURRED_AT: usize = 8;
const FIRE_AT: usize = 9;

/// Parameters of the statement for an event that fires at once; the one for later has the time besides.
const FIRE_EVENT_ARGUMENTS: usize = 12;

/// Source of the events that schedules fire; nobody else may use it, so that nobody can take a tick's place.
const SCHEDULES: &[u8] = b"rea.schedule";

thread_local! {
    static UIDS: RefCell<Option<uuid::ContextV7>> = const { RefCell::new(None) };
    static WARNED: Cell<bool> = const { Cell::new(false) };
}

/// Limits in bytes (design: they keep every key within a B-tree page).
const LIMITS: [(usize, &str, usize); 4] = [
    (EVENT_TYPE, "event_type", 255),
    (BIZ_KEY, "biz_key", 1_024),
    (EVENT_ID, "event_id", 512),
    (SOURCE, "source", 255),
];

fn fire_event(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    check(call)?;
    warn_once_when_not_preloaded();
    let uid = next_uid();
    let given_id = call.datum(EVENT_ID).is_some();
    let stored = call.caller.as_owner_with_callers_path(|| {
        store::connected(|| {
            if given_id && !claim_event_id(call, uid)? {
                return Ok(None);
            }
            insert(call, uid).map(Some)
        })
    })?;
    match stored {
        Some(hint) => wake::at_commit(hint),
        None => note_repeat(call)?,
    }
    match call.datum(EVENT_ID) {
        Some(id) => Ok(Some(id)),
        None => returned(uid.to_string()),
    }
}

fn check(call: &Call) -> Result<(), ApiError> {
    for (index, name) in [
        (EVENT_TYPE, "event_type"),
        (BIZ_KEY, "biz_key"),
        (PAYLOAD, "payload"),
        (SOURCE, "source"),
        (ATTRIBUTES, "attributes"),
    ] {
        if call.datum(index).is_none() {
            return Err(ApiError::NullArgument(name));
        }
    }
    for (index, field, limit) in LIMITS {
        check_size(call, index, field, limit)?;
    }
    check_size(call, PAYLOAD, "payload", guc::max_payload_bytes())?;
    check_size(call, ATTRIBUTES, "attributes", 64 << 10)?;
    for (index, field) in [(CORRELATION_ID, "correlation_id"), (CAUSATION_ID, "causation_id")] {
        check_size(call, index, field, 512)?;
    }
    for (index, field, hint) in [
        (EVENT_TYPE, "event_type", "Say what happened, for example order.created."),
        (EVENT_ID, "event_id", "Leave it out, or pass the id by which the source knows the event."),
    ] {
        if size(call, index) == Some(0) {
            return Err(ApiError::BadArgument { field, problem: "must not be empty".into(), hint });
        }
    }
    if size(call, SOURCE) != Some(0) && call.datum(EVENT_ID).is_none() {
        return Err(ApiError::BadArgument {
            field: "event_id",
            problem: "must be given when source is".into(),
            hint: "Pass the id by which the source knows the event; the same id again starts nothing.",
        });
    }
    if !is_json_object(call) {
        return Err(ApiError::BadArgument {
            field: "attributes",
            problem: "must be a JSON object".into(),
            hint: "Pass key-value pairs, for example {\"channel\": \"web\"}.",
        });
    }
    if is_from_schedules(call) {
        return Err(ApiError::BadArgument {
            field: "source",
            problem: "must not be rea.schedule: that is where schedules fire from".into(),
            hint: "Name the system that the event comes from.",
        });
    }
    check_time(call, OCCURRED_AT, "occurred_at", "Leave it out when the source does not say when it happened.")?;
    check_time(call, FIRE_AT, "fire_at", "Leave it out for an event that fires at once.")
}

fn is_from_schedules(call: &Call) -> bool {
    size(call, SOURCE) == Some(SCHEDULES.len())
        && call.value::<String>(SOURCE).is_some_and(|source| source.as_bytes() == SCHEDULES)
}

fn check_time(call: &Call, index: usize, field: &'static str, hint: &'static str) -> Result<(), ApiError> {
    match call.value::<TimestampWithTimeZone>(index) {
        Some(time) if time.is_infinity() || time.is_neg_infinity() => {
            Err(ApiError::BadArgument { field, problem: "must be a finite time".into(), hint })
        }
        _ => Ok(()),
    }
}

fn is_json_object(call: &Call) -> bool {
    /// JB_FOBJECT of PostgreSQL's jsonb.h: the container is an object.
    const OBJECT: u32 = 0x2000_0000;
    // SAFETY: a non-null jsonb datum, checked before; its first word after the length is the container header.
    call.datum(ATTRIBUTES).is_some_and(|datum| unsafe {
        let value = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
        pgrx::varsize_any_exhdr(value) >= 4 && pgrx::vardata_any(value).cast::<u32>().read_unaligned() & OBJECT != 0
    })
}

fn size(call: &Call, index: usize) -> Option<usize> {
    /// VARHDRSZ: what toast_raw_datum_size counts beside the data.
    const HEADER: usize = 4;
    // SAFETY: a non-null varlena by the SQL declaration; its raw size is known without detoasting.
    call.datum(index).map(|datum| unsafe { pg_sys::toast_raw_datum_size(datum) }.saturating_sub(HEADER))
}

fn check_size(call: &Call, index: usize, field: &'static str, limit: usize) -> Result<(), ApiError> {
    match size(call, index) {
        Some(bytes) if bytes > limit => Err(ApiError::TooLong { field, bytes, limit }),
        _ => Ok(()),
    }
}

/// UUID version 7 with sub-millisecond precision: later calls in one process have larger uids (RFC 9562, 6.2).
pub(super) fn next_uid() -> uuid::Uuid {
    UIDS.with_borrow_mut(|context| {
        let context = context.get_or_insert_with(|| uuid::ContextV7::new().with_additional_precision());
        uuid::Uuid::new_v7(uuid::Timestamp::now(&*context))
    })
}

/// Stores the source's id; waits for another transaction that holds it. False: it was there already.
fn claim_event_id(call: &Call, uid: uuid::Uuid) -> Result<bool, StoreError> {
    let rows = statements::CLAIM_EVENT_ID.run(&[
        call.parameter(SOURCE, pg_sys::TEXTOID),
        call.parameter(EVENT_ID, pg_sys::TEXTOID),
        store::pg_uuid(uid).into(),
        store::pg_time(store::Clock::now()).into(),
    ])?;
    Ok(rows.processed == 1)
}

/// Stores the event, for the inbox or for later; returns what the workers have to hear of.
fn insert(call: &Call, uid: uuid::Uuid) -> Result<u32, StoreError> {
    let now = store::Clock::now();
    let create_time = store::pg_time(now);
    let event_id = match call.datum(EVENT_ID) {
        Some(id) => parameter(Some(id), pg_sys::TEXTOID),
        None => uid.to_string().into(),
    };
    let occurred_at = match call.datum(OCCURRED_AT) {
        Some(time) => parameter(Some(time), pg_sys::TIMESTAMPTZOID),
        None => create_time.into(),
    };
    // SAFETY: GetUserNameFromId returns a palloc'd string; as_owner_with_callers_path left the caller in call.caller.
    let fired_by = unsafe { pg_sys::GetUserNameFromId(call.caller.role, false) };
    let arguments = [
        store::pg_uuid(uid).into(),
        create_time.into(),
        occurred_at,
        call.parameter(EVENT_TYPE, pg_sys::TEXTOID),
        call.parameter(BIZ_KEY, pg_sys::TEXTOID),
        event_id,
        call.parameter(SOURCE, pg_sys::TEXTOID),
        call.parameter(PAYLOAD, pg_sys::JSONBOID),
        call.parameter(ATTRIBUTES, pg_sys::JSONBOID),
        call.parameter(CORRELATION_ID, pg_sys::TEXTOID),
        call.parameter(CAUSATION_ID, pg_sys::TEXTOID),
        // SAFETY: the string is NUL-terminated and lives in the current context.
        unsafe { std::ffi::CStr::from_ptr(fired_by) }.to_string_lossy().into_owned().into(),
        call.parameter(FIRE_AT, pg_sys::TIMESTAMPTZOID),
    ];
    if call.value::<TimestampWithTimeZone>(FIRE_AT).is_some_and(|time| store::utc(time) > now) {
        statements::FIRE_EVENT_LATER.run(&arguments)?;
        return Ok(Seat::CLOCK);
    }
    statements::FIRE_EVENT.run(&arguments[..FIRE_EVENT_ARGUMENTS])?;
    Ok(Seat::INBOX)
}

/// The same id again changes nothing and is no error (requirement C4); other contents under it deserve a warning.
fn note_repeat(call: &Call) -> Result<(), ApiError> {
    let same = call.caller.as_owner(|| {
        let rows = statements::COMPARE_REPEAT.run(&[
            call.parameter(SOURCE, pg_sys::TEXTOID),
            call.parameter(EVENT_ID, pg_sys::TEXTOID),
            call.parameter(EVENT_TYPE, pg_sys::TEXTOID),
            call.parameter(BIZ_KEY, pg_sys::TEXTOID),
            call.parameter(PAYLOAD, pg_sys::JSONBOID),
        ])?;
        rows.first().map_or(Ok(true), |row| row.get::<bool>(1))
    })?;
    if !same {
        if let Some(board) = board() {
            board.conflicting_repeats.fetch_add(1, Ordering::Relaxed);
        }
        pgrx::ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION,
            "an event with this source and event_id is already stored with another type, key or payload",
            "The stored one is kept and nothing is started."
        );
    }
    Ok(())
}

fn warn_once_when_not_preloaded() {
    if board().is_none() && !WARNED.replace(true) {
        pgrx::ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "the event is stored, but rea is not loaded at server start and runs nothing",
            "Add rea to shared_preload_libraries and restart the server."
        );
    }
}

/// Takes back an event that has not fired; false when it has.
fn cancel_event(call: &Call) -> Result<Option<pg_sys::Datum>, ApiError> {
    super::require_preload()?;
    let name: String = call.required(0, "event_id")?;
    let _: String = call.required(1, "source")?;
    let cancelled = call.caller.as_owner(|| {
        let rows = statements::CANCEL_EVENT.run(&[
            call.parameter(0, pg_sys::TEXTOID),
            call.parameter(1, pg_sys::TEXTOID),
            call.caller.role.into(),
            store::pg_time(store::Clock::now()).into(),
        ])?;
        rows.first().map(|row| row.get::<bool>(1)).transpose()
    })?;
    match cancelled {
        Some(cancelled) => returned(cancelled),
        None => {
            let hint = "Only events that your role fired can be seen; an id given by a source goes with that source.";
            Err(ApiError::NotFound { kind: "event", name, hint })
        }
    }
}
