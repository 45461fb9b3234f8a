//! Reading the `config` of an `emit` action: a new event.

use crate::flow::parse::fields::{Fields, LONGEST_LABEL};
use crate::flow::parse::templates::Templates;
use crate::flow::perform::EmitAction;
use crate::flow::problem::Problem;

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<EmitAction> {
    config.required("eventType", problems);
    let event_type = templates.name(config, "eventType", LONGEST_LABEL, problems);
    let biz_key = config.get("bizKey").and_then(|value| templates.text(value, &config.pointer("bizKey"), problems));
    let payload = config.get("payload").map(|value| templates.json(value, &config.pointer("payload"), problems));
    let attributes = templates.object_or_one(config, "attributes", problems);
    Some(EmitAction { event_type: event_type?, biz_key, payload, attributes })
}
