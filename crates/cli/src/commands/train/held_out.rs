//! What a run is measured on, and therefore never learns from.

use super::{chain, note};
use crate::{annotated, input::OrBadInput};
use mavis_data::{Annotations, Puzzle, read_puzzles};
use mavis_game::{Position, Rules};
use mavis_model::{symmetry::views, train::Puzzles};
use std::{collections::HashSet, path::Path, sync::Arc};

/// Puzzles and annotated positions to measure on.
pub(super) struct HeldOut {
    /// Named sets of positions.
    pub(super) validation: Vec<(String, Arc<dyn Annotations>)>,
    /// The puzzles that are measured.
    pub(super) puzzles: Vec<Puzzle>,
    /// Every board of theirs and of the puzzles that are not measured, under every symmetry: training may turn one into the other.
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
        let mut held_out = Self { validation: Vec::new(), puzzles: Vec::new(), boards: HashSet::new() };
        all.iter().flat_map(Puzzle::steps).for_each(|(position, _)| held_out.insert(&position));
        held_out.puzzles = all.into_iter().take(limit).collect();
        for (path, rules) in validation {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let measured = annotated::open_game(path, rules, |_| true, &note)?;
            for idx in 0..measured.len() {
                held_out.insert(&measured.get(idx).or_bad_input()?.position);
            }
            held_out.validation.push((name, measured));
        }
        Ok(held_out)
    }

    fn insert(&mut self, position: &Position) {
        self.boards.extend(views(position).iter().map(|view| board_of(&view.to_string())));
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

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::Game as _;
    use std::{fs, path::PathBuf};

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn positions_of_puzzles_are_not_learned_from_under_any_symmetry() {
        // One of the puzzles is measured, all are held out.
        let puzzles = Puzzles { path: repository().join("samples/puzzles.csv"), limit: 1 };
        let held_out = HeldOut::read(Some(&puzzles), std::iter::empty()).unwrap();
        assert_eq!(held_out.puzzles.len(), 1);
        let all = read_puzzles(&puzzles.path, usize::MAX).unwrap();
        assert!(all.len() > 10);
        for (position, mv) in all.iter().flat_map(Puzzle::steps) {
            let fen = position.to_string();
            assert!(!held_out.allows(&fen), "{fen}");
            let later = format!("{} 7 90", board_of(&fen));
            assert!(!held_out.allows(&later), "{later}");
            let views = views(&position);
            assert!(views.len() > 1);
            assert!(views.iter().all(|view| !held_out.allows(&view.to_string())), "{fen}");
            let mut after = position;
            after.play(mv).unwrap();
            assert!(held_out.allows(&after.to_string()), "the solver is never to move there");
        }
    }

    /// The paths of a recipe's tables under a key, as tables with a path or as paths.
    fn paths(recipe: &toml::Table, key: &str) -> Vec<String> {
        let sets = recipe.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        let path = |set: &toml::Value| set.get("path").or(Some(set))?.as_str().map(str::to_owned);
        sets.filter_map(path).collect()
    }

    #[test]
    fn recipes_hold_out_what_they_are_measured_on() {
        let folders = fs::read_dir(repository().join("recipes")).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = Vec::new();
        for path in folders {
            match path.is_dir() {
                true => files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
                false => files.push(path),
            }
        }
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        let (mut learned, mut measured, mut n_chess) = (HashSet::new(), HashSet::new(), 0);
        for file in &files {
            let recipe: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
            let data = paths(&recipe, "data");
            if data.iter().any(|path| path.contains("chess")) {
                n_chess += 1;
                assert!(recipe.contains_key("puzzles"), "{}", file.display());
                assert!(
                    paths(&recipe, "validation").contains(&"data/valid_chess".to_owned()),
                    "{}",
                    file.display()
                );
            }
            learned.extend(data);
            measured.extend(paths(&recipe, "validation"));
        }
        assert!(n_chess > 10 && measured.len() > 10);
        assert_eq!(learned.intersection(&measured).next(), None);
    }
}
