//! Fan-out decoding: every move of `%top_all` in one or two passes.
//!
//! Moves are trained in random order, so the distribution of the first move is near uniform over the legal ones: a threshold on it gives the
//! whole set. A second pass runs all moves as branches that see the prompt but not each other, and gives each move's value distribution.

use crate::{
    InputAttention, ModelError,
    forward::{Forward, value_columns},
};
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{Commands, Request, moves, places, vocab};
use mavis_net::{Batch, Logits, Want, greatest};
use mavis_value::{Distribution, N_BUCKETS};
use rayon::prelude::*;
use std::{ops::Range, sync::Arc};

/// The share of the mean probability of all likelier moves that a move needs to count as listed. Legal moves are about equally likely to
/// come first, and the mean says better how likely than the likeliest alone; of 0.2 to 0.5 shares near this one have the most right sets
/// over the fourth stage and the weights of `recipes/eleventh/` (`docs/learning.md`).
pub const LEGAL_SHARE: f32 = 1.0 / 3.0;
/// Moves that are so much less likely than the likeliest, as a logit, are not looked at: sorting two thousand takes longer than all else.
const FAR_BEHIND: f32 = 5.0;

/// What the model says of one position.
#[derive(Clone, Debug)]
pub struct FanOut {
    /// The legal set as the model sees it, the likeliest move first.
    pub legal_set: Vec<Move>,
    /// Whether the model calls the game over: it gives that more weight than all moves together.
    pub is_over: bool,
    /// The moves that were evaluated and their value distributions.
    pub values: Vec<(Move, Distribution)>,
}

/// Tokens that a position with so many evaluated moves takes in a pass.
#[must_use]
pub fn n_tokens(position: &Position, n_moves: usize) -> usize {
    let request = Request::at(position.clone(), Commands::top_all(position.rules()));
    request.prompt().len() + request.opening().len() + n_moves
}

/// A network and how it reads its input: all that fan-out over known moves needs. [`MavDecoder`](crate::decode::MavDecoder) has
/// one, and so has a network in training.
pub struct FanOutNetwork<'n, F: ?Sized> {
    network: &'n mut F,
    input: InputAttention,
}

impl<'n, F: Forward + ?Sized> FanOutNetwork<'n, F> {
    /// A network that reads its input in this way.
    pub fn new(network: &'n mut F, input: InputAttention) -> Self {
        Self { network, input }
    }

    /// Evaluates the given moves of each position, all known beforehand, in one pass.
    ///
    /// # Errors
    /// When the network fails.
    pub fn known_moves(&mut self, positions: &[(&Position, &[Move])]) -> Result<Vec<FanOut>, ModelError> {
        let asked: Vec<Asked> =
            positions.iter().map(|(position, moves)| Asked::new(position, moves)).collect();
        let known: Vec<(Rules, &[Move])> =
            positions.iter().map(|(position, moves)| (position.rules(), *moves)).collect();
        self.first_moves_and_values(&asked, &known)
    }

    /// The same for questions in tokens: `known` has the game and the moves of each.
    pub(crate) fn first_moves_and_values(
        &mut self,
        asked: &[Asked],
        known: &[(Rules, &[Move])],
    ) -> Result<Vec<FanOut>, ModelError> {
        let mut batch = Batch::default();
        let (mut prompts, mut branches) = (Vec::with_capacity(asked.len()), Vec::new());
        let mut places = Vec::with_capacity(asked.len());
        for asked in asked {
            places.push(branches.len());
            prompts.push(asked.push(&mut batch, self.input, &mut branches));
        }
        let (first, values) = self.network.moves_and_values(&batch, &prompts, &branches)?;
        // In large batches as much work as a GPU has with the pass.
        let answer = |(idx, (rules, moves)): (usize, &(Rules, &[Move]))| {
            let (legal_set, is_over) = legal_set(*rules, first.row(idx));
            let rows = (places[idx]..).map(|row| value_distribution(values.row(row)));
            FanOut { legal_set, is_over, values: moves.iter().copied().zip(rows).collect() }
        };
        Ok(known.par_iter().enumerate().map(answer).collect())
    }

    /// Value logits of the moves of each question, in one pass with the shortest head: what a search by the rules needs.
    ///
    /// # Errors
    /// When the network fails.
    pub fn value_logits(&mut self, asked: &[&Asked]) -> Result<Vec<ValueLogits>, ModelError> {
        let mut batch = Batch::default();
        let mut rows = Vec::new();
        let mut ends = Vec::with_capacity(asked.len());
        for asked in asked {
            let first = rows.len();
            asked.push(&mut batch, self.input, &mut rows);
            ends.push(first..rows.len());
        }
        let want = Want { rows, columns: Some(value_columns()), brief: None };
        let pass = Arc::new(self.network.forward(&batch, &want)?);
        Ok(ends.into_iter().map(|rows| ValueLogits { pass: pass.clone(), rows }).collect())
    }
}

/// A position and its moves in tokens, ready for a pass.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The prompt up to the opening of the list.
    prompt: Vec<u32>,
    /// The places of its tokens.
    places: Vec<u32>,
    /// Tokens of it that are input.
    input_len: usize,
    /// The moves as branches.
    moves: Vec<u32>,
}

impl Asked {
    /// A position and the moves to evaluate.
    #[must_use]
    pub fn new(position: &Position, moves: &[Move]) -> Self {
        Self::of(&Request::at(position.clone(), Commands::top_all(position.rules())), moves)
    }

    /// A request that ends in a list, and the moves to evaluate.
    #[must_use]
    pub fn of(request: &Request, moves: &[Move]) -> Self {
        let rules = request.commands.rules;
        let mut prompt = request.prompt();
        let input_len = prompt.len();
        prompt.extend(request.opening());
        let token = |&mv| u32::from(moves::token_of(rules, mv).unwrap_or(vocab::UNK));
        Self {
            places: places(&prompt, 0),
            prompt: prompt.into_iter().map(u32::from).collect(),
            input_len,
            moves: moves.iter().map(token).collect(),
        }
    }

    /// Tokens it takes in a pass.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        self.prompt.len() + self.moves.len()
    }

    /// Moves to evaluate, each a row of logits.
    #[must_use]
    pub fn n_moves(&self) -> usize {
        self.moves.len()
    }

    /// Appends the prompt and its branches, and the rows of the branches to `rows`; returns the row in which the list begins.
    fn push(&self, batch: &mut Batch, input: InputAttention, rows: &mut Vec<u32>) -> u32 {
        batch.push_prompted(&self.prompt, input.prefix(self.input_len));
        batch.place_last(&self.places);
        let (end, list) = (self.prompt.len(), batch.len() as u32 - 1);
        for &token in &self.moves {
            rows.push(batch.len() as u32);
            batch.push_branch(&[token], end, end, 0);
        }
        list
    }
}

/// Logits over the values for the moves of one position; several share what a pass gave.
#[derive(Clone, Debug)]
pub struct ValueLogits {
    pass: Arc<Logits>,
    rows: Range<usize>,
}

impl ValueLogits {
    /// The value distribution of each move.
    pub fn distributions(&self) -> impl ExactSizeIterator<Item = Distribution> {
        self.rows.clone().map(|row| value_distribution(self.pass.row(row)))
    }
}

/// The legal set by the logits of the first listed move, likeliest first, and whether the game is over.
pub(crate) fn legal_set(rules: Rules, logits: &[f32]) -> (Vec<Move>, bool) {
    let most = most_of_moves(rules, logits);
    let over = logits[usize::from(vocab::INVALID)];
    let weights = || moves::move_tokens(rules).map(|token| (logits[usize::from(token)] - over).exp());
    let is_over = over > most && weights().sum::<f32>() < 1.0;
    let mut near = moves_from(rules, logits, most - FAR_BEHIND);
    near.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let (mut n_listed, mut sum) = (0, 0.0);
    let is_listed = |(_, logit): &(Move, f32)| {
        let weight = (logit - most).exp();
        let is_listed = weight * n_listed as f32 >= LEGAL_SHARE * sum;
        (n_listed, sum) = (n_listed + 1, sum + weight);
        is_listed
    };
    (near.into_iter().take_while(is_listed).map(|(mv, _)| mv).collect(), is_over)
}

/// The greatest logit of a move.
fn most_of_moves(rules: Rules, logits: &[f32]) -> f32 {
    move_logits(rules, logits).map(|(_, some)| greatest(some)).fold(f32::NEG_INFINITY, f32::max)
}

/// The moves with at least this logit.
fn moves_from(rules: Rules, logits: &[f32], least: f32) -> Vec<(Move, f32)> {
    let mut found = Vec::with_capacity(64);
    for (ids, all) in move_logits(rules, logits) {
        // Few moves are, so most of these have none, which is seen without a branch for each.
        for (first, some) in ids.step_by(16).zip(all.chunks(16)) {
            if some.iter().fold(false, |found, logit| found | (*logit >= least)) {
                let likely = (first..).zip(some).filter(|(_, logit)| **logit >= least);
                let with_move = |(token, &logit)| Some((moves::move_of(rules, token)?, logit));
                found.extend(likely.filter_map(with_move));
            }
        }
    }
    found
}

/// The tokens that are moves, range by range, and their logits.
fn move_logits(rules: Rules, logits: &[f32]) -> impl Iterator<Item = (Range<u16>, &[f32])> {
    let of = |ids: Range<u16>| &logits[usize::from(ids.start)..usize::from(ids.end)];
    moves::move_ranges(rules).map(move |ids| (ids.clone(), of(ids)))
}

/// Softmax over the value tokens.
pub(crate) fn value_distribution(logits: &[f32]) -> Distribution {
    let mut weights = [f32::NEG_INFINITY; N_BUCKETS];
    weights.iter_mut().zip(logits).for_each(|(weight, logit)| *weight = *logit);
    mavis_net::cpu::softmax(&mut weights);
    Distribution(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of Connect Four's seven moves as first ones of a list, and of the word for a game that is over.
    fn listed(weights: [f32; 7], over: f32) -> (Vec<u16>, bool) {
        let mut logits = vec![f32::NEG_INFINITY; vocab::vocabulary().len()];
        for (token, weight) in moves::move_tokens(Rules::Connect4).zip(weights) {
            logits[usize::from(token)] = weight.ln();
        }
        logits[usize::from(vocab::INVALID)] = over.ln();
        let (set, is_over) = legal_set(Rules::Connect4, &logits);
        (set.into_iter().map(|mv| mv.0).collect(), is_over)
    }

    #[test]
    fn a_move_is_listed_from_a_third_of_the_mean_of_the_likelier_ones_on() {
        assert_eq!(listed([0.2, 0.2, 0.25, 0.25, 0.001, 0.0, 0.099], 0.0).0, [2, 3, 0, 1, 6]);
        // A third of 0.225 is 0.075; of the likeliest it would be more.
        assert_eq!(listed([0.2, 0.2, 0.25, 0.25, 0.01, 0.016, 0.074], 0.0).0, [2, 3, 0, 1]);
        assert_eq!(listed([0.2, 0.2, 0.25, 0.25, 0.01, 0.014, 0.076], 0.0).0, [2, 3, 0, 1, 6]);
        assert_eq!(listed([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 0.0).0, [3]);
    }

    #[test]
    fn a_game_is_over_where_that_is_likelier_than_all_moves_together() {
        assert!(!listed([0.1; 7], 0.3).1);
        assert!(!listed([0.1; 7], 0.69).1);
        assert!(listed([0.1; 7], 0.71).1);
    }

    #[test]
    fn the_likely_moves_are_those_of_a_search_through_all() {
        let hex = |size, swap| Rules::Hex { size, swap };
        let games =
            [Rules::Chess, Rules::Connect4, hex(5, true), hex(19, false), Rules::Othello, Rules::Togyz];
        let mut random = 1_u64;
        for rules in games.into_iter().flat_map(|rules| [rules; 20]) {
            let logits: Vec<f32> = (0..vocab::vocabulary().padded_len())
                .map(|_| {
                    random = random.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
                    (random >> 40) as f32 / 2_f32.powi(20) - 8.0
                })
                .collect();
            let logit = |token: u16| logits[usize::from(token)];
            let most = moves::move_tokens(rules).map(logit).fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(most_of_moves(rules, &logits), most);
            let near = moves::move_tokens(rules).filter(|token| logit(*token) >= most - FAR_BEHIND);
            let near: Vec<_> =
                near.map(|token| (moves::move_of(rules, token).unwrap(), logit(token))).collect();
            assert_eq!(moves_from(rules, &logits, most - FAR_BEHIND), near);
        }
    }
}
