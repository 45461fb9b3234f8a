//! Numbers: which decimals a Luau number holds without changing them.
//!
//! A decimal becomes a Luau number (an f64) only if that number's shortest decimal has the same value; so it comes out
//! as it went in. Any other is kept as text. Pure.

/// The f64 for a JSON number, if it says the same.
pub(super) fn as_f64(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    // Up to fifteen digits without exponent always survive.
    if text.len() <= 15 && !text.contains(['e', 'E']) {
        return Some(number);
    }
    (Decimal::of(text)? == Decimal::of(&format!("{number:e}"))?).then_some(number)
}

/// The JSON text of a finite f64: its shortest decimal.
pub(super) fn text_of(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let size = number.abs();
    if (1e-7..1e21).contains(&size) { format!("{number}") } else { format!("{number:e}") }
}

/// Whether a text is a number as JSON writes it.
pub(super) fn is_json_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<serde_json::Number>(text).is_ok()
        && !text.ends_with(char::is_whitespace)
}

/// Whether PostgreSQL's numeric surely has room for a JSON number (131072 digits before the point, 16383 after it).
pub(super) fn fits_numeric(text: &str) -> bool {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    digits.len() <= 16_000 && exponent.parse::<i64>().is_ok_and(|exponent| exponent.abs() <= 16_000)
}

/// Sign, digits without zeros at either end, and the place of the point: equal exactly for equal values.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    /// The value is 0.DIGITS × 10^exponent.
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Option<Decimal> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = all.iter().take_while(|digit| **digit == b'0').count();
        let trailing = all[leading..].iter().rev().take_while(|digit| **digit == b'0').count();
        let digits = all[leading..all.len() - trailing].to_vec();
        if digits.is_empty() {
            return Some(Decimal { negative: false, digits, exponent: 0 });
        }
        let exponent = exponent.checked_add(whole.len() as i64)?.checked_sub(leading as i64)?;
        Some(Decimal { negative, digits, exponent })
    }
}

/// Whether two JSON numbers have the same value.
pub(super) fn same_value(one: &str, other: &str) -> bool {
    match (Decimal::of(one), Decimal::of(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}
