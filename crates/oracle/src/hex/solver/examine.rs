//! What can be said of a position without search.

use super::Proof;
use crate::hex::board::{Board, Cells, Geometry, bits};
use crate::hex::circuit::currents;
use crate::hex::connections::{Connections, Kept};
use crate::hex::inferior::Inferior;
use mavis_game::Side;

/// What a look at a position gives.
pub(super) enum Look {
    /// Who wins.
    Decided(Proof),
    /// The moves that may win, and the cells the other side needs to refute all others.
    Open { moves: Vec<usize>, carrier: Cells },
}

/// The moves that a side has to make, unless it loses at once.
pub(super) struct MustPlay {
    pub(super) cells: Cells,
    /// The cells the other side needs to refute the moves outside.
    pub(super) carrier: Cells,
}

/// Looks at a board whose dead and captured cells are filled.
pub(super) fn examine(geometry: &Geometry, board: &Board, inferior: &Inferior) -> Look {
    let must_play = match must_play(geometry, board) {
        Ok(must_play) => must_play,
        Err(carrier) => return Look::Decided(Proof { mover_wins: false, carrier }),
    };
    let ours = Connections::of(geometry, board, board.side, Kept::default(), true);
    let wins = ours.winning().iter().chain(ours.almost_winning());
    if let Some(&carrier) = wins.min_by_key(|carrier| carrier.count_ones()) {
        return Look::Decided(Proof { mover_wins: true, carrier });
    }
    let candidates = inferior.candidates(board.side, must_play.cells);
    let carrier = must_play.carrier | candidates.killers;
    if candidates.cells == 0 {
        return Look::Decided(Proof { mover_wins: false, carrier });
    }
    Look::Open { moves: ordered(geometry, board, inferior, candidates.cells), carrier }
}

/// Where the side to move has to play, by the other side's threats to join its edges; the carrier of a connection if it is
/// too late for that.
pub(super) fn must_play(geometry: &Geometry, board: &Board) -> Result<MustPlay, Cells> {
    let theirs = Connections::of(geometry, board, board.side.other(), Kept::default(), false);
    if let Some(&carrier) = theirs.winning().first() {
        return Err(carrier);
    }
    let (mut cells, mut carrier) = (geometry.empty(board), 0);
    for semi in theirs.almost_winning() {
        if cells & !semi != 0 {
            cells &= semi;
            carrier |= semi;
        }
    }
    if cells == 0 { Err(carrier) } else { Ok(MustPlay { cells, carrier }) }
}

/// The cells in the order in which they should be tried.
pub(super) fn ordered(geometry: &Geometry, board: &Board, inferior: &Inferior, cells: Cells) -> Vec<usize> {
    let empty = geometry.empty(board);
    let flows = [Side::First, Side::Second].map(|side| currents(inferior.graph(side), empty));
    let mut moves: Vec<usize> = bits(cells).collect();
    let weight = |cell: usize| flows[0][cell] + flows[1][cell];
    moves.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    moves
}
