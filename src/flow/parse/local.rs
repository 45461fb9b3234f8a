//! Reading the `config` of a `local` action: a call of an SQL function.

use crate::flow::parse::action::FUNCTION_HINT;
use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::Templates;
use crate::flow::perform::{LocalAction, LocalCall};
use crate::flow::problem::Problem;
use crate::flow::template::Template;

/// Most arguments of a function (FUNC_MAX_ARGS).
const MOST_ARGUMENTS: usize = 100;

/// Longest identifier in bytes (NAMEDATALEN - 1).
const LONGEST_IDENTIFIER: usize = 63;

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<LocalAction> {
    let function = function(config, problems);
    let args = arguments(config, templates, problems);
    let timeout_ms = config.milliseconds("timeoutMs", problems);
    let (schema, name) = function?;
    Some(LocalAction { call: LocalCall::Function { schema, name, args }, timeout_ms })
}

fn function(config: &Fields, problems: &mut Vec<Problem>) -> Option<(String, String)> {
    if config.get("function").is_none() {
        problems.push(config.missing("function").hint(FUNCTION_HINT));
        return None;
    }
    let text = config.text("function", problems)?;
    let parts = qualified_name(text);
    if parts.is_none() {
        let message = "\"function\" must be a function's name with its schema, without arguments";
        let problem = Problem::error(config.pointer("function"), "invalid_function", message);
        problems.push(problem.hint("for example \"app.send_message\", or with quotes as in SQL \"\\\"App\\\".send\""));
    }
    parts
}

fn arguments(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<Template> {
    let list = config.list("args", problems)?;
    if list.len() > MOST_ARGUMENTS {
        let message = format!("a function has at most {MOST_ARGUMENTS} arguments");
        problems.push(Problem::error(config.pointer("args"), "out_of_range", message));
    }
    Some(templates.json(config.get("args")?, &config.pointer("args"), problems))
}

/// `schema.name` by the rules of SQL identifiers: what is not quoted is folded to lower case.
fn qualified_name(text: &str) -> Option<(String, String)> {
    let (schema, rest) = identifier(text.trim())?;
    let (name, rest) = identifier(rest.strip_prefix('.')?)?;
    rest.is_empty().then_some((schema, name))
}

/// The identifier at the start of `text`, and what follows it.
fn identifier(text: &str) -> Option<(String, &str)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(inside) => quoted(inside)?,
        None => bare(text),
    };
    let fits = (1..=LONGEST_IDENTIFIER).contains(&name.len()) && !name.contains('\0');
    fits.then_some((name, rest))
}

/// Up to the closing quote; a doubled quote is one.
fn quoted(mut text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    loop {
        let end = text.find('"')?;
        name.push_str(&text[..end]);
        text = &text[end + 1..];
        match text.strip_prefix('"') {
            Some(rest) => text = rest,
            None => return Some((name, text)),
        }
        name.push('"');
    }
}

/// PostgreSQL folds ASCII letters only where an encoding has several bytes.
fn bare(text: &str) -> (String, &str) {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let goes_on = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
    let end = match text.chars().next() {
        Some(first) if starts(first) => text.find(|c| !goes_on(c)).unwrap_or(text.len()),
        _ => 0,
    };
    (text[..end].to_ascii_lowercase(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::qualified_name;

    #[test]
    fn names_follow_the_rules_of_sql() {
        let name = |text| qualified_name(text).map(|(schema, name)| format!("{schema}|{name}"));
        assert_eq!(name("app.send_message").as_deref(), Some("app|send_message"));
        assert_eq!(name("App.Send").as_deref(), Some("app|send"));
        assert_eq!(name("\"App\".\"a.b\"\"c\"").as_deref(), Some("App|a.b\"c"));
        assert_eq!(name("ä.ö$1").as_deref(), Some("ä|ö$1"));
        for refused in ["", "send", "a.b.c", "a.", ".b", "a. b", "1a.b", "a.b()", "\"a.b", "\"\".b", "a.b;c", "a-b.c"] {
            assert_eq!(name(refused), None, "{refused}");
        }
        assert_eq!(name(&format!("a.{}", "x".repeat(64))), None);
    }
}
