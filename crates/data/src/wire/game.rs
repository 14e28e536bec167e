//! Whole games.

use super::Row;
use crate::table::{Buffers, CellError, Cursors};
use serde::{Deserialize, Serialize};

/// A game from its start to its end: an imported one, a league's, or one of self-play.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GameRow {
    /// The game's name with its parameters.
    pub game: String,
    /// The id that positions of this game carry.
    pub game_id: String,
    /// The position text it began with.
    pub start: String,
    /// The moves in the game's own notation, UCI in chess.
    pub moves: Vec<String>,
    /// `1-0`, `0-1` or `1/2-1/2`, the first player's points first; absent if nobody knows.
    pub result: Option<String>,
    /// Who moved first.
    pub first: Option<String>,
    /// Who moved second.
    pub second: Option<String>,
    /// The first player's rating then.
    pub first_rating: Option<i32>,
    /// The second player's rating then.
    pub second_rating: Option<i32>,
    /// The day, as the source spells it.
    pub date: Option<String>,
    /// The file or the program it came from.
    pub source: Option<String>,
    /// Why it ended: a word of [`EndKind`](super::EndKind), else the words of the source.
    pub termination: Option<String>,
    /// The win probability that the mover's player gave at each move; empty if no player gave one.
    pub values: Vec<Option<f32>>,
}

impl Row for GameRow {
    const TABLE: &'static str = "games";
    const SCHEMA: &'static str = "message games {
        required binary game (STRING);
        required binary game_id (STRING);
        required binary start (STRING);
        required group moves (LIST) {
            repeated group list {
                required binary element (STRING);
            }
        }
        optional binary result (STRING);
        optional binary first (STRING);
        optional binary second (STRING);
        optional int32 first_rating;
        optional int32 second_rating;
        optional binary date (STRING);
        optional binary source (STRING);
        optional binary termination (STRING);
        required group values (LIST) {
            repeated group list {
                optional float element;
            }
        }
    }";
    const ROWS_PER_GROUP: usize = 8_192;
    const LEAVES: &'static [(&'static str, &'static str)] = &[
        ("game", "game"),
        ("game_id", "game_id"),
        ("start", "start"),
        ("moves", "element"),
        ("result", "result"),
        ("first", "first"),
        ("second", "second"),
        ("first_rating", "first_rating"),
        ("second_rating", "second_rating"),
        ("date", "date"),
        ("source", "source"),
        ("termination", "termination"),
        ("values", "element"),
    ];

    fn write(&self, columns: &mut Buffers) {
        columns.text(0, &self.game);
        columns.text(1, &self.game_id);
        columns.text(2, &self.start);
        columns.list_of_text(3, self.moves.iter().map(|text| Some(text.as_str())), false);
        columns.optional_text(4, self.result.as_deref());
        columns.optional_text(5, self.first.as_deref());
        columns.optional_text(6, self.second.as_deref());
        columns.optional_integer(7, self.first_rating);
        columns.optional_integer(8, self.second_rating);
        columns.optional_text(9, self.date.as_deref());
        columns.optional_text(10, self.source.as_deref());
        columns.optional_text(11, self.termination.as_deref());
        columns.list_of_floats(12, self.values.iter().copied());
    }

    fn read(columns: &mut Cursors) -> Result<Self, CellError> {
        Ok(Self {
            game: columns.text(0)?,
            game_id: columns.text(1)?,
            start: columns.text(2)?,
            moves: columns.list_of_text(3)?.into_iter().flatten().collect(),
            result: columns.optional_text(4)?,
            first: columns.optional_text(5)?,
            second: columns.optional_text(6)?,
            first_rating: columns.optional_integer(7)?,
            second_rating: columns.optional_integer(8)?,
            date: columns.optional_text(9)?,
            source: columns.optional_text(10)?,
            termination: columns.optional_text(11)?,
            values: columns.list(12, |cell| cell.float())?,
        })
    }
}
