//! The exact Connect Four solver as a judge.

use super::{ExactJudge, Judges};
use mavis_game::{Game, Outcome, Position, Rules};
use mavis_oracle::connect4::Connect4Solver;
use std::sync::{Arc, Mutex, PoisonError};

/// Judges Connect Four positions exactly; games share one solver and its table.
///
/// Early positions outside its book take long; a league should ask it from some ply on (`from_ply`).
#[derive(Default)]
pub struct SolverJudge {
    solver: Mutex<Connect4Solver>,
}

impl ExactJudge for SolverJudge {
    fn outcome(&self, position: &Position) -> Option<Outcome> {
        let Position::Connect4(board) = position else { return None };
        if let Some(outcome) = position.outcome() {
            return Some(outcome);
        }
        // A judge that panicked once still has a sound table: entries are written whole.
        let score = self.solver.lock().unwrap_or_else(PoisonError::into_inner).score(*board);
        let side = position.side_to_move();
        Some(match score.signum() {
            1 => Outcome::Win(side),
            -1 => Outcome::Win(side.other()),
            _ => Outcome::Draw,
        })
    }

    fn judges(&self, rules: Rules) -> bool {
        rules == Rules::Connect4
    }
}

/// The judges this program brings along: `solver` for Connect Four.
#[must_use]
pub fn standard_judges() -> Judges {
    let mut judges = Judges::new();
    judges.insert("solver".to_owned(), Arc::new(SolverJudge::default()));
    judges
}
