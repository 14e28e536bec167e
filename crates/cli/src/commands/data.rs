//! `mavis data`: tables of games, positions and annotations.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod annotate;
mod export;
mod import;
mod ood;
mod reshape;
mod selfplay;
mod stats;
mod traces;

#[cfg(feature = "cluster")]
use super::cluster::{
    ClusterArgs,
    engines::{engine_of, version},
    needs,
};
use crate::input::{BadInput, OrBadInput as _, is_wrong_path, lock_failure};
use clap::Subcommand;
use mavis_bundled::OracleMaker;
use mavis_data::TableError;
use mavis_data::job::JobError;
use mavis_data::table::table_kind;
use mavis_game::Rules;
use mavis_oracle::{Oracle, OracleError};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
#[cfg(feature = "cluster")]
use {
    mavis_bundled::oracle_spec,
    mavis_data::{Pace, Request},
    mavis_queue::Cluster,
};

/// Makes, annotates and reshapes tables (Parquet files, or folders of them).
///
/// From games to a table a model learns from:
///   mavis data import games.pgn.zst --out positions.parquet
///   mavis data annotate positions.parquet --oracle stockfish:nodes=5000 --out annotated
///   mavis data split annotated --train train.parquet --valid valid.parquet
#[derive(Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Data {
    Import(import::Import),
    Unique(reshape::Unique),
    Sample(reshape::Sample),
    Split(reshape::Split),
    Annotate(annotate::Annotate),
    Selfplay(selfplay::Selfplay),
    Traces(traces::Traces),
    Ood(ood::Ood),
    Stats(stats::Stats),
    Export(export::Export),
}

impl Data {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Import(command) => command.run(),
            Self::Unique(command) => command.run(),
            Self::Sample(command) => command.run(),
            Self::Split(command) => command.run(),
            Self::Annotate(command) => command.run(),
            Self::Selfplay(command) => command.run(),
            Self::Traces(command) => command.run(),
            Self::Ood(command) => command.run(),
            Self::Stats(command) => command.run(),
            Self::Export(command) => command.run(),
        }
    }
}

/// Whether a table holds annotations rather than positions.
fn is_annotated(tables: &[PathBuf]) -> anyhow::Result<bool> {
    match table_kind(tables).map_err(table_failure)?.as_str() {
        "annotations" => Ok(true),
        "positions" => Ok(false),
        other => {
            Err(BadInput::new(format!("expected a table of positions or annotations, got {other}")).into())
        }
    }
}

/// The oracles that a line names; engines are found on the user's `PATH`.
fn oracle_maker(line: Option<&str>, rules: Option<Rules>) -> Result<OracleMaker, BadInput> {
    OracleMaker::new(line, rules, std::env::var_os("PATH").as_deref()).or_bad_input()
}

/// Refuses an oracle that evaluates none of the games, before a folder is bound to it.
fn refuse_other_games(
    oracle: Option<&mut Box<dyn Oracle>>,
    games: impl Iterator<Item = Rules>,
) -> Result<(), BadInput> {
    let Some(oracle) = oracle else { return Ok(()) };
    let (mut wrong, mut asked) = (None, HashSet::new());
    for rules in games.filter(|&rules| asked.insert(rules)) {
        match oracle.ready_for(rules) {
            Err(error @ OracleError::WrongGame { .. }) => wrong = wrong.or(Some(error)),
            // What else is wrong shows with the first position.
            _ => return Ok(()),
        }
    }
    wrong.map_or(Ok(()), |error| Err(BadInput::new(error)))
}

/// The queue of many machines for an oracle's jobs of `job_size` items, where the user names one.
#[cfg(feature = "cluster")]
fn oracle_queue(
    cluster: &ClusterArgs,
    (line, rules): (Option<&str>, Rules),
    job_size: usize,
) -> anyhow::Result<Option<(Request, Cluster)>> {
    let Some(cluster) = cluster.connect(needs())? else { return Ok(None) };
    let spec = oracle_spec(line, Some(rules)).or_bad_input()?;
    let engine = engine_of(&spec).or_bad_input()?;
    // One oracle here says what all of them must call themselves.
    let mut oracles = oracle_maker(line, Some(rules))?.make(1).or_bad_input()?;
    refuse_other_games(oracles.first_mut(), std::iter::once(rules))?;
    let [oracle] = &oracles[..] else { return Ok(None) };
    let identity = oracle.identity();
    let mut needs = needs();
    needs.game = Some(rules.to_string());
    needs.engines.extend(engine.map(|name| (name, version(&identity))));
    let request = Request { line: spec.to_string(), identity, pace: Pace::Fixed(job_size.max(1)) };
    Ok(Some((request, cluster.with_needs(needs))))
}

/// An error with its causes as one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}

/// Refuses to write two tables to one file.
fn different([(flag, path), (other_flag, other)]: [(&str, &Path); 2]) -> Result<(), BadInput> {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match whole(path) == whole(other) {
        true => Err(BadInput::new(format!("{flag} and {other_flag} are the same file, {}", path.display()))),
        false => Ok(()),
    }
}

/// A table that is not there or not one is the user's mistake; a disk that fails is not.
fn table_failure(error: TableError) -> anyhow::Error {
    match &error {
        TableError::Io { source, .. } if !is_wrong_path(source) => error.into(),
        _ => BadInput::new(chain(&error)).into(),
    }
}

fn job_failure(error: JobError) -> anyhow::Error {
    match error {
        JobError::Table(error) => table_failure(error),
        JobError::Lock(error) => lock_failure(error),
        #[cfg(feature = "cluster")]
        JobError::Queue(error) => super::cluster::queue_failure(error),
        JobError::Io { ref source, .. } if is_wrong_path(source) => BadInput::new(chain(&error)).into(),
        JobError::OtherJob { .. } | JobError::Manifest { .. } | JobError::Context(_) => {
            BadInput::new(chain(&error)).into()
        }
        error => error.into(),
    }
}

/// Threads to use: the number given, else one per core.
pub(super) fn n_threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into)).max(1)
}
