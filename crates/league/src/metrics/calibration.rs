//! Whether a value of 0.7 wins 70 times in 100.

use crate::numeric::{Estimate, mean_estimate};

/// Reliability of predicted values.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibrated {
    /// Bins of predicted values, empty ones left out.
    pub bins: Vec<ReliabilityBin>,
    /// Mean distance of predicted and actual means over bins, weighted by samples.
    pub expected_error: f64,
    /// Mean squared difference of value and result.
    pub brier: Estimate,
    /// Samples.
    pub n: usize,
}

/// Predictions of about one value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReliabilityBin {
    /// Lower end of the bin.
    pub low: f64,
    /// Upper end of the bin.
    pub high: f64,
    /// Mean predicted value.
    pub predicted: f64,
    /// Mean result with its interval.
    pub actual: Estimate,
    /// Samples.
    pub n: usize,
}

/// Reliability over pairs of a predicted value and what came of it (points 0, ½ or 1, or an annotated value); `None`
/// without samples.
#[must_use]
pub fn calibration(samples: &[(f64, f64)], n_bins: usize) -> Option<Calibrated> {
    let n_bins = n_bins.max(1);
    let errors: Vec<f64> = samples.iter().map(|(value, result)| (value - result).powi(2)).collect();
    let brier = mean_estimate(&errors)?;
    let mut bins = Vec::new();
    for k in 0..n_bins {
        let place = |value: f64| ((value * n_bins as f64).floor().max(0.0) as usize).min(n_bins - 1);
        let inside: Vec<&(f64, f64)> = samples.iter().filter(|(value, _)| place(*value) == k).collect();
        let results: Vec<f64> = inside.iter().map(|(_, result)| *result).collect();
        let Some(actual) = mean_estimate(&results) else { continue };
        let clamped = Estimate { value: actual.value, low: actual.low.max(0.0), high: actual.high.min(1.0) };
        bins.push(ReliabilityBin {
            low: k as f64 / n_bins as f64,
            high: (k + 1) as f64 / n_bins as f64,
            predicted: inside.iter().map(|(value, _)| *value).sum::<f64>() / inside.len() as f64,
            actual: clamped,
            n: inside.len(),
        });
    }
    let n = samples.len();
    let expected_error =
        bins.iter().map(|bin| bin.n as f64 / n as f64 * (bin.predicted - bin.actual.value).abs()).sum();
    Some(Calibrated { bins, expected_error, brier, n })
}
