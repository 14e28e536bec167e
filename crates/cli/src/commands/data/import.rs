//! `mavis data import`.

use super::{different, table_failure};
use crate::commands::{answer, answer_json, wrote};
use crate::input::BadInput;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use mavis_data::TableWriter;
use mavis_data::import::{Format, ImportCounts, ImportError, Importer};
use mavis_data::wire::OracleName;
use mavis_game::Rules;
use mavis_league::wire::import_league;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// Reads games, positions or annotations into tables.
///
/// Sources may be compressed (.zst, .gz, .bz2): PGN of all six games, FEN and EPD lists, WTHOR and PlayOK games, lines of Hex and
/// Connect Four moves, FEN/value pairs, ChessBench bags. A folder is a league of mavis league run, whose games are read.
/// Example: mavis data import games.pgn.zst --out positions.parquet
#[derive(Args)]
pub(crate) struct Import {
    /// Files and folders of leagues to read; - is the standard input
    #[arg(required = true)]
    sources: Vec<PathBuf>,
    /// The table to write: positions, or annotations if the sources hold those
    #[arg(long)]
    out: Option<PathBuf>,
    /// A table of whole games to write
    #[arg(long)]
    games: Option<PathBuf>,
    /// pgn, positions, wthor, playok, hex, connect4, lichess-csv, fen-values or bag. Default: guessed from name and content
    #[arg(long)]
    format: Option<Format>,
    /// The game, if the source does not name it (chess960, hex:size=13)
    #[arg(long)]
    game: Option<Rules>,
    /// Skips games in which a player's rating is lower or unknown
    #[arg(long)]
    min_rating: Option<i32>,
    /// The oracle of imported annotations, if the source does not name it: name, version and settings
    #[arg(long, num_args = 1..=3, value_names = ["NAME", "VERSION", "SETTINGS"])]
    oracle: Vec<String>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.out.is_none() && self.games.is_none() {
            return Err(
                BadInput::new("give --out for positions or annotations, --games for games, or both").into()
            );
        }
        let annotated = self.is_annotated()?;
        let field = |place: usize| self.oracle.get(place).cloned().unwrap_or_default();
        let oracle = OracleName { name: field(0), version: field(1), settings: field(2) };
        let mut importer = Importer {
            rules: self.game,
            min_rating: self.min_rating,
            oracle: (!self.oracle.is_empty()).then_some(oracle),
            ..Importer::default()
        };
        if let (Some(out), Some(games)) = (&self.out, &self.games) {
            different([("--out", out), ("--games", games)])?;
        }
        if let Some(out) = &self.out {
            if annotated {
                importer.annotations = Some(TableWriter::create(out).map_err(table_failure)?);
            } else {
                importer.positions = Some(TableWriter::create(out).map_err(table_failure)?);
            }
        }
        if let Some(games) = &self.games {
            importer.games = Some(TableWriter::create(games).map_err(table_failure)?);
        }
        let bar = if self.json { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let watched = bar.clone();
        let started = std::time::Instant::now();
        let mut n_calls = 0_u64;
        importer.progress = Some(Box::new(move |counts| {
            n_calls += 1;
            if n_calls.is_multiple_of(256) {
                let rate = counts.n_positions as f64 / started.elapsed().as_secs_f64();
                watched.set_message(format!(
                    "{} games, {} positions, {rate:.0} positions/s",
                    counts.n_games, counts.n_positions
                ));
            }
        }));
        for source in &self.sources {
            match source.is_dir() {
                true => import_league(&mut importer, source),
                false => importer.import(source, self.format),
            }
            .map_err(import_failure)?;
        }
        // Tables are only there once they are finished, so that a failed import replaces none.
        if let (0, 0, Some(first)) =
            (importer.counts.n_games, importer.counts.n_positions, importer.counts.refused.first())
        {
            let n = importer.counts.n_refused;
            return Err(BadInput::new(format!("nothing could be read, {n} refused: {first}")).into());
        }
        let counts = importer.finish().map_err(table_failure)?;
        bar.finish_and_clear();
        self.out.iter().chain(&self.games).for_each(|path| wrote(path));
        self.report(&counts)
    }

    /// Sources of one call are all annotated or all not, since they share a table.
    fn is_annotated(&self) -> anyhow::Result<bool> {
        let kinds = self.sources.iter().map(|source| match self.format {
            _ if source.is_dir() => false,
            Some(format) => format.is_annotated(),
            None => Format::guess(source, b"").is_annotated(),
        });
        let kinds: Vec<bool> = kinds.collect();
        let all = kinds.first().copied().unwrap_or_default();
        if kinds.iter().any(|kind| *kind != all) {
            return Err(BadInput::new(
                "annotations and games cannot go into one table: import them one by one",
            )
            .into());
        }
        Ok(all)
    }

    fn report(&self, counts: &ImportCounts) -> anyhow::Result<()> {
        if self.json {
            return answer_json(&json!({
                "games": counts.n_games, "positions": counts.n_positions,
                "refused": counts.n_refused, "examples": counts.refused,
            }));
        }
        let mut text = format!(
            "{} games, {} positions, {} refused\n",
            counts.n_games, counts.n_positions, counts.n_refused
        );
        for example in &counts.refused {
            text.push_str(&format!("  {example}\n"));
        }
        answer(&text)
    }
}

fn import_failure(error: ImportError) -> anyhow::Error {
    match error {
        ImportError::Table(error) => table_failure(error),
        error => BadInput::new(super::chain(&error)).into(),
    }
}
