//! Conversions between PostgreSQL's and Rust's times and UUIDs.

use chrono::{DateTime, Utc};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;

/// Microseconds from 1970-01-01 to PostgreSQL's epoch, 2000-01-01.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// The wall clock, read once where a time enters a decision.
pub struct Clock;

impl Clock {
    /// Now, to the microsecond that PostgreSQL stores.
    pub fn now() -> DateTime<Utc> {
        // SAFETY: reads the clock.
        utc_from_raw(unsafe { pg_sys::GetCurrentTimestamp() })
    }
}

fn utc_from_raw(raw: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(raw.saturating_add(EPOCH_MICROS)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// PostgreSQL's time as UTC; `infinity` and times beyond chrono's range become chrono's limit.
pub fn utc(time: TimestampWithTimeZone) -> DateTime<Utc> {
    utc_from_raw(time.into_inner())
}

/// UTC as PostgreSQL's time; chrono's limit becomes `infinity`.
pub fn pg_time(time: DateTime<Utc>) -> TimestampWithTimeZone {
    let raw =
        if time == DateTime::<Utc>::MAX_UTC { i64::MAX } else { time.timestamp_micros().saturating_sub(EPOCH_MICROS) };
    TimestampWithTimeZone::try_from(raw).unwrap_or_else(|_| TimestampWithTimeZone::positive_infinity())
}

/// A UUID as PostgreSQL's type.
pub fn pg_uuid(id: uuid::Uuid) -> pgrx::Uuid {
    pgrx::Uuid::from_bytes(*id.as_bytes())
}

/// PostgreSQL's UUID.
pub fn uuid(id: pgrx::Uuid) -> uuid::Uuid {
    uuid::Uuid::from_bytes(*id.as_bytes())
}
