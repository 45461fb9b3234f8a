//! Reading what concerns an instance as a whole from its start on: `cancelOn` and `concurrency`.

use crate::flow::definition::Concurrency;
use crate::flow::expression::Expression;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::{Scope, Templates};
use crate::flow::parse::wait;
use crate::flow::perform::Awaited;
use crate::flow::problem::Problem;

/// Most instances with the same key that a definition may allow at the same time.
const MOST_AT_ONCE: i64 = 10_000;

/// What was read; its templates share one list of expressions.
pub(super) struct Start {
    pub cancel_on: Vec<Awaited>,
    pub concurrency: Option<Concurrency>,
    pub paths: Vec<Expression>,
}

/// Reads both from the workflow.
pub(super) fn read(workflow: &Fields, problems: &mut Vec<Problem>) -> Start {
    let mut templates = Templates::new(Scope::of_event());
    let cancel_on = wait::events(workflow, "cancelOn", &mut templates, problems);
    let concurrency = concurrency(workflow, &mut templates, problems);
    Start { cancel_on, concurrency, paths: templates.into_paths() }
}

fn concurrency(workflow: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<Concurrency> {
    let fields = workflow.fields("concurrency", problems)?;
    fields.refuse_unknown(&["key", "limit"], |_| None, problems);
    let key = fields.required("key", problems);
    let key = key.and_then(|key| templates.text(key, &fields.pointer("key"), problems));
    fields.required("limit", problems);
    let limit = fields.integer("limit", 1..=MOST_AT_ONCE, problems).and_then(|limit| u32::try_from(limit).ok());
    Some(Concurrency { key: key?, limit: limit? })
}
