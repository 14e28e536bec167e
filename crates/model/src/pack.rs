//! From examples to batches: chain and star layouts, soft targets, weights.

mod trace;

use crate::{InputAttention, reading::ReadText};
use mavis_data::AnnotatedPosition;
use mavis_lang::{Example, ListSpan, moves, vocab::VALUES};
use mavis_net::{Batch, LossRows};
use mavis_value::{Bucket, N_BUCKETS};
use serde::{Deserialize, Serialize};

/// Kinds of rows, for losses by kind.
pub mod tag {
    /// The next listed move.
    pub const MOVE: u8 = 0;
    /// The value of a listed move.
    pub const VALUE: u8 = 1;
    /// The best action.
    pub const BEST: u8 = 2;
    /// Everything else the model writes: states, line ends.
    pub const TEXT: u8 = 3;
    /// The lines of a search inside a trace.
    pub const SEARCH: u8 = 4;
    /// Names in order of the tags.
    pub const NAMES: [&str; 5] = ["move", "value", "best", "text", "search"];
}

/// How the loss of one example is made up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LossSettings {
    /// Weight of the listed moves: of the one distribution in a star, spread over the moves in a chain.
    pub moves: f32,
    /// How many times as much the moves of a list in turn count: each has one right successor, which is soon known save in a few
    /// places, and a list is whole only if all of them are right.
    pub in_turn: f32,
    /// Weight of the values, spread over the listed moves.
    pub values: f32,
    /// Weight of the best action.
    pub best: f32,
    /// Weight of everything else the model writes, spread over its tokens.
    pub text: f32,
    /// Weight of the lines of the search in each node of a trace, spread over their tokens; 0 leaves loss on game tokens alone, the
    /// ablation of paper 001.
    pub search: f32,
    /// Width in buckets of the Gaussian that a value target is smeared with (HL-Gauss); 0 means the bucket alone.
    pub value_smear: f32,
    /// How much more the good moves' values count: the weight of a move falls by e for every `1 / focus` of win
    /// probability it is worse than the best one; 0 means all alike.
    pub value_focus: f32,
}

impl Default for LossSettings {
    fn default() -> Self {
        Self {
            moves: 1.0,
            in_turn: 1.0,
            values: 1.0,
            best: 0.5,
            text: 1.0,
            search: 1.0,
            value_smear: 0.0,
            value_focus: 0.0,
        }
    }
}

/// A batch being filled.
#[derive(Clone, Debug, Default)]
pub struct PackedBatch {
    /// The tokens.
    pub batch: Batch,
    /// The rows with loss.
    pub rows: LossRows,
    /// Examples in it.
    pub n_examples: usize,
    /// Answers beyond the first of an example: the nodes of a trace below its root.
    pub n_further: usize,
}

impl PackedBatch {
    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.rows.clear();
        self.n_examples = 0;
        self.n_further = 0;
    }

    /// Closes the batch: the loss is the mean over answers, of which a trace has one in each node and other examples have one.
    pub fn finish(&mut self) {
        self.rows.normalizer = Some((self.n_examples + self.n_further).max(1) as f32);
    }
}

/// Lays examples out into batches.
#[derive(Clone, Debug)]
pub struct Packer {
    /// How losses are weighted.
    pub loss: LossSettings,
    /// How positions are read.
    pub input: InputAttention,
}

impl Packer {
    /// Tokens a star of this example takes.
    #[must_use]
    pub fn star_len(&self, example: &Example) -> usize {
        let n_moves = example.list.filter(|list| !list.is_terminal()).map_or(0, |list| list.n_moves);
        self.trunk_len(example) + n_moves
    }

    /// Tokens that its text before the list of moves takes; all of it where there is none, or an end of the game in its place.
    #[must_use]
    pub fn trunk_len(&self, example: &Example) -> usize {
        let list = example.list.filter(|list| !list.is_terminal());
        let trunk = list.map_or(&example.tokens[..], |list| &example.tokens[..list.start]);
        self.text_len(trunk, example.input_len)
    }

    /// Tokens that a text takes of which all after the input is predicted.
    #[must_use]
    pub fn text_len(&self, tokens: &[u16], input_len: usize) -> usize {
        self.input.n_tokens(tokens, input_len, 0, input_len)
    }

    /// Appends an example with its listed moves as branches that see the text before the list but not each other. The
    /// trunk may be longer than the input: a tracked state is a chain between the two. What follows the list in the example is
    /// left out; an example without a list of moves is laid out as a chain.
    pub fn push_star(&self, packed: &mut PackedBatch, example: &Example, annotated: &AnnotatedPosition) {
        let Some(list) = example.list.filter(|list| !list.is_terminal()) else {
            return self.push_chain(packed, example, annotated);
        };
        let listed = self.push_trunk(packed, example, list);
        let values = self.value_targets(&listed, annotated);
        for (&token, (weight, targets)) in listed.iter().zip(&values) {
            let row = packed.batch.len() as u32;
            packed.batch.push_branch(&[u32::from(token)], list.start, list.start, 0);
            packed.rows.push_soft(row, *weight, tag::VALUE, targets);
        }
    }

    /// Appends the text before the list, and learns which moves may come first; the values are not known.
    pub fn push_legal_moves(
        &self,
        packed: &mut PackedBatch,
        example: &Example,
        annotated: &AnnotatedPosition,
    ) {
        match example.list.filter(|list| !list.is_terminal()) {
            None => self.push_chain(packed, example, annotated),
            Some(list) => {
                self.push_trunk(packed, example, list);
            }
        }
    }

    /// Appends the whole example and learns only what follows its best action: list and choice stand as given.
    pub fn push_next_state(
        &self,
        packed: &mut PackedBatch,
        example: &Example,
        annotated: &AnnotatedPosition,
    ) {
        let Some(best_at) = example.best_at else { return self.push_chain(packed, example, annotated) };
        let text = self.push_tokens(packed, &example.tokens[..example.tokens.len() - 1], example.input_len);
        self.push_text_rows(packed, example, &text, best_at + 1..example.tokens.len());
        packed.n_examples += 1;
    }

    /// The part of a star before its branches, with the loss of its text and of the first move; returns the listed moves.
    fn push_trunk(&self, packed: &mut PackedBatch, example: &Example, list: ListSpan) -> Vec<u16> {
        let text = self.push_tokens(packed, &example.tokens[..list.start], example.input_len);
        self.push_text_rows(packed, example, &text, example.input_len..list.start);
        let listed: Vec<u16> = (0..list.n_moves).map(|idx| example.tokens[list.move_at(idx)]).collect();
        let share = 1.0 / listed.len() as f32;
        let targets: Vec<(u32, f32)> = listed.iter().map(|&token| (u32::from(token), share)).collect();
        packed.rows.push_soft(text.row_before(list.start), self.loss.moves, tag::MOVE, &targets);
        packed.n_examples += 1;
        listed
    }

    /// Appends an example as the text reads; the next listed move is trained on all moves still to list, in a list in turn on the one
    /// whose turn it is, and the end of the list on there being none.
    pub fn push_chain(&self, packed: &mut PackedBatch, example: &Example, annotated: &AnnotatedPosition) {
        // The last token is never read: nothing follows it.
        let tokens = &example.tokens[..example.tokens.len().saturating_sub(1)];
        let text = self.push_tokens(packed, tokens, example.input_len);
        packed.n_examples += 1;
        let Some(list) = example.list.filter(|list| !list.is_terminal()) else {
            return self.push_text_rows(packed, example, &text, example.input_len..example.tokens.len());
        };
        let listed: Vec<u16> = (0..list.n_moves).map(|idx| example.tokens[list.move_at(idx)]).collect();
        let values = self.value_targets(&listed, annotated);
        self.push_list_rows(packed, &example.tokens, &text, list, &values);
        if let Some(best_at) = example.best_at {
            let target = u32::from(example.tokens[best_at]);
            packed.rows.push_hard(text.row_before(best_at), self.loss.best, tag::BEST, target);
        }
        let places = (example.input_len..list.start).chain(list.end() + 1..example.tokens.len());
        self.push_text_rows(packed, example, &text, places);
    }

    /// Rows of a list that is written out: which moves are still to come, their values, and the end.
    fn push_list_rows(
        &self,
        packed: &mut PackedBatch,
        tokens: &[u16],
        text: &ReadText,
        list: ListSpan,
        values: &[(f32, Vec<(u32, f32)>)],
    ) {
        // The end counts as one more entry: a list that goes on too long or not long enough is as wrong as a wrong move.
        let weight = self.loss.moves * if list.in_turn { self.loss.in_turn } else { 1.0 };
        let weight = weight / (list.n_moves + 1) as f32;
        let mut targets = Vec::new();
        for (idx, (value_weight, value_targets)) in values.iter().enumerate() {
            // A list in turn begins anywhere.
            let next = if list.in_turn && idx > 0 { idx..idx + 1 } else { idx..list.n_moves };
            let share = 1.0 / next.len() as f32;
            targets.clear();
            targets.extend(next.map(|next| (u32::from(tokens[list.move_at(next)]), share)));
            packed.rows.push_soft(text.row_before(list.move_at(idx)), weight, tag::MOVE, &targets);
            let row = text.row_before(list.value_at(idx));
            packed.rows.push_soft(row, *value_weight, tag::VALUE, value_targets);
        }
        let end = list.end();
        packed.rows.push_hard(text.row_before(end), weight, tag::MOVE, u32::from(tokens[end]));
    }

    fn push_tokens(&self, packed: &mut PackedBatch, tokens: &[u16], input_len: usize) -> ReadText {
        let text = self.input.push(&mut packed.batch, tokens, input_len, 0, input_len);
        text.give_places(&mut packed.batch, tokens);
        text
    }

    /// Rows that predict the tokens at these places, save the best action, which has its own; they share the weight of text.
    fn push_text_rows(
        &self,
        packed: &mut PackedBatch,
        example: &Example,
        text: &ReadText,
        places: impl Iterator<Item = usize> + Clone,
    ) {
        let places = places.filter(|at| Some(*at) != example.best_at);
        let weight = self.loss.text / places.clone().count().max(1) as f32;
        for at in places {
            packed.rows.push_hard(text.row_before(at), weight, tag::TEXT, u32::from(example.tokens[at]));
        }
    }

    /// For each listed move its weight and its target distribution over value tokens.
    fn value_targets(&self, listed: &[u16], annotated: &AnnotatedPosition) -> Vec<(f32, Vec<(u32, f32)>)> {
        let rules = mavis_game::Game::rules(&annotated.position);
        let by_token: Vec<(Option<u16>, f32)> =
            annotated.moves.iter().map(|(mv, value)| (moves::token_of(rules, *mv), *value)).collect();
        let best = annotated.moves.iter().map(|(_, value)| *value).fold(0.0, f32::max);
        let value = |&token: &u16| {
            by_token.iter().find(|(known, _)| *known == Some(token)).map_or(0.5, |(_, value)| *value)
        };
        self.focused(&listed.iter().map(value).collect::<Vec<f32>>(), best)
    }

    /// Weights and targets of the values of one list.
    fn focused(&self, values: &[f32], best: f32) -> Vec<(f32, Vec<(u32, f32)>)> {
        let row = |&value: &f32| ((self.loss.value_focus * (value - best)).exp(), self.value_target(value));
        let mut rows: Vec<(f32, Vec<(u32, f32)>)> = values.iter().map(row).collect();
        let total: f32 = rows.iter().map(|(weight, _)| *weight).sum();
        for (weight, _) in &mut rows {
            *weight *= self.loss.values / total.max(f32::MIN_POSITIVE);
        }
        rows
    }

    /// The target of one value: its bucket, or a Gaussian around the value integrated over the buckets.
    fn value_target(&self, value: f32) -> Vec<(u32, f32)> {
        let token = |index: usize| u32::from(VALUES.start) + index as u32;
        let sigma = self.loss.value_smear;
        // Won and lost are certain, so they stay in the outermost buckets.
        if sigma <= 0.0 || value <= 0.0 || value >= 1.0 {
            return vec![(token(Bucket::from_win_probability(value).index()), 1.0)];
        }
        let center = value * N_BUCKETS as f32;
        let first = (center - 3.5 * sigma).floor().max(0.0) as usize;
        let last = ((center + 3.5 * sigma).ceil() as usize).min(N_BUCKETS);
        let below = |edge: f32| normal_cdf((edge - center) / sigma);
        let mut targets: Vec<(u32, f32)> =
            (first..last).map(|i| (token(i), below(i as f32 + 1.0) - below(i as f32))).collect();
        let total: f32 = targets.iter().map(|(_, share)| *share).sum();
        targets.iter_mut().for_each(|(_, share)| *share /= total);
        targets
    }
}

/// The normal distribution function, by the logistic-tanh approximation (error below 2e-4: targets need no more).
fn normal_cdf(x: f32) -> f32 {
    0.5 * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
}
