//! Positions with what an oracle says of their moves.

use super::place::{leaves_with_place, schema_with_place};
use super::{HasPlace, Place, Row};
use crate::table::{Buffers, CellError, Cursors};
use arrayvec::ArrayString;
use std::sync::Arc;

/// The text of a move; the longest of any game has five bytes.
pub type MoveText = ArrayString<8>;

/// Who judged: the three columns that make values comparable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OracleName {
    /// Its name, such as `Stockfish`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What decides the ranking beside the position, such as `nodes=5000`.
    pub settings: String,
}

/// What a score counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScoreUnit {
    /// Hundredths of a pawn, the mover's view.
    Centipawns,
    /// Moves to mate, negative or zero when the mover gets mated.
    Mate,
    /// The score of an exact solver.
    Solved,
    /// A win rate from 0 to 1.
    WinRate,
    /// A difference of discs or stones.
    Margin,
}

impl ScoreUnit {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Centipawns, "centipawns"),
        (Self::Mate, "mate"),
        (Self::Solved, "solved"),
        (Self::WinRate, "win_rate"),
        (Self::Margin, "margin"),
    ];

    /// The word in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, text)| text)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word)| *word == text).map(|(unit, _)| *unit)
    }
}

/// One move with its judgment, as the player who makes it sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveRow {
    /// The move's text.
    pub mv: MoveText,
    /// The mover's win probability after it; absent where only the choice of a move is known.
    pub win_probability: Option<f32>,
    /// The oracle's own number, with what it counts.
    pub score: Option<(f32, ScoreUnit)>,
    /// Plies to the end of the game with best play, where the oracle knows.
    pub plies: Option<i32>,
}

/// A position with what an oracle says of its moves.
#[derive(Clone, PartialEq, Debug)]
pub struct AnnotationRow {
    /// The position and where it came from.
    pub place: Place,
    /// The moves, best first; every legal one unless the source knew fewer. None once the game is over.
    pub moves: Vec<MoveRow>,
    /// The oracle's choice; absent once the game is over, or where only the state has a value.
    pub best: Option<MoveText>,
    /// The mover's win probability with best play, where known.
    pub value: Option<f32>,
    /// Who judged; shared, since a whole table usually has one.
    pub oracle: Arc<OracleName>,
}

impl Row for AnnotationRow {
    const TABLE: &'static str = "annotations";
    const SCHEMA: &'static str = schema_with_place!(
        "annotations",
        "required group moves (LIST) {
            repeated group list {
                required group element {
                    required binary move (STRING);
                    optional float win_probability;
                    optional float score;
                    optional binary unit (STRING);
                    optional int32 plies;
                }
            }
        }
        optional binary best (STRING);
        optional float value;
        required binary oracle (STRING);
        required binary oracle_version (STRING);
        required binary oracle_settings (STRING);"
    );
    const ROWS_PER_GROUP: usize = 8_192;
    const LEAVES: &'static [(&'static str, &'static str)] = leaves_with_place![
        ("moves", "move"),
        ("moves", "win_probability"),
        ("moves", "score"),
        ("moves", "unit"),
        ("moves", "plies"),
        ("best", "best"),
        ("value", "value"),
        ("oracle", "oracle"),
        ("oracle_version", "oracle_version"),
        ("oracle_settings", "oracle_settings"),
    ];

    fn write(&self, columns: &mut Buffers) {
        self.place.write(columns);
        columns.list_of_text(4, self.moves.iter().map(|row| Some(row.mv.as_str())), false);
        columns.list_of_floats(5, self.moves.iter().map(|row| row.win_probability));
        columns.list_of_floats(6, self.moves.iter().map(|row| row.score.map(|(score, _)| score)));
        columns.list_of_text(7, self.moves.iter().map(|row| row.score.map(|(_, unit)| unit.as_str())), true);
        columns.list_of_integers(8, self.moves.iter().map(|row| row.plies));
        columns.optional_text(9, self.best.as_deref());
        columns.optional_float(10, self.value);
        columns.text(11, &self.oracle.name);
        columns.text(12, &self.oracle.version);
        columns.text(13, &self.oracle.settings);
    }

    fn read(columns: &mut Cursors) -> Result<Self, CellError> {
        let place = Place::read(columns)?;
        let texts = columns.list(4, |cell| cell.short_text())?;
        let mut values = columns.list(5, |cell| cell.float())?.into_iter();
        let mut scores = columns.list(6, |cell| cell.float())?.into_iter();
        let mut units = columns.list(7, |cell| Ok(ScoreUnit::parse(cell.str()?)))?.into_iter();
        let mut plies = columns.list(8, |cell| cell.integer())?.into_iter();
        let mut moves = Vec::with_capacity(texts.len());
        for mv in texts {
            let score = scores.next().flatten().zip(units.next().flatten().flatten());
            moves.push(MoveRow {
                mv: mv.ok_or(CellError::Missing { column: "moves.move" })?,
                win_probability: values.next().flatten(),
                score,
                plies: plies.next().flatten(),
            });
        }
        Ok(Self {
            place,
            moves,
            best: columns.optional(9, |cell| cell.short_text())?,
            value: columns.optional(10, |cell| cell.float())?,
            oracle: columns.oracle(11)?,
        })
    }

    fn oracle(&self) -> Option<&Arc<OracleName>> {
        Some(&self.oracle)
    }
}

impl HasPlace for AnnotationRow {
    fn place(&self) -> &Place {
        &self.place
    }
}
