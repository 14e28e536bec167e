//! How good a network is on positions it never saw.

use crate::{ModelError, ended::random_end, fan_out};
use mavis_data::{Annotations, Puzzle};
use mavis_game::{Move, Position};
use mavis_value::{Scoring, best_of};
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
    /// Share of positions where the legal move of best mean value is one of the oracle's best.
    pub best_by_mean: f64,
    /// The same by the mode of the value.
    pub best_by_max: f64,
    /// Win probability lost by the move of best mean value, on average.
    pub regret: f64,
    /// Absolute error of the mean value over all legal moves.
    pub value_error: f64,
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
    by_mean: usize,
    by_max: usize,
    regret: f64,
    error: f64,
    false_ends: usize,
    n_positions: usize,
}

/// Measures a network on the first `limit` positions of a set, in passes of at most `max_tokens` tokens.
///
/// # Errors
/// A record that cannot be used, or a network that fails.
pub fn quality(
    network: &mut (impl fan_out::Forward + ?Sized),
    full_input: bool,
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
        for (record, answer) in records.iter().zip(fan_out::with_known_moves(network, full_input, &asked)?) {
            tally.add(&record.moves, &answer);
        }
    }
    Ok(Quality { ends: ends(network, full_input, set, max_tokens)?, ..tally.quality() })
}

/// The share of ended positions, found near those of the set, that the model calls over.
fn ends(
    network: &mut (impl fan_out::Forward + ?Sized),
    full_input: bool,
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
        let answers = fan_out::with_known_moves(network, full_input, &asked)?;
        n_seen += answers.iter().filter(|answer| answer.is_over()).count();
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
    fn add(&mut self, truth: &[(Move, f32)], answer: &fan_out::FanOut) {
        let set = answer.legal_set();
        let hits = set.iter().filter(|mv| truth.iter().any(|(known, _)| known == *mv)).count();
        self.listed_legal += hits;
        self.listed += set.len();
        self.legal += truth.len();
        self.whole += usize::from(hits == set.len() && hits == truth.len());
        self.n_positions += 1;
        self.false_ends += usize::from(answer.is_over());
        let best = truth.iter().map(|(_, value)| *value).fold(0.0, f32::max);
        let chosen = |scoring: Scoring| {
            let values = answer.values.iter().map(|(_, values)| values.win_probability(scoring));
            let choice = values
                .enumerate()
                .fold((0, f32::MIN), |top, (idx, value)| if value > top.1 { (idx, value) } else { top });
            truth[choice.0].1
        };
        let (mean, max) = (chosen(Scoring::Mean), chosen(Scoring::Max));
        self.by_mean += usize::from(mean >= best - 1e-6);
        self.by_max += usize::from(max >= best - 1e-6);
        self.regret += f64::from(best - mean);
        self.error += answer
            .values
            .iter()
            .zip(truth)
            .map(|((_, values), (_, value))| f64::from((values.mean() - value).abs()))
            .sum::<f64>();
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
            best_by_mean: share(self.by_mean, self.n_positions),
            best_by_max: share(self.by_max, self.n_positions),
            regret: self.regret / n,
            value_error: self.error / self.legal.max(1) as f64,
            false_ends: share(self.false_ends, self.n_positions),
            ends: None,
        }
    }
}

/// The share of puzzles whose every move is found by best mean value among the legal moves, and of first moves found.
///
/// # Errors
/// A network that fails.
pub fn puzzles(
    network: &mut (impl fan_out::Forward + ?Sized),
    full_input: bool,
    puzzles: &[Puzzle],
    max_tokens: usize,
) -> Result<(f64, f64), ModelError> {
    solved(puzzles, |asked| {
        let sizes: Vec<usize> =
            asked.par_iter().map(|(position, moves)| fan_out::n_tokens(position, moves.len())).collect();
        let mut scores = Vec::with_capacity(asked.len());
        for pass in passes(&sizes, max_tokens) {
            let answers = fan_out::with_known_moves(network, full_input, &asked[pass])?;
            let means =
                |answer: fan_out::FanOut| answer.values.iter().map(|(_, values)| values.mean()).collect();
            scores.extend(answers.into_iter().map(means).collect::<Vec<Vec<f32>>>());
        }
        Ok(scores)
    })
}

/// The share of puzzles whose every move has the highest score of the legal moves, and of first moves that have it. `scores` is asked for
/// all positions at once, with their legal moves.
///
/// # Errors
/// Those of `scores`.
pub(crate) fn solved(
    puzzles: &[Puzzle],
    scores: impl FnOnce(&[(&Position, &[Move])]) -> Result<Vec<Vec<f32>>, ModelError>,
) -> Result<(f64, f64), ModelError> {
    let steps: Vec<(usize, usize)> = puzzles
        .iter()
        .enumerate()
        .flat_map(|(puzzle, whole)| (0..whole.steps.len()).map(move |step| (puzzle, step)))
        .collect();
    let moves: Vec<Vec<Move>> = steps
        .par_iter()
        .map(|&(puzzle, step)| puzzles[puzzle].steps[step].0.legal_moves().into_iter().collect())
        .collect();
    let asked: Vec<(&Position, &[Move])> = (steps.iter().zip(&moves))
        .map(|(&(puzzle, step), moves)| (&puzzles[puzzle].steps[step].0, moves.as_slice()))
        .collect();
    let mut solved = vec![true; puzzles.len()];
    let mut first = 0_usize;
    for ((&(puzzle, step), moves), scores) in steps.iter().zip(&moves).zip(scores(&asked)?) {
        let chosen = best_of(&scores).map(|idx| moves[idx]);
        let right = chosen == Some(puzzles[puzzle].steps[step].1);
        solved[puzzle] &= right;
        first += usize::from(right && step == 0);
    }
    let n = puzzles.len().max(1) as f64;
    Ok((solved.iter().filter(|right| **right).count() as f64 / n, first as f64 / n))
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn passes_cover_everything_and_stay_small() {
        assert_eq!(passes(&[3, 3, 3, 9, 1], 7), [0..2, 2..3, 3..4, 4..5]);
        assert_eq!(passes(&[], 7), []);
        assert_eq!(passes(&[1, 1, 7], 7), [0..2, 2..3]);
    }
}
