//! One seed for a league, many independent streams from it.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream of random numbers is for; each purpose has its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Book = 1,
    Opening = 2,
    Pairing = 3,
    Player = 4,
}

/// The stream of one purpose and number.
pub(crate) fn rng(seed: u64, purpose: Purpose, number: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(mix(seed, purpose, number))
}

/// A seed of its own for one purpose and number.
pub(crate) fn mix(seed: u64, purpose: Purpose, number: u64) -> u64 {
    [purpose as u64, number].into_iter().fold(seed, |state, part| scramble(scramble(state) ^ part))
}

/// The finalizer of SplitMix64: every input bit reaches every output bit.
fn scramble(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
