//! Random numbers whose exclusive or is the key of a Hex position.

use super::MAX_SIZE;
use crate::Side;
use mavis_stable::seed::{GOLDEN, mix};

/// Mixed in when the second player is to move.
pub(super) const SIDE: u64 = word(0x5149);

static STONES: [[[u64; MAX_SIZE]; MAX_SIZE]; 2] = stones();

/// The number of a stone.
#[inline]
pub(super) fn stone(side: Side, row: usize, column: usize) -> u64 {
    STONES[side.index()][row][column]
}

/// The key of the empty board, different for each size and with the swap rule.
pub(super) fn start(size: u8, swap_rule: bool) -> u64 {
    word(0x4845_5800 + u64::from(size) * 2 + u64::from(swap_rule))
}

const fn stones() -> [[[u64; MAX_SIZE]; MAX_SIZE]; 2] {
    let mut stones = [[[0; MAX_SIZE]; MAX_SIZE]; 2];
    let mut index = 0;
    while index < 2 * MAX_SIZE * MAX_SIZE {
        let (side, cell) = (index / (MAX_SIZE * MAX_SIZE), index % (MAX_SIZE * MAX_SIZE));
        stones[side][cell / MAX_SIZE][cell % MAX_SIZE] = word(0x1_0000 + index as u64);
        index += 1;
    }
    stones
}

/// A random word for each number; the keys of positions in tables on disk hang on it.
const fn word(number: u64) -> u64 {
    mix(number.wrapping_mul(GOLDEN))
}
