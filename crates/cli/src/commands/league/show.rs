//! `mavis league table`, `report` and `pgn`: what a folder of games says, also while the league runs.

use super::{standings_failure, store_failure};
use crate::commands::{answer, answer_json};
use crate::input::OrBadInput;
use anyhow::Context;
use clap::Args;
use mavis_league::wire::{LeagueConfig, LeagueStore, pgn};
use mavis_league::{Intervals, Standings, report, standings};
use std::path::{Path, PathBuf};

/// Shows ratings with 95 % intervals, and points of each against each.
///
/// Example: mavis league table league
#[derive(Args)]
pub(crate) struct Table {
    /// The league's folder
    folder: PathBuf,
    /// Intervals from this many refits on resampled opening pairs, instead of the sandwich estimator
    #[arg(long, value_name = "REFITS", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    bootstrap: Option<u32>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// Writes the standings with plots as one HTML page that needs no other file.
///
/// Example: mavis league report league --html report.html
#[derive(Args)]
pub(crate) struct Report {
    /// The league's folder
    folder: PathBuf,
    /// The page to write
    #[arg(long)]
    html: PathBuf,
    /// Intervals from this many refits on resampled opening pairs, instead of the sandwich estimator
    #[arg(long, value_name = "REFITS", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    bootstrap: Option<u32>,
}

/// Prints every game as PGN with evaluations and times, in the order of the schedule.
///
/// Example: mavis league pgn league > games.pgn
#[derive(Args)]
pub(crate) struct Pgn {
    /// The league's folder
    folder: PathBuf,
}

impl Table {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (standings, _) = stands(&self.folder, intervals(self.bootstrap))?;
        if self.json {
            return answer_json(&report::json(&standings));
        }
        answer(&format!("{}\n{}", report::table(&standings), report::cross_table(&standings)))
    }
}

impl Report {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (standings, config) = stands(&self.folder, intervals(self.bootstrap))?;
        let page = report::html(&standings, &config)?;
        std::fs::write(&self.html, page).with_context(|| format!("cannot write {}", self.html.display()))?;
        answer(&self.html.display().to_string())
    }
}

impl Pgn {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (config, mut games) = LeagueStore::read(&self.folder).map_err(store_failure)?;
        let rules = config.rules().or_bad_input()?;
        games.sort_by_key(|game| game.game);
        for game in &games {
            answer(&pgn(&config, rules, game).or_bad_input()?)?;
        }
        Ok(())
    }
}

/// The standings of the league in a folder.
pub(in crate::commands) fn stands(
    folder: &Path,
    intervals: Intervals,
) -> anyhow::Result<(Standings, LeagueConfig)> {
    let (config, games) = LeagueStore::read(folder).map_err(store_failure)?;
    let standings = standings(&config, &games, intervals).map_err(standings_failure)?;
    Ok((standings, config))
}

fn intervals(bootstrap: Option<u32>) -> Intervals {
    bootstrap
        .map_or(Intervals::Sandwich, |refits| Intervals::Bootstrap { replicates: refits as usize, seed: 0 })
}
