//! What one call may spend.

use crate::Limit;
use std::time::{Duration, Instant};

/// Time kept for the way back to the game.
const OVERHEAD: Duration = Duration::from_millis(5);
/// The longest time kept for engines after `stop`.
const LONGEST_GRACE: Duration = Duration::from_millis(50);
/// The share of the time left that calls may plan with; the rest is for starting them and for one that is replaced.
const PLANNED: f64 = 0.9;

/// The limits of one move, to be split over its calls.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    per_call: Limit,
    /// Nodes of the whole move.
    nodes: Option<u64>,
    /// When calls under way are stopped.
    pub(super) soft: Option<Instant>,
    /// When the move must be out.
    pub(super) hard: Option<Instant>,
}

impl Budget {
    /// The limits of a turn beside those of every call.
    pub(super) fn new(turn: &Limit, per_call: &Limit, now: Instant) -> Self {
        let hard = turn.deadline(now, OVERHEAD);
        let soft = hard.map(|hard| hard - (hard.saturating_duration_since(now) / 8).min(LONGEST_GRACE));
        let mut per_call = per_call.clone();
        per_call.depth = per_call.depth.into_iter().chain(turn.depth).min();
        Self { per_call, nodes: turn.nodes, soft, hard }
    }

    /// What the next call may spend when `n_left` calls, this one included, are left to `n_workers`; `n_all` is the number
    /// of calls of the whole move.
    pub(super) fn call(&self, now: Instant, n_left: usize, n_all: usize, n_workers: usize) -> Limit {
        let rounds = n_left.div_ceil(n_workers.max(1)).max(1);
        let share = self.soft.map(|soft| {
            let left = soft.saturating_duration_since(now).mul_f64(PLANNED);
            (left / u32::try_from(rounds).unwrap_or(u32::MAX)).max(Duration::from_millis(1))
        });
        let nodes = self.nodes.map(|nodes| (nodes / n_all.max(1) as u64).max(1));
        Limit {
            time: self.per_call.time.into_iter().chain(share).min(),
            nodes: self.per_call.nodes.into_iter().chain(nodes).min(),
            depth: self.per_call.depth,
            ..Limit::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

    #[test]
    fn the_clock_is_split_over_all_calls() {
        let now = Instant::now();
        let clock = Clock {
            own: Duration::from_secs(60),
            other: Duration::ZERO,
            increment: Duration::ZERO,
            other_increment: Duration::ZERO,
            moves_to_go: None,
        };
        let turn = Limit { clock: Some(clock), ..Limit::default() };
        let budget = Budget::new(&turn, &Limit::default(), now);
        // A thirtieth of a minute, over 2 * 30 calls on 4 workers: 15 rounds.
        let time = budget.call(now, 60, 60, 4).time.unwrap();
        assert!((0.8 * 2.0 / 15.0..2.0 / 15.0).contains(&time.as_secs_f64()), "{time:?}");
        // Rounds together fit into the time even if each takes a tenth longer than planned.
        let mut at = now;
        for round in 0..15 {
            at += budget.call(at, 60 - 4 * round, 60, 4).time.unwrap().mul_f64(1.1);
        }
        assert!(at < budget.hard.unwrap());
    }

    #[test]
    fn own_limits_of_a_call_hold_beside_those_of_the_move() {
        let now = Instant::now();
        let per_call = Limit { nodes: Some(500), depth: Some(9), ..Limit::default() };
        let turn = Limit { nodes: Some(4000), depth: Some(12), ..Limit::default() };
        let limit = Budget::new(&turn, &per_call, now).call(now, 40, 40, 2);
        assert_eq!(limit, Limit { nodes: Some(100), depth: Some(9), ..Limit::default() });
        let limit = Budget::new(&Limit::default(), &per_call, now).call(now, 40, 40, 2);
        assert_eq!(limit, per_call);
    }
}
