//! Whether a value of 0.7 wins 70 times in 100.

use super::{Bands, Measured, Metric};
use crate::numeric::{Estimate, bounded_mean};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Resamples behind the interval of the expected error.
const RESAMPLES: usize = 400;

/// Reliability of predicted values.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibrated {
    /// Bins of predicted values, empty ones left out.
    pub bins: Vec<ReliabilityBin>,
    /// Mean distance of predicted and actual means over bins, weighted by samples; its interval is a bootstrap's.
    pub expected_error: Estimate,
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
    let brier = bounded_mean(&errors, 0.0..=1.0)?;
    let mut bins = Vec::new();
    for k in 0..n_bins {
        let inside: Vec<&(f64, f64)> =
            samples.iter().filter(|(value, _)| place(*value, n_bins) == k).collect();
        let results: Vec<f64> = inside.iter().map(|(_, result)| *result).collect();
        let Some(actual) = bounded_mean(&results, 0.0..=1.0) else { continue };
        bins.push(ReliabilityBin {
            low: k as f64 / n_bins as f64,
            high: (k + 1) as f64 / n_bins as f64,
            predicted: inside.iter().map(|(value, _)| *value).sum::<f64>() / inside.len() as f64,
            actual,
            n: inside.len(),
        });
    }
    let expected_error = expected_error(samples, n_bins);
    Some(Calibrated { bins, expected_error, brier, n: samples.len() })
}

/// The same as metrics: the two errors, and means of predicted and actual values by bin of the predicted one.
#[must_use]
pub fn reliability(samples: &[(f64, f64)], n_bins: usize) -> Vec<Metric> {
    let Some(found) = calibration(samples, n_bins) else { return Vec::new() };
    let overall = |name: &str, estimate: Estimate| Metric {
        name: name.to_owned(),
        overall: Some(Measured { estimate, n: found.n }),
        bands: Vec::new(),
    };
    let n_bins = n_bins.max(1);
    let edges: Vec<f64> = (0..=n_bins).map(|k| k as f64 / n_bins as f64).collect();
    let bands = Bands::between(&edges);
    // Bands are closed below only; a value of 1 belongs to the last one.
    let at = |value: f64| (place(value, n_bins) as f64 + 0.5) / n_bins as f64;
    let by_bin = |name: &str, low: f64, of: &dyn Fn(&(f64, f64)) -> f64| {
        let values: Vec<(f64, f64)> = samples.iter().map(|sample| (at(sample.0), of(sample))).collect();
        Metric::mean(name, &values, &bands, low..=1.0)
    };
    vec![
        overall("expected calibration error", found.expected_error),
        overall("Brier score", found.brier),
        by_bin("predicted value", 0.0, &|sample| sample.0),
        by_bin("actual value", 0.0, &|sample| sample.1),
        by_bin("predicted less actual", -1.0, &|sample| sample.0 - sample.1),
    ]
}

/// The weighted distance of means, with the percentiles of a bootstrap over samples, moved by what the bootstrap itself adds: noise
/// within bins can only widen distances.
fn expected_error(samples: &[(f64, f64)], n_bins: usize) -> Estimate {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(samples.len() as u64);
    let value = distance(samples.iter(), n_bins);
    let mut drawn: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let resampled = (0..samples.len()).map(|_| &samples[random.random_range(0..samples.len())]);
            distance(resampled, n_bins)
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let shift = drawn.iter().sum::<f64>() / RESAMPLES as f64 - value;
    let percentile = |share: f64| drawn[(share * (RESAMPLES - 1) as f64).round() as usize] - shift;
    Estimate { value, low: percentile(0.025).clamp(0.0, value), high: percentile(0.975).clamp(value, 1.0) }
}

fn distance<'a>(samples: impl Iterator<Item = &'a (f64, f64)>, n_bins: usize) -> f64 {
    let (mut differences, mut n) = (vec![0.0; n_bins], 0.0);
    for (value, result) in samples {
        differences[place(*value, n_bins)] += value - result;
        n += 1.0;
    }
    differences.iter().map(|difference: &f64| difference.abs()).sum::<f64>() / f64::max(n, 1.0)
}

/// The bin of a value.
fn place(value: f64, n_bins: usize) -> usize {
    ((value * n_bins as f64).floor().max(0.0) as usize).min(n_bins - 1)
}
