//! What moves are worth, below any language: win probabilities, their 64 buckets and distributions over them.
//!
//! A value is the probability, 0 to 1, that the player who makes a move wins; a draw counts one half.
//!
//! - [`Score`]: what an oracle reports (centipawns, mates, solved games, win rates, margins), as a win probability.
//! - [`Bucket`], [`Distribution`], [`Scoring`]: the 64 parts of paper 001, weights over them, and how they become one number.
//! - [`Mistake`], [`MistakeCounts`]: the kinds of things a model can get wrong.
//! - [`metrics`]: the one definition of each metric of answers.
//! - [`kendall_tau_b`], [`best_of`]: rankings of moves by value.
//!
//! It names no token, so that evaluators, searches and oracles can use it without the language; how values are written
//! is the business of `mavis-lang`.
//!
//! ```
//! use mavis_game::Rules;
//! use mavis_value::{Bucket, Score};
//!
//! let value = Score::Centipawns(100).win_probability(Rules::Chess);
//! assert_eq!(Bucket::from_win_probability(value).number(), 38);
//! ```

mod bucket;
mod distribution;
pub mod metrics;
mod mistake;
mod rank;
mod score;

pub use bucket::{Bucket, N_BUCKETS};
pub use distribution::{Distribution, Scoring};
pub use mistake::{Mistake, MistakeCounts};
pub use rank::{best_of, kendall_tau_b};
pub use score::{LOGISTIC_SCALES, LogisticScale, Score};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
