//! How good a predictor is on positions it never saw.

use super::{PredictorSpec, policy::score_moves};
use crate::{ModelError, fan_out::Forward, validation::solved};
use mavis_data::{AnnotatedPosition, Annotations, Puzzle};
use mavis_game::{Move, Position};
use mavis_value::{best_of, kendall_tau_b};
use serde::Serialize;

/// Metrics of a predictor's policy on annotated positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PredictorQuality {
    /// Positions measured.
    pub n_positions: usize,
    /// Share of positions where the policy picks a move of the oracle's highest value.
    pub action_accuracy: f64,
    /// Kendall's rank correlation (tau-b) of the scores with the oracle's values, averaged over positions where both differ between moves.
    pub kendall_tau: f64,
    /// Win probability lost by the policy's move, on average.
    pub regret: f64,
    /// Absolute error of the values, averaged over all legal moves; not for behavioral cloning.
    pub value_error: Option<f64>,
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
    let (mut n_ranked, mut n_values, mut error) = (0_usize, 0_usize, 0.0);
    for (record, scores) in records.iter().zip(score_moves(network, spec, &asked, most)?) {
        let truth: Vec<f32> = record.moves.iter().map(|(_, value)| *value).collect();
        let best = truth.iter().copied().fold(0.0, f32::max);
        let chosen = best_of(&scores).map_or(0.0, |idx| truth[idx]);
        total.action_accuracy += f64::from(u8::from(chosen >= best));
        total.regret += f64::from(best - chosen);
        let pairs: Vec<(f64, f64)> =
            scores.iter().zip(&truth).map(|(score, value)| (f64::from(*score), f64::from(*value))).collect();
        if let Some(tau) = kendall_tau_b(&pairs) {
            total.kendall_tau += tau;
            n_ranked += 1;
        }
        error += scores.iter().zip(&truth).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>();
        n_values += truth.len();
    }
    let n = records.len().max(1) as f64;
    total.action_accuracy /= n;
    total.regret /= n;
    total.kendall_tau /= n_ranked.max(1) as f64;
    total.value_error = spec.target.has_values().then(|| error / n_values.max(1) as f64);
    Ok(total)
}

/// The share of puzzles whose every move is found, and of first moves found.
///
/// # Errors
/// A network that fails.
pub fn puzzles(
    network: &mut (impl Forward + ?Sized),
    spec: PredictorSpec,
    puzzles: &[Puzzle],
    most: usize,
) -> Result<(f64, f64), ModelError> {
    solved(puzzles, |asked| score_moves(network, spec, asked, most))
}
