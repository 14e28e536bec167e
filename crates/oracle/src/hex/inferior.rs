//! Cells that need no search: dead and captured ones are filled, moves that another move is at least as good as are left out.
//!
//! After *Dead cell analysis in Hex and the Shannon game* (Björnsson, Hayward, Johanson and van Rijswijck, 2007). A cell is
//! *dead* if no path of one side needs it: whoever holds it, nothing changes. Two cells are *captured* by a side that,
//! whichever of them the other side takes, makes the stone dead by taking the second. All tests here look at the graph of
//! [`super::graph`], not at a list of patterns.

use super::board::{Board, Cells, Geometry, bits};
use super::graph::Graph;
use mavis_game::Side;

/// The graphs of both sides of one board.
pub(super) struct Inferior {
    graphs: [Graph; 2],
    empty: Cells,
}

/// The moves worth a look, of a set given.
pub(super) struct Candidates {
    pub(super) cells: Cells,
    /// The replies that make the moves left out by [`Inferior::candidates`] pointless.
    pub(super) killers: Cells,
}

/// Fills dead and captured cells until there are none; the winner stays the same. Dead cells go to the side to move.
pub(super) fn filled(geometry: &Geometry, board: &Board) -> (Board, Inferior) {
    let mut board = *board;
    loop {
        let inferior = Inferior::new(geometry, &board);
        let found = inferior.fill();
        if found == [0; 2] {
            return (board, inferior);
        }
        // The dead count as the mover's; a cell both sides capture is as good as dead.
        let own = board.side.index();
        board.stones[own] |= found[own];
        board.stones[1 - own] |= found[1 - own] & !found[own];
    }
}

impl Inferior {
    pub(super) fn new(geometry: &Geometry, board: &Board) -> Self {
        let graphs = [Side::First, Side::Second].map(|side| Graph::new(geometry, board, side));
        Self { graphs, empty: geometry.empty(board) }
    }

    /// The moves of `side` among `cells` that may be worth more than the others, if any move is.
    ///
    /// A move that one reply makes dead is left out: after the reply the side stands no better than without the move, so if
    /// it wins it wins by another one. So is a move that another move would make dead, for that one gains both cells.
    pub(super) fn candidates(&self, side: Side, cells: Cells) -> Candidates {
        let (mut kept, mut killers) = (cells, 0);
        for cell in bits(cells) {
            if let Some(killer) = bits(self.beside(cell)).find(|&by| self.dies(cell, side.other(), by)) {
                kept &= !(1 << cell);
                killers |= 1 << killer;
            }
        }
        for cell in bits(kept) {
            if kept >> cell & 1 == 0 {
                continue;
            }
            for other in bits(self.beside(cell) & kept) {
                if self.dies(other, side, cell) {
                    kept &= !(1 << other);
                }
            }
        }
        Candidates { cells: kept, killers }
    }

    /// Dead cells, under the first side, and captured ones by side.
    fn fill(&self) -> [Cells; 2] {
        let dead = bits(self.empty)
            .filter(|&cell| self.graphs.iter().any(|graph| graph.is_needless(cell)))
            .fold(0, |dead, cell| dead | 1 << cell);
        if dead != 0 {
            return [dead, dead];
        }
        // Captured pairs are taken one after the other: those that share a cell may not both hold. The second is found again
        // on the board with the first, if it is still there.
        for side in [Side::First, Side::Second] {
            let mut found = [0; 2];
            for cell in bits(self.empty) {
                let partners = self.beside(cell) & (!0 << cell);
                for partner in bits(partners) {
                    let pair: Cells = 1 << cell | 1 << partner;
                    if found[side.index()] & pair == 0
                        && self.dies(cell, side, partner)
                        && self.dies(partner, side, cell)
                    {
                        found[side.index()] |= pair;
                    }
                }
            }
            if found != [0; 2] {
                return found;
            }
        }
        [0; 2]
    }

    /// The cells whose taking can make a cell dead.
    fn beside(&self, cell: usize) -> Cells {
        (self.graphs[0].next_to[cell] | self.graphs[1].next_to[cell]) & self.empty & !(1 << cell)
    }

    /// Whether a cell is dead once `side` has taken another.
    fn dies(&self, cell: usize, side: Side, taken: usize) -> bool {
        self.graphs[side.other().index()].is_needless_without(cell, taken)
            || self.graphs[side.index()].is_needless_with(cell, taken)
    }
}

#[cfg(test)]
mod tests;
