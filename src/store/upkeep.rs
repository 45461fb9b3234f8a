//! What workers and the launcher do now and then: alerts, lane reports, the list of databases.

use super::{StoreError, pg_time, statements};
use chrono::{DateTime, Utc};
use pgrx::pg_sys;

/// A group of dead letters or unrouted events that an alert names.
pub struct News {
    /// What happened, in words.
    pub text: String,
    /// The same as JSON.
    pub json: String,
}

/// Marks new dead letters as announced and describes them.
pub fn announce_dead_letters(now: DateTime<Utc>) -> Result<Vec<News>, StoreError> {
    let rows = statements::ANNOUNCE_DEAD_LETTERS.run(&[pg_time(now).into()])?;
    rows.iter()
        .map(|row| {
            let (workflow, status, code): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let (count, example): (i64, String) = (row.get(4)?, row.get(5)?);
            Ok(News {
                text: format!("{count} instance(s) of workflow \"{workflow}\" ended {status} with {code}, for example {example}"),
                json: serde_json::json!({"kind": "dead_letter", "workflowName": workflow, "status": status, "errorCode": code, "count": count, "exampleInstanceId": example}).to_string(),
            })
        })
        .collect()
}

/// Marks new unrouted events as announced and describes them.
pub fn announce_unrouted(now: DateTime<Utc>) -> Result<Vec<News>, StoreError> {
    let rows = statements::ANNOUNCE_UNROUTED.run(&[pg_time(now).into()])?;
    rows.iter()
        .map(|row| {
            let (event_type, count, example): (String, i64, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(News {
                text: format!("{count} event(s) of type \"{event_type}\" matched no route, for example {example}"),
                json: serde_json::json!({"kind": "unrouted", "eventType": event_type, "count": count, "exampleEventId": example}).to_string(),
            })
        })
        .collect()
}

/// Sends an alert to those who listen on `rea_alert`.
pub fn notify_alert(json: &str) -> Result<(), StoreError> {
    statements::NOTIFY_ALERT.run(&[json.into()]).map(|_| ())
}

/// A row of the lane report.
pub struct LaneRow {
    /// The lane.
    pub lane: String,
    /// Attempts in flight.
    pub in_flight: i32,
    /// Bound on them.
    pub max_in_flight: i32,
    /// Attempts that succeeded.
    pub successes: i64,
    /// Attempts that failed.
    pub failures: i64,
    /// 95th percentile in ms.
    pub p95_ms: Option<i32>,
    /// Whether the receiver answered 410.
    pub gone: bool,
}

/// Writes how lanes fare.
pub fn report_lanes(rows: &[LaneRow], now: DateTime<Utc>) -> Result<(), StoreError> {
    statements::REPORT_LANES
        .run(&[
            rows.iter().map(|row| row.lane.clone()).collect::<Vec<_>>().into(),
            rows.iter().map(|row| row.in_flight).collect::<Vec<_>>().into(),
            rows.iter().map(|row| row.max_in_flight).collect::<Vec<_>>().into(),
            rows.iter().map(|row| row.successes).collect::<Vec<_>>().into(),
            rows.iter().map(|row| row.failures).collect::<Vec<_>>().into(),
            rows.iter().map(|row| row.p95_ms).collect::<Vec<_>>().into(),
            rows.iter().map(|row| row.gone).collect::<Vec<_>>().into(),
            pg_time(now).into(),
        ])
        .map(|_| ())
}

/// Databases that allow connections and are no templates. For the launcher, which is connected to none.
pub fn list_databases() -> Result<Vec<pg_sys::Oid>, StoreError> {
    let mut databases = Vec::new();
    // SAFETY: a catalog scan in a transaction of its own, as the autovacuum launcher does it.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let relation = pg_sys::table_open(pg_sys::DatabaseRelationId, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        let scan = pg_sys::table_beginscan_catalog(relation, 0, std::ptr::null_mut());
        loop {
            let tuple = pg_sys::heap_getnext(scan, pg_sys::ScanDirection::ForwardScanDirection);
            if tuple.is_null() {
                break;
            }
            let database = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_database>();
            if database.datallowconn && !database.datistemplate && database.datconnlimit != -2 {
                databases.push(database.oid);
            }
        }
        pg_sys::table_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        pg_sys::PopActiveSnapshot();
        pg_sys::CommitTransactionCommand();
    }
    Ok(databases)
}

/// Oid of the extension in this database; invalid when it is not there.
pub fn extension_oid() -> pg_sys::Oid {
    // SAFETY: a catalog look-up inside a transaction.
    unsafe { pg_sys::get_extension_oid(c"rea".as_ptr(), true) }
}
