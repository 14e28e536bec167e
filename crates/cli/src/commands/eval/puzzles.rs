//! `mavis eval puzzles`: whole solutions.

use super::asked::Asked;
use crate::{positions, registry};
use anyhow::Context;
use clap::Args;
use mavis_league::metrics::{puzzles, solve_puzzle};
use std::path::PathBuf;

/// Lets a player solve chess puzzles: every move of the solution must be the listed one.
///
/// A second share also accepts a mate other than the listed move.
///
/// The file has Lichess' form: a header that names the columns FEN and Moves, and Rating if there is one; .gz, .zst and .bz2 are
/// read as they are.
///
/// Example: mavis eval puzzles --input lichess_puzzles.csv.gz --limit 500
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Puzzles {
    #[command(flatten)]
    asked: Asked,
    /// The file of puzzles
    #[arg(long)]
    input: PathBuf,
    /// Only the first puzzles of the file
    #[arg(long)]
    limit: Option<usize>,
}

impl Puzzles {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let list = positions::puzzles(&self.input, self.limit)?;
        let results = self.asked.ask_all(
            &list,
            || (),
            |player, (), puzzle, limit| {
                solve_puzzle(player, puzzle, limit).with_context(|| format!("puzzle {}", puzzle.id))
            },
        )?;
        self.asked.show(&results, &puzzles(&results.list))
    }
}
