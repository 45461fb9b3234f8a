//! What calls in the database need to know: settings of a session, topics, and where pgmq is.

use super::{StoreError, statements};
use pgrx::pg_sys;

/// What ALTER DATABASE and ALTER ROLE set for a new session of this role here, in the order in which it is applied.
pub fn session_settings(role: pg_sys::Oid) -> Result<Vec<(String, String)>, StoreError> {
    statements::SESSION_SETTINGS.run(&[role.into()])?.iter().map(|row| Ok((row.get(1)?, row.get(2)?))).collect()
}

/// Claims the topic for a kind of message unless it is taken, and returns the kind that it carries.
pub fn claim_topic(transport: &str, topic: &str, kind: &str) -> Result<String, StoreError> {
    let known = || -> Result<Option<String>, StoreError> {
        statements::TOPIC_KIND.run(&[transport.into(), topic.into()])?.first().map(|row| row.get(1)).transpose()
    };
    if let Some(kind) = known()? {
        return Ok(kind);
    }
    statements::CLAIM_TOPIC.run(&[transport.into(), topic.into(), kind.into()])?;
    // Whoever was faster has committed by now.
    Ok(known()?.unwrap_or_else(|| kind.to_owned()))
}

/// Schema of pgmq, when the extension is installed and has `send(text, jsonb)`.
pub fn pgmq_schema() -> Result<Option<String>, StoreError> {
    statements::PGMQ_SCHEMA.run(&[])?.first().map(|row| row.get(1)).transpose()
}
