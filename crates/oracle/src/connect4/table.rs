//! The transposition table: proven bounds of positions, in eight bytes each.

/// Lower and upper bound of a position's score, for its side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    /// The score is at least this.
    pub(crate) lower: i32,
    /// The score is at most this.
    pub(crate) upper: i32,
}

/// Scores lie in -21..=21; bounds are stored shifted so that six bits hold them.
const SHIFT: i32 = 21;

/// One slot: the position's code in the high 49 bits, the bounds in twelve, the work spent in the lowest three.
/// The whole code is kept, so a hit is never a mistake. Zero is an empty slot: no stored position has code zero
/// with both bounds zero.
pub(crate) struct Table {
    slots: Vec<u64>,
    /// Buckets in use less one; late positions use a small part of the table, which stays in the processor's cache.
    mask: usize,
}

/// Slots a bucket has; together they fill half a cache line.
const WAYS: usize = 4;

impl Table {
    /// A table of at least `bytes` bytes, rounded up to a power of two.
    pub(crate) fn new(bytes: usize) -> Self {
        let n_buckets = (bytes / (8 * WAYS)).next_power_of_two().max(1);
        Self { slots: vec![0; n_buckets * WAYS], mask: n_buckets - 1 }
    }

    /// Uses at most `n_buckets` buckets (a power of two) until it is set again.
    pub(crate) fn narrow(&mut self, n_buckets: usize) {
        self.mask = (self.slots.len() / WAYS).min(n_buckets.next_power_of_two()) - 1;
    }

    fn bucket(&self, code: u64) -> usize {
        // The multiplier of Fibonacci hashing; the high bits are the well-mixed ones.
        ((code.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 28) as usize & self.mask) * WAYS
    }

    /// What is known about the position.
    pub(crate) fn probe(&self, code: u64) -> Option<Bounds> {
        let at = self.bucket(code);
        self.slots[at..at + WAYS].iter().find(|&&slot| slot >> 15 == code && slot != 0).map(|&slot| Bounds {
            lower: (slot >> 9 & 63) as i32 - SHIFT,
            upper: (slot >> 3 & 63) as i32 - SHIFT,
        })
    }

    /// Keeps bounds; the cheapest entry of a full bucket gives way.
    pub(crate) fn store(&mut self, code: u64, bounds: Bounds, n_nodes: u64) {
        let at = self.bucket(code);
        // Each step of the three-bit work class is a factor of eight, which is enough to tell leaves from trunks.
        let work = u64::from((64 - n_nodes.leading_zeros()) / 3).min(7);
        let slot = code << 15 | ((bounds.lower + SHIFT) as u64) << 9 | ((bounds.upper + SHIFT) as u64) << 3;
        let bucket = &mut self.slots[at..at + WAYS];
        if let Some(same) = bucket.iter_mut().find(|known| **known >> 15 == code) {
            *same = slot | (*same & 7).max(work);
            return;
        }
        // Trunks of searches long past must not fill the table for good: now and then all of a bucket ages.
        if code & 63 == 0 {
            bucket.iter_mut().filter(|known| **known & 7 > 0).for_each(|known| *known -= 1);
        }
        if let Some(cheapest) =
            bucket.iter_mut().min_by_key(|known| if **known == 0 { 0 } else { 1 + (**known & 7) })
        {
            *cheapest = slot | work;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_come_back_and_work_outlives_leaves() {
        let mut table = Table::new(32);
        let bounds = |lower, upper| Bounds { lower, upper };
        table.store((1 << 49) - 1, bounds(-21, 21), 1 << 40);
        for code in 1..100 {
            table.store(code, bounds(0, 3), 1);
        }
        assert_eq!(table.probe((1 << 49) - 1), Some(bounds(-21, 21)));
        assert_eq!(table.probe(99), Some(bounds(0, 3)));
        assert_eq!(table.probe(1234), None);
    }
}
