//! Random games that save their bridges.

use super::board::{Board, Cells, Geometry, bits};
use mavis_game::Side;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;

/// A game played to the full board.
pub(super) struct Playout<'a> {
    geometry: &'a Geometry,
    board: Board,
    /// Empty cells in the order they will be drawn; filled ones are skipped.
    order: Vec<u8>,
}

impl<'a> Playout<'a> {
    pub(super) fn new(geometry: &'a Geometry, board: &Board) -> Self {
        let order = bits(geometry.all & !board.occupied()).map(|cell| cell as u8).collect();
        Self { geometry, board: *board, order }
    }

    /// Fills the board and gives the winner with the stones as they came to lie.
    pub(super) fn run(mut self, random: &mut Xoshiro256PlusPlus) -> (Side, Board) {
        for idx in (1..self.order.len()).rev() {
            let other = ((u64::from(random.next_u32()) * (idx as u64 + 1)) >> 32) as usize;
            self.order.swap(idx, other);
        }
        let mut last = None;
        let mut at = 0;
        loop {
            let cell = match last.and_then(|last| self.broken_bridge(last, random)) {
                Some(cell) => cell,
                None => {
                    let occupied = self.board.occupied();
                    while at < self.order.len() && occupied >> self.order[at] & 1 != 0 {
                        at += 1;
                    }
                    match self.order.get(at) {
                        Some(&cell) => usize::from(cell),
                        None => break,
                    }
                }
            };
            self.board = self.board.after(cell);
            last = Some(cell);
        }
        let first_wins = self.geometry.joins(Side::First, self.board.stones[0]);
        (if first_wins { Side::First } else { Side::Second }, self.board)
    }

    /// The cell that saves a bridge of the side to move which the stone on `last` has just cut into.
    fn broken_bridge(&self, last: usize, random: &mut Xoshiro256PlusPlus) -> Option<usize> {
        let own = self.board.stones[self.board.side.index()];
        let empty = self.geometry.all & !self.board.occupied();
        let mut found: Option<usize> = None;
        let mut n_found = 0;
        for cell in bits(self.geometry.neighbors[last] & empty) {
            // The two cells of a bridge touch, and its stones touch both of them.
            let shared: Cells = self.geometry.neighbors[last] & self.geometry.neighbors[cell];
            let mut ends = (shared & own).count_ones();
            let [first, second] = self.geometry.edges[self.board.side.index()];
            ends +=
                u32::from([first, second].iter().any(|edge| edge >> last & 1 != 0 && edge >> cell & 1 != 0));
            if ends >= 2 {
                n_found += 1;
                if random.next_u32().is_multiple_of(n_found) {
                    found = Some(cell);
                }
            }
        }
        found
    }
}
