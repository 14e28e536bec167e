//! `mavis gtp`: any player as an engine that speaks GTP, or HTP for Hex.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod board;
mod clock;
mod session;

use crate::{input::OrBadInput, tunables::PlayerFlags};
use clap::Args;
use mavis_game::Rules;
use session::GtpSession;
use std::io::{BufRead, Write};

/// Speaks GTP version 2 on stdin and stdout, HTP for Hex, so that other programs play with any player.
///
/// White moves first in chess and Togyz Kumalak, Black in every other game. Example: mavis gtp --game hex:size=7 --player mcts:sims=20000
#[derive(Args)]
#[command(after_long_help = crate::registry::help())]
pub(crate) struct Gtp {
    /// chess, chess960, connect4, hex (hex:size=13, hex:swap), othello or togyz
    #[arg(long)]
    game: String,
    #[command(flatten)]
    player: PlayerFlags,
}

impl Gtp {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let mut session = GtpSession::start(rules, &self.player.spec()?, self.player.seed)?;
        let mut input = std::io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line need not be text; a controller that is gone has no more of them.
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if let Some(response) = session.handle(&String::from_utf8_lossy(&line)) {
                let mut output = std::io::stdout().lock();
                // The response brings its own end, an empty line.
                output.write_all(response.to_string().as_bytes())?;
                output.flush()?;
            }
            if session.is_over() {
                return Ok(());
            }
        }
    }
}
