//! A position and where it came from: what rows of positions and of annotations begin with.

use crate::table::{Buffers, CellError, Cursors};
use mavis_game::{Game, Position};

/// The first columns of every table that holds positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The game's name with its parameters, `chess` or `hex:size=13`.
    pub game: String,
    /// The position text, a FEN in chess.
    pub position: String,
    /// The id of the game it came from, where there was one.
    pub game_id: Option<String>,
    /// Plies since the start of the game, as far as the position knows.
    pub ply: u32,
}

/// The schema of a table that begins with a [`Place`]: its name, then its further columns.
macro_rules! schema_with_place {
    ($table:literal, $columns:literal) => {
        concat!(
            "message ",
            $table,
            " {
                required binary game (STRING);
                required binary position (STRING);
                optional binary game_id (STRING);
                required int32 ply (INTEGER(32,false));
            ",
            $columns,
            "}"
        )
    };
}

/// The leaf columns of such a table.
macro_rules! leaves_with_place {
    ($($leaf:expr),* $(,)?) => {
        &[("game", "game"), ("position", "position"), ("game_id", "game_id"), ("ply", "ply"), $($leaf),*]
    };
}

pub(super) use {leaves_with_place, schema_with_place};

impl Place {
    /// The place of a position, with the id of the game it came from.
    #[must_use]
    pub fn of(position: &Position, game_id: Option<String>) -> Self {
        Self {
            game: position.rules().to_string(),
            position: position.to_string(),
            game_id,
            ply: position.ply(),
        }
    }

    /// The leaf column that follows.
    pub(super) const N_LEAVES: usize = 4;

    pub(super) fn write(&self, columns: &mut Buffers) {
        columns.text(0, &self.game);
        columns.text(1, &self.position);
        columns.optional_text(2, self.game_id.as_deref());
        columns.integer(3, self.ply as i32);
    }

    pub(super) fn read(columns: &mut Cursors) -> Result<Self, CellError> {
        Ok(Self {
            game: columns.text(0)?,
            position: columns.text(1)?,
            game_id: columns.optional_text(2)?,
            ply: columns.optional_integer(3)?.unwrap_or(0) as u32,
        })
    }
}
