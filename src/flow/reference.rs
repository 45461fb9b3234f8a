//! What a definition names outside of itself: functions, scripts, other workflows, queues.
//!
//! The parser cannot know whether they exist; whoever stores a definition looks them up. What is found about a function
//! is judged here, so that every answer can be tested without a database.

use crate::flow::definition::Workflow;
use crate::flow::parse::{Placed, placed_actions};
use crate::flow::perform::{LocalCall, Perform, ScriptUse, Transport};
use crate::flow::problem::{Problem, did_you_mean, pointer_to};

/// Something named by a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'w> {
    /// Where its name stands in the definition (RFC 6901).
    pub pointer: String,
    /// What it is.
    pub target: Target<'w>,
}

/// What a definition can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'w> {
    /// An SQL function.
    Function(FunctionCall<'w>),
    /// A stored script.
    Script {
        /// Its name.
        name: &'w str,
        /// Its version; None = the newest.
        version: Option<i32>,
    },
    /// A script written in the definition.
    Source(&'w str),
    /// Another workflow, or the same.
    Workflow(&'w str),
    /// A queue of the extension pgmq, whatever its name.
    Queue,
}

/// A call of an SQL function as a definition writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionCall<'w> {
    /// The function's schema.
    pub schema: &'w str,
    /// The function's name.
    pub name: &'w str,
    /// Number of arguments; None = the whole context as one jsonb.
    pub arguments: Option<usize>,
}

/// All of them, in the order of the definition.
pub fn references(workflow: &Workflow) -> Vec<Reference<'_>> {
    placed_actions(workflow).into_iter().filter_map(reference).collect()
}

fn reference(placed: Placed<'_>) -> Option<Reference<'_>> {
    let (key, target) = match &placed.action.perform {
        Perform::Local(local) => match &local.call {
            LocalCall::Function { schema, name, args } => {
                let arguments = args.as_ref().map(|args| args.array_length().unwrap_or_default());
                ("function", Target::Function(FunctionCall { schema, name, arguments }))
            }
            LocalCall::Message { transport: Transport::Pgmq, .. } => ("transport", Target::Queue),
            LocalCall::Message { .. } => return None,
        },
        Perform::Lua(lua) => match &lua.script {
            ScriptUse::Stored { name, version } => ("script", Target::Script { name, version: *version }),
            ScriptUse::Source(source) => ("source", Target::Source(source)),
        },
        Perform::Workflow(child) => ("workflowName", Target::Workflow(&child.workflow_name)),
        Perform::Http(_) | Perform::Emit(_) | Perform::Wait(_) | Perform::Fork(_) => return None,
    };
    Some(Reference { pointer: pointer_to(&pointer_to(&placed.pointer, "config"), key), target })
}

/// A routine of the right schema and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// `f` for a function, `p` for a procedure, `a` for an aggregate, `w` for a window function.
    pub kind: char,
    /// Whether it returns a set.
    pub returns_set: bool,
    /// Fewest arguments: those without a default.
    pub fewest: usize,
    /// All its parameters.
    pub most: usize,
    /// Whether its first parameter is jsonb.
    pub takes_jsonb: bool,
    /// Whether its first parameter can take the context at all: json or any type.
    pub takes_json: bool,
    /// Whether the role that defines the workflow may call it.
    pub callable: bool,
}

/// What is wrong with calling one of these, if anything. `names` are those of all functions in the schema.
///
/// Codes: `unknown_function`, `not_a_function`, `function_arguments`, `ambiguous_function`, `function_privilege`.
pub fn judge(call: &FunctionCall, pointer: &str, candidates: &[Candidate], names: &[String]) -> Option<Problem> {
    let title = format!("{}.{}", call.schema, call.name);
    let problem = |code, message: String| Some(Problem::error(pointer, code, message));
    if candidates.is_empty() {
        let near = did_you_mean(call.name, names.iter().map(String::as_str));
        let hint = if names.is_empty() { Some(format!("schema {} has no functions", call.schema)) } else { near };
        return problem("unknown_function", format!("there is no function {title}")).map(|p| p.maybe_hint(hint));
    }
    let functions: Vec<&Candidate> =
        candidates.iter().filter(|candidate| candidate.kind == 'f' && !candidate.returns_set).collect();
    if functions.is_empty() {
        let message = format!("{title} is not a plain function: procedures, aggregates and sets cannot be called");
        return problem("not_a_function", message);
    }
    let fitting = chosen(functions, call.arguments);
    match fitting.as_slice() {
        [] => misfit(&title, call.arguments, pointer),
        [one] if one.callable => None,
        [_] => problem("function_privilege", format!("you may not call function {title}"))
            .map(|problem| problem.hint("it needs USAGE on the schema and EXECUTE on the function")),
        _ => problem("ambiguous_function", format!("there are {} functions {title} that fit", fitting.len()))
            .map(|problem| problem.hint("call one that is not overloaded for this number of arguments")),
    }
}

/// Those that fit with the fewest parameters; of several that take the whole context, those of jsonb. The call itself
/// chooses in the same way.
fn chosen(functions: Vec<&Candidate>, arguments: Option<usize>) -> Vec<&Candidate> {
    let mut fitting: Vec<&Candidate> = functions.into_iter().filter(|candidate| candidate.fits(arguments)).collect();
    let fewest = fitting.iter().map(|candidate| candidate.most).min();
    fitting.retain(|candidate| Some(candidate.most) == fewest);
    if arguments.is_none() && fitting.len() > 1 {
        fitting.retain(|candidate| candidate.takes_jsonb);
    }
    fitting
}

fn misfit(title: &str, arguments: Option<usize>, pointer: &str) -> Option<Problem> {
    let code = "function_arguments";
    Some(match arguments {
        Some(1) => Problem::error(pointer, code, format!("no function {title} takes 1 argument")),
        Some(number) => Problem::error(pointer, code, format!("no function {title} takes {number} arguments")),
        None => Problem::error(pointer, code, format!("no function {title} takes one jsonb"))
            .hint("without \"args\" it is called with the whole context as one jsonb; list its arguments in \"args\""),
    })
}

impl Candidate {
    fn fits(&self, arguments: Option<usize>) -> bool {
        let number = arguments.unwrap_or(1);
        let enough = (self.fewest..=self.most).contains(&number);
        enough && (arguments.is_some() || self.takes_json)
    }
}
