//! Breakthrough as nets see it, for PROBS.

use crate::{Breakthrough, BreakthroughRules, SIZE, cells};
use mavis_game::{Game, Move, Side};
use mavis_probs::{Evaluation, Planes, ProbsSettings, Size, small_settings};

/// Three moves from each cell: forward to the left, straight on, forward to the right.
const DIRECTIONS: usize = 3;

impl Planes for Breakthrough {
    fn shape(&self) -> [usize; 3] {
        [usize::from(SIZE), usize::from(SIZE), 2]
    }

    fn n_actions(&self) -> usize {
        usize::from(SIZE) * usize::from(SIZE) * DIRECTIONS
    }

    /// One plane for the pawns of the side to move and one for the others, rows from the side to move forward.
    fn write(&self, planes: &mut [f32]) {
        let side = self.side_to_move();
        for cell in 0..SIZE * SIZE {
            for (channel, side) in [side, side.other()].into_iter().enumerate() {
                if self.has(side, cell) {
                    planes[self.seen(cell) * 2 + channel] = 1.0;
                }
            }
        }
    }

    fn action(&self, mv: Move) -> usize {
        let (from, to) = cells(mv);
        self.seen(from) * DIRECTIONS + usize::from(to % SIZE + 1 - from % SIZE)
    }
}

impl Breakthrough {
    /// A cell with its row counted from the side to move.
    fn seen(&self, cell: u8) -> usize {
        let (row, column) = (cell / SIZE, cell % SIZE);
        let row = if self.side_to_move() == Side::First { row } else { SIZE - 1 - row };
        usize::from(row * SIZE + column)
    }
}

/// Settings with which PROBS learns to beat two plies of lookahead in about a minute on two cores.
#[must_use]
pub fn settings() -> ProbsSettings {
    ProbsSettings {
        net: Size::S10k,
        rounds: 12,
        games: 200,
        evaluation: Evaluation { every: 4, games: 100, plies: 2 },
        ..small_settings(BreakthroughRules)
    }
}
