//! Reading the `config` of a `message` action.

use crate::flow::parse::fields::{Fields, LONGEST_LABEL};
use crate::flow::parse::templates::Templates;
use crate::flow::perform::{LocalAction, LocalCall, MessageKind, Transport};
use crate::flow::problem::Problem;

/// Longest channel of NOTIFY: NAMEDATALEN - 1. Prefixes of logical messages are kept as short, so that a topic may
/// change its transport.
const LONGEST_TOPIC: usize = 63;

/// Longest name of a queue that pgmq makes; the names of its tables are longer.
const LONGEST_QUEUE: usize = 47;

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<LocalAction> {
    config.required("transport", problems);
    let transports = [("notify", Transport::Notify), ("logical", Transport::Logical), ("pgmq", Transport::Pgmq)];
    let transport = config.word("transport", &transports, problems);
    let longest = match transport {
        Some(Transport::Pgmq) => LONGEST_QUEUE,
        Some(Transport::Notify | Transport::Logical) | None => LONGEST_TOPIC,
    };
    config.required("topic", problems);
    let topic = templates.name(config, "topic", longest, problems);
    let kinds = [("command", MessageKind::Command), ("event", MessageKind::Event)];
    let kind = config.word("kind", &kinds, problems).unwrap_or(MessageKind::Event);
    let message_type = templates.name(config, "type", LONGEST_LABEL, problems);
    let payload = config.get("payload").map(|value| templates.json(value, &config.pointer("payload"), problems));
    let call = LocalCall::Message { transport: transport?, topic: topic?, kind, message_type, payload };
    Some(LocalAction { call, timeout_ms: None })
}
