//! Random numbers of the searches: seeded, small and the same on every machine.

use rand::RngCore as _;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator every search owns.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 32 random bits.
    pub(crate) fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `n`. The multiplication leaves a bias below n / 2^32, far under what a playout can show.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.bits()) * n as u64) >> 32) as usize
    }
}
