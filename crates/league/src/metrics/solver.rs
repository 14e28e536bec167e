//! Moves against an exact solver.

use super::{Bands, Metric};

/// One move in a solved game; values are the mover's points with best play, 0, ½ or 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SolverSample {
    /// The ply it was played at.
    pub ply: u32,
    /// What the position was worth.
    pub before: f64,
    /// What was left of it after the move.
    pub after: f64,
    /// Whether there was a worse move to choose.
    pub could_err: bool,
}

/// The share of moves that keep the game's value, the same where a mistake was possible, and the mean loss in points.
#[must_use]
pub fn solver(samples: &[SolverSample], bands: &Bands) -> Vec<Metric> {
    let kept = |sample: &SolverSample| sample.after >= sample.before;
    let all: Vec<_> = samples.iter().map(|sample| (f64::from(sample.ply), kept(sample))).collect();
    let hard: Vec<_> = samples
        .iter()
        .filter(|sample| sample.could_err)
        .map(|sample| (f64::from(sample.ply), kept(sample)))
        .collect();
    let losses: Vec<_> = samples
        .iter()
        .map(|sample| (f64::from(sample.ply), (sample.before - sample.after).max(0.0)))
        .collect();
    vec![
        Metric::share("moves that keep the value", &all, bands),
        Metric::share("the same where it could be lost", &hard, bands),
        Metric::mean("mean loss in points", &losses, bands),
    ]
}
