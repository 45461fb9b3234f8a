//! Reading the members of a JSON object with complaints: type, range and spelling.
//!
//! A getter gives None both for a missing member and for a bad one; a bad one has left a problem behind, which refuses
//! the definition, so the caller may go on with any stand-in.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::flow::problem::{Problem, did_you_mean, pointer_to};

/// Longest name that users give to things other than actions, in bytes.
pub(super) const LONGEST_LABEL: usize = 255;

/// Longest time for one attempt: a day.
const LONGEST_ATTEMPT_MS: i64 = 86_400_000;

/// One object of the definition and its place.
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    place: String,
}

impl<'a> Fields<'a> {
    /// The object at `place`; anything but an object is a problem.
    pub fn of(value: &'a Value, place: String, problems: &mut Vec<Problem>) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Fields { object, place }),
            _ => {
                problems.push(Problem::error(place, "wrong_type", "this must be an object"));
                None
            }
        }
    }

    /// The pointer of the object.
    pub fn place(&self) -> String {
        self.place.clone()
    }

    /// The pointer of a member.
    pub fn pointer(&self, key: &str) -> String {
        pointer_to(&self.place, key)
    }

    /// A member as it is.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key)
    }

    /// All members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.iter()
    }

    /// A member that must be there.
    pub fn required(&self, key: &str, problems: &mut Vec<Problem>) -> Option<&'a Value> {
        let value = self.get(key);
        if value.is_none() {
            problems.push(self.missing(key));
        }
        value
    }

    /// The complaint about a member that must be there and is not; it points to the object.
    pub fn missing(&self, key: &str) -> Problem {
        Problem::error(self.place.clone(), "missing_key", format!("\"{key}\" is missing"))
    }

    /// Complains about every member that is not `known`; `advice` may have a better hint than the nearest spelling.
    pub fn refuse_unknown(&self, known: &[&str], advice: impl Fn(&str) -> Option<String>, problems: &mut Vec<Problem>) {
        for key in self.object.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = advice(key).or_else(|| did_you_mean(key, known.iter().copied()));
            let problem = Problem::error(self.pointer(key), "unknown_key", format!("unknown key \"{key}\""));
            problems.push(problem.maybe_hint(hint));
        }
    }

    /// Complains about members that a later release will know.
    pub fn refuse_later(&self, later: &[&str], problems: &mut Vec<Problem>) {
        for key in later.iter().filter(|key| self.object.contains_key(**key)) {
            let message = format!("\"{key}\" is not available yet");
            problems.push(Problem::error(self.pointer(key), "not_available", message));
        }
    }

    /// A string.
    pub fn text(&self, key: &str, problems: &mut Vec<Problem>) -> Option<&'a str> {
        let value = self.get(key)?;
        value.as_str().or_else(|| self.wrong_type(key, "a string", problems))
    }

    /// A name of 1–255 bytes without control characters.
    pub fn label(&self, key: &str, problems: &mut Vec<Problem>) -> Option<String> {
        let text = self.text(key, problems)?;
        if (1..=LONGEST_LABEL).contains(&text.len()) && !text.chars().any(char::is_control) {
            return Some(text.to_owned());
        }
        let message = format!("\"{key}\" must have 1 to {LONGEST_LABEL} bytes and no control characters");
        problems.push(Problem::error(self.pointer(key), "invalid_name", message));
        None
    }

    /// One of these words, as what it stands for.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&str, T)], problems: &mut Vec<Problem>) -> Option<T> {
        let text = self.text(key, problems)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let known = words.iter().map(|(word, _)| *word);
            let message = format!("\"{key}\" is {}", alternatives(known.clone()));
            let problem = Problem::error(self.pointer(key), "invalid_value", message);
            problems.push(problem.maybe_hint(did_you_mean(text, known)));
        }
        found
    }

    /// The one of these members that is there; none and several are a problem.
    pub fn exactly_one<'k>(&self, keys: &[&'k str], problems: &mut Vec<Problem>) -> Option<&'k str> {
        let mut stated = keys.iter().filter(|key| self.object.contains_key(**key));
        match (stated.next(), stated.next()) {
            (Some(key), None) => Some(key),
            (Some(_), Some(second)) => {
                let message = format!("only one of {} may be stated", alternatives(keys.iter().copied()));
                problems.push(Problem::error(self.pointer(second), "conflicting_keys", message));
                None
            }
            (None, _) => {
                let message = format!("{} is missing", alternatives(keys.iter().copied()));
                problems.push(Problem::error(self.place.clone(), "missing_key", message));
                None
            }
        }
    }

    /// The time for one attempt, or a part of it, in milliseconds.
    pub fn milliseconds(&self, key: &str, problems: &mut Vec<Problem>) -> Option<u32> {
        self.integer(key, 1..=LONGEST_ATTEMPT_MS, problems).and_then(|ms| u32::try_from(ms).ok())
    }

    /// True or false.
    pub fn boolean(&self, key: &str, problems: &mut Vec<Problem>) -> Option<bool> {
        let value = self.get(key)?;
        value.as_bool().or_else(|| self.wrong_type(key, "true or false", problems))
    }

    /// An array.
    pub fn list(&self, key: &str, problems: &mut Vec<Problem>) -> Option<&'a [Value]> {
        let value = self.get(key)?;
        value.as_array().map(Vec::as_slice).or_else(|| self.wrong_type(key, "an array", problems))
    }

    /// A member object.
    pub fn fields(&self, key: &str, problems: &mut Vec<Problem>) -> Option<Fields<'a>> {
        Fields::of(self.get(key)?, self.pointer(key), problems)
    }

    /// A whole number in `range`; `3000.0` is one.
    pub fn integer(&self, key: &str, range: RangeInclusive<i64>, problems: &mut Vec<Problem>) -> Option<i64> {
        let Some(number) = self.get(key)?.as_number() else {
            return self.wrong_type(key, "a whole number", problems);
        };
        let whole = number.as_i64().or_else(|| number.as_f64().and_then(whole));
        self.in_range(key, whole, &range, "a whole number", problems)
    }

    /// A number in `range`.
    pub fn number(&self, key: &str, range: RangeInclusive<f64>, problems: &mut Vec<Problem>) -> Option<f64> {
        let Some(number) = self.get(key)?.as_number() else {
            return self.wrong_type(key, "a number", problems);
        };
        self.in_range(key, number.as_f64(), &range, "a number", problems)
    }

    fn in_range<T: PartialOrd + std::fmt::Display>(
        &self,
        key: &str,
        number: Option<T>,
        range: &RangeInclusive<T>,
        kind: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        let accepted = number.filter(|number| range.contains(number));
        if accepted.is_none() {
            let message = format!("\"{key}\" must be {kind} from {} to {}", range.start(), range.end());
            problems.push(Problem::error(self.pointer(key), "out_of_range", message));
        }
        accepted
    }

    fn wrong_type<T>(&self, key: &str, wanted: &str, problems: &mut Vec<Problem>) -> Option<T> {
        let message = format!("\"{key}\" must be {wanted}");
        problems.push(Problem::error(self.pointer(key), "wrong_type", message));
        None
    }
}

/// `"a", "b" or "c"`
fn alternatives<'k>(words: impl Iterator<Item = &'k str>) -> String {
    let mut quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    match quoted.pop() {
        Some(last) if !quoted.is_empty() => format!("{} or {last}", quoted.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// A float that is a whole number without loss.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}
