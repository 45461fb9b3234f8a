//! Reading `compensate`: how an action is undone when the instance fails for good.

use serde_json::Value;

use crate::flow::definition::{Action, Compensate, OnError};
use crate::flow::parse::course::Course;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::kind::{self, Kind};
use crate::flow::parse::templates::{Stage, Templates};
use crate::flow::parse::{COMPENSATION_UNSAID, lane, perform, policy};
use crate::flow::perform::{LocalCall, Perform};
use crate::flow::problem::Problem;
use crate::flow::retry::{RetryKeys, RetryPolicy};

/// An undo tries longer than the action did.
const RETRIES: u32 = 10;

const KEYS: [&str; 4] = ["type", "config", "retryPolicy", "lane"];

/// What the name of a compensation adds to the action's.
const SUFFIX: &str = "~undo";

/// Reads the `compensate` of the action `name`, which is over by now; `retry` is the action's policy.
pub(super) fn read<'a>(
    action: &Fields<'a>,
    name: &str,
    retry: &RetryPolicy,
    course: &Course<'a>,
    problems: &mut Vec<Problem>,
) -> Compensate {
    match action.get("compensate") {
        None => Compensate::Unsaid,
        Some(Value::String(word)) if word == "keep" => Compensate::Keep,
        Some(Value::Object(_)) => by(action, name, retry, course, problems)
            .map_or(Compensate::Unsaid, |action| Compensate::By(Box::new(action))),
        Some(_) => {
            let message = "\"compensate\" is an action without a name, or \"keep\"";
            problems.push(Problem::error(action.pointer("compensate"), "wrong_type", message));
            Compensate::Keep
        }
    }
}

fn by<'a>(
    action: &Fields<'a>,
    name: &str,
    retry: &RetryPolicy,
    course: &Course<'a>,
    problems: &mut Vec<Problem>,
) -> Option<Action> {
    let fields = action.fields("compensate", problems)?;
    fields.refuse_unknown(&KEYS, advice, problems);
    let kind = kind::read(&fields, problems)?;
    if !kind.can_undo() {
        let message = format!("a compensation cannot be of type \"{}\"", kind.word());
        let problem = Problem::error(fields.pointer("type"), "invalid_value", message);
        problems.push(problem.hint("it is one step: \"http\", \"local\", \"lua\", \"message\" or \"emit\""));
        return None;
    }
    let keys = policy::keys(&fields, problems);
    let longer = RetryKeys { max_retries: Some(RETRIES), ..RetryKeys::default() };
    let retry = retry.merged(&longer).merged(&keys);
    policy::warn_about_cap(&keys, retry.max_backoff_ms, &fields, problems);
    let mut templates = Templates::new(course.scope(Stage::Request));
    let perform = match perform::read(kind, &fields, false, &mut templates, problems) {
        Some(perform::Draft::Whole(perform)) => Some(perform),
        Some(perform::Draft::Fork(_)) | None => None,
    };
    let lane = lane::read(&fields, kind, perform.as_ref(), problems);
    Some(Action {
        name: format!("{name}{SUFFIX}"),
        when: None,
        retry,
        on_error: OnError::Fail,
        output: None,
        compensate: Compensate::Unsaid,
        lane,
        perform: perform?,
        paths: templates.into_paths(),
        output_paths: Vec::new(),
    })
}

fn advice(key: &str) -> Option<String> {
    match key {
        "name" => Some(format!("a compensation is called like its action with {SUFFIX} behind it")),
        "when" | "onError" | "output" | "compensate" => Some(
            "a compensation runs whenever its action may have been done; nothing reads its result and nothing undoes it"
                .to_owned(),
        ),
        "url" | "function" | "script" | "topic" | "eventType" | "timeoutMs" => {
            Some(format!("move \"{key}\" into \"config\""))
        }
        _ => None,
    }
}

/// Warns about an action that changes something outside, with actions after it that may fail, and no word about
/// undoing it. Methods that RFC 9110 section 9.2.1 calls safe change nothing.
pub(super) fn warn_unsaid(fields: &Fields, kind: Kind, perform: &Perform, problems: &mut Vec<Problem>) {
    let changes = match perform {
        Perform::Http(http) => !matches!(http.method.as_str(), "GET" | "HEAD" | "OPTIONS"),
        Perform::Local(local) => matches!(local.call, LocalCall::Message { .. }),
        Perform::Lua(_) | Perform::Emit(_) | Perform::Wait(_) | Perform::Fork(_) | Perform::Workflow(_) => false,
    };
    if changes {
        let message = format!("nothing is said about undoing this {} action when a later one fails", kind.word());
        let problem = Problem::warning(fields.place(), COMPENSATION_UNSAID, message);
        problems.push(problem.hint("state \"compensate\": an action that undoes it, or \"keep\" if nothing should"));
    }
}
