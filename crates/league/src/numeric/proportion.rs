//! Values with a 95 % interval.

use super::{normal_quantile, student_quantile};
use std::ops::RangeInclusive;

/// A value with the interval that covers the truth 95 times in 100.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// The interval `value ± margin`.
    #[must_use]
    pub fn symmetric(value: f64, margin: f64) -> Self {
        Self { value, low: value - margin, high: value + margin }
    }

    /// Half the width of the interval.
    #[must_use]
    pub fn margin(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    /// The same interval as far as it lies in `range`, outside of which the truth cannot be.
    #[must_use]
    pub fn within(self, range: RangeInclusive<f64>) -> Self {
        Self { low: self.low.max(*range.start()), high: self.high.min(*range.end()), ..self }
    }

    /// Whether the interval holds `truth`.
    #[must_use]
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }
}

/// A share `hits / n` with Wilson's interval, which stays inside 0 to 1 and works at the ends; `None` when `n` is 0.
#[must_use]
pub fn wilson(hits: u64, n: u64) -> Option<Estimate> {
    if n == 0 {
        return None;
    }
    wilson_share(hits as f64 / n as f64, n)
}

/// Wilson's interval of a share among `n`, which need not be a whole number of hits: a draw is half a point.
#[must_use]
pub fn wilson_share(share: f64, n: u64) -> Option<Estimate> {
    if n == 0 {
        return None;
    }
    let n = n as f64;
    let z2 = normal_quantile(0.975).powi(2);
    let center = (share * n + 0.5 * z2) / (n + z2);
    let margin = (z2 * (share * (1.0 - share) * n + 0.25 * z2)).sqrt() / (n + z2);
    Some(Estimate { value: share, low: (center - margin).max(0.0), high: (center + margin).min(1.0) })
}

/// The mean of a sample with Student's interval; `None` for an empty sample, infinite ends for a single value.
#[must_use]
pub fn mean_estimate(sample: &[f64]) -> Option<Estimate> {
    if sample.is_empty() {
        return None;
    }
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    if sample.len() == 1 {
        return Some(Estimate { value: mean, low: f64::NEG_INFINITY, high: f64::INFINITY });
    }
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(Estimate::symmetric(mean, student_quantile(0.975, n - 1.0) * (variance / n).sqrt()))
}

/// The mean of values that lie in `range`, with Student's interval as far as it lies there; `None` for an empty sample.
///
/// Values that are all equal show no spread to reckon with. For them the share of other values is taken to be anything up to
/// Wilson's bound for none among so many, which at the ends of the range gives Wilson's interval.
#[must_use]
pub fn bounded_mean(sample: &[f64], range: RangeInclusive<f64>) -> Option<Estimate> {
    let estimate = mean_estimate(sample)?;
    let (low, high) = (*range.start(), *range.end());
    match sample {
        [first, second, rest @ ..] if first == second && rest.iter().all(|value| value == first) => {
            let unseen = wilson(0, sample.len() as u64)?.high;
            let value = estimate.value;
            Some(Estimate {
                value,
                low: value - unseen * (value - low),
                high: value + unseen * (high - value),
            })
        }
        _ => Some(estimate.within(range)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_at_the_ends_and_inside() {
        let none = wilson(0, 20).expect("n > 0");
        assert_eq!((none.value, none.low), (0.0, 0.0));
        assert!((none.high - 0.1611).abs() < 1e-4);
        let some = wilson(15, 50).expect("n > 0");
        assert!((some.low - 0.1910).abs() < 1e-4 && (some.high - 0.4375).abs() < 1e-4);
        assert!(wilson(0, 0).is_none());
        let half = wilson_share(0.5, 1).expect("n > 0");
        assert!((half.low + half.high - 1.0).abs() < 1e-12 && half.low > 0.05 && half.low < 0.06);
    }

    #[test]
    fn mean_has_students_interval() {
        let estimate = mean_estimate(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("not empty");
        assert!((estimate.value - 3.5).abs() < 1e-12);
        assert!((estimate.margin() - 2.571 * (3.5_f64 / 6.0).sqrt()).abs() < 1e-2);
        assert!(mean_estimate(&[]).is_none());
        let shares = bounded_mean(&[1.0, 0.0], 0.0..=1.0).expect("not empty");
        assert_eq!((shares.low, shares.value, shares.high), (0.0, 0.5, 1.0));
        let single = bounded_mean(&[0.25], 0.0..=1.0).expect("not empty");
        assert_eq!((single.low, single.high), (0.0, 1.0), "one value says nothing of its spread");
    }

    #[test]
    fn equal_values_leave_room_for_others() {
        for (value, hits) in [(0.0, 0), (1.0, 5)] {
            let (equal, share) = (bounded_mean(&[value; 5], 0.0..=1.0), wilson(hits, 5));
            let (equal, share) = (equal.expect("not empty"), share.expect("n > 0"));
            assert!((equal.low - share.low).abs() < 1e-12 && (equal.high - share.high).abs() < 1e-12);
        }
        let none = bounded_mean(&[0.0; 5], -1.0..=1.0).expect("not empty");
        assert!(none.low == -none.high && none.high > 0.4, "{none:?}");
    }
}
