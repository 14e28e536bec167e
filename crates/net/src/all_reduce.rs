//! Summing a buffer over ranks that train together.

use std::sync::{Arc, Condvar, Mutex};

/// One rank's end of a group that sums buffers.
///
/// All ranks call [`sum`](AllReduce::sum) in the same order with buffers of one length.
pub trait AllReduce: Send + Sync {
    /// This rank, from zero.
    fn rank(&self) -> usize;

    /// Ranks in the group.
    fn n_ranks(&self) -> usize;

    /// Replaces the buffer with the sum over all ranks, bit for bit the same on each.
    ///
    /// # Errors
    /// When another rank left, or came with another length.
    fn sum(&self, buffer: &mut [f32]) -> Result<(), AllReduceError>;
}

/// Why ranks could not sum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllReduceError {
    /// A rank was dropped while others waited for it.
    #[error("a rank left the group")]
    RankLeft,
    /// Buffers of unequal length.
    #[error("this rank has {got} elements, another has {expected}")]
    Length {
        /// Length of the first rank's buffer.
        expected: usize,
        /// Length of this one's.
        got: usize,
    },
    /// The transport failed, in its own words.
    #[error("transport: {0}")]
    Transport(String),
}

/// A rank on a thread of this process.
pub struct ThreadRank {
    rank: usize,
    group: Arc<Group>,
}

impl ThreadRank {
    /// A group of ranks, one for each thread.
    pub fn group(n_ranks: usize) -> Vec<Self> {
        let round = Round { parts: vec![None; n_ranks], result: None, taken: 0, left: false };
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
        let wait = |round| group.changed.wait(round).map_err(|_| AllReduceError::RankLeft);
        let mut round = group.round.lock().map_err(|_| AllReduceError::RankLeft)?;
        // The last round's result may still be on its way to slower ranks.
        while round.result.is_some() && !round.left {
            round = wait(round)?;
        }
        if round.left {
            return Err(AllReduceError::RankLeft);
        }
        if let Some(expected) = round.parts.iter().flatten().map(Vec::len).find(|len| *len != buffer.len()) {
            // The others cannot go on without this rank, so the whole group ends.
            round.left = true;
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
        while round.result.is_none() && !round.left {
            round = wait(round)?;
        }
        let Some(result) = round.result.clone() else { return Err(AllReduceError::RankLeft) };
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
        if let Ok(mut round) = self.group.round.lock() {
            round.left = true;
        }
        self.group.changed.notify_all();
    }
}

/// What the ranks share.
struct Group {
    n_ranks: usize,
    round: Mutex<Round>,
    changed: Condvar,
}

/// One sum under way.
struct Round {
    /// What each rank brought.
    parts: Vec<Option<Vec<f32>>>,
    /// The sum, until every rank has taken it.
    result: Option<Arc<Vec<f32>>>,
    /// Ranks that took it.
    taken: usize,
    /// A rank was dropped.
    left: bool,
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
        assert_eq!(waiting.join().unwrap(), Err(AllReduceError::RankLeft));
    }
}
