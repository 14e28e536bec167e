//! The board of a session, which a controller may also fill out of turn.

use mavis_game::{Game as _, Move, Othello, Position, Rules, Side};
use mavis_oracle::gtp::color;

/// The game so far.
#[derive(Clone)]
pub(super) struct Board {
    pub(super) start: Position,
    pub(super) moves: Vec<Move>,
    pub(super) position: Position,
}

impl Board {
    pub(super) fn at(start: Position) -> Self {
        Self { position: start.clone(), moves: Vec::new(), start }
    }

    pub(super) fn play(&mut self, mv: Move) {
        self.position.play_unchecked(mv);
        self.moves.push(mv);
    }

    /// Makes it a side's turn. Stones of Hex may be placed in any order, and Othello's passes need not be said; elsewhere
    /// the sides take turns.
    pub(super) fn turn_to(&mut self, side: Side) -> Result<(), String> {
        let rules = self.position.rules();
        if self.position.side_to_move() == side {
            return Ok(());
        }
        match &self.position {
            Position::Hex(_) => {
                let text = self.position.to_string();
                let board = text.rsplit_once(' ').map_or(text.as_str(), |(board, _)| board);
                let text = format!("{board} {}", if side == Side::First { 'x' } else { 'o' });
                *self = Self::at(Position::parse(rules, &text).map_err(|error| error.to_string())?);
                Ok(())
            }
            Position::Othello(othello) if othello.is_legal(Othello::PASS) => {
                self.play(Othello::PASS);
                Ok(())
            }
            _ => Err(format!("it is {}'s turn", color(rules, side.other()))),
        }
    }
}

/// A move as the protocol writes it.
pub(super) fn move_text(position: &Position, mv: Move) -> String {
    match (position.rules(), position.move_text(mv)) {
        // The stone changes color and is mirrored, which HTP calls so.
        (Rules::Hex { .. }, text) if text == "swap" => "swap-pieces".to_owned(),
        (_, text) => text,
    }
}

/// Reads a legal move; capitals mean nothing outside chess.
pub(super) fn parse_move(position: &Position, text: &str) -> Result<Move, String> {
    let lower = match text.to_ascii_lowercase() {
        word if word == "swap-pieces" => "swap".to_owned(),
        word => word,
    };
    let exact = position.parse_move(text);
    exact.or_else(|error| position.parse_move(&lower).map_err(|_| error.to_string()))
}
