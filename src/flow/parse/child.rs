//! Reading the `config` of a `workflow` action: another workflow as a child instance.

use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::Templates;
use crate::flow::perform::WorkflowAction;
use crate::flow::problem::Problem;

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<WorkflowAction> {
    let name = config.required("workflowName", problems).and_then(|_| config.label("workflowName", problems));
    let payload = config.get("payload").map(|value| templates.json(value, &config.pointer("payload"), problems));
    let wait = config.boolean("wait", problems).unwrap_or(true);
    Some(WorkflowAction { workflow_name: name?, payload, wait })
}
