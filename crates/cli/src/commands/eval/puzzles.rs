//! `mavis eval puzzles`: whole solutions.

use super::asked::Asked;
use crate::{input::BadInput, positions, registry};
use anyhow::Context;
use clap::Args;
use mavis_game::Game as _;
use mavis_league::metrics::{puzzles, solve_puzzle};
use mavis_play::PlayerError;
use std::path::PathBuf;

/// Measures the share of chess puzzles that a player solves: every move must be that of the solution.
///
/// A second share also accepts any other move that mates.
///
/// The file has the columns of Lichess: a header with FEN and Moves, and optionally Rating. It may be compressed (.gz, .zst, .bz2).
///
/// Example: mavis eval puzzles --input lichess_puzzles.csv.gz --limit 500
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Puzzles {
    #[command(flatten)]
    asked: Asked,
    /// The puzzles, a CSV file
    #[arg(long)]
    input: PathBuf,
    /// Number of puzzles, from the start of the file. Default: all
    #[arg(long, value_parser = crate::input::limit)]
    limit: Option<usize>,
}

impl Puzzles {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let list = positions::puzzles(&self.input, self.limit)?;
        let results = self.asked.ask_all(
            &list,
            || false,
            |player, is_ready, puzzle, limit| {
                if !std::mem::replace(is_ready, true) {
                    player.ready_for(puzzle.position.rules()).map_err(|error| match error {
                        PlayerError::Broken(_) => anyhow::Error::from(error),
                        error => BadInput::new(error).into(),
                    })?;
                }
                solve_puzzle(player, puzzle, limit).with_context(|| format!("puzzle {}", puzzle.id))
            },
        )?;
        self.asked.show(&results, &puzzles(&results.list))
    }
}
