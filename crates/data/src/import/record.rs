//! A game on its way into tables.

use crate::wire::{GameRow, Place, PositionRow};
use mavis_game::{Game, Position};

/// A game replayed from a source: what is known of it, and its positions.
#[derive(Clone, Debug)]
pub struct GameRecord {
    /// The row of the table of games.
    pub row: GameRow,
    /// Texts and plies of all positions, the last one included.
    positions: Vec<(String, u32)>,
}

impl GameRecord {
    /// A game from its start.
    #[must_use]
    pub fn new(game_id: String, start: &Position) -> Self {
        let text = start.to_string();
        Self {
            row: GameRow {
                game: start.rules().to_string(),
                game_id,
                start: text.clone(),
                ..GameRow::default()
            },
            positions: vec![(text, start.ply())],
        }
    }

    /// Adds a move and the position after it.
    pub fn push(&mut self, played: String, after: &Position) {
        self.row.moves.push(played);
        self.positions.push((after.to_string(), after.ply()));
    }

    /// The rows of the table of positions.
    pub fn position_rows(&self) -> impl Iterator<Item = PositionRow> + '_ {
        self.positions.iter().enumerate().map(|(idx, (text, ply))| PositionRow {
            place: Place {
                game: self.row.game.clone(),
                position: text.clone(),
                game_id: Some(self.row.game_id.clone()),
                ply: *ply,
            },
            played: self.row.moves.get(idx).cloned(),
        })
    }
}

/// The id of a game without one of its own: the file's name and the game's number in it from 1.
pub(super) fn numbered_id(path: &std::path::Path, number: u64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.trim_end_matches(".zst").trim_end_matches(".gz").trim_end_matches(".bz2");
    format!("{stem}#{number}")
}

/// The name of a source without its folders.
pub(super) fn source_name(path: &std::path::Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}
