//! One measured number, what it is compared with, and what it should reach.

/// The bound that a figure should keep.
#[derive(Clone, Copy)]
pub enum Mark {
    /// The value should not be smaller.
    AtLeast(f64),
    /// The value should not be larger.
    AtMost(f64),
    /// Value divided by reference should not be smaller.
    RatioAtLeast(f64),
}

/// A measured number.
pub struct Figure {
    /// What was measured, with what a reader must know about the conditions.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What stands beside it, measured in the same run.
    pub reference: Option<(String, f64)>,
    /// What it should reach.
    pub marks: Vec<Mark>,
}

impl Figure {
    /// A number by itself.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, reference: None, marks: Vec::new() }
    }

    /// Adds what the number is compared with.
    pub fn beside(mut self, name: impl Into<String>, value: f64) -> Self {
        self.reference = Some((name.into(), value));
        self
    }

    /// Adds a bound.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Value divided by reference.
    pub fn ratio(&self) -> Option<f64> {
        self.reference.as_ref().map(|(_, reference)| self.value / reference)
    }

    /// Whether every mark is kept; `None` when there is none.
    pub fn is_kept(&self) -> Option<bool> {
        let kept = |mark: &Mark| match mark {
            Mark::AtLeast(bound) => self.value >= *bound,
            Mark::AtMost(bound) => self.value <= *bound,
            Mark::RatioAtLeast(bound) => self.ratio().is_some_and(|ratio| ratio >= *bound),
        };
        (!self.marks.is_empty()).then(|| self.marks.iter().all(kept))
    }
}

/// The value below which the given share (0–1) of the samples lies.
pub fn percentile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    samples.get(index).copied().unwrap_or(f64::NAN)
}

/// The median.
pub fn median(samples: &mut [f64]) -> f64 {
    percentile(samples, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_samples_are_samples() {
        let mut samples = [3.0, 1.0, 2.0];
        assert_eq!(median(&mut samples), 2.0);
        assert_eq!(percentile(&mut samples, 0.99), 3.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_figure_keeps_all_its_marks_or_none() {
        let figure = Figure::new("f", 10.0, "/s").beside("r", 8.0);
        assert_eq!(figure.is_kept(), None);
        let figure = figure.mark(Mark::AtLeast(10.0)).mark(Mark::RatioAtLeast(1.2));
        assert_eq!(figure.is_kept(), Some(true));
        assert_eq!(figure.mark(Mark::AtMost(9.0)).is_kept(), Some(false));
    }
}
