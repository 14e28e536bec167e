//! Tree searches: they decide what to look at next and never print, read files or know what a model is.
//!
//! - [`mcts`]: the search of paper 001 over any [`mavis_eval::Evaluator`], synchronous or with many evaluations in
//!   flight, by the rules or by the evaluator's own word on them.
//! - [`rollout`]: the plain baseline, UCT with a uniform prior and random games to the end; it needs only the rules.
//! - [`beam`]: the beam search of paper 004, which says what it needs and is fed.
//! - [`minimax`]: minimax trees over any evaluator, from which traces of internal search are made.
//! - [`wire`]: search trees as data: saved, loaded, compared, drawn.
//! - [`tunable`]: settings as one table of rows, from which structs, specs, options and help come.
//!
//! The step of every search is plain code, only its edges are asynchronous. Every search stops by its own budget, by a
//! deadline or by a [`Cancel`] token ([`Stop`]), and with the same seed and no deadline it gives the same answer.
//! `docs/search.md` explains each option.
//!
//! ```
//! use mavis_game::{Game, Position, Rules};
//! use mavis_search::{Stop, rollout};
//!
//! let mut position = Position::start(Rules::Connect4);
//! for column in ["1", "4", "1", "4", "2", "4"] {
//!     position.play_text(column)?;
//! }
//! let settings = rollout::RolloutSettings { simulations: 500, ..Default::default() };
//! let report = rollout::search(&position, &settings, &Stop::never());
//! // The opponent threatens four in the middle column: it must be closed.
//! assert_eq!(position.move_text(report.best.unwrap()), "4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod beam;
pub mod mcts;
pub mod minimax;
mod random;
pub mod rollout;
mod stop;
pub mod tunable;
pub mod wire;

pub use random::Random;
pub use stop::{Cancel, Stop};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
