//! From requests to positions and back to text.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::{
    ApiError,
    wire::{MoveText, Place, PositionView},
};
use mavis_game::{Game as _, Move, Outcome, Position, Rules, Side};

/// Longer games are refused: every request plays them through.
pub(crate) const MOST_MOVES: usize = 1000;
/// Longer texts are no position, move or name of any game.
const LONGEST_TEXT: usize = 2000;

/// A game that was read and checked.
pub(crate) struct Game {
    pub(crate) start: Position,
    pub(crate) moves: Vec<Move>,
    pub(crate) position: Position,
}

impl Game {
    /// Plays a game through.
    pub(crate) fn read(place: &Place) -> Result<Self, ApiError> {
        if place.moves.len() > MOST_MOVES {
            return Err(ApiError::bad(format!("{} moves; at most {MOST_MOVES}", place.moves.len())));
        }
        let rules = rules(&place.game)?;
        let start = match &place.start {
            Some(text) => Position::parse(rules, short(text)?).map_err(ApiError::bad)?,
            None => Position::start(rules),
        };
        let mut position = start.clone();
        let mut moves = Vec::with_capacity(place.moves.len());
        for (text, number) in place.moves.iter().zip(1..) {
            let played = position.play_text(short(text)?);
            moves.push(played.map_err(|error| ApiError::bad(format!("move {number}: {error}")))?);
        }
        Ok(Self { start, moves, position })
    }

    /// The same, refused once it is over.
    pub(crate) fn read_open(place: &Place) -> Result<Self, ApiError> {
        let game = Self::read(place)?;
        match game.position.outcome() {
            Some(outcome) => Err(ApiError::bad(format!("the game is over: {outcome}"))),
            None => Ok(game),
        }
    }

    pub(crate) fn view(&self) -> PositionView {
        let position = &self.position;
        let check = match position {
            Position::Chess(chess) => chess.is_check(),
            _ => false,
        };
        PositionView {
            game: position.rules().to_string(),
            start: self.start.to_string(),
            position: position.to_string(),
            side: side_name(position.side_to_move()),
            start_ply: self.start.ply(),
            moves: line_text(&self.start, &self.moves),
            legal: position.legal_moves().into_iter().map(|mv| move_text(position, mv)).collect(),
            result: position.outcome().map(Outcome::as_str),
            reason: position.end_reason().map(|reason| reason.to_string()),
            check,
            claimable: position.claimable_draw(),
        }
    }
}

/// The game a request names.
pub(crate) fn rules(text: &str) -> Result<Rules, ApiError> {
    short(text)?.parse().map_err(ApiError::bad)
}

fn short(text: &str) -> Result<&str, ApiError> {
    if text.len() <= LONGEST_TEXT {
        Ok(text)
    } else {
        Err(ApiError::bad(format!("a text of {} bytes; at most {LONGEST_TEXT}", text.len())))
    }
}

/// A legal move in both spellings.
pub(crate) fn move_text(position: &Position, mv: Move) -> MoveText {
    let text = position.move_text(mv);
    let san = match position {
        Position::Chess(chess) => chess.san(mv).unwrap_or_else(|_| text.clone()),
        _ => text.clone(),
    };
    MoveText { text, san }
}

/// Moves in both spellings, as far as they can be played.
pub(crate) fn line_text(position: &Position, line: &[Move]) -> Vec<MoveText> {
    let mut after = position.clone();
    line.iter()
        .map_while(|&mv| {
            let text = after.is_legal(mv).then(|| move_text(&after, mv))?;
            after.play_unchecked(mv);
            Some(text)
        })
        .collect()
}

pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::First => "first",
        Side::Second => "second",
    }
}
