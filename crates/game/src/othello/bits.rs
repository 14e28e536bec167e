//! Bitboard work of Othello: which squares may be played, which discs flip, the eight symmetries of the board.
//!
//! Bit `row * 8 + column` is a square, a1 (top left) bit 0 and h8 bit 63.

use crate::game::pick;

/// Every square but the columns a and h: discs there cannot be passed through sideways.
const INNER_COLUMNS: u64 = 0x7E7E_7E7E_7E7E_7E7E;

/// Squares where the side with the discs `own` may play against `opponent`.
pub(super) fn placements(own: u64, opponent: u64) -> u64 {
    let inner = opponent & INNER_COLUMNS;
    let reached =
        reach(own, inner, 1) | reach(own, opponent, 8) | reach(own, inner, 7) | reach(own, inner, 9);
    reached & !(own | opponent)
}

/// Squares just beyond runs of `through` that start next to `own`, both ways along the line of step `shift`.
///
/// Parallel prefix (Kogge-Stone): a run has at most six discs, covered in steps of 1, 1, 2 and 2.
#[inline]
fn reach(own: u64, through: u64, shift: u32) -> u64 {
    let mut up = through & (own << shift);
    let mut down = through & (own >> shift);
    up |= through & (up << shift);
    down |= through & (down >> shift);
    let pairs_up = through & (through << shift);
    let pairs_down = pairs_up >> shift;
    up |= pairs_up & (up << (2 * shift));
    down |= pairs_down & (down >> (2 * shift));
    up |= pairs_up & (up << (2 * shift));
    down |= pairs_down & (down >> (2 * shift));
    (up << shift) | (down >> shift)
}

/// Discs of `opponent` that a disc of `own` placed on `square` turns over.
pub(super) fn flips(own: u64, opponent: u64, square: u32) -> u64 {
    let [upward, downward] = &RAYS[square as usize & 63];
    let mut flipped = 0;
    for &ray in upward {
        // The carry of the addition runs through the opponent's discs and stops at the first other square.
        let end = (opponent | !ray).wrapping_add(1) & ray & own;
        flipped |= end.wrapping_sub(u64::from(end != 0)) & ray;
    }
    for &ray in downward {
        // Going down the first other square is the highest one; bit 0 stands in when there is none and never fits.
        let first = 1 << (63 - ((ray & !opponent) | 1).leading_zeros());
        let end = first & ray & own;
        flipped |= (end << 1).wrapping_neg() & ray;
    }
    flipped
}

/// Discs that may have been turned when `square` was played, given the mover's discs `own` after it: in each direction any
/// number of the discs next to it, so long as one more stands behind them.
pub(super) fn random_unflips(own: u64, square: u32, mut random: impl FnMut() -> u32) -> u64 {
    let [upward, downward] = &RAYS[square as usize & 63];
    let mut unflipped = 0;
    for (ray, is_upward) in
        upward.iter().map(|&ray| (ray, true)).chain(downward.iter().map(|&ray| (ray, false)))
    {
        let mut left = ray;
        let mut run = 0;
        let mut n_run = 0;
        while left != 0 {
            let next = if is_upward { left & left.wrapping_neg() } else { 1 << (63 - left.leading_zeros()) };
            if own & next == 0 {
                break;
            }
            n_run += 1;
            run |= next;
            left &= !next;
        }
        // The nearest `n_turned` of the run.
        for _ in pick(random(), n_run)..n_run {
            let last = if is_upward { 1 << (63 - run.leading_zeros()) } else { run & run.wrapping_neg() };
            run &= !last;
        }
        unflipped |= run;
    }
    unflipped
}

/// For each square the rays in the four directions of rising bits and the four of falling ones.
static RAYS: [[[u64; 4]; 2]; 64] = rays();

const fn rays() -> [[[u64; 4]; 2]; 64] {
    const STEPS: [(i32, i32); 4] = [(0, 1), (1, -1), (1, 0), (1, 1)];
    let mut rays = [[[0; 4]; 2]; 64];
    let mut index = 0;
    while index < 64 * 8 {
        let (square, direction, step) = (index / 8, index / 4 % 2, index % 4);
        let sign = if direction == 0 { 1 } else { -1 };
        let (down, right) = (STEPS[step].0 * sign, STEPS[step].1 * sign);
        let mut row = square as i32 / 8 + down;
        let mut column = square as i32 % 8 + right;
        while 0 <= row && row < 8 && 0 <= column && column < 8 {
            rays[square][direction][step] |= 1 << (row * 8 + column);
            row += down;
            column += right;
        }
        index += 1;
    }
    rays
}

/// The board under a symmetry: bit 0 of its number mirrors left and right, bit 1 top and bottom, and then bit 2
/// exchanges rows and columns.
pub(super) fn transformed(board: u64, symmetry: usize) -> u64 {
    let mut board = board;
    if symmetry & 1 != 0 {
        board = board.swap_bytes().reverse_bits();
    }
    if symmetry & 2 != 0 {
        board = board.swap_bytes();
    }
    if symmetry & 4 != 0 {
        board = transposed(board);
    }
    board
}

/// Rows and columns exchanged: blocks of 4x4, then 2x2, then single squares across the diagonal.
fn transposed(board: u64) -> u64 {
    let swap = |board: u64, upper: u64, distance: u32| {
        let changed = (board ^ (board >> distance)) & upper;
        board ^ changed ^ (changed << distance)
    };
    let board = swap(board, 0x0000_0000_F0F0_F0F0, 28);
    let board = swap(board, 0x0000_CCCC_0000_CCCC, 14);
    swap(board, 0x00AA_00AA_00AA_00AA, 7)
}

/// Where [`transformed`] takes a square.
pub(super) fn transformed_square(square: u32, symmetry: usize) -> u32 {
    let (mut row, mut column) = (square / 8, square % 8);
    if symmetry & 1 != 0 {
        column = 7 - column;
    }
    if symmetry & 2 != 0 {
        row = 7 - row;
    }
    if symmetry & 4 != 0 {
        (row, column) = (column, row);
    }
    row * 8 + column
}
