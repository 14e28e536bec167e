//! Metrics of papers 001 and 002, each with a 95 % interval, over all samples and by band.
//!
//! What each of them counts is defined once, in [`mavis_value::metrics`]. Everything here is a pure function of answers: a player, a model or a file gives them, and the same functions turn
//! them into [`Metric`]s that print as a table or as JSON. What needs a [`mavis_play::Player`] takes one.

mod actions;
mod band;
mod calibration;
mod legality;
mod puzzles;
mod scoring;
mod seen;
mod solver;
mod table;

pub use actions::actions;
pub use band::Bands;
pub use calibration::{Calibrated, ReliabilityBin, calibration, reliability};
pub use legality::{LegalitySample, legality};
pub use mavis_value::metrics::{ActionSample, PuzzleResult};
pub use puzzles::{puzzles, solve_puzzle};
pub use scoring::{ScoringSample, scoring};
pub use seen::{SeenSample, positions_seen, seen};
pub use solver::{SolverSample, solver, solver_sample};
pub use table::{metric_columns, metric_table, metrics_json};

use crate::numeric::{Estimate, bounded_mean, wilson};
use std::ops::RangeInclusive;

/// One number with its interval, over all samples and by band.
#[derive(Clone, PartialEq, Debug)]
pub struct Metric {
    /// What it is.
    pub name: String,
    /// Over all samples; `None` when there are none.
    pub overall: Option<Measured>,
    /// By band, empty bands left out.
    pub bands: Vec<(String, Measured)>,
}

/// A value, its interval and the samples behind it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Value and interval.
    pub estimate: Estimate,
    /// Samples.
    pub n: usize,
}

impl Metric {
    /// The share of samples that hit, by Wilson's interval; each sample is `(band value, hit)`.
    #[must_use]
    pub fn share(name: &str, samples: &[(f64, bool)], bands: &Bands) -> Self {
        Self::by(name, samples, bands, |hits: &[bool]| {
            let n = hits.len() as u64;
            wilson(hits.iter().filter(|hit| **hit).count() as u64, n)
        })
    }

    /// The mean of the samples, by Student's interval within the `range` of their values, as [`bounded_mean`] has it; each sample
    /// is `(band value, value)`.
    #[must_use]
    pub fn mean(name: &str, samples: &[(f64, f64)], bands: &Bands, range: RangeInclusive<f64>) -> Self {
        Self::by(name, samples, bands, |values| bounded_mean(values, range.clone()))
    }

    fn by<T: Copy>(
        name: &str,
        samples: &[(f64, T)],
        bands: &Bands,
        estimate: impl Fn(&[T]) -> Option<Estimate>,
    ) -> Self {
        let measured = |values: &[T]| estimate(values).map(|estimate| Measured { estimate, n: values.len() });
        let all: Vec<T> = samples.iter().map(|(_, value)| *value).collect();
        let by_band = (0..bands.len())
            .filter_map(|k| {
                let inside: Vec<T> = samples
                    .iter()
                    .filter(|(at, _)| bands.index(*at) == Some(k))
                    .map(|(_, value)| *value)
                    .collect();
                measured(&inside).map(|measured| (bands.label(k), measured))
            })
            .collect();
        Self { name: name.to_owned(), overall: measured(&all), bands: by_band }
    }
}
