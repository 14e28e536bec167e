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
    type Share = fn(&ActionSample) -> Option<bool>;
    type Mean = fn(&ActionSample) -> Option<f64>;
    let shares: [(&str, Share); 2] = [
        ("action accuracy", ActionSample::is_oracle_move),
        ("co-best accuracy", |sample| Some(sample.is_co_best())),
    ];
    let means: [(&str, Mean); 2] =
        [("regret", ActionSample::regret), ("value error", ActionSample::value_error)];
    let mut metrics = Vec::new();
    for (name, of) in shares {
        let rows = both(samples, of);
        let share = |what: &str, hit: fn(&Row<bool>) -> bool| {
            Metric::share(&format!("{name}, {what}"), &column(&rows, hit), bands)
        };
        metrics.push(share("mean scoring", |row| row.mean));
        metrics.push(share("max scoring", |row| row.max));
        let gain = |row: &Row<bool>| f64::from(u8::from(row.mean)) - f64::from(u8::from(row.max));
        metrics.push(gain_metric(name, &column(&rows, gain), bands));
    }
    for (name, of) in means {
        let rows = both(samples, of);
        let mean = |what: &str, value: fn(&Row<f64>) -> f64| {
            Metric::mean(&format!("{name}, {what}"), &column(&rows, value), bands, 0.0..=1.0)
        };
        metrics.push(mean("mean scoring", |row| row.mean));
        metrics.push(mean("max scoring", |row| row.max));
        metrics.push(gain_metric(name, &column(&rows, |row| row.max - row.mean), bands));
    }
    metrics
}

/// One measure of a position under both ways of scoring.
struct Row<T> {
    at: f64,
    mean: T,
    max: T,
}

/// The measure of every position that has it under both.
fn both<T>(samples: &[ScoringSample], of: fn(&ActionSample) -> Option<T>) -> Vec<Row<T>> {
    let rows = samples.iter().filter_map(|sample| {
        Some(Row { at: sample.mean.at, mean: of(&sample.mean)?, max: of(&sample.max)? })
    });
    rows.collect()
}

fn column<T, V>(rows: &[Row<T>], value: impl Fn(&Row<T>) -> V) -> Vec<(f64, V)> {
    rows.iter().map(|row| (row.at, value(row))).collect()
}

fn gain_metric(name: &str, gains: &[(f64, f64)], bands: &Bands) -> Metric {
    Metric::mean(&format!("{name}, gain of mean scoring"), gains, bands, -1.0..=1.0)
}
