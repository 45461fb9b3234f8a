//! The document that `export_definitions` gives and `import_definitions` takes: everything that steers rea, in one JSON
//! object that can be kept in version control.
//!
//! Here it is only taken apart, with every mistake in its form; what the parts say is checked where they are defined.
//! Rules in the older form ([`super::rule`]) become workflows on the way.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::fields::Fields;
use super::rule;
use crate::flow::problem::{Problem, did_you_mean, pointer_to};

/// What an entry defines; in the order in which they are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value that scripts read.
    Config,
    /// A script.
    Script,
    /// A workflow.
    Workflow,
    /// A route of its own.
    Route,
    /// A schedule.
    Schedule,
    /// None of these: the document itself is at fault.
    Document,
}

impl Kind {
    /// The word that `import_definitions` shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Config => "config",
            Kind::Script => "script",
            Kind::Workflow => "workflow",
            Kind::Route => "route",
            Kind::Schedule => "schedule",
            Kind::Document => "document",
        }
    }
}

/// One thing to define, or what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its name; empty when it has none.
    pub name: String,
    /// What it says: config: the value; script: its source, a string; workflow: `{"definition", "enabled"}`; route and
    /// schedule: the members as given. Or what is wrong.
    pub body: Result<Value, Problem>,
}

const SECTIONS: [&str; 7] = ["config", "scripts", "workflows", "disabled", "routes", "schedules", "rules"];
const ROUTE: [&str; 6] = ["routeName", "eventType", "workflowName", "routeGroup", "priority", "match"];
const SCHEDULE: [&str; 10] = [
    "scheduleName",
    "cron",
    "timezone",
    "eventType",
    "bizKey",
    "payload",
    "attributes",
    "catchUp",
    "catchUpLimit",
    "paused",
];

/// Takes a document apart: an object of sections, one rule, or a list of rules.
pub fn read(document: &Value) -> Vec<Entry> {
    let mut read = Reading::default();
    match document {
        Value::Array(rules) => read.rules(rules, ""),
        Value::Object(object) if object.contains_key("ruleId") => read.rule(document, ""),
        _ => read.sections(document),
    }
    read.entries
}

#[derive(Default)]
struct Reading {
    entries: Vec<Entry>,
    names: HashSet<(Kind, String)>,
}

impl Reading {
    fn sections(&mut self, document: &Value) {
        let mut problems = Vec::new();
        let Some(fields) = Fields::of(document, String::new(), &mut problems) else {
            return self.refuse(Kind::Document, "", problems);
        };
        fields.refuse_unknown(&SECTIONS, advice, &mut problems);
        for (key, value) in fields.fields("config", &mut problems).iter().flat_map(Fields::iter) {
            self.add(Kind::Config, key, &pointer_to("/config", key), Ok(value.clone()));
        }
        self.each(&fields, "scripts", &mut problems, Reading::script);
        let disabled = disabled(&fields, &mut problems);
        self.each(&fields, "workflows", &mut problems, |read, value, place| read.workflow(value, place, &disabled));
        if let Some(rules) = fields.list("rules", &mut problems) {
            self.rules(rules, "/rules");
        }
        self.each(&fields, "routes", &mut problems, |read, value, place| {
            read.members(Kind::Route, value, place, "routeName", &ROUTE);
        });
        self.each(&fields, "schedules", &mut problems, |read, value, place| {
            read.members(Kind::Schedule, value, place, "scheduleName", &SCHEDULE);
        });
        for (name, place) in disabled.iter().filter(|(name, _)| !self.names.contains(&(Kind::Workflow, name.clone()))) {
            let message = format!("\"{name}\" is not among the workflows of this document");
            let known = self.entries.iter().filter(|entry| entry.kind == Kind::Workflow).map(|entry| &*entry.name);
            problems.push(Problem::error(place, "unknown_name", message).maybe_hint(did_you_mean(name, known)));
        }
        self.refuse(Kind::Document, "", problems);
    }

    fn each(
        &mut self,
        fields: &Fields<'_>,
        section: &str,
        problems: &mut Vec<Problem>,
        mut read: impl FnMut(&mut Self, &Value, &str),
    ) {
        for (index, value) in fields.list(section, problems).into_iter().flatten().enumerate() {
            read(self, value, &pointer_to(&fields.pointer(section), index));
        }
    }

    fn script(&mut self, value: &Value, place: &str) {
        let mut problems = Vec::new();
        let Some(fields) = Fields::of(value, place.to_owned(), &mut problems) else {
            return self.refuse(Kind::Script, "", problems);
        };
        fields.refuse_unknown(&["scriptName", "source"], |_| None, &mut problems);
        let name = name(&fields, "scriptName", &mut problems);
        let source = fields.required("source", &mut problems).map(source);
        match source {
            Some(Some(source)) => self.finish(Kind::Script, &name, place, source.into(), problems),
            None => self.refuse(Kind::Script, &name, problems),
            Some(None) => {
                let message = "\"source\" must be a string or a list of lines";
                problems.push(Problem::error(fields.pointer("source"), "wrong_type", message));
                self.refuse(Kind::Script, &name, problems);
            }
        }
    }

    fn workflow(&mut self, value: &Value, place: &str, disabled: &[(String, String)]) {
        let mut problems = Vec::new();
        let Some(fields) = Fields::of(value, place.to_owned(), &mut problems) else {
            return self.refuse(Kind::Workflow, "", problems);
        };
        let name = name(&fields, "workflowName", &mut problems);
        let enabled = !disabled.iter().any(|(other, _)| *other == name);
        let body = json!({"definition": value, "enabled": enabled});
        self.finish(Kind::Workflow, &name, place, body, problems);
    }

    fn members(&mut self, kind: Kind, value: &Value, place: &str, name_key: &str, known: &[&str]) {
        let mut problems = Vec::new();
        let Some(fields) = Fields::of(value, place.to_owned(), &mut problems) else {
            return self.refuse(kind, "", problems);
        };
        fields.refuse_unknown(known, |_| None, &mut problems);
        check_members(&fields, &mut problems);
        let name = name(&fields, name_key, &mut problems);
        self.finish(kind, &name, place, value.clone(), problems);
    }

    fn rules(&mut self, rules: &[Value], place: &str) {
        for (index, rule) in rules.iter().enumerate() {
            self.rule(rule, &pointer_to(place, index));
        }
    }

    fn rule(&mut self, rule: &Value, place: &str) {
        let mut problems = Vec::new();
        let (name, definition) = rule::workflow(rule, place, &mut problems);
        let body = json!({"definition": definition, "enabled": true});
        self.finish(Kind::Workflow, &name, place, body, problems);
    }

    fn finish(&mut self, kind: Kind, name: &str, place: &str, body: Value, problems: Vec<Problem>) {
        if problems.is_empty() {
            self.add(kind, name, place, Ok(body));
        } else {
            self.refuse(kind, name, problems);
        }
    }

    fn refuse(&mut self, kind: Kind, name: &str, problems: Vec<Problem>) {
        self.names.insert((kind, name.to_owned()));
        let entry = |problem| Entry { kind, name: name.to_owned(), body: Err(problem) };
        self.entries.extend(problems.into_iter().map(entry));
    }

    fn add(&mut self, kind: Kind, name: &str, place: &str, body: Result<Value, Problem>) {
        if !self.names.insert((kind, name.to_owned())) {
            let message = format!("there are two entries of the name \"{name}\"");
            return self.refuse(kind, name, vec![Problem::error(place, "duplicate_name", message)]);
        }
        self.entries.push(Entry { kind, name: name.to_owned(), body });
    }
}

fn advice(key: &str) -> Option<String> {
    match key {
        "workflowName" | "actions" => {
            Some("this is a workflow: put it into the list \"workflows\", or give it to define_workflow".to_owned())
        }
        "route" | "workflow" | "script" | "schedule" | "rule" => Some(format!("did you mean \"{key}s\"?")),
        _ => None,
    }
}

/// The names under `disabled`, with their places.
fn disabled(fields: &Fields<'_>, problems: &mut Vec<Problem>) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (index, value) in fields.list("disabled", problems).into_iter().flatten().enumerate() {
        let place = pointer_to(&fields.pointer("disabled"), index);
        match value.as_str() {
            Some(name) => names.push((name.to_owned(), place)),
            None => problems.push(Problem::error(place, "wrong_type", "this must be the name of a workflow")),
        }
    }
    names
}

fn name(fields: &Fields<'_>, key: &str, problems: &mut Vec<Problem>) -> String {
    fields.required(key, problems).and_then(|_| fields.label(key, problems)).unwrap_or_default()
}

/// A script's source: text, or a list of lines, which differ better in version control.
fn source(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => {
            lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|lines| lines.join("\n"))
        }
        _ => None,
    }
}

/// The types of the members of routes and schedules, which are passed on as SQL arguments.
fn check_members(fields: &Fields<'_>, problems: &mut Vec<Problem>) {
    for key in ["eventType", "workflowName", "routeGroup", "cron", "timezone", "bizKey", "catchUp"] {
        fields.text(key, problems);
    }
    fields.integer("priority", i64::from(i32::MIN)..=i64::from(i32::MAX), problems);
    fields.integer("catchUpLimit", 0..=i64::from(i32::MAX), problems);
    fields.boolean("paused", problems);
}
