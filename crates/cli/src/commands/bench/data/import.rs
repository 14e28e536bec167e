//! Games from a file into a table of positions.

use crate::commands::bench::usage::thread_seconds;
use crate::input::OrBadInput;
use mavis_data::TableWriter;
use mavis_data::import::{Format, Importer};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Target for games per minute.
const ASKED: f64 = 50_000.0;

#[derive(Serialize)]
pub(super) struct Imported {
    file: String,
    games: u64,
    positions: u64,
    seconds: f64,
    processor_seconds: f64,
    games_per_minute: f64,
    /// By processor time.
    games_per_processor_minute: f64,
}

impl Imported {
    pub(super) fn measure(pgn: &Path, folder: &Path) -> anyhow::Result<Self> {
        let table = folder.join("imported.parquet");
        let (begin, processor) = (Instant::now(), thread_seconds());
        let mut importer = Importer { positions: Some(TableWriter::create(&table)?), ..Importer::default() };
        importer.import(pgn, Some(Format::Pgn)).or_bad_input()?;
        let counts = importer.finish()?;
        let (seconds, processor_seconds) = (begin.elapsed().as_secs_f64(), thread_seconds() - processor);
        Ok(Self {
            file: pgn.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            games: counts.n_games,
            positions: counts.n_positions,
            seconds,
            processor_seconds,
            games_per_minute: 60.0 * counts.n_games as f64 / seconds,
            games_per_processor_minute: 60.0 * counts.n_games as f64 / processor_seconds.max(1e-9),
        })
    }

    pub(super) fn text(&self) -> String {
        format!(
            "import of {}: {} games, {} positions in {:.2} s: {:.0} games a minute, {:.0} by processor time ({ASKED:.0} asked)\n",
            self.file,
            self.games,
            self.positions,
            self.seconds,
            self.games_per_minute,
            self.games_per_processor_minute
        )
    }
}
