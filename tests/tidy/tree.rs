//! The files of the project, and the rules that hold for all of them.

use std::path::{Path, PathBuf};

use regex::Regex;

/// No file is longer than this (style guide: median about 120).
const MAX_LINES: usize = 400;

/// A file with its path from the project's root and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    /// Name of the file without its folder and last extension.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project").to_owned()
}

/// All files under some folders that have one of the extensions, sorted. A
/// folder that does not exist has none.
pub fn files(folders: &[&str], extensions: &[&str]) -> Vec<File> {
    let mut paths = Vec::new();
    for folder in folders {
        collect(&root().join(folder), &mut paths);
    }
    paths.sort();
    let wanted = |path: &PathBuf| extensions.iter().any(|e| path.extension().is_some_and(|x| x == *e));
    paths.into_iter().filter(wanted).map(read).collect()
}

/// One file of the project, empty if it does not exist.
pub fn file(path: &str) -> File {
    let text = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    File { path: path.to_owned(), text }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        // A link would only show the same file a second time.
        if path.is_symlink() || path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            collect(&path, paths);
        } else {
            paths.push(path);
        }
    }
}

fn read(path: PathBuf) -> File {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let path = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
    File { path, text }
}

/// Fails with all offences, one per line, under the rule's name.
pub fn no_offences(rule: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

/// Places in a text that match, as `path:line: text`.
pub fn places(file: &File, pattern: &Regex) -> Vec<String> {
    let hits = file.text.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
    hits.map(|(number, line)| format!("{}:{}: {}", file.path, number + 1, line.trim())).collect()
}

const CODE: [&str; 6] = ["src", "sql", "tests", "bench", "demo", "pg_regress/sql"];

#[test]
fn every_file_opens_with_its_contract() {
    let opens = |file: &File| match file.path.ends_with(".rs") {
        true => file.text.starts_with("//!"),
        false => file.text.starts_with("--"),
    };
    let bad: Vec<String> = files(&CODE, &["rs", "sql"]).into_iter().filter(|f| !opens(f)).map(|f| f.path).collect();
    no_offences("these files do not open with //! or --", &bad);
}

#[test]
fn every_script_says_what_it_promises() {
    let opens =
        |file: &File| file.text.lines().find(|line| !line.starts_with("#!")).is_some_and(|l| l.starts_with("# "));
    let bad: Vec<String> = files(&["scripts"], &["sh"]).into_iter().filter(|f| !opens(f)).map(|f| f.path).collect();
    no_offences("these scripts do not open with a comment", &bad);
}

#[test]
fn no_file_is_longer_than_four_hundred_lines() {
    let mut bad = Vec::new();
    for file in files(&CODE, &["rs", "sql"]) {
        let lines = file.text.lines().count();
        if lines > MAX_LINES {
            bad.push(format!("{}: {lines} lines", file.path));
        }
    }
    no_offences("these files are too long", &bad);
}

#[test]
fn nothing_is_left_for_later_in_a_comment() {
    let pattern = Regex::new(&format!(r"\b({}|{}|{})\b", "TO\u{44}O", "FIX\u{4d}E", "XX\u{58}")).expect("a pattern");
    let everywhere = files(&[&CODE[..], &["scripts", "docs"]].concat(), &["rs", "sql", "sh", "md", "toml"]);
    let bad: Vec<String> = everywhere.iter().flat_map(|f| places(f, &pattern)).collect();
    no_offences("open ends", &bad);
}

#[test]
fn names_say_what_things_do() {
    let item = Regex::new(r"(?i)\b(struct|enum|trait|mod)\s+\w*(manager|handler|helper|utils?\b)").expect("a pattern");
    let function = Regex::new(r"\bfn\s+process_").expect("a pattern");
    let path = Regex::new(r"(?i)(manager|handler|helper|utils?\b)").expect("a pattern");
    let mut bad = Vec::new();
    for file in files(&CODE, &["rs", "sql"]).into_iter().filter(|f| f.path != "tests/tidy/tree.rs") {
        bad.extend(places(&file, &item));
        bad.extend(places(&file, &function));
        if path.is_match(&file.path) {
            bad.push(file.path);
        }
    }
    no_offences("names that say nothing", &bad);
}
