//! What a decided position says about others: the stones and cells its winner needs, and nothing else.

use crate::hex::board::{Board, Cells, Geometry, bits};
use crate::hex::graph::Graph;
use crate::hex::inferior::filled;
use mavis_game::Side;

/// A proof that a side wins wherever it has these stones and the other side has none of these cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claim {
    /// Who wins.
    pub(super) winner: Side,
    /// Whether it has to be the winner's turn.
    pub(super) to_move: bool,
    /// Stones the winner must have.
    pub(super) stones: Cells,
    /// Cells that must be empty, or the winner's.
    pub(super) carrier: Cells,
}

impl Claim {
    /// The claim of a winner with some stones and a carrier, less all that no path needs once the other side has
    /// everything else (*proof-set shrinking*, after *Solving 8x8 Hex*, Henderson, Arneson and Hayward, 2009).
    pub(super) fn shrunk(self, geometry: &Geometry) -> Self {
        let (own, loser) = (self.winner.index(), self.winner.other());
        let mut board = Board { stones: [0; 2], side: loser };
        board.stones[own] = self.stones;
        board.stones[1 - own] = geometry.all & !self.stones & !self.carrier;
        let needless = filled(geometry, &board).0.stones[1 - own];
        board.stones[1 - own] |= needless & self.carrier;
        // What the winner captures may lean on any of its stones, so those are looked at on the board without it.
        for cell in bits(self.stones) {
            let mut without = board;
            without.stones[own] &= !(1 << cell);
            if Graph::new(geometry, &without, self.winner).is_needless(cell) {
                board = without;
                board.stones[1 - own] |= 1 << cell;
            }
        }
        Self { stones: board.stones[own], carrier: geometry.empty(&board), ..self }
    }

    /// Whether the claim decides a position in which the winner has `own` and the other side has `theirs`.
    pub(super) fn holds(&self, own: Cells, theirs: Cells) -> bool {
        self.stones & !own == 0 && self.carrier & theirs == 0
    }
}

#[cfg(test)]
mod tests;
