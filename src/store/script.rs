//! Scripts, their configuration and their state.

use super::{StoreError, pg_time, statements};
use crate::script::KvSet;
use chrono::{DateTime, Utc};
use std::collections::HashMap;

/// The source of a version of a script; `None` if there is none.
pub fn load_script(name: &str, version: i32) -> Result<Option<String>, StoreError> {
    let rows = statements::LOAD_SCRIPT.run(&[name.into(), version.into()])?;
    rows.first().map(|row| row.get(1)).transpose()
}

/// The versions in force of these scripts; those that are not there are left out.
pub fn newest_scripts(names: Vec<String>) -> Result<Vec<(String, i32)>, StoreError> {
    let rows = statements::NEWEST_SCRIPTS.run(&[names.into()])?;
    rows.iter().map(|row| Ok((row.get(1)?, row.get(2)?))).collect()
}

/// Values of the key-value store by workflow and key, as JSON text; what is not there is left out.
pub fn kv_get(pairs: &[(String, String)], now: DateTime<Utc>) -> Result<HashMap<(String, String), String>, StoreError> {
    let (workflows, keys): (Vec<String>, Vec<String>) = pairs.iter().cloned().unzip();
    let rows = statements::KV_GET.run(&[workflows.into(), keys.into(), pg_time(now).into()])?;
    rows.iter().map(|row| Ok(((row.get(1)?, row.get(2)?), row.get(3)?))).collect()
}

/// Makes the changes of scripts, each with its workflow, in the transaction that records their success.
pub fn kv_set(sets: &[(&str, &KvSet)], now: DateTime<Utc>) -> Result<(), StoreError> {
    if sets.is_empty() {
        return Ok(());
    }
    let workflows: Vec<String> = sets.iter().map(|(workflow, _)| (*workflow).to_owned()).collect();
    let keys: Vec<String> = sets.iter().map(|(_, set)| set.key.clone()).collect();
    let values: Vec<Option<String>> = sets.iter().map(|(_, set)| set.value.clone()).collect();
    let seconds: Vec<Option<f64>> = sets.iter().map(|(_, set)| set.ttl.map(|ttl| ttl.as_secs_f64())).collect();
    let arguments = [workflows.into(), keys.into(), values.into(), seconds.into(), pg_time(now).into()];
    statements::KV_SET.run(&arguments).map(drop)
}

/// Removes values that have expired, a bounded number; returns how many.
pub fn kv_expire(now: DateTime<Utc>) -> Result<usize, StoreError> {
    Ok(statements::KV_EXPIRE.run(&[pg_time(now).into()])?.processed)
}

/// Values of the configuration by key, as JSON text; what is not there is left out.
pub fn config_get(keys: Vec<String>) -> Result<HashMap<String, String>, StoreError> {
    let rows = statements::CONFIG_GET.run(&[keys.into()])?;
    rows.iter().map(|row| Ok((row.get(1)?, row.get(2)?))).collect()
}

/// The whole configuration by key, as JSON text.
pub fn config_all() -> Result<HashMap<String, String>, StoreError> {
    let rows = statements::CONFIG_ALL.run(&[])?;
    rows.iter().map(|row| Ok((row.get(1)?, row.get(2)?))).collect()
}
