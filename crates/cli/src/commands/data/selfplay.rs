//! `mavis data selfplay`.

use super::{job_failure, n_threads, oracle_maker, refuse_other_games};
#[cfg(feature = "cluster")]
use crate::commands::cluster::ClusterArgs;
use crate::commands::{answer, answer_json, wrote};
use crate::input::{BadInput, OrBadInput as _, Place};
use crate::progress::JobProgress;
use clap::Args;
use mavis_bundled::oracles;
use mavis_data::job::{JobError, JobEvent};
#[cfg(feature = "cluster")]
use mavis_data::selfplay_on;
use mavis_data::{SelfplaySettings, Selfplayed, default_epsilon};
use mavis_game::{Game, Rules};
use serde_json::json;
use std::path::PathBuf;
#[cfg(feature = "cluster")]
use std::sync::Arc;

/// Lets an oracle play against itself with some random moves, and stores games and annotations.
///
/// The output is a folder with the tables `games` and `annotations`, in shards with a manifest. Ctrl-C keeps the finished games, a
/// killed program loses those of the last ten seconds; the same command resumes where it stopped. Example: mavis data selfplay --game connect4 --n-games 10000 --out c4
#[derive(Args)]
#[command(after_long_help = oracles::HELP)]
pub(crate) struct Selfplay {
    #[command(flatten)]
    place: Place,
    /// Games to play
    #[arg(long, short)]
    n_games: u64,
    /// The oracle. Default: the usual oracle of the game
    #[arg(long)]
    oracle: Option<String>,
    /// Probability of a random move. Default: 0.4 in Connect Four, 0.1 in Hex, 0.2 elsewhere
    #[arg(long)]
    epsilon: Option<f64>,
    /// Plies at the start of each game that are random and not evaluated (exact solvers are slow far from the end)
    #[arg(long, default_value_t = 0)]
    random_plies: u32,
    /// Seed; the same seed gives the same games
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Plies after which a game is stopped
    #[arg(long, default_value_t = 400)]
    max_plies: u32,
    /// The output folder; an unfinished run in it is resumed
    #[arg(long)]
    out: PathBuf,
    /// Oracles that work concurrently, each on its own thread. Default: one per core
    #[arg(long, short, value_parser = crate::input::at_once)]
    jobs: Option<usize>,
    /// Games per shard
    #[arg(long, default_value_t = 500)]
    shard_size: u64,
    /// Progress and result as lines of JSON
    #[arg(long)]
    json: bool,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: ClusterArgs,
    /// With --cluster: games per job
    #[cfg(feature = "cluster")]
    #[arg(long, default_value_t = 20)]
    job_size: usize,
}

impl Selfplay {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let start = self.place.position()?;
        let rules = start.rules();
        let epsilon = self.epsilon.unwrap_or_else(|| default_epsilon(rules));
        if !(0.0..=1.0).contains(&epsilon) {
            return Err(BadInput::new(format!("--epsilon must be between 0 and 1, not {epsilon}")).into());
        }
        let settings = SelfplaySettings {
            start,
            n_games: self.n_games,
            epsilon,
            random_plies: self.random_plies,
            seed: self.seed,
            max_plies: self.max_plies,
            shard_size: self.shard_size,
            out: self.out.clone(),
            stop: crate::stop::flag("the positions in hand"),
        };
        let mut progress = JobProgress::new(self.json, "games");
        let result = self.play(&settings, rules, |event: JobEvent<'_>| progress.watch(&event))?;
        progress.finish();
        let done = result.map_err(job_failure)?;
        wrote(&settings.out);
        if self.json {
            let event = if done.n_left == 0 { "done" } else { "stopped" };
            return answer_json(&json!({
                "event": event, "games": done.n_games, "annotations": done.n_annotations, "aside": done.n_aside,
                "left": done.n_left,
            }));
        }
        if done.n_left > 0 {
            return answer(&format!("stopped with {} games left; the same command resumes\n", done.n_left));
        }
        answer(&format!(
            "{} games, {} annotated positions, {} games given up\n",
            done.n_games, done.n_annotations, done.n_aside
        ))
    }

    /// Plays on workers where the user names a queue, else here.
    fn play(
        &self,
        settings: &SelfplaySettings,
        rules: Rules,
        watch: impl FnMut(JobEvent<'_>),
    ) -> anyhow::Result<Result<Selfplayed, JobError>> {
        let line = self.oracle.as_deref();
        #[cfg(feature = "cluster")]
        {
            let queue = super::oracle_queue(&self.cluster, (line, rules), self.job_size)?;
            if let Some((request, queue)) = queue {
                // Results that workers still send stay on the queue, and the same command takes them up.
                let mut queue = queue.with_stop(Arc::clone(&settings.stop));
                return Ok(selfplay_on(settings, &request, &mut queue, watch));
            }
        }
        let mut oracles = oracle_maker(line, Some(rules))?.make(n_threads(self.jobs)).or_bad_input()?;
        refuse_other_games(oracles.first_mut(), std::iter::once(rules))?;
        Ok(mavis_data::selfplay(settings, oracles, watch))
    }
}
