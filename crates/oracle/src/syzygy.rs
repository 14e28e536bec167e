//! Chess endings by Syzygy tablebases: the result of every move with best play, under the fifty-move rule.
//!
//! The tables say who wins and how many plies pass until the next capture or pawn move (*distance to zeroing*), not how
//! far mate is. A win that the fifty-move rule spoils counts as a draw, with the halfmove clock of the position taken
//! into account. Some tables round the distance by one ply; a win that hangs on it counts as one. Repetitions in the
//! game so far are not looked at.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::oracle::{refuse_finished, refuse_other};
use crate::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use mavis_game::{Chess, Game, Position, Rules, Side};
use shakmaty::Position as _;
use shakmaty_syzygy::{AmbiguousWdl, Tablebase, Wdl};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The score of mate in one; a win whose next capture or pawn move is n plies away scores n less, a loss the negative.
///
/// Wins within the fifty-move rule are at most 100 plies (101 rounded) from it, so the sign always gives the result.
const MATE: i32 = 200;
const NAME: &str = "syzygy";

/// Judges chess endings that the given table files cover. Clones share the open files.
#[derive(Clone)]
pub struct SyzygyOracle {
    tables: Arc<Tablebase<shakmaty::Chess>>,
    n_files: usize,
}

/// Why tables cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyzygyError {
    /// A folder cannot be listed, or holds a table of impossible size.
    #[error("cannot read the tablebases in {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// No folder holds a table.
    #[error("no Syzygy tables (*.rtbw, *.rtbz) in {folders}")]
    Empty {
        /// The folders, as given.
        folders: String,
    },
}

impl SyzygyOracle {
    /// Takes the table files of some folders; they are opened when first needed.
    ///
    /// # Errors
    /// When a folder cannot be read, or none holds a table.
    pub fn open<P: AsRef<Path>>(folders: &[P]) -> Result<Self, SyzygyError> {
        let mut tables = Tablebase::new();
        let mut n_files = 0;
        for folder in folders.iter().map(AsRef::as_ref) {
            n_files += tables
                .add_directory(folder)
                .map_err(|source| SyzygyError::Folder { folder: folder.to_owned(), source })?;
        }
        if n_files == 0 {
            let names: Vec<_> = folders.iter().map(|folder| folder.as_ref().display().to_string()).collect();
            return Err(SyzygyError::Empty { folders: names.join(", ") });
        }
        Ok(Self { tables: Arc::new(tables), n_files })
    }

    /// The most pieces, kings included, that any of the tables covers.
    #[must_use]
    pub fn max_pieces(&self) -> usize {
        self.tables.max_pieces()
    }

    /// Who wins with best play from here on; `None` for a draw.
    ///
    /// # Errors
    /// When no table covers the position, or one cannot be read.
    pub fn winner(&self, position: &Chess) -> Result<Option<Side>, OracleError> {
        let side = position.side_to_move();
        Ok(match result(self.probe(position.position())?.0) {
            1 => Some(side),
            -1 => Some(side.other()),
            _ => None,
        })
    }

    /// The result for the side to move, and the plies to the next capture, pawn move or mate (0 in a mate).
    fn probe(&self, position: &shakmaty::Chess) -> Result<(Wdl, u32), OracleError> {
        if position.is_checkmate() {
            return Ok((Wdl::Loss, 0));
        }
        if position.is_stalemate() || position.is_insufficient_material() {
            return Ok((Wdl::Draw, 0));
        }
        let distance = self.tables.probe_dtz(position).map_err(|error| OracleError::NoAnswer {
            oracle: NAME.to_owned(),
            position: Chess::from_position(position.clone()).to_string(),
            reason: error.to_string(),
        })?;
        let result = AmbiguousWdl::from_dtz_and_halfmoves(distance, position.halfmoves()).after_zeroing();
        Ok((result, distance.ignore_rounding().0.unsigned_abs()))
    }

    /// One move, and what its place among the others goes by.
    fn rank(&self, position: &Chess, mv: shakmaty::Move) -> Result<(RankedMove, Wdl), OracleError> {
        let mut next = position.position().clone();
        next.play_unchecked(mv);
        let (reply, distance) = self.probe(&next)?;
        let wdl = -reply;
        let plies = next.is_checkmate().then_some(1);
        // A capture or pawn move is itself the event the distance counts to.
        let distance = if mv.is_zeroing() { 1 } else { 1 + distance.min(101) as i32 };
        let score = result(wdl) * if plies.is_some() { MATE } else { MATE - distance };
        let ranking = RankedMove::new(position.rules(), Chess::move_code(mv), Score::Solved(score), plies);
        Ok((ranking, wdl))
    }
}

/// 1 for a win, -1 for a loss; what the fifty-move rule turns into a draw is one.
fn result(wdl: Wdl) -> i32 {
    match wdl {
        Wdl::Win => 1,
        Wdl::Loss => -1,
        Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => 0,
    }
}

impl Oracle for SyzygyOracle {
    fn identity(&self) -> Identity {
        Identity::ours(NAME, format!("pieces={} files={}", self.max_pieces(), self.n_files))
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, matches!(rules, Rules::Chess | Rules::Chess960))
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let Position::Chess(position) = position else {
            return Err(OracleError::WrongGame { oracle: NAME.to_owned(), rules: position.rules() });
        };
        refuse_finished(position)?;
        let moves = position.position().legal_moves();
        let mut judged =
            moves.into_iter().map(|mv| self.rank(position, mv)).collect::<Result<Vec<_>, _>>()?;
        // Among draws those go first that win once the other side forgets the fifty-move rule.
        judged.sort_by_key(|(ranking, wdl)| match ranking.score {
            Score::Solved(score) => std::cmp::Reverse((*wdl, score)),
            _ => std::cmp::Reverse((*wdl, 0)),
        });
        Ok(Ranking { moves: judged.into_iter().map(|(ranking, _)| ranking).collect() })
    }
}
