//! Which records of which sets a batch takes: a pure function of seed and batch number.

use crate::permutation::Permutation;
use mavis_stable::seed::scramble;

/// Several sets of records, dealt out in numbered batches.
///
/// Every batch takes the same number of records from each set, the next ones of a random order that is new for each epoch of that
/// set. It depends on nothing but the seed and the number, so a run resumes exactly, and any thread can build any batch.
#[derive(Clone, Debug)]
pub struct Deck {
    parts: Vec<Part>,
    seed: u64,
}

/// One set: how many records it has, and how many of each batch come from it.
#[derive(Clone, Copy, Debug)]
struct Part {
    len: usize,
    quota: usize,
}

impl Deck {
    /// Batches of about `n_records` out of sets by length and weight, which are positive; `None` when there are none.
    #[must_use]
    pub fn new(sets: &[(usize, f32)], n_records: usize, seed: u64) -> Option<Self> {
        let total: f32 = sets.iter().map(|(_, weight)| *weight).sum();
        let parts: Vec<Part> = sets
            .iter()
            .map(|&(len, weight)| {
                let quota = (n_records as f32 * weight / total).round().max(1.0) as usize;
                Part { len, quota }
            })
            .collect();
        (!parts.is_empty()).then_some(Self { parts, seed })
    }

    /// The same sets in the same order with another number of records in a batch.
    #[must_use]
    pub fn scaled(&self, share: f32) -> Self {
        let quota = |part: &Part| ((part.quota as f32 * share).round() as usize).max(1);
        let parts = self.parts.iter().map(|part| Part { quota: quota(part), ..*part }).collect();
        Self { parts, seed: self.seed }
    }

    /// Records of a batch.
    #[must_use]
    pub fn n_records(&self) -> usize {
        self.parts.iter().map(|part| part.quota).sum()
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

    /// The records of a batch as set and index.
    pub fn batch(&self, number: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.parts.iter().enumerate().flat_map(move |(part_idx, part)| {
            let n = part.len as u64;
            let first = number * part.quota as u64;
            (first..first + part.quota as u64).map(move |place| {
                let order =
                    Permutation::new(part.len, scramble(self.seed ^ scramble(place / n) ^ part_idx as u64));
                (part_idx, order.get((place % n) as usize))
            })
        })
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
        assert!(deck.batch(3).eq(deck.batch(3)));
        assert!(Deck::new(&[], 8, 5).is_none());
    }
}
