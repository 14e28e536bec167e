//! What an evaluator answers.

use mavis_game::{Move, Outcome, Position};
use std::sync::Arc;

/// The number of buckets of a value distribution.
pub const N_BUCKETS: usize = 64;

/// The answer to one request, or why there is none.
pub type Reply = Result<Evaluation, EvalError>;

/// What an evaluator says about one state.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// The state as the evaluator sees it: the one asked for, or its own word on what follows the move.
    pub state: Arc<Position>,
    /// The end of the game, or what can be played.
    pub verdict: Verdict,
}

/// The end of the game, or what can be played.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// The game is over.
    Ended(Outcome),
    /// The moves with their values, in no particular order; all legal ones, or the best if fewer were listed.
    Moves(Vec<MoveValue>),
}

/// A move and what it is worth to the player who makes it.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveValue {
    /// The move.
    pub mv: Move,
    /// Its value.
    pub value: Value,
}

/// A value as win probabilities, for the player who makes the move.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// The expectation.
    pub mean: f32,
    /// The most likely value (the middle of the likeliest bucket).
    pub mode: f32,
    /// The weights of the 64 buckets, lowest first, where the evaluator has them.
    pub buckets: Option<Arc<[f32; N_BUCKETS]>>,
}

impl Value {
    /// A value without a distribution.
    #[must_use]
    pub fn certain(win_probability: f32) -> Self {
        Self { mean: win_probability, mode: win_probability, buckets: None }
    }

    /// Mean and mode of a distribution over 64 equal buckets; weights need not sum to one, 0.5 where they sum to 0.
    #[must_use]
    pub fn from_buckets(buckets: [f32; N_BUCKETS]) -> Self {
        let middle = |index: usize| (index as f32 + 0.5) / N_BUCKETS as f32;
        let sum: f32 = buckets.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Self { mean: 0.5, mode: 0.5, buckets: Some(Arc::new(buckets)) };
        }
        let moment: f32 = buckets.iter().enumerate().map(|(index, weight)| weight * middle(index)).sum();
        let mut mode = 0;
        for (index, weight) in buckets.iter().enumerate() {
            if *weight > buckets[mode] {
                mode = index;
            }
        }
        Self { mean: moment / sum, mode: middle(mode), buckets: Some(Arc::new(buckets)) }
    }
}

/// An answer that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("hallucination ({kind}): {detail}")]
pub struct Hallucination {
    /// The kind, one word or two; what counts are kept by.
    pub kind: &'static str,
    /// The offending part.
    pub detail: String,
}

/// Why a request has no evaluation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// The evaluator answered, but not in the language.
    #[error(transparent)]
    Hallucination(#[from] Hallucination),
    /// The evaluator could not answer; asking again may help.
    #[error("evaluation failed: {0}")]
    Failed(String),
}

impl EvalError {
    /// A hallucination of a kind.
    #[must_use]
    pub fn hallucination(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::Hallucination(Hallucination { kind, detail: detail.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_mean_and_mode() {
        let mut buckets = [0.0; N_BUCKETS];
        buckets[10] = 3.0;
        buckets[50] = 1.0;
        let value = Value::from_buckets(buckets);
        assert!((value.mode - 10.5 / 64.0).abs() < 1e-6);
        assert!((value.mean - (0.75 * 10.5 + 0.25 * 50.5) / 64.0).abs() < 1e-6);
        assert_eq!(Value::from_buckets([0.0; N_BUCKETS]).mean, 0.5);
    }
}
