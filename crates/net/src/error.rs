//! What can go wrong in a pass or an update.

use crate::all_reduce::AllReduceError;
use crate::config::ConfigError;
use crate::decoder::KvCacheId;

/// Failure of a pass, an update or a decoder. Parameters are as they were before the call.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The shape is not served.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An array has the wrong length.
    #[error("{what}: expected {expected} elements, got {got}")]
    Length {
        /// The array.
        what: &'static str,
        /// Length it should have.
        expected: usize,
        /// Length it has.
        got: usize,
    },
    /// A token id outside the vocabulary.
    #[error("token {token_idx} has id {id}, the vocabulary has {vocab}")]
    Token {
        /// Index in the batch.
        token_idx: usize,
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// A place beyond the table of places.
    #[error("token {token_idx} has place {place}, places end at {limit}")]
    Place {
        /// Index in the batch.
        token_idx: usize,
        /// The place.
        place: u32,
        /// Rows of the table.
        limit: u32,
    },
    /// A rotary position beyond the tables.
    #[error("token {token_idx} has position {position}, positions end at {limit}")]
    Position {
        /// Index in the batch.
        token_idx: usize,
        /// The position.
        position: u32,
        /// One more than the largest.
        limit: u32,
    },
    /// A mask that reaches outside its sequence.
    #[error("the mask of token {token_idx} reaches outside its sequence of {sequence_len} tokens")]
    Mask {
        /// Index in the batch.
        token_idx: usize,
        /// Tokens of the sequence, cached ones included.
        sequence_len: usize,
    },
    /// A loss row outside the batch.
    #[error("row {row} is outside the batch of {n_tokens} tokens")]
    Row {
        /// The row.
        row: u32,
        /// Tokens of the batch.
        n_tokens: usize,
    },
    /// A target outside the vocabulary.
    #[error("target id {id}, the vocabulary has {vocab}")]
    Target {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// Target probabilities that do not sum to one, or a weight that is negative or not finite.
    #[error("loss row {row_idx}: target probabilities sum to {sum}, weight {weight}")]
    Distribution {
        /// The row.
        row_idx: usize,
        /// Sum of its probabilities.
        sum: f32,
        /// Its weight.
        weight: f32,
    },
    /// A normalizer that is zero, negative or not finite.
    #[error("the loss normalizer is {value}, it must be positive")]
    Normalizer {
        /// The normalizer.
        value: f32,
    },
    /// A loss or gradient overflowed or is not a number; the update was not applied.
    #[error("step {step}: {what} is not finite; the update was not applied")]
    NotFinite {
        /// Updates done before.
        step: u64,
        /// What overflowed.
        what: &'static str,
    },
    /// No such cache: closed, or of another decoder.
    #[error("no open KV cache {0:?}")]
    KvCache(KvCacheId),
    /// The same cache twice in one call, or a truncation beyond its end.
    #[error("KV cache {cache:?}: {reason}")]
    KvCacheUse {
        /// The cache.
        cache: KvCacheId,
        /// What is wrong.
        reason: &'static str,
    },
    /// The ranks did not come together.
    #[error(transparent)]
    AllReduce(#[from] AllReduceError),
    /// The device failed or ran out of memory, in its own words.
    #[error("device: {0}")]
    Device(String),
}
