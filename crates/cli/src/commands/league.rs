//! `mavis league`: many games between players, kept on disk, rated and tested.

mod run;
mod show;
mod watch;

pub(super) use run::{play, play_watched, run_options};
pub(super) use show::stands;
pub(super) use watch::{Duel, Watch};

use crate::input::{BadInput, is_wrong_path, lock_failure};
use clap::Subcommand;
use mavis_league::wire::StoreError;
use mavis_league::{RunError, StandingsError};

/// Plays leagues and tests, and shows their standings.
///
/// A league is one TOML file (docs/league.md) and one folder that keeps every game:
///   mavis league run --config league.toml --out league
///   mavis league table league
///   mavis league report league --html report.html
#[derive(Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum League {
    Run(run::LeagueRun),
    Sprt(run::SprtRun),
    Table(show::Table),
    Report(show::Report),
    Pgn(show::Pgn),
}

impl League {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Run(command) => command.run(),
            Self::Sprt(command) => command.run(),
            Self::Table(command) => command.run(),
            Self::Report(command) => command.run(),
            Self::Pgn(command) => command.run(),
        }
    }
}

/// A folder that holds no league, or another one, is the user's mistake; a disk that fails is not.
pub(super) fn store_failure(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Lock(error) => lock_failure(error),
        StoreError::Io { error: ref cause, .. } if !is_wrong_path(cause) => error.into(),
        StoreError::Changed { folder, differences } => {
            let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
            let list = list.join("; ");
            BadInput::new(format!("{folder} holds a league with another configuration: {list}")).into()
        }
        error => BadInput::new(error).into(),
    }
}

fn run_failure(error: RunError, kept: bool) -> anyhow::Error {
    match error {
        RunError::Store(error) => store_failure(error),
        #[cfg(feature = "cluster")]
        RunError::Queue(error) => super::cluster::queue_failure(error),
        RunError::Broken { .. } if kept => {
            anyhow::anyhow!(
                "{error}; that game does not count, those before are kept, and the same command resumes"
            )
        }
        RunError::Thread(_) | RunError::Broken { .. } => error.into(),
        _ => BadInput::new(error).into(),
    }
}

fn standings_failure(error: StandingsError) -> anyhow::Error {
    BadInput::new(error).into()
}
