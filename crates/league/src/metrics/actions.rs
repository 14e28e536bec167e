//! Chosen moves and values of moves against annotations.

use super::{ActionSample, Bands, Metric};

/// Accuracy, regret, value error and Kendall's tau-b, as [`mavis_value::metrics`] defines them.
#[must_use]
pub fn actions(samples: &[ActionSample], bands: &Bands) -> Vec<Metric> {
    let hits = |of: &dyn Fn(&ActionSample) -> Option<bool>| -> Vec<(f64, bool)> {
        samples.iter().filter_map(|sample| Some((sample.at, of(sample)?))).collect()
    };
    let means = |of: &dyn Fn(&ActionSample) -> Option<f64>| -> Vec<(f64, f64)> {
        samples.iter().filter_map(|sample| of(sample).map(|value| (sample.at, value))).collect()
    };
    let by_move: Vec<(f64, f64)> = samples
        .iter()
        .flat_map(|sample| sample.value_errors().into_iter().map(|error| (sample.at, error)))
        .collect();
    vec![
        Metric::share("action accuracy", &hits(&ActionSample::is_oracle_move), bands),
        Metric::share("co-best accuracy", &hits(&|sample| Some(sample.is_co_best())), bands),
        Metric::mean("regret", &means(&ActionSample::regret), bands, 0.0..=1.0),
        Metric::mean("value error", &means(&ActionSample::value_error), bands, 0.0..=1.0),
        Metric::mean("value error by move", &by_move, bands, 0.0..=1.0),
        Metric::mean("Kendall's tau-b", &means(&ActionSample::tau), bands, -1.0..=1.0),
    ]
}
