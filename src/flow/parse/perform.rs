//! From an action's type and `config` to what it does.
//!
//! Actions inside an action are read in a second step: the expressions of the action itself see another course.

use crate::flow::parse::course::Course;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::fork;
use crate::flow::parse::kind::Kind;
use crate::flow::parse::templates::Templates;
use crate::flow::parse::{child, emit, http, local, lua, message, wait};
use crate::flow::perform::Perform;
use crate::flow::problem::Problem;

/// What an action does, as far as it is read.
pub(super) enum Draft<'a> {
    /// All of it.
    Whole(Perform),
    /// The actions inside are still to be read.
    Fork(fork::Draft<'a>),
}

/// Reads what an action or a compensation does. `followed` says whether something may fail after it.
pub(super) fn read<'a>(
    kind: Kind,
    fields: &Fields<'a>,
    followed: bool,
    templates: &mut Templates,
    problems: &mut Vec<Problem>,
) -> Option<Draft<'a>> {
    if kind == Kind::Parallel {
        return fork::parallel(fields, followed, problems).map(Draft::Fork);
    }
    fields.required("config", problems)?;
    let config = fields.fields("config", problems)?;
    config.refuse_unknown(kind.config_keys(), |key| advice(key, kind), problems);
    let whole = match kind {
        Kind::Parallel => return None,
        Kind::ForEach => return fork::foreach(&config, templates, problems).map(Draft::Fork),
        Kind::Switch => return fork::switch(&config, followed, templates, problems).map(Draft::Fork),
        Kind::Http => Perform::Http(http::read(&config, templates, problems)?),
        Kind::Local => Perform::Local(local::read(&config, templates, problems)?),
        Kind::Message => Perform::Local(message::read(&config, templates, problems)?),
        Kind::Lua => Perform::Lua(lua::read(&config, templates, problems)?),
        Kind::Emit => Perform::Emit(emit::read(&config, templates, problems)?),
        Kind::Wait => Perform::Wait(wait::read(&config, templates, problems)?),
        Kind::Workflow => Perform::Workflow(child::read(&config, templates, problems)?),
    };
    Some(Draft::Whole(whole))
}

impl<'a> Draft<'a> {
    /// Reads the actions inside; `name` is the action's.
    pub fn finish(self, name: &str, course: &mut Course<'a>, problems: &mut Vec<Problem>) -> Option<Perform> {
        match self {
            Draft::Whole(perform) => Some(perform),
            Draft::Fork(draft) => Some(Perform::Fork(draft.finish(name, course, problems))),
        }
    }
}

/// Hints for keys that stand in the wrong `config`.
fn advice(key: &str, kind: Kind) -> Option<String> {
    let envelope = ["retryPolicy", "when", "output", "onError", "lane", "compensate"];
    match (kind, key) {
        (_, key) if envelope.contains(&key) => Some(format!("\"{key}\" belongs beside \"config\", not into it")),
        (Kind::Http, _) => http::advice(key),
        (Kind::Local, "beanClass" | "method" | "class") => Some(super::action::FUNCTION_HINT.to_owned()),
        (Kind::Local | Kind::Lua, "timeout" | "timeoutSeconds") => Some(http::TIMEOUT_HINT.to_owned()),
        (Kind::Wait, "timeoutMs" | "timeout") => Some("a wait's limit is \"timeoutSeconds\"".to_owned()),
        (Kind::Wait, "eventType" | "bizKey" | "correlationId" | "match") => {
            Some("list the event in \"any\" or \"all\": \"any\": [{\"eventType\": …}]".to_owned())
        }
        (Kind::Wait, "seconds" | "duration" | "durationMs") => Some("write \"durationSeconds\"".to_owned()),
        (Kind::Workflow, "name" | "workflow") => Some("the other workflow is named in \"workflowName\"".to_owned()),
        _ => None,
    }
}
