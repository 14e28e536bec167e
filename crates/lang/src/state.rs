//! `%state`: one token a square or field, fixed width; `%FEN` for chess.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod board;
pub(crate) mod chess;
mod togyz;

use crate::vocab::{self, Token, vocabulary};
use mavis_game::{Chess, Game, Position, Rules};
use std::ops::Range;

/// Why tokens are no state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A token that cannot stand in its place.
    #[error("field {at} of the state cannot be {found:?}")]
    Field {
        /// Which token, counted from 0.
        at: usize,
        /// Its string.
        found: String,
    },
    /// Too few or too many tokens.
    #[error("a state of this game has {expected} fields, not {found}")]
    Width {
        /// The fixed width.
        expected: usize,
        /// What was there.
        found: usize,
    },
    /// Well-formed, but no position of the game.
    #[error("{0}")]
    Impossible(String),
}

/// The number of tokens of a state, opening and closing not counted.
#[must_use]
pub fn state_len(rules: Rules) -> usize {
    match rules {
        Rules::Chess | Rules::Chess960 => chess::WIDTH,
        Rules::Connect4 => 1 + 42,
        Rules::Hex { size, .. } => 1 + usize::from(size) * usize::from(size),
        Rules::Othello => 1 + 64,
        Rules::Togyz => togyz::WIDTH,
    }
}

/// Appends the fields of a state.
pub fn write_state(position: &Position, tokens: &mut Vec<Token>) {
    match position {
        Position::Chess(game) => chess::write(game, tokens),
        Position::Connect4(game) => board::write_connect4(*game, tokens),
        Position::Hex(game) => board::write_hex(game, tokens),
        Position::Othello(game) => board::write_othello(*game, tokens),
        Position::Togyz(game) => togyz::write(game, tokens),
    }
}

/// Reads the fields of a state. Only the canonical spelling is accepted: what is read writes the same tokens.
///
/// # Errors
/// When a token is out of place, or the position cannot occur under the rules.
pub fn read_state(rules: Rules, tokens: &[Token]) -> Result<Position, StateError> {
    let expected = state_len(rules);
    if tokens.len() != expected {
        return Err(StateError::Width { expected, found: tokens.len() });
    }
    let text = match rules {
        Rules::Chess | Rules::Chess960 => chess::text(tokens),
        Rules::Connect4 => board::connect4_text(tokens),
        Rules::Hex { size, .. } => board::hex_text(tokens, usize::from(size)),
        Rules::Othello => board::othello_text(tokens),
        Rules::Togyz => togyz::text(tokens),
    }
    .map_err(|at| StateError::Field { at, found: shown(tokens, at) })?;
    let position =
        Position::parse(rules, &text).map_err(|error| StateError::Impossible(error.to_string()))?;
    let mut again = Vec::with_capacity(expected);
    write_state(&position, &mut again);
    match again.iter().zip(tokens).position(|(ours, theirs)| ours != theirs) {
        None => Ok(position),
        Some(at) => Err(StateError::Impossible(format!(
            "field {at} should be {:?}, not {:?}",
            shown(&again, at),
            shown(tokens, at)
        ))),
    }
}

/// The complete lines of a text from `from` on that hold a state, as `%state` or as `%FEN`: from the word that opens each to the end of
/// the line.
#[must_use]
pub fn state_lines(tokens: &[Token], from: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut open = None;
    for (at, &token) in tokens.iter().enumerate().skip(from) {
        match (token, open) {
            (vocab::OPEN_STATE | vocab::OPEN_FEN, _) => open = Some(at),
            (vocab::LINE_END, Some(start)) => {
                lines.push(start..at + 1);
                open = None;
            }
            _ => {}
        }
    }
    lines
}

/// Whether the game has a FEN beside its state.
#[must_use]
pub fn has_fen(rules: Rules) -> bool {
    matches!(rules, Rules::Chess | Rules::Chess960)
}

/// Appends the tokens of a FEN.
#[allow(clippy::expect_used, reason = "the text is our own, and every letter of a FEN is a token")]
pub(crate) fn write_fen(position: &Position, tokens: &mut Vec<Token>) {
    vocabulary().encode_into(&position.to_string(), tokens).expect("every letter of a FEN is a token");
}

/// Reads a FEN, again only in the canonical spelling.
///
/// # Errors
/// When the tokens are no FEN, or the position cannot occur under the rules.
pub fn read_fen(rules: Rules, tokens: &[Token]) -> Result<Position, StateError> {
    if !has_fen(rules) {
        return Err(StateError::Impossible(format!("{} has no FEN", rules.name())));
    }
    let text = vocabulary().decode(tokens).map_err(|error| StateError::Impossible(error.to_string()))?;
    let position =
        Position::parse(rules, &text).map_err(|error| StateError::Impossible(error.to_string()))?;
    let mut again = Vec::with_capacity(tokens.len());
    write_fen(&position, &mut again);
    if again == tokens {
        Ok(position)
    } else {
        Err(StateError::Impossible(format!("'{text}' is spelled '{position}'")))
    }
}

/// Whether two positions are the same to the language: the same state, counters included.
#[must_use]
pub fn same_state(one: &Position, other: &Position) -> bool {
    if one.rules() != other.rules() {
        return false;
    }
    let tokens = |position| {
        let mut tokens = Vec::new();
        write_state(position, &mut tokens);
        tokens
    };
    tokens(one) == tokens(other)
}

/// The position as the language shows it: what only its history knows is forgotten.
#[must_use]
pub fn without_history(position: &Position) -> Position {
    match position {
        Position::Chess(game) => Position::Chess(Chess::from_position(game.position().clone())),
        other => other.clone(),
    }
}

fn shown(tokens: &[Token], at: usize) -> String {
    tokens.get(at).and_then(|&token| vocabulary().string(token)).unwrap_or("nothing").to_owned()
}
