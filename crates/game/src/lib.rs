//! Rules of the six games, and nothing else: no I/O, no async, no floats.
//!
//! A game is one type that implements [`Game`]: its value is a legal position together with whatever history the
//! rules need (repetition, the swap rule). [`Position`] is the sum of all games, for code that takes the game at run
//! time; [`Rules`] names a game with its parameters. Moves of every game are one [`Move`], a 16-bit code that only its
//! game understands; its text form comes from the position ([`Game::move_text`], [`Game::parse_move`]), since chess
//! needs the position to tell castling apart.
//!
//! Searches, players, leagues and PROBS are generic over [`Game`], with [`Position`] as the default, so a game of your own
//! needs no change here (`docs/own-game.md`). The language and the oracles know the six games alone. Hot loops that want one
//! game at compile time are entered through [`for_game!`] or, in generic code, [`Game::visit`].
//!
//! [`perft`] and [`divide`] count move sequences, [`Game::playout`] plays one at random from numbers the caller gives,
//! so that a seed repeats it.
//!
//! A seventh game of the program itself is one file that implements [`Game`], one line in `position.rs` and one in `rules.rs`.
//!
//! ```
//! use mavis_game::{Game, Position, Rules};
//!
//! let mut position = Position::start("connect4".parse::<Rules>()?);
//! position.play_text("4")?;
//! assert_eq!(position.legal_moves().len(), 7);
//! assert!(position.outcome().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chess;
mod connect4;
mod game;
mod hex;
mod key;
mod othello;
mod perft;
mod position;
mod rules;
mod togyz;
mod types;

pub use chess::{Chess, ChessSymmetry};
pub use connect4::Connect4;
pub use game::{FromRules, Game, GameVisitor};
pub use hex::Hex;
pub use othello::Othello;
pub use perft::{divide, perft};
pub use position::Position;
pub use rules::{Rules, UnknownRules};
/// Tells chess from Chess960 where a [`Chess`] is made.
pub use shakmaty::CastlingMode;
pub use togyz::Togyz;
pub use types::{EndReason, IllegalMove, Move, MoveError, Moves, Outcome, PositionError, Side};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
