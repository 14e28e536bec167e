//! Positions, as games and lists bring them.

use super::place::{leaves_with_place, schema_with_place};
use super::{HasPlace, Place, Row};
use crate::table::{Buffers, CellError, Cursors};

/// A position and the move that was played there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PositionRow {
    /// The position and where it came from.
    pub place: Place,
    /// The move that was played in that game.
    pub played: Option<String>,
}

impl Row for PositionRow {
    const TABLE: &'static str = "positions";
    const SCHEMA: &'static str = schema_with_place!("positions", "optional binary played (STRING);");
    const ROWS_PER_GROUP: usize = 65_536;
    const LEAVES: &'static [(&'static str, &'static str)] = leaves_with_place![("played", "played")];

    fn write(&self, columns: &mut Buffers) {
        self.place.write(columns);
        columns.optional_text(Place::N_LEAVES, self.played.as_deref());
    }

    fn read(columns: &mut Cursors) -> Result<Self, CellError> {
        Ok(Self { place: Place::read(columns)?, played: columns.optional_text(Place::N_LEAVES)? })
    }
}

impl HasPlace for PositionRow {
    fn place(&self) -> &Place {
        &self.place
    }
}
