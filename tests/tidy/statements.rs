//! Rules about SQL: statement files, expected output, wording.

use std::collections::BTreeSet;

use regex::Regex;

use crate::tree::{File, files, no_offences, places};

/// A line that is not a comment.
fn without_comments(file: File) -> File {
    let lines = file.text.lines().map(|line| line.split("--").next().unwrap_or_default());
    File { text: lines.collect::<Vec<_>>().join("\n"), path: file.path }
}

#[test]
fn no_statement_asks_for_all_columns() {
    let pattern = Regex::new(r"(?i)\bselect\s+(\w+\.)?\*").expect("a pattern");
    let mut bad = Vec::new();
    for file in files(&["sql"], &["sql"]).into_iter().map(without_comments) {
        bad.extend(places(&file, &pattern));
    }
    for file in files(&["src"], &["rs"]) {
        bad.extend(places(&file, &pattern));
    }
    no_offences("name the columns", &bad);
}

/// The statements that the library declares: constant and file.
fn declared() -> Vec<(String, String)> {
    let pattern = Regex::new(r#"(?m)^\s*([A-Z_]+) = "([a-z_]+)";"#).expect("a pattern");
    let text = crate::tree::file("src/store/statement.rs").text;
    pattern.captures_iter(&text).map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

#[test]
fn every_statement_file_is_declared_once_under_its_own_name() {
    let declared = declared();
    let mut bad = Vec::new();
    for statement in files(&["sql/query"], &["sql"]) {
        let uses = declared.iter().filter(|(_, file)| file == statement.stem()).count();
        if uses != 1 {
            bad.push(format!("{}: declared {uses} times", statement.path));
        }
    }
    let other_name = |(constant, file): &&(String, String)| constant.to_lowercase() != *file;
    bad.extend(declared.iter().filter(other_name).map(|(constant, file)| format!("{constant} is {file}.sql")));
    no_offences("statement files and src/store/statement.rs do not match", &bad);
}

#[test]
fn every_statement_is_used() {
    let others: Vec<File> = files(&["src"], &["rs"]).into_iter().filter(|f| f.stem() != "statement").collect();
    let mut bad = Vec::new();
    for (constant, file) in declared() {
        let pattern = Regex::new(&format!(r"\b{constant}\b")).expect("a pattern");
        if !others.iter().any(|f| pattern.is_match(&f.text)) {
            bad.push(format!("sql/query/{file}.sql"));
        }
    }
    no_offences("statements that nothing runs", &bad);
}

#[test]
fn every_schema_file_is_part_of_the_install_script() {
    let library = crate::tree::file("src/lib.rs");
    let missing = |file: &File| !library.text.contains(&file.path);
    let bad: Vec<String> = files(&["sql/schema"], &["sql"]).into_iter().filter(missing).map(|f| f.path).collect();
    no_offences("schema files that src/lib.rs does not name", &bad);
}

#[test]
fn every_regression_test_has_its_expected_output() {
    let stems = |folder: &str, extension: &str| -> BTreeSet<String> {
        files(&[folder], &[extension]).iter().map(|f| f.stem().to_owned()).collect()
    };
    let tests = stems("pg_regress/sql", "sql");
    // A second expected file (name_1.out) belongs to the test of the first.
    let alternative = Regex::new(r"_\d$").expect("a pattern");
    let expected: BTreeSet<String> = stems("pg_regress/expected", "out")
        .into_iter()
        .map(|stem| if tests.contains(&stem) { stem } else { alternative.replace(&stem, "").into_owned() })
        .collect();
    let bad: Vec<String> = tests.symmetric_difference(&expected).cloned().collect();
    no_offences("pg_regress/sql and pg_regress/expected do not match", &bad);
}
