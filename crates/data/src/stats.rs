//! What a table holds, in numbers and pictures.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod plot;

pub use plot::{PlotError, plot};

use crate::table::{TableError, TableReader, table_kind};
use crate::wire::{AnnotationRow, GameRow, HasPlace, OracleName, PositionRow, TraceRow};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Buckets of the histograms, as in figures A1 and A2 of paper 002.
pub const N_BUCKETS: usize = 50;

/// Counts and histograms of one table.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Statistics {
    /// `positions`, `annotations`, `games` or `traces`.
    pub table: String,
    /// Rows.
    pub n_rows: u64,
    /// Rows by game.
    pub games: BTreeMap<String, u64>,
    /// Rows by oracle with its version and settings; annotations and traces only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub oracles: BTreeMap<String, u64>,
    /// Results of whole games.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub results: BTreeMap<String, u64>,
    /// Traces by size, `BREADTHxDEPTH`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, u64>,
    /// Tokens of all traces, prompts among them; traces only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_tokens: Option<u64>,
    /// Rows without a game's id.
    pub n_without_game: u64,
    /// Rows of finished games: no moves.
    pub n_over: u64,
    /// The mean ply of positions, or the mean length of games.
    pub mean_ply: f64,
    /// Moves listed in all rows.
    pub n_moves: u64,
    /// Win probabilities of all moves in 50 equal buckets from 0 to 1 (figure A1).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub win_probabilities: Vec<u64>,
    /// How often each move occurs, most frequent first (figure A2).
    pub moves: Vec<(String, u64)>,
}

impl Statistics {
    /// Counts a table of any kind.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of<P: AsRef<Path>>(tables: &[P]) -> Result<Self, TableError> {
        let mut counter = Counter {
            statistics: Self { table: table_kind(tables)?, ..Self::default() },
            ..Counter::default()
        };
        match counter.statistics.table.as_str() {
            "annotations" => {
                for row in TableReader::<AnnotationRow>::open(tables)? {
                    counter.annotation(&row?);
                }
            }
            "games" => {
                for row in TableReader::<GameRow>::open(tables)? {
                    counter.game(&row?);
                }
            }
            "traces" => {
                for row in TableReader::<TraceRow>::open(tables)? {
                    counter.trace(&row?);
                }
            }
            _ => {
                for row in TableReader::<PositionRow>::open(tables)? {
                    let row = row?;
                    counter.position(&row);
                    if let Some(played) = &row.played {
                        counter.one_move(played);
                    }
                }
            }
        }
        Ok(counter.finish())
    }

    /// The mean frequency of a move in 50 buckets of moves, most frequent first: the bars of figure A2. Buckets differ by one move
    /// where 50 does not divide their number, so sums would not fall from bucket to bucket.
    #[must_use]
    pub fn move_buckets(&self) -> Vec<f64> {
        let n_buckets = self.moves.len().min(N_BUCKETS);
        let bucket = |k: usize| {
            let range = k * self.moves.len() / n_buckets..(k + 1) * self.moves.len() / n_buckets;
            let n = range.len() as f64;
            self.moves.get(range).unwrap_or_default().iter().map(|(_, count)| *count as f64).sum::<f64>() / n
        };
        (0..n_buckets).map(bucket).collect()
    }
}

#[derive(Default)]
struct Counter {
    statistics: Statistics,
    moves: HashMap<String, u64>,
    sum_of_plies: f64,
}

impl Counter {
    fn position(&mut self, row: &impl HasPlace) {
        let place = row.place();
        self.row(&place.game);
        self.sum_of_plies += f64::from(place.ply);
        self.statistics.n_without_game += u64::from(place.game_id.is_none());
    }

    fn annotation(&mut self, row: &AnnotationRow) {
        self.position(row);
        self.oracle(&row.oracle);
        self.statistics.n_over += u64::from(row.moves.is_empty() && row.value.is_none());
        for judged in &row.moves {
            self.one_move(&judged.mv);
            if let Some(value) = judged.win_probability {
                self.statistics.win_probabilities.resize(N_BUCKETS, 0);
                let bucket = ((value * N_BUCKETS as f32) as usize).min(N_BUCKETS - 1);
                if let Some(count) = self.statistics.win_probabilities.get_mut(bucket) {
                    *count += 1;
                }
            }
        }
    }

    fn game(&mut self, row: &GameRow) {
        self.row(&row.game);
        self.sum_of_plies += row.moves.len() as f64;
        add(&mut self.statistics.results, row.result.as_deref().unwrap_or("*"));
        row.moves.iter().for_each(|text| self.one_move(text));
    }

    fn trace(&mut self, row: &TraceRow) {
        self.row(&row.game);
        self.oracle(&row.oracle);
        add(&mut self.statistics.sizes, &format!("{}x{}", row.breadth, row.depth));
        *self.statistics.n_tokens.get_or_insert_default() += row.tokens.len() as u64;
    }

    fn oracle(&mut self, oracle: &OracleName) {
        let OracleName { name, version, settings, .. } = oracle;
        add(&mut self.statistics.oracles, format!("{name} {version} {settings}").trim());
    }

    fn row(&mut self, game: &str) {
        self.statistics.n_rows += 1;
        add(&mut self.statistics.games, game);
    }

    fn one_move(&mut self, text: &str) {
        self.statistics.n_moves += 1;
        match self.moves.get_mut(text) {
            Some(count) => *count += 1,
            None => drop(self.moves.insert(text.to_owned(), 1)),
        }
    }

    fn finish(mut self) -> Statistics {
        self.statistics.moves = self.moves.into_iter().collect();
        self.statistics.moves.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.statistics.mean_ply = self.sum_of_plies / (self.statistics.n_rows.max(1) as f64);
        self.statistics
    }
}

fn add(counts: &mut BTreeMap<String, u64>, key: &str) {
    match counts.get_mut(key) {
        Some(count) => *count += 1,
        None => drop(counts.insert(key.to_owned(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether or not 50 divides the number of moves, a bar is not higher than the one before.
    #[test]
    fn bars_of_moves_fall() {
        for n_moves in [0, 1, 49, 50, 51, 73, 149] {
            let moves = (0..n_moves).map(|rank| (rank.to_string(), 2 * (n_moves - rank) as u64)).collect();
            let bars = Statistics { moves, ..Statistics::default() }.move_buckets();
            assert_eq!(bars.len(), n_moves.min(N_BUCKETS));
            assert!(bars.is_sorted_by(|one, next| one >= next), "{n_moves}: {bars:?}");
        }
    }

    #[test]
    fn labels_of_the_histograms_are_whole_and_cover_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        for (n_moves, most) in [(1, 1), (7, 3), (1968, 4_000_000_000)] {
            let moves = (0..n_moves).map(|rank| (rank.to_string(), (most / (rank + 1)).max(1))).collect();
            let win_probabilities = (0..N_BUCKETS as u64).map(|bucket| most * bucket / 50).collect();
            let statistics = Statistics { moves, win_probabilities, ..Statistics::default() };
            for path in plot(&statistics, folder.path()).expect("drawn") {
                let svg = std::fs::read_to_string(path).expect("readable");
                assert!(mavis_testkit::check_drawing(&svg) > 5, "{svg}");
            }
        }
    }
}
