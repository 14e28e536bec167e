//! How good a predictor is on positions it never saw.

use super::{PredictorSpec, policy::score_moves};
use crate::{
    ModelError,
    forward::Forward,
    validation::{PuzzleShares, action_sample, solved},
};
use mavis_data::{AnnotatedPosition, Annotations, Puzzle};
use mavis_game::{Move, Position};
use serde::Serialize;

/// Metrics of a predictor's policy on annotated positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PredictorQuality {
    /// Positions measured.
    pub n_positions: usize,
    /// Share of positions where the policy picks the oracle's own choice (paper 002).
    pub action_accuracy: f64,
    /// Share of positions where no move has a higher annotated value than the policy's.
    pub co_best_accuracy: f64,
    /// Kendall's rank correlation (tau-b) of the scores with the oracle's values, averaged over positions where both differ between moves.
    pub kendall_tau: f64,
    /// Win probability lost by the policy's move, on average.
    pub regret: f64,
    /// Absolute error of the values over the legal moves of a position, averaged over positions; not for behavioral cloning.
    pub value_error: Option<f64>,
    /// The same averaged over all legal moves of all positions.
    pub value_error_by_move: Option<f64>,
}

/// Measures a network on the first `limit` positions of a set, in passes of at most `most` inputs.
///
/// # Errors
/// A record that cannot be used, or a network that fails.
pub fn quality(
    network: &mut (impl Forward + ?Sized),
    spec: PredictorSpec,
    set: &dyn Annotations,
    limit: usize,
    most: usize,
) -> Result<PredictorQuality, ModelError> {
    let records = (0..set.len().min(limit)).map(|idx| set.get(idx)).collect::<Result<Vec<_>, _>>()?;
    let records: Vec<AnnotatedPosition> =
        records.into_iter().filter(|record| !record.moves.is_empty()).collect();
    let moves: Vec<Vec<Move>> =
        records.iter().map(|record| record.moves.iter().map(|(mv, _)| *mv).collect()).collect();
    let asked: Vec<(&Position, &[Move])> =
        records.iter().zip(&moves).map(|(record, moves)| (&record.position, moves.as_slice())).collect();
    let mut total = PredictorQuality { n_positions: records.len(), ..PredictorQuality::default() };
    let (mut n_ranked, mut n_values, mut error, mut error_by_move) = (0_usize, 0_usize, 0.0, 0.0);
    for (record, scores) in records.iter().zip(score_moves(network, spec, &asked, most)?) {
        let sample = action_sample(record, &scores, spec.target.has_values());
        total.action_accuracy += f64::from(u8::from(sample.is_oracle_move() == Some(true)));
        total.co_best_accuracy += f64::from(u8::from(sample.is_co_best()));
        total.regret += sample.regret().unwrap_or(0.0);
        if let Some(tau) = sample.tau() {
            total.kendall_tau += tau;
            n_ranked += 1;
        }
        error += sample.value_error().unwrap_or(0.0);
        error_by_move += sample.value_errors().iter().sum::<f64>();
        n_values += record.moves.len();
    }
    let n = records.len().max(1) as f64;
    total.action_accuracy /= n;
    total.co_best_accuracy /= n;
    total.regret /= n;
    total.kendall_tau /= n_ranked.max(1) as f64;
    let has_values = spec.target.has_values();
    total.value_error = has_values.then(|| error / n);
    total.value_error_by_move = has_values.then(|| error_by_move / n_values.max(1) as f64);
    Ok(total)
}

/// How many puzzles the policy solves.
///
/// # Errors
/// A network that fails.
pub fn puzzles(
    network: &mut (impl Forward + ?Sized),
    spec: PredictorSpec,
    puzzles: &[Puzzle],
    most: usize,
) -> Result<PuzzleShares, ModelError> {
    solved(puzzles, |asked| score_moves(network, spec, asked, most))
}
