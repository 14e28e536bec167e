//! Hex: own stones, the opponent's, the board itself and whether a swap is open, turned so that the side to move always connects the
//! same edges.

use super::Planes;
use mavis_game::{Game as _, Hex, Move, Rules, Side};

const N_CHANNELS: usize = 4;

impl Planes for Hex {
    fn shape(&self) -> [usize; 3] {
        [self.size(), self.size(), N_CHANNELS]
    }

    /// The cells and the swap.
    fn n_actions(&self) -> usize {
        self.size() * self.size() + 1
    }

    fn n_cells(&self) -> Option<usize> {
        matches!(self.rules(), Rules::Hex { swap: false, .. }).then_some(self.size() * self.size())
    }

    fn write(&self, planes: &mut [f32]) {
        let side = self.side_to_move();
        let swap = f32::from(self.may_swap());
        planes.chunks_exact_mut(N_CHANNELS).for_each(|cell| (cell[2], cell[3]) = (1.0, swap));
        for (channel, owner) in [side, side.other()].into_iter().enumerate() {
            for (row, cells) in self.stones(owner).iter().take(self.size()).enumerate() {
                let mut cells = *cells;
                while cells != 0 {
                    let column = cells.trailing_zeros() as usize;
                    planes[seen(self, row, column) * N_CHANNELS + channel] = 1.0;
                    cells &= cells - 1;
                }
            }
        }
    }

    fn action(&self, mv: Move) -> usize {
        match self.row_and_column(mv) {
            Some((row, column)) => seen(self, row, column),
            None => self.size() * self.size(),
        }
    }
}

/// The number of a cell as the side to move sees it: mirrored at the long diagonal for the second player.
fn seen(board: &Hex, row: usize, column: usize) -> usize {
    match board.side_to_move() {
        Side::First => row * board.size() + column,
        Side::Second => column * board.size() + row,
    }
}
