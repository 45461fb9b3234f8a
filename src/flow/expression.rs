//! One SQL/JSON path as written inside `${…}` or as a predicate.
//!
//! Paths are never evaluated here, PostgreSQL does that. What is done here needs only a scan that knows quotes: put
//! `$.` in front of a context name, split off the default, see whether many values are meant, refuse what cannot work,
//! and list which members of the context are named. A path with a syntax error passes; PostgreSQL's own parser reports
//! it.

use std::str::CharIndices;

use crate::flow::problem::did_you_mean;

/// The members of the context document.
pub const CONTEXT: [&str; 8] = ["event", "payload", "steps", "instance", "action", "item", "index", "response"];

/// Literals that may be a whole path.
const LITERALS: [&str; 3] = ["true", "false", "null"];

/// Words that test a value.
const PREDICATE_WORDS: [&str; 3] = ["exists", "like_regex", "starts"];

/// A path, ready for PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// SQL/JSON path.
    pub path: String,
    /// Whether its value is the array of all matches: it has `[*]`, `.*`, `.**` or a filter outside quotes.
    pub many: bool,
    /// The template's text as written, for messages.
    pub source: String,
    /// JSON text in place of a missing or null value.
    pub default: Option<String>,
    /// Whether it is a predicate (`when`) and not a template.
    pub predicate: bool,
    /// Where it was first written in the definition (RFC 6901).
    pub pointer: String,
}

/// What PostgreSQL found for an [`Expression`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathValue {
    /// Number of matches.
    pub count: u32,
    /// jsonb text: the array of all matches when `many`, else the first match.
    pub text: Option<String>,
}

/// Why an expression is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// `${}`
    #[error("the template is empty")]
    Empty,
    /// `${secret:NAME}`
    #[error("secrets are not available yet")]
    Secret,
    /// `$name`
    #[error("the path uses the variable \"${0}\", but there are no variables")]
    Variable(String),
    /// A first name that the context does not have.
    #[error("\"{0}\" is not part of the context")]
    UnknownName(String),
    /// A predicate that compares nothing.
    #[error("the path gives a value and is not a predicate")]
    NotPredicate,
    /// Text after `??` that is not JSON.
    #[error("the default after ?? is not a JSON literal: {0}")]
    Default(String),
}

impl ExpressionError {
    /// The problem's code.
    pub fn code(&self) -> &'static str {
        match self {
            ExpressionError::Empty => "empty_template",
            ExpressionError::Secret => "not_available",
            ExpressionError::Variable(_) => "variable",
            ExpressionError::UnknownName(_) => "unknown_name",
            ExpressionError::NotPredicate => "not_a_predicate",
            ExpressionError::Default(_) => "invalid_default",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> Option<String> {
        match self {
            ExpressionError::Empty => {
                Some("write a path, such as ${payload.id}; $${ stands for a literal ${".to_owned())
            }
            ExpressionError::Secret => None,
            ExpressionError::Variable(name) => Some(variable_hint(name)),
            ExpressionError::UnknownName(name) => did_you_mean(name, CONTEXT).or_else(|| Some(context_hint())),
            ExpressionError::NotPredicate => {
                Some("compare the value, as in $.payload.vip == true, or test it with exists (…)".to_owned())
            }
            ExpressionError::Default(_) => Some("write strings in double quotes: ${payload.x ?? \"none\"}".to_owned()),
        }
    }
}

fn variable_hint(name: &str) -> String {
    if CONTEXT.contains(&name) { format!("write $.{name}") } else { context_hint() }
}

fn context_hint() -> String {
    format!("a path starts with one of {}", CONTEXT.join(", "))
}

/// Reads the inside of `${…}`.
pub fn template(inside: &str, pointer: &str) -> Result<Expression, ExpressionError> {
    let source = format!("${{{inside}}}");
    let (path, default) = split_default(inside);
    if path.is_empty() {
        return Err(ExpressionError::Empty);
    }
    if path.starts_with("secret:") {
        return Err(ExpressionError::Secret);
    }
    let path = checked(path)?;
    let default = default.map(json_literal).transpose()?;
    Ok(Expression { many: is_many(&path), path, source, default, predicate: false, pointer: pointer.to_owned() })
}

/// Reads a predicate; it may open with a context name like a template.
pub fn predicate(text: &str, pointer: &str) -> Result<Expression, ExpressionError> {
    let path = text.trim();
    if path.is_empty() {
        return Err(ExpressionError::Empty);
    }
    if !compares(path) {
        return Err(ExpressionError::NotPredicate);
    }
    let (path, source) = (checked(path)?, text.to_owned());
    Ok(Expression { path, many: false, source, default: None, predicate: true, pointer: pointer.to_owned() })
}

fn checked(path: &str) -> Result<String, ExpressionError> {
    if let Some(name) = variable(path) {
        return Err(ExpressionError::Variable(name));
    }
    rooted(path)
}

/// Kept as text, so that a number in it stays as written.
fn json_literal(text: &str) -> Result<String, ExpressionError> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(ExpressionError::Default(text.to_owned())),
    }
}

/// Puts `$.` in front of a path that opens with a member of the context.
fn rooted(path: &str) -> Result<String, ExpressionError> {
    let word = leading_word(path);
    let stands_alone = matches!(path[word.len()..].chars().next(), None | Some('.' | '['));
    if word.is_empty() || !stands_alone || LITERALS.contains(&word) {
        return Ok(path.to_owned());
    }
    if CONTEXT.contains(&word) {
        return Ok(format!("$.{path}"));
    }
    if word.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(path.to_owned());
    }
    Err(ExpressionError::UnknownName(word.to_owned()))
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// Characters of an unquoted SQL/JSON key, near enough.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Splits at the first `??` outside quotes and brackets; both sides trimmed.
fn split_default(inside: &str) -> (&str, Option<&str>) {
    let mut depth = 0_i32;
    let mut previous = None;
    for (at, c) in Outside::of(inside) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '?' if depth == 0 && at > 0 && previous == Some((at - 1, '?')) => {
                return (inside[..at - 1].trim(), Some(inside[at + 1..].trim()));
            }
            _ => {}
        }
        previous = Some((at, c));
    }
    (inside.trim(), None)
}

/// Whether the path is meant to yield many values: a wildcard member or element, or a filter.
fn is_many(path: &str) -> bool {
    let mut previous = ' ';
    for (_, c) in Outside::of(path).filter(|(_, c)| !c.is_whitespace()) {
        if c == '?' || (c == '*' && matches!(previous, '.' | '[')) {
            return true;
        }
        previous = c;
    }
    false
}

/// Whether something is compared or tested outside quotes and filters. Good enough to catch a bare value, which
/// PostgreSQL would take for unknown in silence.
fn compares(path: &str) -> bool {
    let bare = outside_filters(path);
    let mut words = bare.split(|c: char| !is_word(c) && c != '.');
    bare.contains(['<', '>', '=', '!', '&', '|']) || words.any(|word| PREDICATE_WORDS.contains(&word))
}

/// The path without what is inside quotes or the parentheses of a filter.
fn outside_filters(path: &str) -> String {
    let (mut depth, mut filter) = (0_usize, false);
    let kept = |(_, c): (usize, char)| {
        let inside = depth > 0;
        match c {
            '(' if inside || filter => depth += 1,
            ')' if inside => depth -= 1,
            _ => {}
        }
        filter = c == '?' || (filter && c.is_whitespace());
        (!inside).then_some(c)
    };
    Outside::of(path).filter_map(kept).collect()
}

/// The first `$name` or `$"name"` outside quotes.
fn variable(path: &str) -> Option<String> {
    roots(path).find_map(|rest| match rest.chars().next()? {
        '"' => Some(quoted_name(rest)?.0),
        first if is_word(first) => Some(leading_word(rest).to_owned()),
        _ => None,
    })
}

/// What follows each `$` outside quotes.
fn roots(path: &str) -> impl Iterator<Item = &str> {
    Outside::of(path).filter(|(_, c)| *c == '$').map(|(at, _)| &path[at + 1..])
}

/// The member names that follow each `$` of the path, as far as they can be seen: `$.steps.a.output` gives
/// `["steps", "a", "output"]`; the list ends at the first accessor that is not a plain member.
pub fn references(path: &str) -> Vec<Vec<String>> {
    roots(path).map(members).collect()
}

fn members(mut rest: &str) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(after_dot) = rest.trim_start().strip_prefix('.') {
        let Some((name, after)) = member(after_dot.trim_start()) else { break };
        if after.trim_start().starts_with('(') {
            break;
        }
        names.push(name);
        rest = after;
    }
    names
}

fn member(text: &str) -> Option<(String, &str)> {
    if text.starts_with('"') {
        return quoted_name(text);
    }
    let word = leading_word(text);
    (!word.is_empty()).then(|| (word.to_owned(), &text[word.len()..]))
}

/// Reads a quoted name at the start of `text`; None when the quote does not end or holds an escape JSON does not know.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let name = names.next()?.ok()?;
    let end = names.byte_offset();
    Some((name, &text[end..]))
}

/// The end of a template whose inside starts at the beginning of `text`: the position of the `}` that is neither inside
/// quotes nor closes a `{` of the inside (`.**{2}`, a default object).
pub fn template_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in Outside::of(text) {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The characters of a path that are not inside quotes, with their positions. The opening quote is given, the rest of
/// the string is not; a backslash hides the character after it.
struct Outside<'a> {
    chars: CharIndices<'a>,
    quoted: bool,
}

impl<'a> Outside<'a> {
    fn of(text: &'a str) -> Self {
        Outside { chars: text.char_indices(), quoted: false }
    }
}

impl Iterator for Outside<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (at, c) = self.chars.next()?;
            match c {
                '\\' => {
                    self.chars.next();
                }
                '"' if self.quoted => self.quoted = false,
                _ if self.quoted => {}
                _ => {
                    self.quoted = c == '"';
                    return Some((at, c));
                }
            }
        }
    }
}
