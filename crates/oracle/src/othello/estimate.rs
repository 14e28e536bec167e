//! The middle of the game, judged without patterns: mobility, corners, stable edges, frontier.

use super::board::Board;
use crate::alphabeta::{Estimate, UNIT};
use mavis_game::{Game, Move, Othello, Side};

const CORNERS: u64 = 0x8100_0000_0000_0081;
/// The square diagonally inside each corner.
const X_SQUARES: u64 = 0x0042_0000_0000_4200;
/// The squares beside each corner on the edges.
const C_SQUARES: u64 = 0x4281_0000_0000_8142;

/// Weights in hundredths of a disc.
pub(super) struct Weights {
    mobility: i32,
    frontier: i32,
    corner: i32,
    x_square: i32,
    c_square: i32,
    stable: i32,
    tempo: i32,
}

const WEIGHTS: Weights = Weights {
    mobility: 120,
    frontier: -55,
    corner: 550,
    x_square: -350,
    c_square: -120,
    stable: 150,
    tempo: 100,
};

impl Estimate for Othello {
    fn estimate(&self) -> i32 {
        let board = Board { own: self.own(), other: self.opponent() };
        let difference = |feature: fn(Board) -> u64| {
            feature(board).count_ones() as i32 - feature(board.passed()).count_ones() as i32
        };
        let w = &WEIGHTS;
        w.tempo
            + w.mobility * difference(Board::placements)
            + w.frontier * difference(frontier)
            + w.corner * difference(|board| board.own & CORNERS)
            + w.x_square * difference(|board| board.own & X_SQUARES & beside_empty_corner(board))
            + w.c_square * difference(|board| board.own & C_SQUARES & beside_empty_corner(board))
            + w.stable * difference(stable_edges)
    }

    fn final_margin(&self) -> i32 {
        let score = self.final_score();
        UNIT * if self.side_to_move() == Side::First { score } else { -score }
    }

    fn rank(&self, mv: Move) -> i32 {
        let square = 1_u64.checked_shl(u32::from(mv.0)).unwrap_or(0);
        let board = Board { own: self.own(), other: self.opponent() };
        let replies = board.after(square, board.flips(square)).placements();
        100 * i32::from(square & CORNERS != 0) - replies.count_ones() as i32
    }
}

/// One's own discs that touch an empty square: they give the other side places to play.
fn frontier(board: Board) -> u64 {
    let empty = board.empty();
    let sides = (empty & 0x7F7F_7F7F_7F7F_7F7F) << 1 | (empty & 0xFEFE_FEFE_FEFE_FEFE) >> 1;
    let wide = empty | sides;
    board.own & (sides | wide << 8 | wide >> 8)
}

/// Squares next to a corner that is still empty.
fn beside_empty_corner(board: Board) -> u64 {
    let corners = board.empty() & CORNERS;
    let sides = (corners & 0x7F7F_7F7F_7F7F_7F7F) << 1 | (corners & 0xFEFE_FEFE_FEFE_FEFE) >> 1;
    let wide = corners | sides;
    sides | wide << 8 | wide >> 8
}

/// One's own discs along the edges that reach from a corner without a gap: they never turn.
fn stable_edges(board: Board) -> u64 {
    let (mut rows, mut columns) = (board.own & CORNERS, board.own & CORNERS);
    for _ in 0..6 {
        rows |= (rows << 1 | rows >> 1) & board.own & 0xFF00_0000_0000_00FF;
        columns |= (columns << 8 | columns >> 8) & board.own & 0x8181_8181_8181_8181;
    }
    rows & 0xFF00_0000_0000_00FF | columns & 0x8181_8181_8181_8181
}
