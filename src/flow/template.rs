//! Templates, compiled: what is fixed and where values go.
//!
//! Values come from PostgreSQL as jsonb text and are spliced as they are; a number never passes through a Rust number.
//! Text from a payload is never looked at for templates again: compiling happens once, before any value is known.

use std::borrow::Cow;

use crate::flow::expression::{Expression, PathValue, template_end};
use crate::flow::outcome::Failure;

/// A JSON document with templates in it, flat: rendering is one pass over the segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    pub(crate) segments: Vec<Segment>,
}

/// A part of a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// JSON text as it is.
    Fixed(String),
    /// A string that was exactly one template: the value keeps its type.
    Value(usize),
    /// A template inside a JSON string: the value as text, escaped for JSON, without quotes.
    InString(usize),
}

impl Template {
    /// Appends JSON text, joined with fixed text before it.
    pub(crate) fn push_fixed(&mut self, json: &str) {
        match self.segments.last_mut() {
            Some(Segment::Fixed(text)) => text.push_str(json),
            _ => self.segments.push(Segment::Fixed(json.to_owned())),
        }
    }

    /// Number of elements, if it is an array.
    pub(crate) fn array_length(&self) -> Option<usize> {
        let stand_in = |segment: &Segment| match segment {
            Segment::Fixed(text) => text.clone(),
            Segment::Value(_) => "null".to_owned(),
            Segment::InString(_) => String::new(),
        };
        let text: String = self.segments.iter().map(stand_in).collect();
        serde_json::from_str::<Vec<serde::de::IgnoredAny>>(&text).ok().map(|elements| elements.len())
    }

    /// Appends a JSON string made of `pieces`; exactly one template keeps its type.
    pub(crate) fn push_string(&mut self, pieces: &[Piece]) {
        if let [Piece::Value(index)] = pieces {
            return self.segments.push(Segment::Value(*index));
        }
        self.push_fixed("\"");
        for piece in pieces {
            match piece {
                Piece::Fixed(text) => self.push_fixed(&escaped(text)),
                Piece::Value(index) => self.segments.push(Segment::InString(*index)),
            }
        }
        self.push_fixed("\"");
    }
}

/// Plain text with templates in it: a URL, a header, a query parameter, a text body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    pub(crate) pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text as it is.
    Fixed(String),
    /// The value of an expression.
    Value(usize),
}

impl Text {
    /// Text without templates.
    pub fn fixed(text: impl Into<String>) -> Self {
        Text { pieces: vec![Piece::Fixed(text.into())] }
    }

    /// The whole text, if it has no templates.
    pub(crate) fn as_fixed(&self) -> Option<String> {
        let is_fixed = |piece: &Piece| matches!(piece, Piece::Fixed(_));
        self.pieces.iter().all(is_fixed).then(|| self.fixed_parts().collect())
    }

    /// The fixed parts, in order.
    pub(crate) fn fixed_parts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Fixed(text) => Some(text.as_str()),
            Piece::Value(_) => None,
        })
    }
}

/// A part of a string as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Literal text, `$${` already turned into `${`.
    Literal(String),
    /// The inside of `${…}`.
    Template(&'a str),
}

/// A `${` without its `}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template \"{0}\" has no end")]
pub struct Unclosed(String);

/// Splits a string as written into literal text and templates. The empty string is one empty literal.
pub fn split(text: &str) -> Result<Vec<Part<'_>>, Unclosed> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$${") {
            literal.push_str("${");
            rest = after;
        } else if let Some(inside) = rest.strip_prefix("${") {
            let end = template_end(inside).ok_or_else(|| Unclosed(rest.chars().take(60).collect()))?;
            push_literal(&mut parts, &mut literal);
            parts.push(Part::Template(&inside[..end]));
            rest = &inside[end + 1..];
        } else {
            literal.push('$');
            rest = &rest[1..];
        }
    }
    literal.push_str(rest);
    push_literal(&mut parts, &mut literal);
    if parts.is_empty() {
        parts.push(Part::Literal(String::new()));
    }
    Ok(parts)
}

fn push_literal<'a>(parts: &mut Vec<Part<'a>>, literal: &mut String) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal)));
    }
}

/// Renders a JSON document.
///
/// Errors: `missing_value`, `many_values` and whatever [`value`] says; all permanent.
pub fn render_json(template: &Template, values: &[PathValue], paths: &[Expression]) -> Result<String, Failure> {
    let mut json = String::new();
    for segment in &template.segments {
        match segment {
            Segment::Fixed(text) => json.push_str(text),
            Segment::Value(index) => json.push_str(value(*index, values, paths)?),
            Segment::InString(index) => json.push_str(&string_content(value(*index, values, paths)?)),
        }
    }
    Ok(json)
}

/// Renders text; `write` says how a value (already plain text) is written, for example percent-encoded.
pub fn render_text(
    text: &Text,
    values: &[PathValue],
    paths: &[Expression],
    write: impl Fn(&str, &mut String),
) -> Result<String, Failure> {
    let mut rendered = String::new();
    for piece in &text.pieces {
        match piece {
            Piece::Fixed(fixed) => rendered.push_str(fixed),
            Piece::Value(index) => write(&plain(value(*index, values, paths)?), &mut rendered),
        }
    }
    Ok(rendered)
}

/// The JSON text of one value, its default taken where it is missing or null.
///
/// Errors: `missing_value` without a match and without a default; `many_values` when a path that means one value has
/// matched several; `expression` when there is no value at this place, which is a mistake of the caller.
pub fn value<'a>(index: usize, values: &'a [PathValue], paths: &'a [Expression]) -> Result<&'a str, Failure> {
    let (Some(found), Some(path)) = (values.get(index), paths.get(index)) else {
        return Err(Failure::permanent("expression", format!("the value of template {index} was not computed")));
    };
    if path.many {
        return Ok(found.text.as_deref().unwrap_or("[]"));
    }
    if found.count > 1 {
        return Err(many_values(path, found.count));
    }
    let text = found.text.as_deref().filter(|_| found.count == 1);
    match (text, path.default.as_deref()) {
        (None | Some("null"), Some(default)) => Ok(default),
        (Some(text), _) => Ok(text),
        (None, None) => Err(Failure::permanent("missing_value", format!("{} has no value", path.source))),
    }
}

fn many_values(path: &Expression, count: u32) -> Failure {
    let message = format!("{} gives {count} values where one is meant; use [*] for the array of all", path.source);
    Failure::permanent("many_values", message)
}

/// A JSON value as plain text: a string is what it says, anything else is its JSON text.
pub(crate) fn plain(json: &str) -> Cow<'_, str> {
    if !json.starts_with('"') {
        return Cow::Borrowed(json);
    }
    // A string without escapes is the common case and needs no copy.
    if let Some(inner) = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
        && !inner.contains('\\')
    {
        return Cow::Borrowed(inner);
    }
    serde_json::from_str::<String>(json).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// A JSON value as the inside of a JSON string: a string's own escapes are kept, anything else is escaped.
fn string_content(json: &str) -> Cow<'_, str> {
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Owned(escaped(json)),
    }
}

/// `text` escaped for the inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
