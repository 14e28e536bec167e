//! The small types every game shares.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use arrayvec::ArrayVec;
use std::fmt;

/// A move of any game as a 16-bit code; only the game it belongs to gives it a meaning.
///
/// The code of a move never depends on the position, so tables and trees may store it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move(pub u16);

/// Legal moves on the stack. The longest list is an empty 19x19 Hex board with the swap move.
pub type Moves = ArrayVec<Move, 362>;

/// One of the two players; `First` moves first from the start position (White in chess, Black in Othello and Hex).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The player who moves first from the start position.
    First,
    /// The other one.
    Second,
}

impl Side {
    /// The opponent.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// This player's part of what both have, the first player's first.
    #[must_use]
    pub fn of<T>(self, pair: &[T; 2]) -> &T {
        let [first, second] = pair;
        match self {
            Self::First => first,
            Self::Second => second,
        }
    }

    /// The same, to change it.
    #[must_use]
    pub fn of_mut<T>(self, pair: &mut [T; 2]) -> &mut T {
        let [first, second] = pair;
        match self {
            Self::First => first,
            Self::Second => second,
        }
    }

    /// 0 for the first player, 1 for the second.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

/// How a finished game ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// That side won.
    Win(Side),
    /// Nobody won.
    Draw,
}

impl Outcome {
    /// The winner, if there is one.
    #[must_use]
    pub fn winner(self) -> Option<Side> {
        match self {
            Self::Win(side) => Some(side),
            Self::Draw => None,
        }
    }

    /// `1-0`, `0-1` or `1/2-1/2`, the first player's points first.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Win(Side::First) => "1-0",
            Self::Win(Side::Second) => "0-1",
            Self::Draw => "1/2-1/2",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a game ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EndReason {
    /// The king is attacked and cannot escape.
    Checkmate,
    /// No legal move, no check.
    Stalemate,
    /// Neither side has the material to mate.
    DeadMaterial,
    /// The same position for the fifth time.
    FivefoldRepetition,
    /// 75 moves by each side without a capture or pawn move.
    SeventyFiveMoves,
    /// A line of four, or an unbroken chain between two edges.
    Connection,
    /// No empty place is left.
    BoardFull,
    /// Neither side can move.
    NoMoves,
    /// A side has more than half of the stones.
    Majority,
    /// A reason of a game of your own, in words.
    Other(&'static str),
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checkmate => "checkmate",
            Self::Stalemate => "stalemate",
            Self::DeadMaterial => "insufficient material",
            Self::FivefoldRepetition => "fivefold repetition",
            Self::SeventyFiveMoves => "75-move rule",
            Self::Connection => "connection",
            Self::BoardFull => "board full",
            Self::NoMoves => "no moves",
            Self::Majority => "majority",
            Self::Other(reason) => reason,
        })
    }
}

/// A move code that is not legal here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("illegal move {}", OneLine(text))]
pub struct IllegalMove {
    /// The move as text.
    pub text: String,
}

/// Move text that names no legal move.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MoveError {
    /// Not a move of this game at all.
    #[error("'{}' is not a move in {game} (expected {expected})", OneLine(text))]
    Syntax {
        /// The offending text.
        text: String,
        /// The game's name.
        game: &'static str,
        /// What a move looks like.
        expected: &'static str,
    },
    /// A move of this game that the position does not allow.
    #[error("illegal move {}", OneLine(text))]
    Illegal {
        /// The offending text.
        text: String,
    },
}

/// Position text that describes no legal position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("bad {game} position: {}", OneLine(reason))]
pub struct PositionError {
    /// The game's name.
    pub game: &'static str,
    /// The part at fault, in words.
    pub reason: String,
}

impl PositionError {
    /// A fault in the position text of a game.
    #[must_use]
    pub fn new(game: &'static str, reason: impl Into<String>) -> Self {
        Self { game, reason: reason.into() }
    }
}

/// Text quoted in an error, with control characters written out, so that every error stays one line.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| {
            if character.is_control() {
                write!(f, "{}", character.escape_default())
            } else {
                write!(f, "{character}")
            }
        })
    }
}
