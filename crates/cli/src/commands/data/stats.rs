//! `mavis data stats`.

use super::table_failure;
use crate::commands::{answer, answer_json};
use clap::Args;
use mavis_data::stats::{Statistics, plot};
use std::fmt::Write;
use std::path::PathBuf;

/// Counts what a table holds; with --plot draws its histograms.
///
/// Example: mavis data stats annotated
#[derive(Args)]
pub(crate) struct Stats {
    /// A table of positions, annotations, games or traces
    #[arg(required = true)]
    tables: Vec<PathBuf>,
    /// A folder for SVG pictures: win percentages of all moves, and how often each move occurs
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let statistics = Statistics::of(&self.tables).map_err(table_failure)?;
        let mut files = Vec::new();
        if let Some(folder) = &self.plot {
            files = plot(&statistics, folder)?;
        }
        if self.json {
            return answer_json(&statistics);
        }
        let mut text = String::new();
        writeln!(text, "{} rows of {}", statistics.n_rows, statistics.table)?;
        let counts = [
            ("game", &statistics.games),
            ("oracle", &statistics.oracles),
            ("result", &statistics.results),
            ("size", &statistics.sizes),
        ];
        for (name, counts) in counts {
            for (value, count) in counts {
                writeln!(text, "  {name} {value}: {count}")?;
            }
        }
        if let Some(n_tokens) = statistics.n_tokens {
            writeln!(text, "{n_tokens} tokens")?;
        } else {
            writeln!(
                text,
                "mean ply {:.1}, {} moves, {} different",
                statistics.mean_ply,
                statistics.n_moves,
                statistics.moves.len()
            )?;
        }
        if statistics.n_over > 0 {
            writeln!(text, "{} finished games", statistics.n_over)?;
        }
        let frequent: Vec<String> =
            statistics.moves.iter().take(5).map(|(mv, count)| format!("{mv} {count}")).collect();
        if !frequent.is_empty() {
            writeln!(text, "most frequent: {}", frequent.join(", "))?;
        }
        if !statistics.win_probabilities.is_empty() {
            writeln!(text, "win percentage of all moves:")?;
            let sum: u64 = statistics.win_probabilities.iter().sum();
            for (tenth, counts) in statistics.win_probabilities.chunks(5).enumerate() {
                let share = counts.iter().sum::<u64>() as f64 / sum as f64;
                let bar = "#".repeat((share * 60.0).round() as usize);
                writeln!(text, "  {:>3}-{:<3} {:>5.1} % {bar}", tenth * 10, tenth * 10 + 10, 100.0 * share)?;
            }
        }
        for file in files {
            writeln!(text, "{}", file.display())?;
        }
        answer(&text)
    }
}
