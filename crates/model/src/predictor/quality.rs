//! How good a predictor is on positions it never saw.

use super::{PredictorSpec, policy::score_moves};
use crate::{ModelError, fan_out::Forward};
use mavis_data::{AnnotatedPosition, Annotations, Puzzle};
use mavis_game::{Game as _, Move, Outcome, Position};
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
        if let Some(tau) = kendall_tau(&scores, &truth) {
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

/// The share of puzzles whose every move is found, and of first moves found; another mate in one counts.
///
/// # Errors
/// A network that fails.
pub fn puzzles(
    network: &mut (impl Forward + ?Sized),
    spec: PredictorSpec,
    puzzles: &[Puzzle],
    most: usize,
) -> Result<(f64, f64), ModelError> {
    let steps: Vec<(usize, usize)> = (puzzles.iter().enumerate())
        .flat_map(|(puzzle, whole)| (0..whole.steps.len()).map(move |step| (puzzle, step)))
        .collect();
    let moves: Vec<Vec<Move>> = (steps.iter())
        .map(|&(puzzle, step)| puzzles[puzzle].steps[step].0.legal_moves().into_iter().collect())
        .collect();
    let asked: Vec<(&Position, &[Move])> = (steps.iter().zip(&moves))
        .map(|(&(puzzle, step), moves)| (&puzzles[puzzle].steps[step].0, moves.as_slice()))
        .collect();
    let mut solved = vec![true; puzzles.len()];
    let mut first = 0_usize;
    for ((scores, &(puzzle, step)), moves) in
        score_moves(network, spec, &asked, most)?.iter().zip(&steps).zip(&moves)
    {
        let (position, expected) = &puzzles[puzzle].steps[step];
        let chosen = best_of(scores).map(|idx| moves[idx]);
        let right = chosen.is_some_and(|mv| mv == *expected || mates(position, mv));
        solved[puzzle] &= right;
        first += usize::from(right && step == 0);
    }
    let n = puzzles.len().max(1) as f64;
    Ok((solved.iter().filter(|right| **right).count() as f64 / n, first as f64 / n))
}

fn mates(position: &Position, mv: Move) -> bool {
    let mut after = position.clone();
    after.play_unchecked(mv);
    after.outcome().and_then(Outcome::winner) == Some(position.side_to_move())
}

/// The index of the highest score; the first of equals.
pub(super) fn best_of(scores: &[f32]) -> Option<usize> {
    let best = scores.iter().enumerate().fold(None, |best: Option<(usize, f32)>, (idx, &score)| match best {
        Some((_, most)) if score <= most => best,
        _ => Some((idx, score)),
    });
    best.map(|(idx, _)| idx)
}

/// Kendall's tau-b of two rankings of the same moves; `None` where one of them holds all moves equal.
fn kendall_tau(a: &[f32], b: &[f32]) -> Option<f64> {
    let (mut agree, mut in_a, mut in_b) = (0_i64, 0_i64, 0_i64);
    let sign = |x: f32, y: f32| x.total_cmp(&y) as i64;
    for i in 0..a.len() {
        for j in 0..i {
            let (by_a, by_b) = (sign(a[i], a[j]), sign(b[i], b[j]));
            agree += by_a * by_b;
            in_a += by_a.abs();
            in_b += by_b.abs();
        }
    }
    (in_a > 0 && in_b > 0).then(|| agree as f64 / ((in_a as f64) * (in_b as f64)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_counts_pairs() {
        assert_eq!(kendall_tau(&[1.0, 2.0, 3.0], &[0.1, 0.2, 0.3]), Some(1.0));
        assert_eq!(kendall_tau(&[1.0, 2.0, 3.0], &[0.3, 0.2, 0.1]), Some(-1.0));
        // One tie in the second: 2 concordant pairs of 3 and 2.
        assert_eq!(kendall_tau(&[1.0, 2.0, 3.0], &[0.1, 0.1, 0.3]), Some(2.0 / 6.0_f64.sqrt()));
        assert_eq!(kendall_tau(&[1.0, 1.0], &[0.1, 0.2]), None);
        assert_eq!(best_of(&[0.1, 0.7, 0.7]), Some(1));
        assert_eq!(best_of(&[]), None);
    }
}
