//! `mavis eval actions`: chosen moves and values of moves against annotations.

use super::compared::{Compared, sample};
use crate::registry;
use clap::Args;
use mavis_league::metrics::actions;

/// Compares a player's moves and values with annotations: accuracy, regret, value error, Kendall's tau-b, by ply.
///
/// Action accuracy counts a move as right if it is the oracle's own choice, co-best accuracy if no move has a higher annotated
/// value; regret is the win probability given away; value error and tau compare what the player thinks of every move, where
/// it says so. Value error is averaged over the moves of a position and then over positions; by move, over all moves at once.
///
/// Example: mavis eval actions --input valid.parquet --limit 2000
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Actions {
    #[command(flatten)]
    compared: Compared,
}

impl Actions {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (samples, plies) = self.compared.ask(|record, analysis| Ok(sample(record, analysis)))?;
        self.compared.asked.show(&samples, &actions(&samples.list, &plies))
    }
}
