//! Compiling the templates of one action or output, and checking what they refer to.
//!
//! All templates that are evaluated together share one list of expressions; the same template is listed once.

use std::collections::HashSet;

use serde_json::Value;

use crate::flow::expression::{self, CONTEXT, Expression, ExpressionError, references};
use crate::flow::parse::fields::Fields;
use crate::flow::problem::{Problem, did_you_mean, pointer_to};
use crate::flow::template::{Part, Piece, Template, Text, split};

/// When expressions are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before there is an instance: only the event is known.
    Event,
    /// Before an action runs.
    Request,
    /// When an action is done.
    Output,
    /// At the end of the workflow.
    Result,
}

impl Stage {
    fn names(self) -> &'static [&'static str] {
        match self {
            Stage::Event => &["event", "payload"],
            Stage::Request => &["event", "payload", "steps", "instance", "action"],
            Stage::Output => &["event", "payload", "steps", "instance", "action", "response"],
            Stage::Result => &["event", "payload", "steps", "instance"],
        }
    }
}

/// What the expressions at a place can see.
pub(super) struct Scope<'a> {
    /// When they are evaluated.
    pub stage: Stage,
    /// Whether there are `item` and `index`.
    pub in_loop: bool,
    /// Actions that are over and seen at this place.
    pub done: &'a [&'a str],
    /// Actions that are over but not seen at this place.
    pub apart: Option<&'a HashSet<&'a str>>,
    /// All actions of the workflow.
    pub all: &'a [&'a str],
}

impl<'a> Scope<'a> {
    /// A place that sees nothing but the event.
    pub fn of_event() -> Self {
        Scope { stage: Stage::Event, in_loop: false, done: &[], apart: None, all: &[] }
    }

    fn knows(&self, root: &str) -> bool {
        self.stage.names().contains(&root) || (self.in_loop && matches!(root, "item" | "index"))
    }

    /// What is wrong with the members that a path names, if anything.
    fn check(&self, names: &[String], pointer: &str) -> Option<Problem> {
        let root = names.first()?.as_str();
        if !CONTEXT.contains(&root) {
            let error = ExpressionError::UnknownName(root.to_owned());
            return Some(refused(&error, pointer));
        }
        if !self.knows(root) {
            let message = format!("\"{root}\" is not known here");
            return Some(Problem::error(pointer, "out_of_scope", message).maybe_hint(scope_hint(root)));
        }
        (root == "steps").then(|| self.check_step(&names[1..], pointer)).flatten()
    }

    fn check_step(&self, names: &[String], pointer: &str) -> Option<Problem> {
        let step = names.first()?.as_str();
        if !self.done.contains(&step) {
            return Some(self.unknown_step(step, pointer));
        }
        let part = names.get(1)?.as_str();
        if matches!(part, "output" | "status") {
            return None;
        }
        let message = format!("a step has \"status\" and \"output\", not \"{part}\"");
        Some(Problem::error(pointer, "unknown_name", message).hint(format!("write steps.{step}.output.{part}")))
    }

    fn unknown_step(&self, step: &str, pointer: &str) -> Problem {
        if self.apart.is_some_and(|apart| apart.contains(step)) {
            let message = format!("action \"{step}\" is not seen from this place");
            let problem = Problem::error(pointer, "unknown_step", message);
            return problem.hint("branches do not see each other, and nothing outside a foreach sees its actions");
        }
        if self.all.contains(&step) {
            let message = format!("action \"{step}\" is not over yet at this place");
            return Problem::error(pointer, "unknown_step", message).hint("only earlier actions have an output");
        }
        let hint = did_you_mean(step, self.done.iter().copied());
        Problem::error(pointer, "unknown_step", format!("there is no action \"{step}\"")).maybe_hint(hint)
    }
}

fn scope_hint(root: &str) -> Option<String> {
    match root {
        "response" => Some("a response can be read in the action's own \"output\" only".to_owned()),
        "item" | "index" => Some(format!("\"{root}\" exists inside foreach only")),
        _ => None,
    }
}

fn refused(error: &ExpressionError, pointer: &str) -> Problem {
    Problem::error(pointer, error.code(), error.to_string()).maybe_hint(error.hint())
}

/// The templates of one place under compilation.
pub(super) struct Templates<'a> {
    scope: Scope<'a>,
    paths: Vec<Expression>,
}

impl<'a> Templates<'a> {
    /// None yet.
    pub fn new(scope: Scope<'a>) -> Self {
        Templates { scope, paths: Vec::new() }
    }

    /// The expressions of everything compiled so far.
    pub fn into_paths(self) -> Vec<Expression> {
        self.paths
    }

    /// Compiles a path predicate.
    pub fn predicate(&mut self, text: &str, pointer: &str, problems: &mut Vec<Problem>) -> Option<usize> {
        if text.contains("${") {
            let message = "a predicate is a path, not a template";
            let problem = Problem::error(pointer, "not_a_predicate", message);
            problems.push(problem.hint("leave out ${ and }: \"$.payload.amount > 100\""));
            return None;
        }
        let expression = expression::predicate(text, pointer);
        self.accept(expression, pointer, problems)
    }

    /// Compiles a string that stays text. A number, true or false stands for its JSON text.
    pub fn text(&mut self, value: &Value, pointer: &str, problems: &mut Vec<Problem>) -> Option<Text> {
        match value {
            Value::String(text) => Some(Text { pieces: self.pieces(text, pointer, problems)? }),
            Value::Number(_) | Value::Bool(_) => Some(Text::fixed(value.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                problems.push(Problem::error(pointer, "wrong_type", "this must be a string, a number, true or false"));
                None
            }
        }
    }

    /// Compiles an object of names and texts, in order.
    pub fn pairs(&mut self, fields: &Fields, problems: &mut Vec<Problem>) -> Vec<(String, Text)> {
        let pair =
            |(name, value): (&String, &Value)| Some((name.clone(), self.text(value, &fields.pointer(name), problems)?));
        fields.iter().filter_map(pair).collect()
    }

    /// Compiles the member `key`, which has to be an object.
    pub fn object(&mut self, fields: &Fields, key: &str, problems: &mut Vec<Problem>) -> Option<Template> {
        fields.fields(key, problems)?;
        Some(self.json(fields.get(key)?, &fields.pointer(key), problems))
    }

    /// Compiles the member `key`, which has to be an object or a template that gives one.
    pub fn object_or_one(&mut self, fields: &Fields, key: &str, problems: &mut Vec<Problem>) -> Option<Template> {
        match fields.get(key)? {
            Value::Object(_) => self.object(fields, key, problems),
            value @ Value::String(_) => {
                self.one(value, &fields.pointer(key), problems)?;
                Some(self.json(value, &fields.pointer(key), problems))
            }
            _ => {
                let message = format!("\"{key}\" must be an object");
                problems.push(Problem::error(fields.pointer(key), "wrong_type", message));
                None
            }
        }
    }

    /// Compiles a string that is exactly one template; its expression.
    pub fn one(&mut self, value: &Value, pointer: &str, problems: &mut Vec<Problem>) -> Option<usize> {
        let pieces = value.as_str().map(|text| self.pieces(text, pointer, problems));
        match pieces.as_ref().map(Option::as_deref) {
            Some(Some([Piece::Value(index)])) => return Some(*index),
            // Not a template at all; a problem is there already.
            Some(None) => {}
            Some(Some(_)) | None => {
                let problem = Problem::error(pointer, "invalid_value", "this must be exactly one template");
                problems.push(problem.hint("for example \"${payload.items}\""));
            }
        }
        None
    }

    /// Compiles a string that names something; without templates it has 1 to `longest` bytes and no control characters.
    pub fn name(&mut self, fields: &Fields, key: &str, longest: usize, problems: &mut Vec<Problem>) -> Option<Text> {
        fields.text(key, problems)?;
        let text = self.text(fields.get(key)?, &fields.pointer(key), problems)?;
        let bad = |name: &String| !(1..=longest).contains(&name.len()) || name.chars().any(char::is_control);
        if text.as_fixed().as_ref().is_some_and(bad) {
            let message = format!("\"{key}\" must have 1 to {longest} bytes and no control characters");
            problems.push(Problem::error(fields.pointer(key), "invalid_name", message));
        }
        Some(text)
    }

    /// Compiles any JSON value.
    pub fn json(&mut self, value: &Value, pointer: &str, problems: &mut Vec<Problem>) -> Template {
        let mut template = Template::default();
        self.append(&mut template, value, pointer, problems);
        template
    }

    /// Depth is bounded: the JSON parser reads 127 levels.
    fn append(&mut self, template: &mut Template, value: &Value, pointer: &str, problems: &mut Vec<Problem>) {
        match value {
            Value::String(text) => {
                template.push_string(&self.pieces(text, pointer, problems).unwrap_or_default());
            }
            Value::Array(items) => {
                template.push_fixed("[");
                for (position, item) in items.iter().enumerate() {
                    template.push_fixed(if position == 0 { "" } else { "," });
                    self.append(template, item, &pointer_to(pointer, position), problems);
                }
                template.push_fixed("]");
            }
            Value::Object(members) => {
                template.push_fixed("{");
                for (position, (key, member)) in members.iter().enumerate() {
                    let pointer = pointer_to(pointer, key);
                    refuse_template_in_key(key, &pointer, problems);
                    template.push_fixed(if position == 0 { "" } else { "," });
                    template.push_fixed(&Value::from(key.as_str()).to_string());
                    template.push_fixed(":");
                    self.append(template, member, &pointer, problems);
                }
                template.push_fixed("}");
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => template.push_fixed(&value.to_string()),
        }
    }

    fn pieces(&mut self, text: &str, pointer: &str, problems: &mut Vec<Problem>) -> Option<Vec<Piece>> {
        let parts = match split(text) {
            Ok(parts) => parts,
            Err(error) => {
                let problem = Problem::error(pointer, "unclosed_template", error.to_string());
                problems.push(problem.hint("close it with }; $${ stands for a literal ${"));
                return None;
            }
        };
        let piece = |part| match part {
            Part::Literal(text) => Some(Piece::Fixed(text)),
            Part::Template(inside) => {
                let expression = expression::template(inside, pointer);
                self.accept(expression, pointer, problems).map(Piece::Value)
            }
        };
        // All of them first, so that each mistake is reported and not only the first.
        let pieces: Vec<Option<Piece>> = parts.into_iter().map(piece).collect();
        pieces.into_iter().collect()
    }

    /// Lists an expression after looking at what it refers to; its index.
    fn accept(
        &mut self,
        expression: Result<Expression, ExpressionError>,
        pointer: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<usize> {
        let expression = match expression {
            Ok(expression) => expression,
            Err(error) => {
                problems.push(refused(&error, pointer));
                return None;
            }
        };
        let found = references(&expression.path).iter().filter_map(|names| self.scope.check(names, pointer)).collect();
        let found: Vec<Problem> = found;
        let accepted = found.is_empty();
        problems.extend(found);
        accepted.then(|| self.index_of(expression))
    }

    fn index_of(&mut self, expression: Expression) -> usize {
        let same = |other: &Expression| other.source == expression.source && other.predicate == expression.predicate;
        if let Some(index) = self.paths.iter().position(same) {
            return index;
        }
        self.paths.push(expression);
        self.paths.len() - 1
    }
}

fn refuse_template_in_key(key: &str, pointer: &str, problems: &mut Vec<Problem>) {
    if key.contains("${") {
        let message = "a key cannot hold a template";
        problems.push(Problem::error(pointer, "template_in_key", message));
    }
}
