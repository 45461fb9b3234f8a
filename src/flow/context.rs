//! What an instance has learned so far: the outputs of its finished actions, kept as the text PostgreSQL gave.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Outputs and unusual statuses by action name; an action that succeeded without output needs no entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    entries: BTreeMap<String, String>,
}

impl Steps {
    /// Reads the column `context`; text that is not an object of objects counts as empty.
    pub fn parse(context: Option<&str>) -> Steps {
        let entries: BTreeMap<String, Box<RawValue>> =
            context.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Steps { entries: entries.into_iter().map(|(name, entry)| (name, entry.get().to_string())).collect() }
    }

    /// Notes how an action ended: `status` is SUCCESS, FAILED or SKIPPED, `output` JSON text.
    pub fn note(&mut self, action: &str, status: &str, output: Option<&str>) {
        let entry = match output {
            Some(output) => format!("{{\"status\":{},\"output\":{output}}}", quoted(status)),
            None if status == "SUCCESS" => return,
            None => format!("{{\"status\":{}}}", quoted(status)),
        };
        self.entries.insert(action.to_string(), entry);
    }

    /// The column `context`: JSON text, or `None` when there is nothing to keep.
    pub fn column(&self) -> Option<String> {
        (!self.entries.is_empty()).then(|| format!("{{{}}}", self.members(None, std::iter::empty())))
    }

    /// The members of `steps` in the context document, without braces: what was inherited, everything noted, and a
    /// success for each of the `finished` actions that left no note.
    pub fn members<'a>(&self, inherited: Option<&str>, finished: impl Iterator<Item = &'a str>) -> String {
        let mut members: Vec<String> =
            inherited.filter(|text| !text.is_empty()).map(str::to_owned).into_iter().collect();
        members.extend(self.entries.iter().map(|(name, entry)| member(name, entry)));
        let silent = finished.filter(|name| !self.entries.contains_key(*name));
        members.extend(silent.map(|name| member(name, SUCCEEDED)));
        members.join(",")
    }

    /// Takes over what a branch noted, and a success for each of its actions that left no note.
    pub fn merge<'a>(&mut self, branch: &Steps, finished: impl Iterator<Item = &'a str>) {
        self.entries.extend(branch.entries.iter().map(|(name, entry)| (name.clone(), entry.clone())));
        for name in finished.filter(|name| !branch.entries.contains_key(*name)) {
            self.entries.insert(name.to_owned(), SUCCEEDED.to_owned());
        }
    }
}

/// The entry of an action that succeeded without output.
const SUCCEEDED: &str = "{\"status\":\"SUCCESS\"}";

fn member(name: &str, entry: &str) -> String {
    format!("{}:{entry}", quoted(name))
}

/// Who evaluates something: what the context document says about instance and action.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Instance on whose behalf the action runs.
    pub instance_id: &'a str,
    /// Its workflow.
    pub workflow_name: &'a str,
    /// Version of that.
    pub workflow_version: i32,
    /// The action; empty outside of any.
    pub action_name: &'a str,
    /// The action's idempotency key.
    pub idempotency_key: &'a str,
    /// Position of the item and the item as JSON text, inside of foreach.
    pub item: Option<(i32, &'a str)>,
}

impl Place<'_> {
    /// The members of the context document besides `event` and `payload`, without braces. `steps` are the members of
    /// `steps`, `response` is the document of that name.
    pub fn members(&self, steps: &str, response: Option<&str>) -> String {
        let item = self.item.map(|(index, item)| format!(",\"item\":{item},\"index\":{index}")).unwrap_or_default();
        let response = response.map(|document| format!(",\"response\":{document}")).unwrap_or_default();
        format!(
            "\"steps\":{{{steps}}},\"instance\":{{\"id\":\"{}\",\"workflowName\":{},\"workflowVersion\":{}}},\
             \"action\":{{\"name\":{},\"idempotencyKey\":{}}}{item}{response}",
            self.instance_id,
            quoted(self.workflow_name),
            self.workflow_version,
            quoted(self.action_name),
            quoted(self.idempotency_key),
        )
    }
}

/// A string as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_without_output_needs_no_entry_but_shows_in_the_document() {
        let mut steps = Steps::default();
        steps.note("a", "SUCCESS", None);
        assert_eq!(steps.column(), None);
        assert_eq!(steps.members(None, ["a"].into_iter()), r#""a":{"status":"SUCCESS"}"#);
    }

    #[test]
    fn a_branch_s_actions_become_steps_of_its_parent() {
        let (mut parent, mut branch) = (Steps::default(), Steps::default());
        branch.note("b", "SUCCESS", Some("1"));
        parent.merge(&branch, ["b", "c"].into_iter());
        let expected = r#""x":0,"b":{"status":"SUCCESS","output":1},"c":{"status":"SUCCESS"}"#;
        assert_eq!(parent.members(Some(r#""x":0"#), std::iter::empty()), expected);
    }

    #[test]
    fn outputs_survive_the_column_unchanged() {
        let mut steps = Steps::default();
        steps.note("a", "SUCCESS", Some("{\"n\":1.10}"));
        steps.note("b", "SKIPPED", None);
        let column = steps.column();
        assert_eq!(
            column.as_deref(),
            Some(r#"{"a":{"status":"SUCCESS","output":{"n":1.10}},"b":{"status":"SKIPPED"}}"#)
        );
        assert_eq!(Steps::parse(column.as_deref()), steps);
    }

    #[test]
    fn a_context_that_is_no_object_counts_as_empty() {
        assert_eq!(Steps::parse(Some("[1]")), Steps::default());
        assert_eq!(Steps::parse(None), Steps::default());
    }
}
