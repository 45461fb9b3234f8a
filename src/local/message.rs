//! Messages: what may be sent where, and how each transport sends.
//!
//! All of them are part of the transaction: a message is on its way exactly when the step is recorded.

use super::execute::quoted;
use crate::flow::outcome::Failure;
use crate::flow::perform::{MessageKind, Transport};
use crate::store::{StoreError, local};

/// NOTIFY_PAYLOAD_MAX_LENGTH: PostgreSQL refuses a payload of more bytes.
const LONGEST_NOTIFICATION: usize = 7_999;

/// The statement that sends this message, or why it may not be sent; claims the topic for its kind.
///
/// Permanent failures: `message_too_large` (NOTIFY only), `topic_kind`, `pgmq_missing`.
pub fn statement_for(
    transport: Transport,
    topic: &str,
    kind: MessageKind,
    envelope: &str,
) -> Result<Result<String, Failure>, StoreError> {
    if transport == Transport::Notify && envelope.len() > LONGEST_NOTIFICATION {
        let message = format!(
            "the envelope has {} bytes, a notification holds {LONGEST_NOTIFICATION}; send a reference to the data, or use \
             another transport",
            envelope.len()
        );
        return Ok(Err(Failure::permanent("message_too_large", message)));
    }
    let claimed = local::claim_topic(transport.as_str(), topic, kind.as_str())?;
    if claimed != kind.as_str() {
        let message = format!(
            "topic \"{topic}\" carries {claimed}s; commands and events never share a topic, so give this {} another one",
            kind.as_str()
        );
        return Ok(Err(Failure::permanent("topic_kind", message)));
    }
    Ok(match transport {
        Transport::Notify => Ok(include_str!("../../sql/call/notify.sql").to_owned()),
        Transport::Logical => Ok(include_str!("../../sql/call/logical.sql").to_owned()),
        Transport::Pgmq => match local::pgmq_schema()? {
            Some(schema) => Ok(include_str!("../../sql/call/pgmq.sql").replace("SCHEMA", &quoted(&schema))),
            None => {
                let message =
                    "the extension pgmq with its function send(text, jsonb) is not installed in this database";
                Err(Failure::permanent("pgmq_missing", message))
            }
        },
    })
}
