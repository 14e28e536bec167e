//! Positions, as games and lists bring them.

use super::{HasPosition, Row};
use crate::table::{Buffers, CellError, Cursors};

/// A position and where it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PositionRow {
    /// The game's name with its parameters, `chess` or `hex:size=13`.
    pub game: String,
    /// The position text, a FEN in chess.
    pub position: String,
    /// The id of the game it came from.
    pub game_id: Option<String>,
    /// Plies since the start of the game, as far as the position knows.
    pub ply: u32,
    /// The move that was played in that game.
    pub played: Option<String>,
}

impl Row for PositionRow {
    const TABLE: &'static str = "positions";
    const SCHEMA: &'static str = "message positions {
        required binary game (STRING);
        required binary position (STRING);
        optional binary game_id (STRING);
        required int32 ply (INTEGER(32,false));
        optional binary played (STRING);
    }";
    const ROWS_PER_GROUP: usize = 65_536;
    const LEAVES: &'static [(&'static str, &'static str)] = &[
        ("game", "game"),
        ("position", "position"),
        ("game_id", "game_id"),
        ("ply", "ply"),
        ("played", "played"),
    ];

    fn write(&self, columns: &mut Buffers) {
        columns.text(0, &self.game);
        columns.text(1, &self.position);
        columns.optional_text(2, self.game_id.as_deref());
        columns.integer(3, self.ply as i32);
        columns.optional_text(4, self.played.as_deref());
    }

    fn read(columns: &mut Cursors) -> Result<Self, CellError> {
        Ok(Self {
            game: columns.text(0)?,
            position: columns.text(1)?,
            game_id: columns.optional_text(2)?,
            ply: columns.optional_integer(3)?.unwrap_or(0) as u32,
            played: columns.optional_text(4)?,
        })
    }
}

impl HasPosition for PositionRow {
    fn game(&self) -> &str {
        &self.game
    }

    fn position(&self) -> &str {
        &self.position
    }

    fn game_id(&self) -> Option<&str> {
        self.game_id.as_deref()
    }
}
