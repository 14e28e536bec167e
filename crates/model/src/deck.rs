//! Which records of which sets a batch takes: a pure function of seed and batch number.

use crate::permutation::Permutation;
use mavis_stable::seed::scramble;
use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Several sets of records, dealt out in numbered batches.
///
/// Every batch takes its share of each set, the next records of a random order that is new for each epoch of that set; where the share is no whole
/// number, some batches take one more. Records of all sets come in random order, so that what finds no room in a batch is not always of the same
/// set. All of it depends on nothing but the seed and the number, so a run resumes exactly, and any thread can build any batch.
#[derive(Clone, Debug)]
pub struct Deck {
    parts: Vec<Part>,
    seed: u64,
}

/// One set: how many records it has, and how many of each batch come from it on average.
#[derive(Clone, Copy, Debug)]
struct Part {
    len: usize,
    quota: f64,
}

impl Part {
    /// How many records of the set the batches before this one have taken. They do not all take one more in the same batch.
    fn n_before(&self, number: u64, seed: u64) -> u64 {
        let phase = (scramble(seed) >> 11) as f64 / (1_u64 << 53) as f64;
        (number as f64).mul_add(self.quota, phase) as u64
    }
}

impl Deck {
    /// Batches of about `n_records` out of sets by length and weight, which are positive; `None` when there are none.
    #[must_use]
    pub fn new(sets: &[(usize, f32)], n_records: usize, seed: u64) -> Option<Self> {
        let total: f64 = sets.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let quota = |weight: f32| n_records as f64 * f64::from(weight) / total;
        let parts: Vec<Part> = sets.iter().map(|&(len, weight)| Part { len, quota: quota(weight) }).collect();
        (!parts.is_empty()).then_some(Self { parts, seed })
    }

    /// The same sets in the same order with another number of records in a batch.
    #[must_use]
    pub fn scaled(&self, share: f32) -> Self {
        let quota = |part: &Part| part.quota * f64::from(share);
        let parts = self.parts.iter().map(|part| Part { quota: quota(part), ..*part }).collect();
        Self { parts, seed: self.seed }
    }

    /// Records of a batch, on average.
    #[must_use]
    pub fn n_records(&self) -> usize {
        self.parts.iter().map(|part| part.quota).sum::<f64>().round() as usize
    }

    /// The most records a batch may have: one more than its share of every set that has no whole number of them.
    #[must_use]
    pub fn most_records(&self) -> usize {
        self.parts.iter().map(|part| part.quota.ceil() as usize).sum()
    }

    /// Records of all sets.
    #[must_use]
    pub fn n_total(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    /// A seed for the draws inside a batch.
    #[must_use]
    pub fn batch_seed(&self, number: u64) -> u64 {
        scramble(self.seed ^ scramble(number))
    }

    /// The records of a batch as set and index, in random order.
    #[must_use]
    pub fn batch(&self, number: u64) -> Vec<(usize, usize)> {
        let mut records = Vec::new();
        for (part_idx, part) in self.parts.iter().enumerate() {
            let n = part.len as u64;
            let seed = self.seed ^ part_idx as u64;
            records.extend((part.n_before(number, seed)..part.n_before(number + 1, seed)).map(|place| {
                let order = Permutation::new(part.len, scramble(seed ^ scramble(place / n)));
                (part_idx, order.get((place % n) as usize))
            }));
        }
        records.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(scramble(self.batch_seed(number))));
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_comes_once_an_epoch_and_shares_are_kept() {
        let deck = Deck::new(&[(30, 3.0), (10, 1.0)], 8, 5).unwrap();
        assert_eq!((deck.n_records(), deck.n_total()), (8, 40));
        let mut seen: Vec<(usize, usize)> = (0..5).flat_map(|number| deck.batch(number)).collect();
        assert_eq!(seen.iter().filter(|(set, _)| *set == 0).count(), 30);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 40);
        assert_eq!(deck.batch(3), deck.batch(3));
        assert!(Deck::new(&[], 8, 5).is_none());
    }

    #[test]
    fn shares_of_less_than_a_record_are_kept_and_the_order_is_not_that_of_the_sets() {
        let deck = Deck::new(&[(50, 0.9), (1_000, 0.02), (70, 0.08)], 7, 5).unwrap();
        let batches: Vec<_> = (0..1_000).map(|number| deck.batch(number)).collect();
        let of = |set: usize| batches.iter().flatten().filter(|(part, _)| *part == set).count();
        assert!(of(0).abs_diff(6_300) <= 1 && of(1).abs_diff(140) <= 1 && of(2).abs_diff(560) <= 1);
        assert!(batches.iter().all(|batch| (6..=9).contains(&batch.len())));
        assert_eq!(deck.most_records(), 9);
        let last = batches.iter().filter(|batch| batch.last().is_some_and(|(part, _)| *part == 0)).count();
        assert!((850..950).contains(&last), "{last} of 1,000 batches end with the first set");
    }
}
