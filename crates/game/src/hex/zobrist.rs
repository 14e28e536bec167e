//! Random numbers whose exclusive or is the key of a Hex position.

use super::MAX_SIZE;
use crate::Side;

/// Mixed in when the second player is to move.
pub(super) const SIDE: u64 = mix(0x5149);

static STONES: [[[u64; MAX_SIZE]; MAX_SIZE]; 2] = stones();

/// The number of a stone.
#[inline]
pub(super) fn stone(side: Side, row: usize, column: usize) -> u64 {
    STONES[side.index()][row][column]
}

/// The key of the empty board, different for each size and with the swap rule.
pub(super) fn start(size: u8, swap_rule: bool) -> u64 {
    mix(0x4845_5800 + u64::from(size) * 2 + u64::from(swap_rule))
}

const fn stones() -> [[[u64; MAX_SIZE]; MAX_SIZE]; 2] {
    let mut stones = [[[0; MAX_SIZE]; MAX_SIZE]; 2];
    let mut index = 0;
    while index < 2 * MAX_SIZE * MAX_SIZE {
        let (side, cell) = (index / (MAX_SIZE * MAX_SIZE), index % (MAX_SIZE * MAX_SIZE));
        stones[side][cell / MAX_SIZE][cell % MAX_SIZE] = mix(0x1_0000 + index as u64);
        index += 1;
    }
    stones
}

/// The finalizer of the `SplitMix64` generator, which makes neighboring inputs independent.
const fn mix(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
