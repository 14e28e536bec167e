//! A random order of `0..n` that is computed, not stored.

use mavis_stable::seed::scramble;

/// A permutation of `0..n` that follows from a key: four Feistel rounds over the next even power of two, walked until the
/// result falls below `n`. Any element comes in constant time, so a run resumes anywhere without replaying its past.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    pub(crate) fn new(n: usize, key: u64) -> Self {
        let n = (n as u64).max(1);
        let bits = 64 - (n - 1).leading_zeros();
        let keys = [1, 2, 3, 4].map(|round| scramble(key ^ scramble(round)));
        Self { n, half_bits: bits.div_ceil(2).max(1), keys }
    }

    pub(crate) fn get(&self, index: usize) -> usize {
        let mut value = index as u64 % self.n;
        loop {
            value = self.round_trip(value);
            if value < self.n {
                return value as usize;
            }
        }
    }

    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (scramble(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_comes_once_and_keys_differ() {
        for n in [1, 2, 7, 64, 1000, 4097] {
            let permutation = Permutation::new(n, 9);
            let mut seen: Vec<usize> = (0..n).map(|index| permutation.get(index)).collect();
            let order = seen.clone();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..n), "{n}");
            if n > 60 {
                let other = Permutation::new(n, 10);
                let same = (0..n).filter(|&index| other.get(index) == order[index]).count();
                assert!(same < n / 8, "{same} of {n} agree");
            }
        }
    }
}
