//! Rules that keep the manual and the code together.

use std::collections::BTreeSet;

use regex::Regex;

use crate::tree::{file, files, no_offences};

/// Names that a pattern's first group finds in a file.
fn names(path: &str, pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    let text = file(path).text;
    pattern.captures_iter(&text).map(|found| found[1].to_owned()).collect()
}

/// The settings that the code defines.
fn defined() -> BTreeSet<String> {
    names("src/guc.rs", r#""(rea\.[a-z_]+)""#)
}

/// The settings in a table of a document: rows that open with a setting's name
/// and nothing else.
fn documented(path: &str) -> BTreeSet<String> {
    names(path, r"(?m)^\|\s*`(rea\.[a-z_]+)`\s*\|")
}

#[test]
fn the_manual_lists_every_setting() {
    let documented = documented("docs/reference/settings.md");
    let bad: Vec<String> = defined().difference(&documented).cloned().collect();
    no_offences("settings that docs/reference/settings.md does not list", &bad);
}

#[test]
fn the_documents_name_no_setting_that_does_not_exist() {
    let defined = defined();
    let mut bad = Vec::new();
    for path in ["docs/reference/settings.md", "README.md"] {
        let unknown: Vec<String> = documented(path).difference(&defined).cloned().collect();
        bad.extend(unknown.into_iter().map(|name| format!("{path}: {name}")));
    }
    no_offences("settings that src/guc.rs does not define", &bad);
}

/// Functions that the manual leaves out: views and other functions are made of them.
const PARTS: [&str; 16] = [
    "block",
    "blocks",
    "check_role",
    "entry_state",
    "event_matches",
    "exported_schedule",
    "extension_created",
    "import_entry",
    "instance_obstacle",
    "instance_steps",
    "instance_words",
    "live_parts",
    "may_see",
    "outlook",
    "undo_steps",
    "waiting_words",
];

#[test]
fn the_manual_describes_every_function() {
    let defined: BTreeSet<String> = files(&["sql/schema"], &["sql"])
        .iter()
        .flat_map(|file| names(&file.path, r"(?m)^create function rea\.([a-z_]+)\("))
        .collect();
    let manual = names("docs/reference/sql.md", r"\b([a-z]+(?:_[a-z]+)*)\b");
    let bad: Vec<String> =
        defined.into_iter().filter(|name| !manual.contains(name) && !PARTS.contains(&name.as_str())).collect();
    no_offences("functions that docs/reference/sql.md does not describe", &bad);
}
