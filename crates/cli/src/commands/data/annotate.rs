//! `mavis data annotate`.

use super::{job_failure, n_threads, oracle_maker, refuse_other_games, table_failure};
#[cfg(feature = "cluster")]
use crate::commands::cluster::{
    ClusterArgs,
    engines::{engine_of, version},
    needs,
};
use crate::commands::{answer, answer_json, wrote};
use crate::input::OrBadInput as _;
use crate::progress::JobProgress;
use clap::Args;
use mavis_bundled::oracles;
use mavis_data::job::JobEvent;
use mavis_data::wire::PositionRow;
use mavis_data::{AnnotateSettings, TableReader, annotate_on};
use mavis_game::Rules;
use serde_json::json;
use std::path::PathBuf;
#[cfg(feature = "cluster")]
use {
    mavis_bundled::{OracleMaker, oracle_spec},
    mavis_data::{Pace, Request},
    mavis_queue::Cluster,
};
#[cfg(not(feature = "cluster"))]
use {
    mavis_data::{Judge, Request},
    mavis_queue::Local,
};

/// Asks an oracle for the value of every legal move of every position, once each.
///
/// The output is a folder of shards with a manifest. Ctrl-C finishes the running positions, a killed program loses a few hundred at
/// most; the same command resumes where it stopped. Example: mavis data annotate positions.parquet --oracle stockfish:nodes=5000 --out annotated
#[derive(Args)]
#[command(after_long_help = oracles::HELP)]
pub(crate) struct Annotate {
    /// Tables of positions
    #[arg(required = true)]
    positions: Vec<PathBuf>,
    /// The oracle. Default: the usual oracle of the game
    #[arg(long)]
    oracle: Option<String>,
    /// The output folder; an unfinished run in it is resumed
    #[arg(long)]
    out: PathBuf,
    /// Oracles that work concurrently, each on its own thread. Default: one per core
    #[arg(long, short, value_parser = crate::input::at_once)]
    jobs: Option<usize>,
    /// Positions per shard
    #[arg(long, default_value_t = 10_000)]
    shard_size: u64,
    /// Progress and result as lines of JSON
    #[arg(long)]
    json: bool,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: ClusterArgs,
    /// With --cluster: positions per job
    #[cfg(feature = "cluster")]
    #[arg(long, default_value_t = 32)]
    job_size: usize,
}

impl Annotate {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let rules = match &self.oracle {
            Some(_) => None,
            None => first_game(&self.positions)?,
        };
        let maker = oracle_maker(self.oracle.as_deref(), rules)?;
        let settings = AnnotateSettings {
            positions: self.positions.clone(),
            out: self.out.clone(),
            shard_size: self.shard_size,
            stop: crate::stop::flag("the positions in hand"),
        };
        let mut progress = JobProgress::new(self.json, "positions");
        let watch = |event: JobEvent<'_>| progress.watch(&event);
        #[cfg(feature = "cluster")]
        let elsewhere = self.queue(rules, &maker, &settings)?;
        #[cfg(not(feature = "cluster"))]
        let elsewhere = None::<(Request, Local<Judge>)>;
        let result = match elsewhere {
            Some((request, mut queue)) => annotate_on(&settings, &request, &mut queue, watch),
            None => {
                let mut oracles = maker.make(n_threads(self.jobs)).or_bad_input()?;
                refuse_other_games(oracles.first_mut(), games(&self.positions)?)?;
                mavis_data::annotate(&settings, oracles, watch)
            }
        };
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
                "stopped with {} positions left; the same command resumes\n",
                done.n_left
            ));
        }
        answer(&format!(
            "{} positions annotated, {} repeats asked once, {} set aside\n",
            done.n_rows, done.n_repeats, done.n_aside
        ))
    }

    /// The queue of many machines, where the user names one.
    #[cfg(feature = "cluster")]
    fn queue(
        &self,
        rules: Option<Rules>,
        maker: &OracleMaker,
        settings: &AnnotateSettings,
    ) -> anyhow::Result<Option<(Request, Cluster)>> {
        let Some(cluster) = self.cluster.connect(needs())? else { return Ok(None) };
        let spec = oracle_spec(self.oracle.as_deref(), rules).or_bad_input()?;
        let engine = engine_of(&spec).or_bad_input()?;
        // One oracle here says what all of them must call themselves.
        let mut oracles = maker.make(1).or_bad_input()?;
        refuse_other_games(oracles.first_mut(), games(&self.positions)?)?;
        let [oracle] = &oracles[..] else { return Ok(None) };
        let identity = oracle.identity();
        let mut needs = needs();
        needs.engines.extend(engine.map(|name| (name, version(&identity))));
        let cluster = cluster.with_needs(needs).with_stop(settings.stop.clone());
        let pace = Pace::Fixed(self.job_size.max(1));
        Ok(Some((Request { line: spec.to_string(), identity, pace }, cluster)))
    }
}

/// The game of the first row.
fn first_game(positions: &[PathBuf]) -> anyhow::Result<Option<Rules>> {
    let row = TableReader::<PositionRow>::open(positions).map_err(table_failure)?.next();
    Ok(row.transpose().map_err(table_failure)?.and_then(|row| row.place.game.parse().ok()))
}

/// The games of all rows, as far as they can be read: the rest is for the annotation to report.
fn games(positions: &[PathBuf]) -> anyhow::Result<impl Iterator<Item = Rules>> {
    let rows = TableReader::<PositionRow>::open(positions).map_err(table_failure)?;
    Ok(rows.map_while(Result::ok).filter_map(|row| row.place.game.parse().ok()))
}
