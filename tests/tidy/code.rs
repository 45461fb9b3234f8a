//! Rules about Rust code. They work on tokens, not on text, so that comments
//! and strings cannot confuse them; items under `#[cfg(test)]` are left out.

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};
use regex::Regex;

use crate::tree::{File, files, no_offences, places};

/// One token with the line it stands on.
struct Token {
    line: usize,
    text: String,
    is_string: bool,
}

/// The tokens of a file that are not part of a test.
fn tokens(file: &File) -> Vec<Token> {
    let stream: TokenStream = file.text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.path));
    let mut out = Vec::new();
    flatten(stream, &mut out);
    out
}

fn flatten(stream: TokenStream, out: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let is_hash = matches!(&tree, TokenTree::Punct(p) if p.as_char() == '#');
        if is_hash && trees.peek().is_some_and(is_test_attribute) {
            skip_item(&mut trees);
            continue;
        }
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                let span = group.span();
                out.push(plain(span.start().line, open));
                flatten(group.stream(), out);
                out.push(plain(span.end().line, close));
            }
            TokenTree::Literal(literal) => out.push(literal_token(&literal)),
            other => out.push(plain(other.span().start().line, &other.to_string())),
        }
    }
}

fn plain(line: usize, text: &str) -> Token {
    Token { line, text: text.to_owned(), is_string: false }
}

fn literal_token(literal: &Literal) -> Token {
    let text = literal.to_string();
    let is_string = text.contains('"');
    Token { line: literal.span().start().line, text, is_string }
}

fn brackets(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// `[cfg(test)]`, `[cfg(any(test, …))]`, `[test]`, `[pg_test]`.
fn is_test_attribute(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else { return false };
    let text = group.stream().to_string().replace(' ', "");
    let of_tests = ["cfg(test)", "cfg(any(test,", "cfg(all(test,", "test", "pg_test"];
    of_tests.iter().any(|start| text == *start || (start.ends_with(',') && text.starts_with(start)))
}

/// Leaves out everything up to the end of the item that an attribute is for.
fn skip_item(trees: &mut impl Iterator<Item = TokenTree>) {
    for tree in trees {
        let ends = match &tree {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        };
        if ends {
            return;
        }
    }
}

/// Rust files whose content is not tests.
fn product() -> Vec<File> {
    let is_test = |file: &File| file.path.contains("/tests/") || file.stem() == "tests";
    files(&["src", "bench/src"], &["rs"]).into_iter().filter(|f| !is_test(f)).collect()
}

#[test]
fn decisions_and_threads_do_not_know_postgres() {
    let mut bad = Vec::new();
    for file in files(&["src/flow", "src/action"], &["rs"]) {
        for token in tokens(&file) {
            if ["pgrx", "pg_sys"].contains(&token.text.as_str()) {
                bad.push(format!("{}:{}: {}", file.path, token.line, token.text));
            }
        }
    }
    no_offences("flow/ and action/ must not use pgrx", &bad);
}

#[test]
fn decisions_know_no_clock_and_no_thread() {
    let pattern =
        Regex::new(r"\b(Utc::now|SystemTime::now|Instant::now|std::thread|std::net|std::fs)\b").expect("a pattern");
    let mut bad = Vec::new();
    for file in files(&["src/flow"], &["rs"]) {
        bad.extend(places(&file, &pattern));
    }
    no_offences("flow/ must not read clocks or do I/O", &bad);
}

#[test]
fn sql_lives_under_sql_only() {
    let statement = Regex::new(
        r#"(?ix) ^ [a-z]* \#* " \s* (select \s | insert \s+ into \s | delete \s+ from \s | update \s+ \S+ \s+ set \s
            | with \s+ \w+ \s+ as \s | create \s+ (or \s+ replace \s+)? (table|function|view|index|trigger) \s
            | alter \s+ (table|function) \s | drop \s+ (table|function|view) \s)"#,
    )
    .expect("a pattern");
    let mut bad = Vec::new();
    for file in product().into_iter().filter(|f| f.path.starts_with("src/")) {
        for token in tokens(&file).into_iter().filter(|t| t.is_string && statement.is_match(&t.text)) {
            bad.push(format!("{}:{}: {}", file.path, token.line, token.text));
        }
    }
    no_offences("SQL in Rust strings", &bad);
}

/// Whether an `// INVARIANT:` comment stands right above a line, or above the
/// statement that the line continues.
fn has_reason(file: &File, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut above = line.saturating_sub(1);
    let continues = |text: &str| text.starts_with('.') || text.starts_with(')') || text.starts_with('}');
    while above > 0 && continues(lines[above].trim_start()) {
        above -= 1;
    }
    let comments = lines[..above].iter().rev().take_while(|l| {
        let text = l.trim_start();
        text.starts_with("//") || text.starts_with("#[")
    });
    comments.into_iter().any(|l| l.contains("// INVARIANT:"))
}

#[test]
fn nothing_panics_without_a_reason() {
    let mut bad = Vec::new();
    for file in product() {
        let tokens = tokens(&file);
        let text = |index: usize| tokens.get(index).map_or("", |t| t.text.as_str());
        for (index, token) in tokens.iter().enumerate() {
            let method = text(index.wrapping_sub(1)) == "." && text(index + 1) == "(";
            let named = match token.text.as_str() {
                "unwrap" | "expect" => method,
                "panic" | "todo" | "unimplemented" | "unreachable" => text(index + 1) == "!",
                _ => false,
            };
            if named && !has_reason(&file, token.line) {
                bad.push(format!("{}:{}: {}", file.path, token.line, token.text));
            }
        }
    }
    no_offences("panics without an INVARIANT line above", &bad);
}

#[test]
fn no_test_is_ignored() {
    let pattern = Regex::new(r"^\s*#\[ignore").expect("a pattern");
    let all = files(&["src", "tests", "bench"], &["rs"]);
    let bad: Vec<String> = all.iter().flat_map(|f| places(f, &pattern)).collect();
    no_offences("ignored tests", &bad);
}

#[test]
fn tests_wait_for_conditions_and_not_for_time() {
    let pattern = Regex::new(r"\bsleep\(").expect("a pattern");
    let own = |file: &&File| !file.path.starts_with("tests/src/") && !file.path.starts_with("tests/tidy/");
    let all = files(&["tests", "src/tests"], &["rs"]);
    let bad: Vec<String> = all.iter().filter(own).flat_map(|f| places(f, &pattern)).collect();
    no_offences("bare sleeps", &bad);
}
