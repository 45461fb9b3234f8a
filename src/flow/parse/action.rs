//! Reading one action: its name, its type and the envelope that all types share.

use crate::flow::definition::{Action, Compensate, OnError};
use crate::flow::parse::course::Course;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::kind::{self, Kind};
use crate::flow::parse::templates::{Stage, Templates};
use crate::flow::parse::{lane, perform, policy, undo};
use crate::flow::problem::Problem;
use crate::flow::retry::RetryPolicy;
use serde_json::Value;

/// Longest name of an action.
const LONGEST_NAME: usize = 64;

const ENVELOPE: [&str; 9] =
    ["name", "type", "config", "when", "retryPolicy", "onError", "compensate", "output", "lane"];

/// Where an action stands in the definition.
pub(super) struct Place {
    /// Its pointer.
    pub pointer: String,
    /// Whether something may fail after it, so that it would have to be undone.
    pub followed: bool,
}

/// Reads the action at `place`.
pub(super) fn read<'a>(
    value: &'a Value,
    place: Place,
    course: &mut Course<'a>,
    problems: &mut Vec<Problem>,
) -> Option<Action> {
    let followed = place.followed;
    let fields = Fields::of(value, place.pointer, problems)?;
    let stated = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    let name = name(&fields, course, problems);
    let Some(kind) = kind::read(&fields, problems) else {
        refuse_java(&fields, problems);
        course.over(stated);
        return None;
    };
    refuse_unknown(&fields, kind, problems);
    let retry = retry(&fields, kind, &course.policy, problems);
    let mut templates = Templates::new(course.scope(Stage::Request));
    let when = when(&fields, &mut templates, problems);
    let draft = perform::read(kind, &fields, followed, &mut templates, problems);
    let paths = templates.into_paths();
    let mut outputs = Templates::new(course.scope(Stage::Output));
    let output = outputs.object(&fields, "output", problems);
    let output_paths = outputs.into_paths();
    let perform = draft.and_then(|draft| draft.finish(stated, course, problems));
    let lane = lane::read(&fields, kind, perform.as_ref(), problems);
    let on_error = on_error(&fields, problems);
    course.over(stated);
    let compensate = undo::read(&fields, stated, &retry, course, problems);
    let perform = perform?;
    if followed && compensate == Compensate::Unsaid {
        undo::warn_unsaid(&fields, kind, &perform, problems);
    }
    Some(Action {
        name: name?.to_owned(),
        when,
        retry,
        on_error,
        output,
        compensate,
        lane,
        perform,
        paths,
        output_paths,
    })
}

fn refuse_unknown(fields: &Fields, kind: Kind, problems: &mut Vec<Problem>) {
    let known = [ENVELOPE.as_slice(), kind.own_keys()].concat();
    fields.refuse_unknown(&known, |key| advice(key, kind), problems);
}

fn advice(key: &str, kind: Kind) -> Option<String> {
    match key {
        "mode" => Some("for work side by side use an action of type \"parallel\" with \"branches\"".to_owned()),
        "maxAttempts" | "maxRetries" => Some("write \"retryPolicy\": {\"maxRetries\": …}".to_owned()),
        key if kind.config_keys().contains(&key) => Some(format!("move \"{key}\" into \"config\"")),
        _ => None,
    }
}

/// The policy of the action. Where it has no effect it is warned about.
fn retry(fields: &Fields, kind: Kind, inherited: &RetryPolicy, problems: &mut Vec<Problem>) -> RetryPolicy {
    let keys = policy::keys(fields, problems);
    let retry = inherited.merged(&keys);
    policy::warn_about_cap(&keys, retry.max_backoff_ms, fields, problems);
    if fields.get("retryPolicy").is_some() && !kind.makes_attempts() {
        let word = kind.word();
        let message = format!("\"retryPolicy\" has no effect on an action of type \"{word}\"");
        let problem = Problem::warning(fields.pointer("retryPolicy"), "unused_key", message);
        problems.push(match kind {
            Kind::Emit | Kind::Wait => problem.hint("it is never tried again"),
            _ => problem.hint("each action inside has its own"),
        });
    }
    retry
}

fn name<'a>(fields: &Fields<'a>, course: &mut Course<'a>, problems: &mut Vec<Problem>) -> Option<&'a str> {
    fields.required("name", problems)?;
    let name = fields.text("name", problems)?;
    let pointer = fields.pointer("name");
    if !is_name(name) {
        problems.push(Problem::error(pointer, "invalid_name", format!("an action's name is {NAME_RULE}")));
        return None;
    }
    if !course.take(name) {
        let message = format!("there is already an action \"{name}\"");
        problems.push(Problem::error(pointer, "duplicate_name", message));
        return None;
    }
    Some(name)
}

/// What [`is_name`] checks, in words.
pub(super) const NAME_RULE: &str = "a letter and up to 63 letters, digits and _";

/// Whether an action or a branch may be called this.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `beanClass` and `method` come from engines inside an application server.
fn refuse_java(fields: &Fields, problems: &mut Vec<Problem>) {
    let Some(config @ Value::Object(_)) = fields.get("config") else { return };
    let Some(config) = Fields::of(config, fields.pointer("config"), problems) else { return };
    for key in ["beanClass", "method"].into_iter().filter(|key| config.get(key).is_some()) {
        let problem = Problem::error(config.pointer(key), "unknown_key", format!("unknown key \"{key}\""));
        problems.push(problem.hint(FUNCTION_HINT));
    }
}

/// What takes the place of a Java bean.
pub(super) const FUNCTION_HINT: &str = "a local action names an SQL function: \"function\": \"schema.name\"";

fn when(fields: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<usize> {
    let text = fields.text("when", problems)?;
    templates.predicate(text, &fields.pointer("when"), problems)
}

fn on_error(fields: &Fields, problems: &mut Vec<Problem>) -> OnError {
    let words = [("fail", OnError::Fail), ("continue", OnError::Continue), ("pause", OnError::Pause)];
    fields.word("onError", &words, problems).unwrap_or_default()
}
