//! What a run is measured on, and therefore never learns from.

use super::{chain, note};
use crate::{annotated, input::OrBadInput};
use mavis_data::{Annotations, Puzzle, read_puzzles};
use mavis_game::Rules;
use mavis_model::train::Puzzles;
use std::{collections::HashSet, path::Path, sync::Arc};

/// Puzzles and annotated positions to measure on.
pub(super) struct HeldOut {
    /// Named sets of positions.
    pub(super) validation: Vec<(String, Arc<dyn Annotations>)>,
    /// The puzzles that are measured.
    pub(super) puzzles: Vec<Puzzle>,
    /// Every board of theirs, and of the puzzles that are not measured.
    boards: HashSet<String>,
}

impl HeldOut {
    /// Reads both.
    pub(super) fn read<'a>(
        puzzles: Option<&Puzzles>,
        validation: impl Iterator<Item = (&'a Path, Rules)>,
    ) -> anyhow::Result<Self> {
        let (all, limit) = match puzzles {
            Some(puzzles) => {
                let all = read_puzzles(&puzzles.path, usize::MAX).map_err(|error| chain(error.into()))?;
                (all, puzzles.limit)
            }
            None => (Vec::new(), 0),
        };
        let steps = all.iter().flat_map(Puzzle::steps);
        let boards = steps.map(|(position, _)| board_of(&position.to_string())).collect();
        let puzzles = all.into_iter().take(limit).collect();
        let mut held_out = Self { validation: Vec::new(), puzzles, boards };
        for (path, rules) in validation {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let measured = annotated::open_game(path, rules, |_| true, &note)?;
            for idx in 0..measured.len() {
                let position = measured.get(idx).or_bad_input()?.position;
                held_out.boards.insert(board_of(&position.to_string()));
            }
            held_out.validation.push((name, measured));
        }
        Ok(held_out)
    }

    /// Whether a position may be learned from.
    pub(super) fn allows(&self, fen: &str) -> bool {
        !self.boards.contains(&board_of(fen))
    }
}

/// The first four fields of a FEN: a position is the same whatever its move counters say.
fn board_of(fen: &str) -> String {
    fen.split(' ').take(4).collect::<Vec<_>>().join(" ")
}
