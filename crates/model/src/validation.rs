//! How good a network is on positions it never saw.

use crate::{
    ModelError,
    ended::random_end,
    fan_out::{self, FanOutNetwork},
    forward::Forward,
};
use mavis_data::{AnnotatedPosition, Annotations, Puzzle};
use mavis_game::{Game as _, Move, Position};
use mavis_value::{
    Scoring, best_of,
    metrics::{ActionSample, PuzzleResult},
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

/// Metrics of `%top_all` by fan-out on annotated positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Positions measured.
    pub n_positions: usize,
    /// Share of the moves the model lists that are legal.
    pub precision: f64,
    /// Share of the legal moves that it lists.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// Share of positions where the set is exactly right.
    pub whole_sets: f64,
    /// Share of positions where the legal move of best mean value is the oracle's own choice (paper 002).
    pub action_accuracy: f64,
    /// Share of positions where no move has a higher annotated value than the legal move of best mean value.
    pub best_by_mean: f64,
    /// The same by the mode of the value, the first of equals.
    pub best_by_max: f64,
    /// Win probability lost by the move of best mean value, on average.
    pub regret: f64,
    /// Absolute error of the mean value over the legal moves of a position, averaged over positions.
    pub value_error: f64,
    /// The same averaged over all legal moves of all positions.
    pub value_error_by_move: f64,
    /// Share of the positions that the model calls over though they are not.
    pub false_ends: f64,
    /// Share of positions after the end of a game that the model calls over; `None` where the set has no end at hand.
    pub ends: Option<f64>,
}

/// Ends that are asked for with each set.
const N_ENDS: usize = 512;

/// Counts behind [`Quality`].
#[derive(Clone, Debug, Default)]
struct Tally {
    listed_legal: usize,
    listed: usize,
    legal: usize,
    whole: usize,
    exact: usize,
    by_mean: usize,
    by_max: usize,
    regret: f64,
    error: f64,
    error_by_move: f64,
    false_ends: usize,
    n_positions: usize,
}

/// Measures a network on the first `limit` positions of a set, in passes of at most `max_tokens` tokens.
///
/// # Errors
/// A record that cannot be used, or a network that fails.
pub fn quality(
    network: &mut FanOutNetwork<'_, impl Forward + ?Sized>,
    set: &dyn Annotations,
    limit: usize,
    max_tokens: usize,
) -> Result<Quality, ModelError> {
    let mut tally = Tally::default();
    let mut records =
        (0..set.len().min(limit)).into_par_iter().map(|idx| set.get(idx)).collect::<Result<Vec<_>, _>>()?;
    records.retain(|record| !record.moves.is_empty());
    let sizes: Vec<usize> =
        records.par_iter().map(|record| fan_out::n_tokens(&record.position, record.moves.len())).collect();
    for pass in passes(&sizes, max_tokens) {
        let records = &records[pass];
        let moves: Vec<Vec<Move>> =
            records.iter().map(|record| record.moves.iter().map(|(mv, _)| *mv).collect()).collect();
        let asked: Vec<(&Position, &[Move])> =
            records.iter().zip(&moves).map(|(record, moves)| (&record.position, moves.as_slice())).collect();
        for (record, answer) in records.iter().zip(network.known_moves(&asked)?) {
            tally.add(record, &answer);
        }
    }
    Ok(Quality { ends: ends(network, set, max_tokens)?, ..tally.quality() })
}

/// The share of ended positions, found near those of the set, that the model calls over.
fn ends(
    network: &mut FanOutNetwork<'_, impl Forward + ?Sized>,
    set: &dyn Annotations,
    max_tokens: usize,
) -> Result<Option<f64>, ModelError> {
    // The same positions every time, so that measurements compare.
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut positions = Vec::new();
    while positions.len() < N_ENDS && !set.is_empty() {
        let Some(end) = random_end(set, &mut rng)? else { break };
        positions.push(end.position);
    }
    let sizes: Vec<usize> = positions.iter().map(|position| fan_out::n_tokens(position, 0)).collect();
    let mut n_seen = 0;
    for pass in passes(&sizes, max_tokens) {
        let asked: Vec<(&Position, &[Move])> =
            positions[pass].iter().map(|position| (position, [].as_slice())).collect();
        let answers = network.known_moves(&asked)?;
        n_seen += answers.iter().filter(|answer| answer.is_over).count();
    }
    Ok((!positions.is_empty()).then(|| n_seen as f64 / positions.len() as f64))
}

/// Consecutive ranges whose sizes sum to at most `most`; a larger single one stands alone.
fn passes(sizes: &[usize], most: usize) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (idx, size) in sizes.iter().enumerate() {
        if idx > start && sum + size > most {
            ranges.push(start..idx);
            (start, sum) = (idx, 0);
        }
        sum += size;
    }
    if start < sizes.len() {
        ranges.push(start..sizes.len());
    }
    ranges
}

impl Tally {
    fn add(&mut self, record: &AnnotatedPosition, answer: &fan_out::FanOut) {
        let truth = &record.moves;
        let set = &answer.legal_set;
        let hits = set.iter().filter(|mv| truth.iter().any(|(known, _)| known == *mv)).count();
        self.listed_legal += hits;
        self.listed += set.len();
        self.legal += truth.len();
        self.whole += usize::from(hits == set.len() && hits == truth.len());
        self.n_positions += 1;
        self.false_ends += usize::from(answer.is_over);
        let sample = |scoring: Scoring| {
            let values: Vec<f32> =
                answer.values.iter().map(|(_, values)| values.win_probability(scoring)).collect();
            action_sample(record, &values, true)
        };
        let (mean, max) = (sample(Scoring::Mean), sample(Scoring::Max));
        self.exact += usize::from(mean.is_oracle_move() == Some(true));
        self.by_mean += usize::from(mean.is_co_best());
        self.by_max += usize::from(max.is_co_best());
        self.regret += mean.regret().unwrap_or(0.0);
        self.error += mean.value_error().unwrap_or(0.0);
        self.error_by_move += mean.value_errors().iter().sum::<f64>();
    }

    fn quality(&self) -> Quality {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let (precision, recall) =
            (share(self.listed_legal, self.listed), share(self.listed_legal, self.legal));
        let n = self.n_positions.max(1) as f64;
        Quality {
            n_positions: self.n_positions,
            precision,
            recall,
            f1: 2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE),
            whole_sets: share(self.whole, self.n_positions),
            action_accuracy: share(self.exact, self.n_positions),
            best_by_mean: share(self.by_mean, self.n_positions),
            best_by_max: share(self.by_max, self.n_positions),
            regret: self.regret / n,
            value_error: self.error / n,
            value_error_by_move: self.error_by_move / self.legal.max(1) as f64,
            false_ends: share(self.false_ends, self.n_positions),
            ends: None,
        }
    }
}

/// What one position is measured by: scores of its annotated moves, in their order, choose the first of the highest. Where
/// they are values they are compared with the annotated ones too.
pub(crate) fn action_sample(record: &AnnotatedPosition, scores: &[f32], are_values: bool) -> ActionSample {
    let scored: Vec<(Move, f64)> =
        record.moves.iter().zip(scores).map(|((mv, _), score)| (*mv, f64::from(*score))).collect();
    let (predicted, ranking) = if are_values { (scored, Vec::new()) } else { (Vec::new(), scored) };
    ActionSample {
        at: 0.0,
        annotated: record.moves.iter().map(|(mv, value)| (*mv, f64::from(*value))).collect(),
        best: record.best,
        chosen: best_of(scores).and_then(|idx| record.moves.get(idx)).map(|(mv, _)| *mv),
        predicted,
        ranking,
    }
}

/// Shares of puzzles, as [`mavis_value::metrics`] defines them. A log holds them as a list in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(into = "(f64, f64, f64)")]
pub struct PuzzleShares {
    /// Every move is the listed one (paper 002).
    pub solved: f64,
    /// The first move is the listed one.
    pub first_right: f64,
    /// Every move is the listed one, or mates at once.
    pub solved_or_mates: f64,
}

impl From<PuzzleShares> for (f64, f64, f64) {
    fn from(shares: PuzzleShares) -> Self {
        (shares.solved, shares.first_right, shares.solved_or_mates)
    }
}

/// How many puzzles are solved by the legal move of best mean value.
///
/// # Errors
/// A network that fails.
pub fn puzzles(
    network: &mut FanOutNetwork<'_, impl Forward + ?Sized>,
    puzzles: &[Puzzle],
    max_tokens: usize,
) -> Result<PuzzleShares, ModelError> {
    solved(puzzles, |asked| {
        let sizes: Vec<usize> =
            asked.par_iter().map(|(position, moves)| fan_out::n_tokens(position, moves.len())).collect();
        let mut scores = Vec::with_capacity(asked.len());
        for pass in passes(&sizes, max_tokens) {
            let answers = network.known_moves(&asked[pass])?;
            let means =
                |answer: fan_out::FanOut| answer.values.iter().map(|(_, values)| values.mean()).collect();
            scores.extend(answers.into_iter().map(means).collect::<Vec<Vec<f32>>>());
        }
        Ok(scores)
    })
}

/// How many puzzles are solved by the legal move of the highest score. `scores` is asked for all positions at once, with their
/// legal moves.
///
/// # Errors
/// Those of `scores`.
pub(crate) fn solved(
    puzzles: &[Puzzle],
    scores: impl FnOnce(&[(&Position, &[Move])]) -> Result<Vec<Vec<f32>>, ModelError>,
) -> Result<PuzzleShares, ModelError> {
    let steps: Vec<Vec<(Position, Move)>> = puzzles.par_iter().map(Puzzle::steps).collect();
    let places: Vec<&(Position, Move)> = steps.iter().flatten().collect();
    let moves: Vec<Vec<Move>> =
        places.par_iter().map(|(position, _)| position.legal_moves().into_iter().collect()).collect();
    let asked: Vec<(&Position, &[Move])> =
        places.iter().zip(&moves).map(|((position, _), moves)| (position, moves.as_slice())).collect();
    let scores = scores(&asked)?;
    let mut chosen = scores.iter().zip(&moves).map(|(scores, moves)| best_of(scores).map(|idx| moves[idx]));
    let results: Vec<PuzzleResult> = (puzzles.iter().zip(&steps))
        .map(|(puzzle, steps)| {
            let mut result = PuzzleResult::begin(puzzle.rating, steps.len());
            let mut goes_on = true;
            // Every step takes its choice, also after the first wrong one.
            for ((position, listed), chosen) in steps.iter().zip(chosen.by_ref()) {
                goes_on = goes_on && result.add(position, *listed, chosen);
            }
            result
        })
        .collect();
    let share = |is: fn(&PuzzleResult) -> bool| {
        results.iter().filter(|result| is(result)).count() as f64 / results.len().max(1) as f64
    };
    Ok(PuzzleShares {
        solved: share(PuzzleResult::is_solved),
        first_right: share(PuzzleResult::is_first_right),
        solved_or_mates: share(PuzzleResult::is_solved_or_mates),
    })
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn passes_cover_everything_and_stay_small() {
        assert_eq!(passes(&[3, 3, 3, 9, 1], 7), [0..2, 2..3, 3..4, 4..5]);
        assert!(passes(&[], 7).is_empty());
        assert_eq!(passes(&[1, 1, 7], 7), [0..2, 2..3]);
    }
}
