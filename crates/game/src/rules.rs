//! Names of games with their parameters.
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

use crate::types::OneLine;
use std::{fmt, str::FromStr};

/// A game and its parameters, as the user names it: `chess`, `hex`, `hex:size=13`, `hex:size=7,swap`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rules {
    /// Chess.
    Chess,
    /// Fischer random chess; the start position is chosen by number or FEN.
    Chess960,
    /// Connect Four, 7 columns of 6.
    Connect4,
    /// Hex.
    Hex {
        /// Board side, 3 to 19.
        size: u8,
        /// Whether the second player may take over the first stone.
        swap: bool,
    },
    /// Othello.
    Othello,
    /// Togyz Kumalak.
    Togyz,
}

impl Rules {
    /// Hex on the usual board.
    pub const HEX: Self = Self::Hex { size: 11, swap: false };

    /// Every game with its default parameters.
    pub const ALL: [Self; 6] =
        [Self::Chess, Self::Chess960, Self::Connect4, Self::HEX, Self::Othello, Self::Togyz];

    /// The game's name without parameters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chess => "chess",
            Self::Chess960 => "chess960",
            Self::Connect4 => "connect4",
            Self::Hex { .. } => "hex",
            Self::Othello => "othello",
            Self::Togyz => "togyz",
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Hex { size, swap } if self != &Self::HEX => {
                write!(f, "hex:size={size}{}", if swap { ",swap" } else { "" })
            }
            other => f.write_str(other.name()),
        }
    }
}

/// A name that is no game's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownRules {
    /// No such game.
    #[error("unknown game '{}' (known: chess chess960 connect4 hex othello togyz)", OneLine(.0))]
    Game(String),
    /// A parameter the game does not have.
    #[error("unknown parameter '{}' of {game} (hex takes size=3..19 and swap)", OneLine(parameter))]
    Parameter {
        /// The game's name.
        game: String,
        /// The offending parameter.
        parameter: String,
    },
}

impl FromStr for Rules {
    type Err = UnknownRules;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let mut rules = Self::ALL
            .into_iter()
            .find(|rules| rules.name() == name)
            .ok_or_else(|| UnknownRules::Game(name.to_owned()))?;
        for parameter in parameters.split(',').filter(|part| !part.is_empty()) {
            let unknown =
                || UnknownRules::Parameter { game: name.to_owned(), parameter: parameter.to_owned() };
            let Self::Hex { size, swap } = &mut rules else { return Err(unknown()) };
            match parameter.split_once('=') {
                None if parameter == "swap" => *swap = true,
                Some(("size", value)) => {
                    *size = value.parse().ok().filter(|n| (3..=19).contains(n)).ok_or_else(unknown)?;
                }
                _ => return Err(unknown()),
            }
        }
        Ok(rules)
    }
}
