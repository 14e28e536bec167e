//! Mean against max scoring on the same positions.

use super::{ActionSample, Bands, Metric};

/// One position answered both ways.
#[derive(Clone, PartialEq, Debug)]
pub struct ScoringSample {
    /// With values read as expectations.
    pub mean: ActionSample,
    /// With values read as modes.
    pub max: ActionSample,
}

/// Accuracy, regret and value error of mean scoring, of max scoring, and their paired difference (positive where mean
/// scoring is better), whose interval is that of the differences and so much narrower than the two.
#[must_use]
pub fn scoring(samples: &[ScoringSample], bands: &Bands) -> Vec<Metric> {
    let exact = |sample: &ActionSample| sample.is_oracle_move().map(|hit| f64::from(u8::from(hit)));
    let co_best = |sample: &ActionSample| Some(f64::from(u8::from(sample.is_co_best())));
    type Part<'a> = (&'a str, &'a dyn Fn(&ActionSample) -> Option<f64>, f64);
    let parts: [Part<'_>; 4] = [
        ("action accuracy", &exact, 1.0),
        ("co-best accuracy", &co_best, 1.0),
        ("regret", &ActionSample::regret, -1.0),
        ("value error", &ActionSample::value_error, -1.0),
    ];
    let mut metrics = Vec::new();
    for (name, of, sign) in parts {
        let rows: Vec<(f64, f64, f64)> = samples
            .iter()
            .filter_map(|sample| Some((sample.mean.at, of(&sample.mean)?, of(&sample.max)?)))
            .collect();
        let mean = |what: &str, low: f64, value: &dyn Fn(&(f64, f64, f64)) -> f64| {
            let values: Vec<_> = rows.iter().map(|row| (row.0, value(row))).collect();
            Metric::mean(&format!("{name}, {what}"), &values, bands, low..=1.0)
        };
        metrics.push(mean("mean scoring", 0.0, &|row| row.1));
        metrics.push(mean("max scoring", 0.0, &|row| row.2));
        metrics.push(mean("gain of mean scoring", -1.0, &|row| sign * (row.1 - row.2)));
    }
    metrics
}
