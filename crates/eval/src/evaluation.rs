//! What an evaluator answers.

use mavis_game::{Move, Outcome, Position};
use mavis_value::{Bucket, Distribution, Mistake, Scoring};
use std::{fmt, ops::Deref, sync::Arc};

/// The answer to one request, or why there is none.
pub type Reply<G = Position> = Result<Evaluation<G>, EvalError>;

/// What an evaluator says about one state.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation<G = Position> {
    /// The state as the evaluator sees it: the one asked for, or its own word on what follows the move.
    pub state: Arc<G>,
    /// The end of the game, or what can be played.
    pub content: EndOrMoves,
}

/// The end of the game, or what can be played.
#[derive(Clone, PartialEq, Debug)]
pub enum EndOrMoves {
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
    /// The weights of the 64 buckets, where the evaluator has them.
    pub distribution: Option<SharedDistribution>,
}

/// The distribution of one move. Those of all moves of an answer lie in one allocation: a search makes thousands of answers a
/// second.
#[derive(Clone)]
pub struct SharedDistribution {
    all: Arc<[Distribution]>,
    at: usize,
}

impl Deref for SharedDistribution {
    type Target = Distribution;

    fn deref(&self) -> &Distribution {
        &self.all[self.at]
    }
}

impl PartialEq for SharedDistribution {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for SharedDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Value {
    /// A value without a distribution.
    #[must_use]
    pub fn certain(win_probability: f32) -> Self {
        Self { mean: win_probability, mode: win_probability, distribution: None }
    }

    /// Values of several moves, in their order.
    pub fn of_each(distributions: impl Into<Arc<[Distribution]>>) -> impl Iterator<Item = Self> {
        let all = distributions.into();
        (0..all.len()).map(move |at| {
            let distribution = SharedDistribution { all: all.clone(), at };
            Self {
                mean: distribution.win_probability(Scoring::Mean),
                mode: distribution.win_probability(Scoring::Max),
                distribution: Some(distribution),
            }
        })
    }

    /// The value as the language writes it: the likeliest bucket, or that of the expectation.
    #[must_use]
    pub fn bucket(&self) -> Bucket {
        match &self.distribution {
            Some(distribution) => distribution.mode(),
            None => Bucket::from_win_probability(self.mean),
        }
    }

    /// The value as one number.
    #[must_use]
    pub fn win_probability(&self, scoring: Scoring) -> f32 {
        match scoring {
            Scoring::Mean => self.mean,
            Scoring::Max => self.mode,
        }
    }
}

impl From<Distribution> for Value {
    fn from(distribution: Distribution) -> Self {
        Self {
            mean: distribution.win_probability(Scoring::Mean),
            mode: distribution.win_probability(Scoring::Max),
            distribution: Some(SharedDistribution { all: Arc::new([distribution]), at: 0 }),
        }
    }
}

/// Why a request has no evaluation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// The evaluator answered, but wrongly or not in its language.
    #[error("{kind}: {reason}")]
    Hallucination {
        /// What is wrong with the answer.
        kind: Mistake,
        /// The same in words, with the place.
        reason: String,
    },
    /// The evaluator could not answer; asking again may help.
    #[error("evaluation failed: {0}")]
    Failed(String),
    /// The network behind the evaluator failed, such as by an error of its device: it will not answer again, and nothing may be
    /// concluded from its silence. Servers that do not answer are [`EvalError::Failed`].
    #[error("the network failed: {0}")]
    Broken(String),
}

impl EvalError {
    /// An answer with a mistake.
    #[must_use]
    pub fn hallucination(kind: Mistake, reason: impl Into<String>) -> Self {
        Self::Hallucination { kind, reason: reason.into() }
    }
}
