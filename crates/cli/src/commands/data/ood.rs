//! `mavis data ood`.

use super::table_failure;
use crate::commands::{answer, answer_json, wrote};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Makes chess positions that no game leads to: random pieces on random squares, legal to play on.
///
/// At most one king is in check, and the game is not over.
///
/// Example: mavis data ood -n 1000 --out positions.parquet
#[derive(Args)]
pub(crate) struct Ood {
    /// Positions to make, all different
    #[arg(short, long)]
    n: u64,
    /// The table of positions to write
    #[arg(long)]
    out: PathBuf,
    /// Seed; the same seed gives the same positions
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Ood {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let n_rows = mavis_data::out_of_distribution(&self.out, self.n, self.seed).map_err(table_failure)?;
        wrote(&self.out);
        if self.json {
            return answer_json(&json!({ "positions": n_rows }));
        }
        answer(&format!("{n_rows} positions\n"))
    }
}
