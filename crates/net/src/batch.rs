//! Sequences of unequal length, flat and without padding, and their attention mask.

mod share;

pub(crate) use share::share;

use crate::config::{PickedBy, TransformerConfig};
use crate::error::NetError;

/// Positions end here: sixteen times the longest context of any preset. Tables of rotations grow with the largest position, so a stray
/// number must not decide their size.
pub const MAX_POSITIONS: u32 = 65_536;

/// A batch of sequences laid end to end.
///
/// The mask is two integers a token, relative to the start of its sequence: token `i` may attend to key `j` of the same
/// sequence iff `j < prefix_end[i]` or `branch_start[i] <= j <= i`. So one rule serves three layouts:
///
/// | layout | `prefix_end` | `branch_start` |
/// |---|---|---|
/// | causal | 0 | 0 |
/// | full attention within a prompt of `P` tokens | `P` for prompt tokens, 0 after | 0 |
/// | star branch that sees the prompt and itself | `P` | own start |
///
/// A token always sees itself. In a [`Decoder`](crate::Decoder) the same indices count from the start of the
/// cache, cached keys first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Token ids, `[N]`.
    pub tokens: Vec<u32>,
    /// Rotary positions, `[N]`; branches of a star share theirs.
    pub positions: Vec<u32>,
    /// Rows of a learned table of places, `[N]`; 0 for tokens that have no place. Networks without such a table do not look at them.
    pub places: Vec<u32>,
    /// Visible keys before this index, `[N]`.
    pub prefix_end: Vec<u32>,
    /// Visible keys from this index to the token itself, `[N]`.
    pub branch_start: Vec<u32>,
    /// Where each sequence starts, and the total at the end: `[n_sequences + 1]`, or empty when there is none.
    pub starts: Vec<u32>,
}

impl Batch {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Number of sequences.
    pub fn n_sequences(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Token range of a sequence.
    pub fn sequence(&self, sequence_idx: usize) -> std::ops::Range<usize> {
        self.starts[sequence_idx] as usize..self.starts[sequence_idx + 1] as usize
    }

    /// Begins a sequence; tokens follow by [`Batch::push`] or [`Batch::push_branch`].
    pub fn begin(&mut self) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.starts.push(self.tokens.len() as u32);
    }

    /// Appends one token to the sequence begun last.
    pub fn push(&mut self, token: BatchToken) {
        if self.starts.is_empty() {
            self.begin();
        }
        self.tokens.push(token.id);
        self.positions.push(token.position);
        self.places.push(0);
        self.prefix_end.push(token.prefix_end);
        self.branch_start.push(token.branch_start);
        if let Some(end) = self.starts.last_mut() {
            *end = self.tokens.len() as u32;
        }
    }

    /// Appends tokens with the same mask to the sequence begun last; their positions count on from `position`.
    pub fn push_run(
        &mut self,
        ids: impl IntoIterator<Item = u32>,
        position: usize,
        prefix_end: usize,
        branch_start: usize,
    ) {
        if self.starts.is_empty() {
            self.begin();
        }
        let first = self.tokens.len();
        self.tokens.extend(ids);
        let n = self.tokens.len() - first;
        self.positions.extend(position as u32..(position + n) as u32);
        self.places.resize(first + n, 0);
        self.prefix_end.resize(first + n, prefix_end as u32);
        self.branch_start.resize(first + n, branch_start as u32);
        if let Some(end) = self.starts.last_mut() {
            *end = self.tokens.len() as u32;
        }
    }

    /// Appends a whole causal sequence with positions from zero.
    pub fn push_causal(&mut self, tokens: &[u32]) {
        self.push_prompted(tokens, 0);
    }

    /// Appends a sequence whose first `prompt_len` tokens see each other fully; the rest is causal.
    pub fn push_prompted(&mut self, tokens: &[u32], prompt_len: usize) {
        self.begin();
        let (prompt, rest) = tokens.split_at(prompt_len.min(tokens.len()));
        self.push_run(prompt.iter().copied(), 0, prompt_len, 0);
        self.push_run(rest.iter().copied(), prompt_len, 0, 0);
    }

    /// Appends a branch to the sequence begun last: it sees the first `prefix_len` keys of the sequence and itself, and its positions
    /// count on from `position`. `cached` is how many keys the sequence already has outside this batch (0 in training).
    pub fn push_branch(&mut self, tokens: &[u32], prefix_len: usize, position: usize, cached: usize) {
        let sequence_start = match self.starts.len() {
            0 | 1 => 0,
            n => self.starts[n - 2] as usize,
        };
        let branch_start = cached + self.tokens.len() - sequence_start;
        self.push_run(tokens.iter().copied(), position, prefix_len, branch_start);
    }

    /// Gives the tokens that were appended last their places.
    pub fn place_last(&mut self, places: &[u32]) {
        let first = self.places.len().saturating_sub(places.len());
        let last = &mut self.places[first..];
        last.copy_from_slice(&places[places.len() - last.len()..]);
    }

    /// For each token its row of a learned table.
    pub(crate) fn picks(&self, by: PickedBy) -> &[u32] {
        match by {
            PickedBy::Position => &self.positions,
            PickedBy::Place => &self.places,
        }
    }

    /// Removes all sequences and keeps the memory.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.positions.clear();
        self.places.clear();
        self.prefix_end.clear();
        self.branch_start.clear();
        self.starts.clear();
    }

    /// As [`validate`](Self::validate) for a network: also that no position or place is beyond a learned table.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn validate_for(
        &self,
        config: &TransformerConfig,
        cached: impl Fn(usize) -> usize,
    ) -> Result<(), NetError> {
        self.validate(config.vocab, cached)?;
        let Some((by, n_rows)) = config.variant.learned_table() else { return Ok(()) };
        let limit = n_rows as u32;
        match (self.picks(by).iter().enumerate().find(|(_, row)| **row >= limit), by) {
            (None, _) => Ok(()),
            (Some((token_idx, &position)), PickedBy::Position) => {
                Err(NetError::Position { token_idx, position, limit })
            }
            (Some((token_idx, &place)), PickedBy::Place) => Err(NetError::Place { token_idx, place, limit }),
        }
    }

    /// Checks lengths, ids and mask; `cached` gives the keys each sequence has outside the batch (none for training).
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn validate(&self, vocab: usize, cached: impl Fn(usize) -> usize) -> Result<(), NetError> {
        let n = self.tokens.len();
        for (what, len) in [
            ("positions", self.positions.len()),
            ("places", self.places.len()),
            ("prefix_end", self.prefix_end.len()),
            ("branch_start", self.branch_start.len()),
        ] {
            if len != n {
                return Err(NetError::Length { what, expected: n, got: len });
            }
        }
        let covered = self.starts.first().copied().unwrap_or(0) == 0
            && self.starts.last().copied().unwrap_or(0) as usize == n
            && self.starts.is_sorted();
        if !covered {
            return Err(NetError::Length {
                what: "sequence starts",
                expected: n,
                got: self.starts.last().copied().unwrap_or(0) as usize,
            });
        }
        if let Some((token_idx, &id)) = self.tokens.iter().enumerate().find(|(_, id)| **id as usize >= vocab)
        {
            return Err(NetError::Token { token_idx, id, vocab });
        }
        let far = self.positions.iter().enumerate().find(|(_, position)| **position >= MAX_POSITIONS);
        if let Some((token_idx, &position)) = far {
            return Err(NetError::Position { token_idx, position, limit: MAX_POSITIONS });
        }
        for sequence_idx in 0..self.n_sequences() {
            let range = self.sequence(sequence_idx);
            let cached = cached(sequence_idx);
            let len = cached + range.len();
            for (i, token_idx) in range.enumerate() {
                let own = cached + i;
                if self.prefix_end[token_idx] as usize > len || self.branch_start[token_idx] as usize > own {
                    return Err(NetError::Mask { token_idx, sequence_len: len });
                }
            }
        }
        Ok(())
    }
}

/// One token with its place and mask; see [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchToken {
    /// Token id.
    pub id: u32,
    /// Rotary position.
    pub position: u32,
    /// Keys before this index of the sequence are visible.
    pub prefix_end: u32,
    /// Keys from this index of the sequence to the token itself are visible.
    pub branch_start: u32,
}

/// The rows of a batch that carry loss, and their targets. The head and the loss are computed on these rows only.
///
/// A row's target is a distribution over the columns of the logits, and its loss the cross-entropy; or it is a number, and its loss the squared error
/// of column 0, which the other columns do not change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossRows {
    /// Token index in the batch, `[R]`; the row's logits predict what follows that token.
    pub rows: Vec<u32>,
    /// Weight in the loss, `[R]`.
    pub weights: Vec<f32>,
    /// Kind of row (move, value, state, ...), `[R]`; losses are also reported by kind.
    pub tags: Vec<u8>,
    /// Targets of row `r` are entries `target_starts[r]..target_starts[r + 1]`; `[R + 1]`, or empty when there is no row.
    pub target_starts: Vec<u32>,
    /// Token ids of the targets; [`NUMBER`](Self::NUMBER) where the target is a number.
    pub target_ids: Vec<u32>,
    /// Their probabilities, which sum to one in each row; or the number.
    pub target_probs: Vec<f32>,
    /// The loss is `sum(weight * loss of the row) / normalizer`; `None` means the sum of the weights. Ranks that share a batch give
    /// the sum over all ranks, so that their gradients add up.
    pub normalizer: Option<f32>,
}

impl LossRows {
    /// Stands in place of a token id where a row's target is a number; a row has one at most, and no other target beside it.
    pub const NUMBER: u32 = u32::MAX;

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row carries loss.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends a row with one right answer.
    pub fn push_hard(&mut self, row: u32, weight: f32, tag: u8, target: u32) {
        self.push_soft(row, weight, tag, &[(target, 1.0)]);
    }

    /// Appends a row whose target is a distribution.
    pub fn push_soft(&mut self, row: u32, weight: f32, tag: u8, targets: &[(u32, f32)]) {
        if self.target_starts.is_empty() {
            self.target_starts.push(0);
        }
        self.rows.push(row);
        self.weights.push(weight);
        self.tags.push(tag);
        for &(id, prob) in targets {
            self.target_ids.push(id);
            self.target_probs.push(prob);
        }
        self.target_starts.push(self.target_ids.len() as u32);
    }

    /// Appends a row whose column 0 should be this number.
    pub fn push_number(&mut self, row: u32, weight: f32, tag: u8, target: f32) {
        self.push_soft(row, weight, tag, &[(Self::NUMBER, target)]);
    }

    /// What the weighted sum of losses is divided by.
    pub fn normalizer(&self) -> f32 {
        self.normalizer.unwrap_or_else(|| self.weights.iter().sum())
    }

    /// Target entries of a row.
    pub fn targets(&self, row_idx: usize) -> (&[u32], &[f32]) {
        let range = self.target_starts[row_idx] as usize..self.target_starts[row_idx + 1] as usize;
        (&self.target_ids[range.clone()], &self.target_probs[range])
    }

    /// The number that a row's column 0 should be; `None` where its target is a distribution.
    pub fn number(&self, row_idx: usize) -> Option<f32> {
        match self.targets(row_idx) {
            ([Self::NUMBER], [number]) => Some(*number),
            _ => None,
        }
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.weights.clear();
        self.tags.clear();
        self.target_starts.clear();
        self.target_ids.clear();
        self.target_probs.clear();
        self.normalizer = None;
    }

    /// Checks lengths, ids, weights, and that each distribution sums to one (to 1e-3) and each number is finite.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn validate(&self, n_tokens: usize, vocab: usize) -> Result<(), NetError> {
        let n = self.rows.len();
        let starts = if n == 0 && self.target_starts.is_empty() { 1 } else { self.target_starts.len() };
        for (what, expected, got) in [
            ("loss weights", n, self.weights.len()),
            ("loss tags", n, self.tags.len()),
            ("target starts", n + 1, starts),
            ("target probabilities", self.target_ids.len(), self.target_probs.len()),
            ("targets", self.target_starts.last().copied().unwrap_or(0) as usize, self.target_ids.len()),
        ] {
            if expected != got {
                return Err(NetError::Length { what, expected, got });
            }
        }
        if let Some(&row) = self.rows.iter().find(|row| **row as usize >= n_tokens) {
            return Err(NetError::Row { row, n_tokens });
        }
        if !self.target_starts.is_sorted() {
            return Err(NetError::Length { what: "sorted target starts", expected: n + 1, got: starts });
        }
        for row_idx in 0..n {
            let number = self.number(row_idx);
            let (ids, probs) = self.targets(row_idx);
            if let Some(&id) = ids.iter().find(|id| number.is_none() && **id as usize >= vocab) {
                return Err(NetError::Target { id, vocab });
            }
            let sum: f32 = probs.iter().sum();
            let bad_weight = !(self.weights[row_idx].is_finite() && self.weights[row_idx] >= 0.0);
            let bad_target = match number {
                Some(number) => !number.is_finite(),
                None => (sum - 1.0).abs() > 1e-3 || sum.is_nan(),
            };
            if bad_weight || bad_target {
                return Err(NetError::Distribution { row_idx, sum, weight: self.weights[row_idx] });
            }
        }
        let normalizer = self.normalizer();
        if n > 0 && !(normalizer.is_finite() && normalizer > 0.0) {
            return Err(NetError::Normalizer { value: normalizer });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_share_positions_and_know_their_start() {
        let mut batch = Batch::default();
        batch.push_causal(&[1, 2, 3]);
        batch.push_prompted(&[4, 5], 2);
        batch.push_branch(&[6, 7], 2, 2, 0);
        batch.push_branch(&[8, 9], 2, 2, 0);
        assert_eq!(batch.starts, [0, 3, 9]);
        assert_eq!(batch.positions[3..], [0, 1, 2, 3, 2, 3]);
        assert_eq!(batch.prefix_end[3..], [2, 2, 2, 2, 2, 2]);
        assert_eq!(batch.branch_start[3..], [0, 0, 2, 2, 4, 4]);
        batch.validate(10, |_| 0).unwrap();
        assert!(matches!(batch.validate(9, |_| 0), Err(NetError::Token { token_idx: 8, id: 9, .. })));
        batch.positions[5] = MAX_POSITIONS;
        assert!(matches!(batch.validate(10, |_| 0), Err(NetError::Position { token_idx: 5, .. })));
        batch.positions[5] = 2;
        batch.prefix_end[4] = 7;
        assert!(matches!(batch.validate(10, |_| 0), Err(NetError::Mask { token_idx: 4, .. })));
    }

    #[test]
    fn loss_rows_are_checked() {
        let mut rows = LossRows::default();
        rows.validate(0, 10).unwrap();
        rows.push_hard(2, 1.0, 0, 3);
        rows.push_soft(3, 0.5, 1, &[(1, 0.25), (2, 0.75)]);
        rows.validate(4, 10).unwrap();
        assert_eq!(rows.normalizer(), 1.5);
        assert!(matches!(rows.validate(3, 10), Err(NetError::Row { row: 3, .. })));
        assert!(matches!(rows.validate(4, 3), Err(NetError::Target { id: 3, .. })));
        rows.target_probs[1] = 0.5;
        assert!(matches!(rows.validate(4, 10), Err(NetError::Distribution { row_idx: 1, .. })));
    }

    #[test]
    fn a_number_is_the_only_target_of_its_row() {
        let mut rows = LossRows::default();
        rows.push_number(0, 1.0, 0, -3.5);
        rows.push_hard(1, 1.0, 0, 3);
        rows.validate(2, 10).unwrap();
        assert_eq!((rows.number(0), rows.number(1)), (Some(-3.5), None));
        rows.target_probs[0] = f32::NAN;
        assert!(matches!(rows.validate(2, 10), Err(NetError::Distribution { row_idx: 0, .. })));
        rows.clear();
        rows.push_soft(0, 1.0, 0, &[(LossRows::NUMBER, 0.5), (3, 0.5)]);
        assert!(matches!(rows.validate(2, 10), Err(NetError::Target { id: LossRows::NUMBER, .. })));
    }
}
