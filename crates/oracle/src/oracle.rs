//! The one trait that solvers and engines implement.

use crate::Ranking;
use crate::process::EngineError;
use mavis_game::{Game, Position, Rules};
use std::fmt;

/// Judges every legal move of a position.
///
/// The same oracle with the same settings gives the same ranking however often and in whatever order it is asked,
/// unless its limit is a time.
pub trait Oracle: Send {
    /// Who is speaking, for the tables that keep rankings.
    fn identity(&self) -> Identity;

    /// Asked before the work begins: refuses a game that it does not evaluate.
    ///
    /// # Errors
    /// When it is not the oracle's game, or it lacks what it needs for it. An oracle that cannot say without a position
    /// agrees.
    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        let _ = rules;
        Ok(())
    }

    /// The ranking on a position that is not over.
    ///
    /// # Errors
    /// When the game is over or not this oracle's, or when an engine behind it failed.
    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError>;

    /// The rankings on several positions, as if asked one by one. An oracle that would wait between two of them may be quicker.
    fn evaluate_all(&mut self, positions: &[Position]) -> Vec<Result<Ranking, OracleError>> {
        positions.iter().map(|position| self.evaluate(position)).collect()
    }
}

/// Name, version and settings of an oracle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Its name, such as `Stockfish` or `connect4-solver`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What decides the ranking beside the position, such as `nodes=5000 Threads=1`; empty for exact solvers.
    pub settings: String,
}

impl Identity {
    /// The identity of an oracle that is part of this crate.
    pub(crate) fn ours(name: &str, settings: String) -> Self {
        Self { name: name.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), settings }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)?;
        if self.settings.is_empty() { Ok(()) } else { write!(f, " ({})", self.settings) }
    }
}

/// Why there is no ranking.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OracleError {
    /// The position belongs to a game the oracle does not know.
    #[error("{oracle} does not evaluate {rules}")]
    WrongGame {
        /// The oracle's name.
        oracle: String,
        /// The game of the position.
        rules: Rules,
    },
    /// Nothing is left to judge.
    #[error("the game is over: {position}")]
    GameOver {
        /// The position's text.
        position: String,
    },
    /// The position lies beyond what the oracle knows.
    #[error("{oracle} has no answer for {position}: {reason}")]
    NoAnswer {
        /// The oracle's name.
        oracle: String,
        /// The position's text.
        position: String,
        /// Why.
        reason: String,
    },
    /// A child engine failed, also after it was replaced.
    #[error("engine failed on {position}: {source}")]
    Engine {
        /// The position's text.
        position: String,
        /// The last failure.
        #[source]
        source: EngineError,
    },
    /// The network behind the oracle failed, such as by an error of its device; it will not answer again.
    #[error("{oracle}: the network failed: {reason}")]
    Broken {
        /// The oracle's name.
        oracle: String,
        /// Why.
        reason: String,
    },
}

/// Refuses a game that the oracle does not evaluate.
pub(crate) fn refuse_other(oracle: &impl Oracle, rules: Rules, evaluates: bool) -> Result<(), OracleError> {
    match evaluates {
        true => Ok(()),
        false => Err(OracleError::WrongGame { oracle: oracle.identity().name, rules }),
    }
}

/// Refuses positions without a move.
pub(crate) fn refuse_finished(position: &impl Game) -> Result<(), OracleError> {
    if position.outcome().is_some() {
        Err(OracleError::GameOver { position: position.to_string() })
    } else {
        Ok(())
    }
}
