//! Annotated positions and where they come from.
//!
//! An [`AnnotatedPosition`] is what a model learns from: a position, every legal move with its win probability for the player
//! who makes it, and the oracle's own choice. [`Annotations`] is a set of them that threads may read at random;
//! [`FenValues`] keeps one in memory as text and bytes and decodes a record when it is asked for.
//!
//! ```
//! use mavis_data::{Annotations, FenValues};
//! use mavis_game::Rules;
//!
//! // The record of a position with one legal move: count, index of the best, then the values in order of the moves' UCI text.
//! let fens = b"7k/8/5K2/8/8/8/8/6Q1 b - - 0 1\n";
//! let set = FenValues::from_bytes(Rules::Chess, fens, &[1, 0, 128])?;
//! let record = set.get(0)?;
//! assert_eq!(record.moves.len(), 1);
//! assert!((record.moves[0].1 - 128.0 / 254.0).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod annotations;
mod fen_values;
mod puzzles;

pub use annotations::{AnnotatedPosition, Annotations, Concatenated, RecordError};
pub use fen_values::{FenValues, FenValuesError};
pub use puzzles::{Puzzle, PuzzleError, read_puzzles};
