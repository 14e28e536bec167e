//! Values, agreement and ratings as plain functions.

use crate::bad_input;
use mavis_game::Rules;
use mavis_league::{elo_of_score, metrics::calibration as calibrate, numeric::Estimate};
use mavis_value::{Bucket, Score, kendall_tau_b};
use pyo3::prelude::*;
use serde::Serialize;

/// The win probability of a chess score in centipawns.
#[pyfunction]
#[pyo3(signature = (centipawns, /))]
pub(crate) fn win_probability(centipawns: i32) -> f32 {
    Score::Centipawns(centipawns).win_probability(Rules::Chess)
}

/// The bucket, 1 to 64, of a win probability.
#[pyfunction]
#[pyo3(signature = (probability, /))]
pub(crate) fn bucket(probability: f32) -> PyResult<u8> {
    if !(0.0..=1.0).contains(&probability) {
        return Err(bad_input(format!("a win probability is from 0 to 1, not {probability}")));
    }
    Ok(Bucket::from_win_probability(probability).number())
}

/// The win probability in the middle of a bucket.
#[pyfunction]
#[pyo3(signature = (number, /))]
pub(crate) fn bucket_value(number: u8) -> PyResult<f32> {
    let bucket =
        Bucket::new(number).ok_or_else(|| bad_input(format!("buckets are 1 to 64, not {number}")))?;
    Ok(bucket.win_probability())
}

/// Kendall's tau-b of two lists of scores; nothing where one of them does not vary.
#[pyfunction]
#[pyo3(signature = (first, second, /))]
pub(crate) fn kendall_tau(first: Vec<f64>, second: Vec<f64>) -> PyResult<Option<f64>> {
    if first.len() != second.len() {
        return Err(bad_input(format!("two lists of one length, not {} and {}", first.len(), second.len())));
    }
    let pairs: Vec<(f64, f64)> = first.into_iter().zip(second).collect();
    Ok(kendall_tau_b(&pairs))
}

/// The Elo difference that an expected score from 0 to 1 stands for.
#[pyfunction]
#[pyo3(signature = (score, /))]
pub(crate) fn elo(score: f64) -> PyResult<f64> {
    if !(0.0..=1.0).contains(&score) {
        return Err(bad_input(format!("a score is from 0 to 1, not {score}")));
    }
    Ok(elo_of_score(score))
}

#[derive(Serialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

impl From<Estimate> for Interval {
    fn from(Estimate { value, low, high }: Estimate) -> Self {
        Self { value, low, high }
    }
}

#[derive(Serialize)]
struct Bin {
    low: f64,
    high: f64,
    predicted: f64,
    actual: Interval,
    n: usize,
}

#[derive(Serialize)]
struct Calibrated {
    bins: Vec<Bin>,
    expected_error: Interval,
    brier: Interval,
    n: usize,
}

/// How often predicted values come true, as JSON; `null` without samples.
#[pyfunction]
pub(crate) fn calibration(predicted: Vec<f64>, results: Vec<f64>, n_bins: usize) -> PyResult<String> {
    if predicted.len() != results.len() {
        return Err(bad_input(format!(
            "two lists of one length, not {} and {}",
            predicted.len(),
            results.len()
        )));
    }
    let samples: Vec<(f64, f64)> = predicted.into_iter().zip(results).collect();
    let found = calibrate(&samples, n_bins).map(|found| Calibrated {
        bins: found
            .bins
            .iter()
            .map(|bin| Bin {
                low: bin.low,
                high: bin.high,
                predicted: bin.predicted,
                actual: bin.actual.into(),
                n: bin.n,
            })
            .collect(),
        expected_error: found.expected_error.into(),
        brier: found.brier.into(),
        n: found.n,
    });
    serde_json::to_string(&found).map_err(bad_input)
}
