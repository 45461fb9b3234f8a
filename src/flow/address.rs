//! Web addresses: what a definition may state, and how values get into them.
//!
//! A value can never move a request to another host: it is percent-encoded, stands behind the authority, and may not
//! become a dot segment. Only a URL that is one template as a whole is free to name any http(s) host; the egress rules
//! judge that one when it is connected.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::template::{Piece, Text, plain, render_text, value};

/// Everything but the unreserved characters of RFC 3986 section 2.3.
const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest URL that is sent, in bytes.
pub const LONGEST_URL: usize = 15_000;

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Known in full.
    Fixed {
        /// The normalised URL.
        url: String,
        /// `scheme://host:port`
        origin: String,
    },
    /// Host known, templates in the path or query.
    Templated {
        /// The URL as written.
        text: Text,
        /// `scheme://host:port`
        origin: String,
    },
    /// One template gives the whole URL; index of its expression.
    Whole(usize),
}

/// A URL ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The normalised URL.
    pub url: String,
    /// `scheme://host:port`
    pub origin: String,
}

/// Why an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not of the form `http://host…`.
    #[error("the URL is not an absolute http or https URL")]
    NotAbsolute,
    /// The URL parser's own complaint.
    #[error("the URL is not valid: {0}")]
    Invalid(url::ParseError),
    /// `user:password@host`
    #[error("the URL holds a user name or password")]
    UserInfo,
    /// `#…`
    #[error("the URL has a fragment")]
    Fragment,
    /// A control character or a backslash, which URL parsers drop or rewrite without a word.
    #[error("the URL holds a control character or a backslash")]
    Character,
    /// A template before the end of the authority.
    #[error("a template may not supply scheme, host or port")]
    Authority,
    /// `.` or `..` as a path segment, with templates in the URL.
    #[error("a path segment of the URL is \".\" or \"..\"")]
    DotSegment,
    /// Over [`LONGEST_URL`].
    #[error("the URL is longer than {LONGEST_URL} bytes")]
    TooLong,
}

impl AddressError {
    /// The remedy.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            AddressError::NotAbsolute => Some("write it as https://host/path"),
            AddressError::UserInfo => Some("send credentials in \"headers\""),
            AddressError::Fragment => Some("a fragment is never sent; write # as %23"),
            AddressError::Character => Some("percent-encode it"),
            AddressError::Authority => {
                Some("let templates begin after the \"/\" or \"?\" behind the host, or make the whole URL one template")
            }
            AddressError::Invalid(_) | AddressError::DotSegment | AddressError::TooLong => None,
        }
    }

    fn failure(&self) -> Failure {
        Failure::permanent("invalid_url", self.to_string())
    }
}

impl Address {
    /// Checks the `url` of a definition.
    pub fn compile(text: Text) -> Result<Address, AddressError> {
        match text.pieces.as_slice() {
            [Piece::Value(index)] => Ok(Address::Whole(*index)),
            [Piece::Fixed(fixed)] => {
                let url = checked(fixed)?;
                Ok(Address::Fixed { origin: origin(&url), url: url.into() })
            }
            _ => Self::compile_templated(text),
        }
    }

    fn compile_templated(text: Text) -> Result<Address, AddressError> {
        if !matches!(text.pieces.first(), Some(Piece::Fixed(start)) if authority_ends(start)) {
            return Err(AddressError::Authority);
        }
        let sample: String = text.pieces.iter().map(sample).collect();
        let url = checked(&sample)?;
        refuse_dot_segments(&sample)?;
        Ok(Address::Templated { origin: origin(&url), text })
    }

    /// Fills in the values and appends `query`.
    ///
    /// Errors: `invalid_url` and those of [`value`]; all permanent.
    pub fn render(
        &self,
        query: &[(String, Text)],
        values: &[PathValue],
        paths: &[Expression],
    ) -> Result<Target, Failure> {
        let mut url = match self {
            Address::Fixed { url, origin } if query.is_empty() => {
                return Ok(Target { url: url.clone(), origin: origin.clone() });
            }
            Address::Fixed { url, .. } => checked(url).map_err(|error| error.failure())?,
            Address::Templated { text, origin } => templated(text, origin, values, paths)?,
            Address::Whole(index) => whole(value(*index, values, paths)?)?,
        };
        append(&mut url, query, values, paths)?;
        if url.as_str().len() > LONGEST_URL {
            return Err(AddressError::TooLong.failure());
        }
        Ok(Target { origin: origin(&url), url: url.into() })
    }
}

fn templated(text: &Text, stated: &str, values: &[PathValue], paths: &[Expression]) -> Result<Url, Failure> {
    let rendered = render_text(text, values, paths, percent_encode)?;
    refuse_dot_segments(&rendered).map_err(|error| error.failure())?;
    let url = checked(&rendered).map_err(|error| error.failure())?;
    if origin(&url) != stated {
        return Err(AddressError::Authority.failure());
    }
    Ok(url)
}

/// A URL that is one value. Its fragment, which is never sent, is dropped.
fn whole(json: &str) -> Result<Url, Failure> {
    if !json.starts_with('"') {
        return Err(AddressError::NotAbsolute.failure());
    }
    let text = plain(json);
    let without_fragment = text.split_once('#').map_or(&*text, |(before, _)| before);
    checked(without_fragment).map_err(|error| error.failure())
}

fn append(url: &mut Url, query: &[(String, Text)], values: &[PathValue], paths: &[Expression]) -> Result<(), Failure> {
    if query.is_empty() {
        return Ok(());
    }
    let mut all = url.query().unwrap_or_default().to_owned();
    for (name, text) in query {
        if !all.is_empty() && !all.ends_with('&') {
            all.push('&');
        }
        let plain_text = render_text(text, values, paths, |value, out| out.push_str(value))?;
        percent_encode(name, &mut all);
        all.push('=');
        percent_encode(&plain_text, &mut all);
    }
    url.set_query(Some(&all));
    Ok(())
}

fn percent_encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, NOT_UNRESERVED));
}

fn sample(piece: &Piece) -> &str {
    match piece {
        Piece::Fixed(text) => text,
        Piece::Value(_) => "x",
    }
}

/// The authority of `http://authority…` and what follows it; None for any other form. Stricter than the URL parser,
/// which would take `http:///path` for the host `path`.
fn authority(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (web && end > 0).then(|| rest.split_at(end))
}

fn authority_ends(text: &str) -> bool {
    authority(text).is_some_and(|(_, rest)| !rest.is_empty())
}

fn checked(text: &str) -> Result<Url, AddressError> {
    if text.chars().any(|c| c.is_control() || c == '\\') {
        return Err(AddressError::Character);
    }
    let (authority, _) = authority(text).ok_or(AddressError::NotAbsolute)?;
    if authority.contains('@') {
        return Err(AddressError::UserInfo);
    }
    let url = Url::parse(text).map_err(AddressError::Invalid)?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(AddressError::NotAbsolute);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(AddressError::Fragment);
    }
    if url.as_str().len() > LONGEST_URL {
        return Err(AddressError::TooLong);
    }
    Ok(url)
}

/// URL parsers resolve `..` even when it is percent-encoded, so a value cannot be escaped into a plain segment:
/// refused.
fn refuse_dot_segments(text: &str) -> Result<(), AddressError> {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let dotted = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    if path.split('/').any(dotted) { Err(AddressError::DotSegment) } else { Ok(()) }
}

/// `scheme://host:port`, the port always written.
fn origin(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default())
}
