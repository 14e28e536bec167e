//! One seed for a league, many independent streams from it.

use mavis_stable::seed::derive;
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
    derive(seed, &[purpose as u64, number])
}
