//! `mavis mpc`: the matches of paper 003.

mod config;
mod table;

use super::{answer, answer_json, league, wrote};
use crate::input::BadInput;
use clap::{Args, Subcommand};
use config::TableConfig;
use mavis_league::{Stop, wire::LeagueStore};
use std::path::PathBuf;
use table::{Cells, Match};

/// Measures MPC-MC against the players it is made of.
#[derive(Subcommand)]
pub(crate) enum Mpc {
    Table(Table),
}

impl Mpc {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Table(command) => command.run(),
        }
    }
}

/// Plays the table of paper 003 from one file and prints it: half a step, one and two; a deterministic and a stochastic
/// opponent; standard and fortified.
///
/// Each match is a league in a folder below --out, which `mavis league table` and `pgn` read. The first Ctrl-C
/// finishes the running games, the second drops them; the same command resumes where it stopped.
///
/// Example: mavis mpc table --config recipes/mpc.toml --out runs/mpc
#[derive(Args)]
pub(crate) struct Table {
    /// The table's TOML file (docs/mpc.md)
    #[arg(long)]
    config: PathBuf,
    /// The output folder; an unfinished run in it is resumed
    #[arg(long)]
    out: PathBuf,
    /// Nodes of each call and of each move of the opponent, in place of the file's limits
    #[arg(long, conflicts_with = "time")]
    nodes: Option<u64>,
    /// Seconds of each call and of each move of the opponent, in place of the file's limits
    #[arg(long)]
    time: Option<f64>,
    /// Concurrent games. Default: as many as cores allow
    #[arg(long, value_parser = crate::input::at_once)]
    concurrency: Option<usize>,
    /// Plays nothing, only shows what the folder holds
    #[arg(long)]
    show: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Table {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let config = self.config()?;
        let matches = config.matches()?;
        if !self.show {
            self.play(&matches)?;
            wrote(&self.out);
        }
        let mut cells = Cells::new(config.title());
        for one in &matches {
            let folder = self.out.join(one.folder());
            if folder.join("config.toml").exists() {
                let (_, games) = LeagueStore::read(&folder).map_err(league::store_failure)?;
                cells.add(one, &games);
            }
        }
        if self.json { answer_json(&cells.json()) } else { answer(&cells.text()) }
    }

    fn config(&self) -> Result<TableConfig, BadInput> {
        let path = self.config.display();
        let text = std::fs::read_to_string(&self.config)
            .map_err(|error| BadInput::new(format!("cannot read {path}: {error}")))?;
        let mut config =
            TableConfig::from_toml(&text).map_err(|reason| BadInput::new(format!("{path}: {reason}")))?;
        if self.nodes.is_some() || self.time.is_some() {
            config.limits.nodes = self.nodes;
            config.limits.time = self.time;
            config.limits.depth = None;
        }
        Ok(config)
    }

    fn play(&self, matches: &[Match]) -> anyhow::Result<()> {
        let options = league::run_options(self.concurrency);
        for (number, one) in matches.iter().enumerate() {
            let title = format!("match {} of {}, {}: ", number + 1, matches.len(), one.folder());
            let folder = self.out.join(one.folder());
            let summary = league::play(&title, &one.league, &self.config, &folder, &options)?;
            if summary.stop == Stop::Stopped {
                break;
            }
        }
        Ok(())
    }
}
