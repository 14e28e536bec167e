//! Tree searches: they decide what to look at next and never print, read files or know what a model is.
//!
//! [`rollout`] is the plain baseline: UCT with a uniform prior and random games to the end. It needs only the rules of
//! [`mavis_game`]. Every search stops by its own budget, by a deadline or by a [`Cancel`] token ([`Stop`]), and with
//! the same seed and no deadline it gives the same answer.
//!
//! ```
//! use mavis_game::{Game, Position, Rules};
//! use mavis_search::{Stop, rollout};
//!
//! let mut position = Position::start(Rules::Connect4);
//! for column in ["1", "4", "1", "4", "2", "4"] {
//!     position.play_text(column)?;
//! }
//! let settings = rollout::Settings { simulations: 500, ..Default::default() };
//! let report = rollout::search(&position, &settings, &Stop::never());
//! // The opponent threatens four in the middle column: it must be closed.
//! assert_eq!(position.move_text(report.best.unwrap()), "4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod beam;
pub mod knob;
pub mod mcts;
pub mod minimax;
mod random;
pub mod rollout;
mod stop;
pub mod wire;

pub use stop::{Cancel, Stop};
