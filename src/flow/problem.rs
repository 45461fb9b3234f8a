//! What is wrong with a definition, said so that its author can mend it.
//!
//! A problem names its place (RFC 6901 JSON pointer into the definition), a stable code for programs, a message in
//! PostgreSQL's style (lower case, no full stop) and, where there is one, the remedy. It never holds a secret: a
//! definition must not contain one.

/// Whether a definition with this problem can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The definition is refused.
    Error,
    /// The definition is accepted; the author should look again.
    Warning,
}

impl Severity {
    /// The word that `validate_workflow` shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One finding in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether the finding refuses the definition.
    pub severity: Severity,
    /// RFC 6901 pointer to the value at fault; empty = the whole document.
    pub pointer: String,
    /// Stable name of the kind of mistake, `[a-z_]+`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A finding that refuses the definition.
    pub fn error(pointer: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Problem { severity: Severity::Error, pointer: pointer.into(), code, message: message.into(), hint: None }
    }

    /// A finding that the author should know but that refuses nothing.
    pub fn warning(pointer: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Problem { severity: Severity::Warning, ..Problem::error(pointer, code, message) }
    }

    /// The same finding with a remedy.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Problem { hint: Some(hint.into()), ..self }
    }

    /// The same finding with a remedy, if there is one.
    pub fn maybe_hint(self, hint: Option<String>) -> Self {
        Problem { hint: hint.or(self.hint), ..self }
    }
}

/// The pointer of `key` (a member name or an array index) inside the value at `parent` (RFC 6901 section 3).
pub fn pointer_to(parent: &str, key: impl std::fmt::Display) -> String {
    let key = key.to_string().replace('~', "~0").replace('/', "~1");
    format!("{parent}/{key}")
}

/// The candidate that `word` was most likely meant to be, if one is near enough to be worth naming.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean …?" for [`nearest`].
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean \"{candidate}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_slash_and_tilde() {
        assert_eq!(pointer_to("", "a/b~c"), "/a~1b~0c");
        assert_eq!(pointer_to("/actions", 3), "/actions/3");
    }

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        let known = ["timeoutMs", "url", "method"];
        assert_eq!(nearest("timeoutMS", known), Some("timeoutMs"));
        assert_eq!(nearest("timeuotMs", known), Some("timeoutMs"));
        assert_eq!(nearest("urll", known), Some("url"));
        assert_eq!(nearest("beanClass", known), None);
    }

    #[test]
    fn a_very_long_word_is_no_trouble() {
        assert_eq!(nearest(&"x".repeat(5_000), ["url"]), None);
    }
}
