//! The middle of the game, judged without patterns: mobility, corners, stable edges, frontier.

use super::board::Board;
use crate::alphabeta::{Margin, UNIT};
use mavis_game::{Game, Move, Othello, Side};
use std::fmt;

const CORNERS: u64 = 0x8100_0000_0000_0081;
/// The square diagonally inside each corner.
const X_SQUARES: u64 = 0x0042_0000_0000_4200;
/// The squares beside each corner on the edges.
const C_SQUARES: u64 = 0x4281_0000_0000_8142;

/// The squares of the edges that are neither corners nor beside one.
const EDGES: u64 = 0x3C00_8181_8181_003C;

/// What an estimate is a sum of. The first two are the right to move, and the same with the sign that says whether the side to move
/// places the last disc if nobody passes. The others count for the side to move less the same for the other: squares to place on,
/// discs beside empty squares, empty squares beside the other's discs, corners, the squares inside and beside empty corners, other
/// edge squares, stable discs on the edges, all discs.
pub const N_FEATURES: usize = 11;

/// Empty squares at which weights are given; between them they change evenly, beyond them they stay.
pub const KNOTS: [i32; 4] = [48, 36, 24, 12];

/// Weights of the features, in hundredths of a disc, at each of the [`KNOTS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OthelloWeights(pub [[i32; N_FEATURES]; KNOTS.len()]);

impl OthelloWeights {
    /// The weights set by hand before any were fitted, kept to measure the fitted ones against.
    pub const HAND_SET: Self = Self([[100, 0, 120, -55, 0, 550, -350, -120, 0, 150, 0]; KNOTS.len()]);

    /// The usual ones, found by `examples/fit_estimates.rs` in November 2026: least squares over positions of 137,506 WTHOR
    /// tournament games, then tuned by games, then scaled to the discs of perfect play in WTHOR.
    pub const TUNED: Self = Self([
        [-115, 94, 53, -108, 24, -467, -1372, -873, 56, 594, -79],
        [-662, -405, 86, -179, 82, 1370, -1199, -315, 43, 239, -7],
        [-414, 18, 59, -70, -27, 757, -781, -361, 98, 62, -22],
        [-159, -93, 161, -25, -17, 173, -240, -111, -33, 78, 26],
    ]);

    /// The margin the side to move may expect, in hundredths of a disc.
    #[must_use]
    pub fn estimate(&self, position: &Othello) -> i32 {
        let (upper, share) = between_knots(n_empty(position));
        let (above, below) = (&self.0[upper], &self.0[upper + 1]);
        let width = KNOTS[upper] - KNOTS[upper + 1];
        let features = features(position).into_iter().zip(above.iter().zip(below));
        features.map(|(feature, (a, b))| feature * (a * share + b * (width - share))).sum::<i32>() / width
    }
}

impl Default for OthelloWeights {
    fn default() -> Self {
        Self::TUNED
    }
}

impl fmt::Display for OthelloWeights {
    /// The name of weights that have one, else the numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TUNED => f.write_str("tuned"),
            Self::HAND_SET => f.write_str("hand-set"),
            Self(knots) => knots.iter().flatten().try_for_each(|weight| write!(f, "{weight}/")),
        }
    }
}

/// Which knot lies at or above so many empty squares (the last but one below that), and how far they are above the next.
fn between_knots(n_empty: i32) -> (usize, i32) {
    let n_empty = n_empty.clamp(KNOTS[KNOTS.len() - 1], KNOTS[0]);
    let upper = KNOTS[1..KNOTS.len() - 1].iter().filter(|knot| n_empty < **knot).count();
    (upper, n_empty - KNOTS[upper + 1])
}

fn n_empty(position: &Othello) -> i32 {
    (position.own() | position.opponent()).count_zeros() as i32
}

/// The features of a position, for the side to move.
fn features(position: &Othello) -> [i32; N_FEATURES] {
    let board = Board { own: position.own(), other: position.opponent() };
    let difference = |feature: fn(Board) -> u64| {
        feature(board).count_ones() as i32 - feature(board.passed()).count_ones() as i32
    };
    [
        1,
        if n_empty(position) % 2 == 1 { 1 } else { -1 },
        difference(Board::placements),
        difference(frontier),
        difference(|board| beside(board.other) & board.empty()),
        difference(|board| board.own & CORNERS),
        difference(|board| board.own & X_SQUARES & beside_empty_corner(board)),
        difference(|board| board.own & C_SQUARES & beside_empty_corner(board)),
        difference(|board| board.own & EDGES),
        difference(stable_edges),
        difference(|board| board.own),
    ]
}

/// How much each feature counts towards each weight of [`OthelloWeights`], in their order: what a fit needs.
#[must_use]
pub fn design(position: &Othello) -> Vec<f64> {
    let (upper, share) = between_knots(n_empty(position));
    let share = f64::from(share) / f64::from(KNOTS[upper] - KNOTS[upper + 1]);
    let mut row = vec![0.0; KNOTS.len() * N_FEATURES];
    for (idx, feature) in features(position).into_iter().enumerate() {
        row[upper * N_FEATURES + idx] = share * f64::from(feature);
        row[(upper + 1) * N_FEATURES + idx] = (1.0 - share) * f64::from(feature);
    }
    row
}

impl Margin for Othello {
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
    board.own & beside(board.empty())
}

/// Squares next to one of these.
fn beside(squares: u64) -> u64 {
    let sides = (squares & 0x7F7F_7F7F_7F7F_7F7F) << 1 | (squares & 0xFEFE_FEFE_FEFE_FEFE) >> 1;
    let wide = squares | sides;
    sides | wide << 8 | wide >> 8
}

/// Squares next to a corner that is still empty.
fn beside_empty_corner(board: Board) -> u64 {
    beside(board.empty() & CORNERS)
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
