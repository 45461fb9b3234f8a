//! The table of figures, on the terminal and in `bench/RESULTS.md`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::figure::{Figure, Mark};

/// A number with as many digits as it is worth.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => thousands(value.round() as i64),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn thousands(value: i64) -> String {
    let digits = value.abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

fn mark(mark: &Mark) -> String {
    match mark {
        Mark::AtLeast(bound) => format!("≥ {}", number(*bound)),
        Mark::AtMost(bound) => format!("≤ {}", number(*bound)),
        Mark::RatioAtLeast(bound) => format!("≥ {} × reference", number(*bound)),
    }
}

/// One row: figure, value, reference, ratio, mark, verdict.
fn row(figure: &Figure) -> [String; 6] {
    let reference = figure.reference.as_ref();
    let marks: Vec<String> = figure.marks.iter().map(mark).collect();
    [
        figure.name.clone(),
        format!("{} {}", number(figure.value), figure.unit),
        reference.map_or(String::new(), |(name, value)| format!("{} ({name})", number(*value))),
        figure.ratio().map_or(String::new(), number),
        marks.join(", "),
        figure.is_kept().map_or("", |kept| if kept { "yes" } else { "NO" }).to_owned(),
    ]
}

const HEAD: [&str; 6] = ["figure", "rea", "reference", "ratio", "mark", "kept"];

/// The figures as a Markdown table.
pub fn table(figures: &[Figure]) -> String {
    let mut text = format!("| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for figure in figures {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} |", row(figure).join(" | "));
    }
    text
}

/// Writes the results file.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, conditions: &str, figures: &[Figure]) -> Result<()> {
    let text = format!(
        "# Results\n\nMade by `make bench`; see that for how. Trust the ratios more than the numbers.\n\n\
         {conditions}\n{}",
        table(figures)
    );
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

/// Processor and memory of this machine.
pub fn machine() -> String {
    let value = |path: &str, key: &str| -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = value("/proc/meminfo", "MemTotal").unwrap_or_default();
    format!("{cores} cores of {model}, {memory} memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        assert_eq!(number(0.456), "0.46");
        assert_eq!(number(45.67), "45.7");
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(-1_000.0), "-1,000");
    }

    #[test]
    fn a_row_shows_reference_ratio_and_verdict() {
        let figure = Figure::new("f", 30.0, "/s").beside("r", 20.0).mark(Mark::RatioAtLeast(2.0));
        let text = table(&[figure]);
        assert!(text.contains("| f | 30.0 /s | 20.0 (r) | 1.50 | ≥ 2.00 × reference | NO |"), "{text}");
    }
}
