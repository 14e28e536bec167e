//! The seeded evaluator of golden trees.

use super::{by_rules, mix, unit};
use crate::{BestAction, Evaluator, MoveValue, Replies, Request, Value, ready};
use mavis_game::Game;
use mavis_value::{Distribution, N_BUCKETS};
use std::sync::Arc;

/// Values that look random and depend on nothing but the position's key, the move and a seed.
#[derive(Clone, Copy, Debug)]
pub struct Scripted {
    seed: u64,
}

impl Scripted {
    /// The script of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The value of one move: three quarters of the weight on one bucket, the rest on another.
    fn value(self, key: u64, code: u16) -> Value {
        let bits = mix(key.wrapping_add(mix(u64::from(code), 1)), self.seed);
        let bucket = |bits: u64| (unit(bits) * N_BUCKETS as f64) as usize;
        let mut buckets = [0.0; N_BUCKETS];
        buckets[bucket(bits)] += 0.75;
        buckets[bucket(mix(bits, 2))] += 0.25;
        Distribution(buckets).into()
    }
}

impl<G: Game> Evaluator<G> for Scripted {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        let answer = |request| by_rules(request, |state: &G, mv| self.value(state.key(), mv.0));
        ready(requests.iter().map(answer).collect())
    }

    /// A choice that has nothing to do with the values, so that tests can distinguish the two.
    fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
        let draw = |entry: &&MoveValue| mix(state.key() ^ u64::from(entry.mv.0), self.seed.wrapping_add(3));
        let chosen = listed.iter().max_by_key(draw).map(|entry| entry.mv);
        Box::pin(std::future::ready(Ok(chosen)))
    }

    fn describe(&self) -> String {
        format!("scripted, seed {}", self.seed)
    }
}
