//! Oracles: the right value of every legal move, or the best there is.
//!
//! An [`Oracle`] takes a position and gives a [`Ranking`]: a score and a win probability for each legal move, best
//! first. It is implemented by [`connect4`], an exact solver; [`othello`], exact near the end of the game; [`togyz`], a
//! depth-limited search; [`hex`], tree search with playouts and an exact solver; [`syzygy`], chess endings from
//! tablebase files; and [`engine`], any UCI engine as a child process that is replaced when it fails.
//! [`pool::evaluate_all`] puts several oracles to work on one stream of positions, and [`OracleEvaluator`] makes an
//! evaluator of any of them, for a search with perfect answers. Scores and
//! their meaning as win probabilities are those of `mavis-value`, so that what a model learns and what an oracle says
//! use one scale.
//!
//! This is the only crate that knows the text of engine protocols, in both directions: [`uci`] for chess engines,
//! [`gtp`] for those of Hex. Protocol modules never panic, whatever a child process writes.
//!
//! ```
//! use mavis_game::{Game as _, Position, Rules};
//! use mavis_oracle::{Oracle, Score, connect4::Connect4Solver};
//!
//! let mut position = Position::start(Rules::Connect4);
//! for column in ["4", "4", "3", "4", "5"] {
//!     position.play_text(column)?;
//! }
//! let ranking = Connect4Solver::default().evaluate(&position)?;
//! // Three in a row, open on both sides: every reply loses.
//! assert!(ranking.moves.iter().all(|judged| matches!(judged.score, Score::Solved(score) if score < 0)));
//! assert_eq!(ranking.moves[0].plies, Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alphabeta;
pub mod connect4;
pub mod engine;
mod evaluator;
pub mod gtp;
pub mod hex;
pub mod htp;
mod oracle;
pub mod othello;
pub mod pool;
pub mod process;
mod ranking;
pub mod syzygy;
pub mod togyz;
pub mod uci;

pub use alphabeta::Effort;
pub use evaluator::OracleEvaluator;
pub use oracle::{Identity, Oracle, OracleError};
pub use ranking::{RankedMove, Ranking, Score};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
