//! `mavis data annotate`.

use super::{job_failure, n_threads, oracle_maker, table_failure};
use crate::commands::{answer, answer_json, wrote};
use crate::input::OrBadInput as _;
use crate::progress::JobProgress;
use clap::Args;
use mavis_bundled::oracles;
use mavis_data::wire::PositionRow;
use mavis_data::{AnnotateSettings, TableReader};
use mavis_game::Rules;
use serde_json::json;
use std::path::PathBuf;

/// Asks an oracle for the value of every legal move of every position, once each.
///
/// The output is a folder of shards with a manifest. Ctrl-C finishes the positions in hand, a killed program loses a few hundred at
/// most; the same command goes on where it stopped. Example: mavis data annotate positions.parquet --oracle stockfish:nodes=5000 --out annotated
#[derive(Args)]
#[command(after_long_help = oracles::HELP)]
pub(crate) struct Annotate {
    /// Tables of positions
    #[arg(required = true)]
    positions: Vec<PathBuf>,
    /// Who judges; the usual oracle of the game if absent
    #[arg(long)]
    oracle: Option<String>,
    /// The folder to write, or to go on with
    #[arg(long)]
    out: PathBuf,
    /// Oracles that work concurrently, each on its own thread. Default: one per core
    #[arg(long, short)]
    jobs: Option<usize>,
    /// Positions a shard
    #[arg(long, default_value_t = 10_000)]
    shard_size: u64,
    /// Progress and result as lines of JSON
    #[arg(long)]
    json: bool,
}

impl Annotate {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let rules = match &self.oracle {
            Some(_) => None,
            None => first_game(&self.positions)?,
        };
        let maker = oracle_maker(self.oracle.as_deref(), rules)?;
        let settings = AnnotateSettings {
            positions: self.positions,
            out: self.out,
            shard_size: self.shard_size,
            stop: crate::stop::flag("the positions in hand"),
        };
        let oracles = maker.make(n_threads(self.jobs)).or_bad_input()?;
        let mut progress = JobProgress::new(self.json, "positions");
        let result = mavis_data::annotate(&settings, oracles, |event| progress.watch(&event));
        progress.finish();
        let done = result.map_err(job_failure)?;
        wrote(&settings.out);
        if self.json {
            let event = if done.n_left == 0 { "done" } else { "stopped" };
            return answer_json(&json!({
                "event": event, "rows": done.n_rows, "aside": done.n_aside, "repeats": done.n_repeats,
                "left": done.n_left,
            }));
        }
        if done.n_left > 0 {
            return answer(&format!(
                "stopped with {} positions left; the same command goes on\n",
                done.n_left
            ));
        }
        answer(&format!(
            "{} positions annotated, {} repeats asked once, {} set aside\n",
            done.n_rows, done.n_repeats, done.n_aside
        ))
    }
}

/// The game of the first row.
fn first_game(positions: &[PathBuf]) -> anyhow::Result<Option<Rules>> {
    let row = TableReader::<PositionRow>::open(positions).map_err(table_failure)?.next();
    Ok(row.transpose().map_err(table_failure)?.and_then(|row| row.place.game.parse().ok()))
}
