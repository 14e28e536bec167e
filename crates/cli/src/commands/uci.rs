//! `mavis uci`: any player as a chess engine in a GUI.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod options;
mod report;
mod search;
mod session;

use crate::tunables::PlayerFlags;
use clap::Args;
use session::UciSession;
use std::io::BufRead;

/// Speaks UCI on stdin and stdout, so that a chess GUI or a tournament manager plays with any player.
///
/// Every option of the player is a UCI option. Example: mavis uci --player mcts:sims=20000
#[derive(Args)]
#[command(after_long_help = crate::registry::help())]
pub(crate) struct Uci {
    #[command(flatten)]
    player: PlayerFlags,
}

impl Uci {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut session = UciSession::start(self.player.spec()?, self.player.seed)?;
        let mut line = Vec::new();
        let mut input = std::io::stdin().lock();
        loop {
            line.clear();
            // A line need not be text; a GUI that is gone has no more of them.
            let read = input.read_until(b'\n', &mut line)?;
            if read == 0 || !session.handle(&String::from_utf8_lossy(&line))? {
                break;
            }
        }
        session.end();
        Ok(())
    }
}
