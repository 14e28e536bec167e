//! Fan-out decoding: every move of `%top_all` in one or two passes.
//!
//! Moves are trained in random order, so the distribution of the first move is near uniform over the legal ones: a threshold on it gives the
//! whole set. A second pass runs all moves as branches that see the prompt but not each other, and gives each move's value distribution.

use crate::ModelError;
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{
    Commands, Request, moves,
    vocab::{self, VALUES},
};
use mavis_net::{Batch, Logits, NetError, Want};
use mavis_value::{Distribution, N_BUCKETS};
use rayon::prelude::*;
use std::{ops::Range, sync::Arc};

/// The share of the largest move probability that a move needs to count as listed. The baseline's value; between 0.1 and 0.5 the
/// legal set of a trained model hardly changes.
pub const LEGAL_THRESHOLD: f32 = 0.35;

/// Something that computes logits of rows of a batch: a decoder, or a network in training.
pub trait Forward {
    /// Logits of the wanted rows.
    ///
    /// # Errors
    /// When the network refuses the batch or the device fails.
    fn forward(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError>;

    /// Logits of some rows over the whole vocabulary and of others over the values, from one pass.
    ///
    /// # Errors
    /// As [`forward`](Forward::forward).
    fn moves_and_values(
        &mut self,
        batch: &Batch,
        prompts: &[u32],
        branches: &[u32],
    ) -> Result<(Logits, Logits), NetError> {
        // A second pass costs more than the wider head: all rows at once, all columns.
        let mut all = self.forward(batch, &Want::rows([prompts, branches].concat()))?;
        let columns = usize::from(VALUES.start)..usize::from(VALUES.start) + N_BUCKETS;
        let values = (prompts.len()..all.n_rows()).flat_map(|row| &all.row(row)[columns.clone()]).copied();
        let values = Logits { values: values.collect(), n_columns: N_BUCKETS };
        all.values.truncate(prompts.len() * all.n_columns);
        Ok((all, values))
    }
}

/// The value tokens as columns.
pub(crate) fn value_columns() -> std::ops::Range<u32> {
    u32::from(VALUES.start)..u32::from(VALUES.start) + N_BUCKETS as u32
}

impl<D: mavis_net::Decoder + ?Sized> Forward for D {
    fn forward(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.logits(batch, want)
    }
}

/// What the model says of one position.
#[derive(Clone, Debug)]
pub struct FanOut {
    /// Probability of each move token of the game as the first listed move, by move, highest first.
    pub first_moves: Vec<(Move, f32)>,
    /// Probability that the model calls the game over instead of listing moves.
    pub over: f32,
    /// The moves that were evaluated and their value distributions.
    pub values: Vec<(Move, Distribution)>,
}

impl FanOut {
    /// The legal set as the model sees it.
    #[must_use]
    pub fn legal_set(&self) -> Vec<Move> {
        legal_set(&self.first_moves)
    }

    /// Whether the model calls the game over: it gives that more weight than all moves together.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over > self.first_moves.iter().map(|(_, p)| *p).sum()
    }
}

fn legal_set(first_moves: &[(Move, f32)]) -> Vec<Move> {
    let most = first_moves.first().map_or(0.0, |(_, p)| *p);
    first_moves.iter().take_while(|(_, p)| *p >= LEGAL_THRESHOLD * most).map(|(mv, _)| *mv).collect()
}

/// Tokens that a position with so many evaluated moves takes in a pass.
#[must_use]
pub fn n_tokens(position: &Position, n_moves: usize) -> usize {
    let request = Request::at(position.clone(), Commands::top_all(position.rules()));
    request.prompt().len() + request.opening().len() + n_moves
}

/// Evaluates the given moves of each position, all known beforehand, in one pass.
///
/// # Errors
/// When the network fails.
pub fn with_known_moves(
    network: &mut (impl Forward + ?Sized),
    full_input: bool,
    positions: &[(&Position, &[Move])],
) -> Result<Vec<FanOut>, ModelError> {
    let mut batch = Batch::default();
    let mut prompt_rows = Vec::with_capacity(positions.len());
    let mut branch_rows = Vec::new();
    for (position, moves) in positions {
        let end = push_prompt(&mut batch, position, full_input);
        prompt_rows.push(batch.len() as u32 - 1);
        push_branches(&mut batch, position, moves, end, &mut branch_rows);
    }
    let (first, values) = network.moves_and_values(&batch, &prompt_rows, &branch_rows)?;
    let mut end = 0;
    let places: Vec<usize> = positions
        .iter()
        .map(|(_, moves)| {
            end += moves.len();
            end - moves.len()
        })
        .collect();
    // Two thousand exponentials and a sort for each position: as much work as a GPU has with the pass.
    let answer = |(idx, (position, moves)): (usize, &(&Position, &[Move]))| {
        let (first_moves, over) = first_moves(position.rules(), first.row(idx));
        let rows = (places[idx]..).map(|row| value_distribution(values.row(row)));
        FanOut { first_moves, over, values: moves.iter().copied().zip(rows).collect() }
    };
    Ok(positions.par_iter().enumerate().map(answer).collect())
}

/// A position and its moves in tokens, ready for a pass.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The prompt of `%top_all` up to the opening of the list.
    prompt: Vec<u32>,
    /// Tokens of it that are input.
    input_len: usize,
    /// The moves as branches.
    moves: Vec<u32>,
}

impl Asked {
    /// A position and the moves to evaluate.
    #[must_use]
    pub fn new(position: &Position, moves: &[Move]) -> Self {
        let rules = position.rules();
        let request = Request::at(position.clone(), Commands::top_all(rules));
        let mut prompt: Vec<u32> = request.prompt().into_iter().map(u32::from).collect();
        let input_len = prompt.len();
        prompt.extend(request.opening().into_iter().map(u32::from));
        let token = |&mv| u32::from(moves::token_of(rules, mv).unwrap_or(vocab::UNK));
        Self { prompt, input_len, moves: moves.iter().map(token).collect() }
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

    fn push(&self, batch: &mut Batch, full_input: bool, rows: &mut Vec<u32>) {
        batch.push_prompted(&self.prompt, if full_input { self.input_len } else { 0 });
        let end = self.prompt.len();
        for &token in &self.moves {
            rows.push(batch.len() as u32);
            batch.push_branch(&[token], end, end, 0);
        }
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
    pub fn distributions(&self) -> impl Iterator<Item = Distribution> {
        self.rows.clone().map(|row| value_distribution(self.pass.row(row)))
    }
}

/// Value logits of the moves of each position, in one pass with the shortest head: what a search by the rules needs.
///
/// # Errors
/// When the network fails.
pub fn value_logits(
    network: &mut (impl Forward + ?Sized),
    full_input: bool,
    asked: &[&Asked],
) -> Result<Vec<ValueLogits>, ModelError> {
    let mut batch = Batch::default();
    let mut rows = Vec::new();
    let mut ends = Vec::with_capacity(asked.len());
    for asked in asked {
        let first = rows.len();
        asked.push(&mut batch, full_input, &mut rows);
        ends.push(first..rows.len());
    }
    let pass = Arc::new(network.forward(&batch, &Want { rows, columns: Some(value_columns()) })?);
    Ok(ends.into_iter().map(|rows| ValueLogits { pass: pass.clone(), rows }).collect())
}

/// The values of moves that are known beforehand, all in one pass.
///
/// # Errors
/// When the network fails.
pub fn values_of_known_moves(
    network: &mut (impl Forward + ?Sized),
    full_input: bool,
    positions: &[(&Position, &[Move])],
) -> Result<Vec<Vec<Distribution>>, ModelError> {
    let asked: Vec<Asked> = positions.iter().map(|(position, moves)| Asked::new(position, moves)).collect();
    let logits = value_logits(network, full_input, &asked.iter().collect::<Vec<_>>())?;
    Ok(logits.iter().map(|logits| logits.distributions().collect()).collect())
}

/// Appends the prompt of `%top_all` up to the opening of the list; returns its length.
fn push_prompt(batch: &mut Batch, position: &Position, full_input: bool) -> usize {
    let request = Request::at(position.clone(), Commands::top_all(position.rules()));
    let mut tokens: Vec<u32> = request.prompt().into_iter().map(u32::from).collect();
    let input_len = tokens.len();
    tokens.extend(request.opening().into_iter().map(u32::from));
    batch.push_prompted(&tokens, if full_input { input_len } else { 0 });
    tokens.len()
}

fn push_branches(batch: &mut Batch, position: &Position, moves: &[Move], end: usize, rows: &mut Vec<u32>) {
    for &mv in moves {
        let token = moves::token_of(position.rules(), mv).unwrap_or(vocab::UNK);
        rows.push(batch.len() as u32);
        batch.push_branch(&[u32::from(token)], end, end, 0);
    }
}

/// The distribution of the first listed move over all move tokens of the game, highest first, and the chance of an end.
pub(crate) fn first_moves(rules: Rules, logits: &[f32]) -> (Vec<(Move, f32)>, f32) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = logits.iter().map(|logit| (logit - most).exp()).sum();
    let probability = |token: u16| (logits[usize::from(token)] - most).exp() / total;
    let mut moves: Vec<(Move, f32)> = moves::move_tokens(rules)
        .filter_map(|token| moves::move_of(rules, token).map(|mv| (mv, probability(token))))
        .collect();
    moves.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    (moves, probability(vocab::INVALID))
}

/// Softmax over the value tokens.
pub(crate) fn value_distribution(logits: &[f32]) -> Distribution {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut weights = [0.0; N_BUCKETS];
    for (weight, logit) in weights.iter_mut().zip(logits) {
        *weight = (logit - most).exp();
    }
    let total: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    Distribution(weights)
}
