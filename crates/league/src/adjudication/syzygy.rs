//! Syzygy tablebases as a judge.

use super::ExactJudge;
use mavis_game::{Game, Outcome, Position, Rules};
use mavis_oracle::syzygy::{SyzygyError, SyzygyOracle};
use std::{
    any::Any,
    path::{Path, PathBuf},
};

/// Judges chess endings that the table files cover; the fifty-move rule counts.
pub struct SyzygyJudge {
    tables: SyzygyOracle,
}

impl SyzygyJudge {
    /// Takes the tables of folders joined by the system's separator (`:`), those without a root below `base`.
    ///
    /// # Errors
    /// When a folder cannot be read, or none holds a table.
    pub fn open(folders: &str, base: &Path) -> Result<Self, SyzygyError> {
        let folders: Vec<PathBuf> = std::env::split_paths(folders).map(|folder| base.join(folder)).collect();
        Ok(Self { tables: SyzygyOracle::open(&folders)? })
    }
}

/// For every game, so that a configuration may name it for any; it judges none but chess.
impl<G: Game> ExactJudge<G> for SyzygyJudge {
    fn outcome(&self, position: &G) -> Option<Outcome> {
        let Position::Chess(chess) = (position as &dyn Any).downcast_ref()? else { return None };
        // An error means that no table covers the position.
        let winner = self.tables.winner(chess).ok()?;
        Some(winner.map_or(Outcome::Draw, Outcome::Win))
    }

    fn judges(&self, rules: G::Rules) -> bool {
        matches!((&rules as &dyn Any).downcast_ref(), Some(Rules::Chess | Rules::Chess960))
    }
}
