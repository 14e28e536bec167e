//! `mavis eval actions`: chosen moves and values of moves against annotations.

use super::compared::{Compared, sample};
use crate::registry;
use clap::Args;
use mavis_league::metrics::actions;

/// Compares a player's moves and values with annotations: accuracy, regret, value error, Kendall's tau-b, by ply.
///
/// Action accuracy: the move is the oracle's choice. Co-best accuracy: no move has a higher annotated value. Regret: the win
/// probability lost by the move. Value error and tau compare the player's values of all moves, if it reports them. Value error is
/// averaged over the moves of a position and then over positions; value error by move is averaged over all moves.
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
