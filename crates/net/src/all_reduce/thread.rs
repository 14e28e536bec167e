//! Ranks as threads of one process.

use super::{AllReduce, AllReduceError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A rank on a thread of this process.
pub struct ThreadRank {
    rank: usize,
    group: Arc<Group>,
}

impl ThreadRank {
    /// A group of ranks, one for each thread.
    pub fn group(n_ranks: usize) -> Vec<Self> {
        let round = Round { parts: vec![None; n_ranks], result: None, taken: 0, left: None };
        let group = Arc::new(Group { n_ranks, round: Mutex::new(round), changed: Condvar::new() });
        (0..n_ranks).map(|rank| Self { rank, group: group.clone() }).collect()
    }
}

impl AllReduce for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn n_ranks(&self) -> usize {
        self.group.n_ranks
    }

    fn sum(&self, buffer: &mut [f32]) -> Result<(), AllReduceError> {
        let group = &*self.group;
        let wait = |round| group.changed.wait(round).unwrap_or_else(PoisonError::into_inner);
        let mut round = group.round();
        // The last round's result may still be on its way to slower ranks.
        while round.result.is_some() && round.left.is_none() {
            round = wait(round);
        }
        if let Some(rank) = round.left {
            return Err(AllReduceError::RankLeft(rank));
        }
        if let Some(expected) = round.parts.iter().flatten().map(Vec::len).find(|len| *len != buffer.len()) {
            // The others cannot continue without this rank, so the whole group ends.
            round.left = Some(self.rank);
            group.changed.notify_all();
            return Err(AllReduceError::Length { expected, got: buffer.len() });
        }
        round.parts[self.rank] = Some(buffer.to_vec());
        if round.parts.iter().all(Option::is_some) {
            // Summed in order of rank, so the result does not depend on who came last.
            let mut sum = vec![0.0f32; buffer.len()];
            for part in round.parts.iter_mut().filter_map(Option::take) {
                sum.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
            }
            round.result = Some(Arc::new(sum));
            group.changed.notify_all();
        }
        let result = loop {
            match (&round.result, round.left) {
                (Some(result), _) => break result.clone(),
                (None, Some(rank)) => return Err(AllReduceError::RankLeft(rank)),
                (None, None) => round = wait(round),
            }
        };
        round.taken += 1;
        if round.taken == group.n_ranks {
            round.taken = 0;
            round.result = None;
            group.changed.notify_all();
        }
        drop(round);
        buffer.copy_from_slice(&result);
        Ok(())
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        self.group.round().left.get_or_insert(self.rank);
        self.group.changed.notify_all();
    }
}

/// What the ranks share.
struct Group {
    n_ranks: usize,
    round: Mutex<Round>,
    changed: Condvar,
}

impl Group {
    fn round(&self) -> MutexGuard<'_, Round> {
        // A rank that panics is dropped, which says that it left.
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One sum under way.
struct Round {
    /// What each rank brought.
    parts: Vec<Option<Vec<f32>>>,
    /// The sum, until every rank has taken it.
    result: Option<Arc<Vec<f32>>>,
    /// Ranks that took it.
    taken: usize,
    /// The first rank that was dropped.
    left: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_sum_over_many_rounds() {
        let threads: Vec<_> = ThreadRank::group(3)
            .into_iter()
            .map(|rank| {
                std::thread::spawn(move || {
                    (0..50)
                        .map(|round| {
                            let mut buffer = [rank.rank() as f32, round as f32];
                            rank.sum(&mut buffer).unwrap();
                            buffer
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for thread in threads {
            let sums = thread.join().unwrap();
            assert!(sums.iter().enumerate().all(|(round, sum)| *sum == [3.0, 3.0 * round as f32]));
        }
    }

    #[test]
    fn a_lost_rank_is_an_error_not_a_hang() {
        let mut ranks = ThreadRank::group(2);
        let lost = ranks.pop().unwrap();
        let rank = ranks.pop().unwrap();
        let waiting = std::thread::spawn(move || rank.sum(&mut [1.0]));
        drop(lost);
        assert_eq!(waiting.join().unwrap(), Err(AllReduceError::RankLeft(1)));
    }
}
