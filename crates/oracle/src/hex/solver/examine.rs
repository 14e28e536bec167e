//! What can be said of a position without search.

use crate::hex::board::{Board, Cells, Geometry, bits};
use crate::hex::circuit::currents;
use crate::hex::connections::{Connections, Kept};
use crate::hex::inferior::Inferior;

/// Who wins, and what the winner needs for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Whether the side to move wins.
    pub(super) mover_wins: bool,
    /// Empty cells with which, and its stones, the winner wins even if the loser had all others.
    pub(super) carrier: Cells,
}

/// What a look at a position gives.
pub(super) enum Look {
    /// Who wins.
    Decided(Outcome),
    /// The moves that may win, and the cells the other side needs to refute all others.
    Open { moves: Vec<usize>, carrier: Cells },
}

/// Looks at boards; it keeps nothing of them but room to work in.
pub(super) struct Examiner {
    ours: Connections,
    theirs: Connections,
}

impl Examiner {
    pub(super) fn new(kept: Kept) -> Self {
        Self { ours: Connections::new(kept), theirs: Connections::new(kept) }
    }

    /// Looks at a board whose dead and captured cells are filled.
    pub(super) fn look(&mut self, geometry: &Geometry, board: &Board, inferior: &Inferior) -> Look {
        let Self { ours, theirs } = self;
        theirs.find(geometry, board, board.side.other(), false);
        if let Some(carrier) = theirs.winning().next() {
            return Look::Decided(Outcome { mover_wins: false, carrier });
        }
        ours.find(geometry, board, board.side, true);
        let wins = ours.winning().chain(ours.almost_winning());
        if let Some(carrier) = wins.min_by_key(|carrier| carrier.count_ones()) {
            return Look::Decided(Outcome { mover_wins: true, carrier });
        }
        let (must_play, mut carrier) = must_play(geometry.empty(board), theirs);
        let candidates = inferior.candidates(board.side, must_play);
        carrier |= candidates.killers;
        if candidates.cells == 0 {
            return Look::Decided(Outcome { mover_wins: false, carrier });
        }
        Look::Open { moves: ordered(geometry, [ours, theirs], candidates.cells), carrier }
    }

    /// Where the side to move has to play on a board as it is, best first.
    pub(super) fn must_play(&mut self, geometry: &Geometry, board: &Board) -> Vec<usize> {
        let Self { ours, theirs } = self;
        theirs.find(geometry, board, board.side.other(), false);
        if theirs.wins() {
            return Vec::new();
        }
        ours.find(geometry, board, board.side, false);
        let (cells, _) = must_play(geometry.empty(board), theirs);
        ordered(geometry, [ours, theirs], cells)
    }
}

/// Where a side has to play because of the other's threats to join its edges, and the cells the other needs for them.
fn must_play(empty: Cells, theirs: &Connections) -> (Cells, Cells) {
    let (mut cells, mut carrier) = (empty, 0);
    for semi in theirs.almost_winning() {
        if cells & !semi != 0 {
            cells &= semi;
            carrier |= semi;
        }
    }
    (cells, carrier)
}

/// The cells in the order in which they should be tried.
fn ordered(geometry: &Geometry, sides: [&mut Connections; 2], cells: Cells) -> Vec<usize> {
    let flows = sides.map(|side| currents(&*side, geometry.neighbors.len()));
    let mut moves: Vec<usize> = bits(cells).collect();
    let weight = |cell: usize| flows[0][cell] + flows[1][cell];
    moves.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    moves
}
