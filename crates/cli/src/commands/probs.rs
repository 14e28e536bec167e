//! `mavis probs`: small nets that learn a game from nothing.

use super::{answer, answer_json, note, train::lay_over, wrote};
use crate::{
    input::{BadInput, OrBadInput, lock_failure},
    stop,
};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use mavis_game::Rules;
use mavis_net::Device;
use mavis_probs::{
    Algorithm, Axis, Elsewhere, Meter, Phase, ProbsError, ProbsJob, ProbsSettings, RunOptions, Stage,
    elo_curve, preset, read_metrics, train, wire::Line,
};
use mavis_queue::{Files, Submitter};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Learns a game from self-play, by PROBS or as AlphaZero does.
#[derive(Subcommand)]
pub(crate) enum Probs {
    Train(ProbsTrain),
    Plot(ProbsPlot),
}

/// Trains a value net and an action net by self-play; the same command continues a run.
///
/// The folder gets settings, metrics, an Elo curve, the last model and the best one, which plays as
/// probs:FOLDER/best.safetensors. With --cluster, workers play and search, and this machine learns.
///
/// Example: mavis probs train --game connect4 --preset small --out runs/connect4
#[derive(Args)]
pub(crate) struct ProbsTrain {
    /// chess, chess960, connect4, hex (hex:size=7), othello or togyz
    #[arg(long)]
    game: String,
    /// Settings to begin with: small learns in minutes, paper has the numbers of paper 004, author is one round of its author's timing
    #[arg(long, default_value = "small")]
    preset: String,
    /// Folder of the run
    #[arg(long)]
    out: PathBuf,
    /// probs, or azero for MCTS with visit counts
    #[arg(long)]
    algorithm: Option<String>,
    /// Rounds of self-play and training in all
    #[arg(long)]
    rounds: Option<u32>,
    /// Seed of everything random
    #[arg(long)]
    seed: Option<u64>,
    /// Overrides a setting, e.g. --set expansions=50 --set evaluation.games=400
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Minutes after which no new round begins; run again to continue
    #[arg(long)]
    max_minutes: Option<f64>,
    /// Device of the nets: cpu, cuda or auto
    #[arg(long, default_value = "cpu")]
    device: String,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: super::cluster::ClusterArgs,
    /// Lines of JSON on stdout
    #[arg(long)]
    json: bool,
}

/// Draws the Elo curves of runs into one picture.
///
/// Example: mavis probs plot runs/probs runs/azero --axis minutes --out compared.svg
#[derive(Args)]
pub(crate) struct ProbsPlot {
    /// Folders of runs; NAME=FOLDER gives a curve another name than its folder's
    #[arg(required = true)]
    runs: Vec<String>,
    /// What the curves run along: rounds, minutes or evaluations
    #[arg(long, default_value = "rounds")]
    axis: String,
    /// The SVG file
    #[arg(long)]
    out: PathBuf,
}

impl Probs {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Train(command) => command.run(),
            Self::Plot(command) => command.run(),
        }
    }
}

impl ProbsTrain {
    fn run(self) -> anyhow::Result<()> {
        let settings = self.settings()?;
        settings.validate().or_bad_input()?;
        let deadline = match self.max_minutes {
            Some(minutes) => {
                let time = mavis_stable::time::seconds(60.0 * minutes);
                let time =
                    time.map_err(|error| BadInput::new(format!("bad --max-minutes {minutes}: {error}")))?;
                Instant::now().checked_add(time)
            }
            None => None,
        };
        let json = self.json;
        let mut failed = Ok(());
        let bar = if json { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        let mut watch = |line: &Line| {
            if json {
                failed = answer_json(line);
            } else {
                bar.suspend(|| show(line));
            }
        };
        let mut queue = self.queue()?;
        let flag = stop::flag(if queue.is_none() { "this round and its rating" } else { "the rating" });
        let device: Device = self.device.parse().or_bad_input()?;
        let device = device.resolved().or_bad_input()?;
        let meter = Arc::new(Meter::default());
        let _ticker = Ticker::start(&bar, &meter, settings.rounds);
        let elsewhere = queue.as_mut().map(|Queue { jobs, files }| Elsewhere {
            jobs: &mut **jobs,
            files: &**files,
            stop: &flag,
        });
        let options = RunOptions { device, stop: &flag, deadline, watch: &mut watch, meter, elsewhere };
        let summary = train(&settings, &self.out, options).map_err(sort_out);
        bar.finish_and_clear();
        let summary = summary?;
        failed?;
        let best = self.out.join("best.safetensors");
        if self.json {
            return answer_json(&json!({
                "event": "end", "rounds": summary.rounds, "best_elo": summary.best_elo, "best": best,
                "seconds": summary.seconds, "evaluations": summary.evaluations,
            }));
        }
        answer(&format!(
            "{} rounds in {:.0} s, {} evaluations; best rating {}: {}",
            summary.rounds,
            summary.seconds,
            summary.evaluations,
            summary.best_elo.map_or("none".to_owned(), |elo| format!("{elo:.0}")),
            best.display()
        ))
    }

    /// Where self-play and searches go; `None` means that they are done here.
    #[cfg(feature = "cluster")]
    fn queue(&self) -> anyhow::Result<Option<Queue>> {
        use super::cluster::{needs, queue_failure};
        let Some(cluster) = self.cluster.connect(needs())? else { return Ok(None) };
        let jobs = mavis_queue::cluster::Collector::new(&cluster).map_err(queue_failure)?;
        Ok(Some(Queue { jobs: Box::new(jobs), files: Box::new(cluster.blobs()) }))
    }

    #[cfg(not(feature = "cluster"))]
    fn queue(&self) -> anyhow::Result<Option<Queue>> {
        Ok(None)
    }

    fn settings(&self) -> Result<ProbsSettings, BadInput> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let mut settings = preset(&self.preset, rules).or_bad_input()?;
        if let Some(text) = &self.algorithm {
            settings.algorithm = text.parse::<Algorithm>().or_bad_input()?;
        }
        settings.rounds = self.rounds.unwrap_or(settings.rounds);
        settings.seed = self.seed.unwrap_or(settings.seed);
        let mut table = toml::Table::try_from(&settings).or_bad_input()?;
        for line in &self.overrides {
            lay_over(&mut table, line)?;
        }
        table.try_into().map_err(|error: toml::de::Error| BadInput::new(error.message().trim()))
    }
}

/// The two sides of a queue that a learner needs.
struct Queue {
    jobs: Box<dyn Submitter<ProbsJob>>,
    files: Box<dyn Files>,
}

/// Shows where a round stands until it is dropped.
struct Ticker(Arc<AtomicBool>);

impl Ticker {
    fn start(bar: &ProgressBar, meter: &Arc<Meter>, n_rounds: u32) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (bar, meter, done) = (bar.clone(), Arc::clone(meter), Arc::clone(&over));
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) && !bar.is_hidden() {
                bar.set_message(stage_line(meter.stage(), n_rounds));
                bar.tick();
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self(over)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where a run stands, for people.
fn stage_line(stage: Stage, n_rounds: u32) -> String {
    let Stage { round, phase, done, total } = stage;
    match (phase, round) {
        (Phase::Start, _) => "starting".to_owned(),
        (_, 0) => format!("before round 1 of {n_rounds}: {phase} {done} of {total}"),
        _ => format!("round {round} of {n_rounds}: {phase} {done} of {total}"),
    }
}

impl ProbsPlot {
    fn run(self) -> anyhow::Result<()> {
        let axis: Axis = self.axis.parse().or_bad_input()?;
        let mut runs = Vec::new();
        for run in &self.runs {
            let (name, folder) = match run.split_once('=') {
                Some((name, folder)) => (name.to_owned(), PathBuf::from(folder)),
                None => (run.clone(), PathBuf::from(run)),
            };
            runs.push((name, read_metrics(&folder.join("metrics.jsonl")).or_bad_input()?));
        }
        let svg = elo_curve(&runs, axis)?;
        std::fs::write(&self.out, svg)
            .map_err(|error| BadInput::new(format!("cannot write {}: {error}", self.out.display())))?;
        wrote(&self.out);
        Ok(())
    }
}

/// What the user can change is bad input; the rest is a failure.
fn sort_out(error: ProbsError) -> anyhow::Error {
    match error {
        ProbsError::Net(_) | ProbsError::Agent(_) | ProbsError::Plot(_) | ProbsError::Queue(_) => {
            error.into()
        }
        ProbsError::Lock(error) => lock_failure(error),
        other => BadInput::new(other).into(),
    }
}

/// One line for people.
fn show(line: &Line) {
    match line {
        Line::Round(round) => note(&format!(
            "round {:>4}  {:>6.0} s  {} games of {:.1} plies  V {:.4}  Q {:.4}  seconds: play {:.1}  V {:.1}  search {:.1}  Q {:.1}",
            round.round,
            round.seconds,
            round.games,
            round.mean_plies,
            round.value_loss,
            round.action_loss,
            round.self_play_seconds,
            round.value_seconds,
            round.search_seconds,
            round.action_seconds
        )),
        Line::Evaluation(line) => {
            let agents: Vec<String> = line
                .agents
                .iter()
                .map(|agent| format!("{} +{} ={} -{}", agent.name, agent.wins, agent.draws, agent.losses))
                .collect();
            note(&format!(
                "rated after {} rounds: {:.0} ({:.0} to {:.0})  {}",
                line.round,
                line.elo,
                line.low,
                line.high,
                agents.join("  ")
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_stage_counts_from_the_first_round() {
        let line = |round, phase| stage_line(Stage { round, phase, done: 3, total: 20 }, 6);
        assert_eq!(line(0, Phase::Start), "starting");
        assert_eq!(line(0, Phase::Rating), "before round 1 of 6: rating, games 3 of 20");
        assert_eq!(line(2, Phase::Value), "round 2 of 6: training V, minibatches 3 of 20");
    }
}
