//! Rules that keep the manual and the code together.

use std::collections::BTreeSet;

use regex::Regex;

use crate::tree::{file, no_offences};

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
