//! `mavis league run` and `mavis league sprt`.

use super::{run_failure, show::stands, watch::Watch};
#[cfg(feature = "cluster")]
use crate::commands::cluster::{ClusterArgs, games::Games, needs};
use crate::commands::{answer, answer_json, wrote};
use crate::input::{BadInput, OrBadInput};
use crate::{registry, stop};
use clap::Args;
use mavis_league::wire::LeagueConfig;
use mavis_league::{
    GameJob, Intervals, LeaguePlace, RunOptions, Stop, Summary, report, run_on, standard_judges,
};
use mavis_queue::Submitter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Plays the games of a league that are not in its folder yet, then shows its table.
///
/// The first Ctrl-C finishes the running games, the second drops them. The same command resumes where it stopped; a kill at any
/// moment loses only the running games.
///
/// Example: mavis league run --config league.toml --out league
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct LeagueRun {
    #[command(flatten)]
    place: Folder,
    /// The standings as one JSON object
    #[arg(long)]
    json: bool,
}

/// Tests whether the first of two players is stronger than the second, and stops at the decision.
///
/// Settings of the test come from the configuration's section sprt; flags override them. It plays at most as many pairs as
/// schedule.pairs says.
///
/// Example: mavis league sprt --config match.toml --out match --elo0 0 --elo1 10
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct SprtRun {
    #[command(flatten)]
    place: Folder,
    /// Hypothesis to reject, in Elo
    #[arg(long, allow_negative_numbers = true)]
    elo0: Option<f64>,
    /// Hypothesis to accept, in Elo
    #[arg(long, allow_negative_numbers = true)]
    elo1: Option<f64>,
    /// Rate of false acceptance
    #[arg(long)]
    alpha: Option<f64>,
    /// Rate of false rejection
    #[arg(long)]
    beta: Option<f64>,
    /// logistic or normalized
    #[arg(long)]
    scale: Option<String>,
    /// The standings as one JSON object, the test among them
    #[arg(long)]
    json: bool,
}

/// What is played, and where it is kept.
#[derive(Args)]
struct Folder {
    /// The league's TOML file
    #[arg(long)]
    config: PathBuf,
    /// The output folder; an unfinished run in it is resumed
    #[arg(long)]
    out: PathBuf,
    /// Concurrent games. Default: the number in the configuration, else as many as cores allow
    #[arg(long, value_parser = crate::input::at_once)]
    concurrency: Option<usize>,
    /// Let timed players share cores, which changes their strength
    #[arg(long)]
    oversubscribe: bool,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl LeagueRun {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let config = self.place.config()?;
        self.place.play(&config)?;
        wrote(&self.place.out);
        let (standings, _) = stands(&self.place.out, Intervals::Sandwich)?;
        if self.json {
            return answer_json(&report::json(&standings));
        }
        answer(&format!("{}\n{}", report::table(&standings), report::cross_table(&standings)))
    }
}

impl SprtRun {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut config = self.place.config()?;
        if config.players.len() != 2 {
            let n = config.players.len();
            return Err(BadInput::new(format!("a test needs two players, {n} are in the league")).into());
        }
        let section = config.sprt.get_or_insert_default();
        section.elo0 = self.elo0.unwrap_or(section.elo0);
        section.elo1 = self.elo1.unwrap_or(section.elo1);
        section.alpha = self.alpha.unwrap_or(section.alpha);
        section.beta = self.beta.unwrap_or(section.beta);
        if let Some(scale) = self.scale {
            section.scale = scale;
        }
        self.place.play(&config)?;
        wrote(&self.place.out);
        let (standings, _) = stands(&self.place.out, Intervals::Sandwich)?;
        if self.json {
            return answer_json(&report::json(&standings));
        }
        // The table's last line is the test.
        answer(&report::table(&standings))
    }
}

impl Folder {
    fn config(&self) -> Result<LeagueConfig, BadInput> {
        let path = self.config.display();
        let text = std::fs::read_to_string(&self.config)
            .map_err(|error| BadInput::new(format!("cannot read {path}: {error}")))?;
        LeagueConfig::from_toml(&text).map_err(|error| BadInput::new(format!("{path}: {error}")))
    }

    fn play(&self, config: &LeagueConfig) -> anyhow::Result<Summary> {
        let options = RunOptions { oversubscribe: self.oversubscribe, ..run_options(self.concurrency) };
        #[cfg(feature = "cluster")]
        if let Some(mut games) = self.games(config)? {
            let base = self.config.parent().unwrap_or(Path::new(""));
            let league = LeaguePlace { config, folder: &self.out, base };
            return play_on(&mut Watch::new(""), Some(&mut games), league, &options);
        }
        play("", config, &self.config, &self.out, &options)
    }

    /// The queue of many machines, where the user names one.
    #[cfg(feature = "cluster")]
    fn games(&self, config: &LeagueConfig) -> anyhow::Result<Option<Games>> {
        let Some(cluster) = self.cluster.connect(needs())? else { return Ok(None) };
        Games::of(&cluster, config).map(Some)
    }
}

/// Options of a league that Ctrl-C ends: the first finishes the running games, the second drops them.
pub(in crate::commands) fn run_options(concurrency: Option<usize>) -> RunOptions {
    let (drain, cancel) = stop::tokens();
    RunOptions { concurrency, drain, cancel, judges: standard_judges(), ..RunOptions::default() }
}

/// Plays a league that the file `source` describes, in the folder `out`, and reports its progress; `title` begins each line.
pub(in crate::commands) fn play(
    title: &str,
    config: &LeagueConfig,
    source: &Path,
    out: &Path,
    options: &RunOptions,
) -> anyhow::Result<Summary> {
    // A book's path starts from the file that names it.
    let base = source.parent().unwrap_or(Path::new(""));
    play_watched(&mut Watch::new(title), config, base, out, options)
}

/// The same with a watch of the caller's; `base` is where a book's path starts.
pub(in crate::commands) fn play_watched(
    watch: &mut Watch,
    config: &LeagueConfig,
    base: &Path,
    out: &Path,
    options: &RunOptions,
) -> anyhow::Result<Summary> {
    play_on(watch, None, LeaguePlace { config, folder: out, base }, options)
}

/// The same with games played by workers on a queue, if there is one.
fn play_on(
    watch: &mut Watch,
    queue: Option<&mut dyn Submitter<GameJob>>,
    league: LeaguePlace<'_>,
    options: &RunOptions,
) -> anyhow::Result<Summary> {
    league.config.validate().or_bad_input()?;
    let registry = Arc::new(registry::players());
    let result = run_on(queue, league, &registry, options, &mut |event| watch.take(&event));
    watch.finish();
    let summary = result.map_err(|error| run_failure(error, watch.kept))?;
    if summary.stop == Stop::Stopped {
        let Summary { finished, planned, .. } = summary;
        let resumes = if watch.kept { "; the same command resumes" } else { "" };
        watch.line(&format!("stopped with {finished} of {planned} games{resumes}"));
    }
    Ok(summary)
}
