//! Pairs where they tell most.

use super::PairPlan;
use crate::ratings::knowledge;
use crate::results::Results;

/// The next `n` pairs from number `from` on.
///
/// Each is the pairing whose two games are expected to lower the summed variance of all ratings (about their mean) the
/// most, the pairs chosen just before counted as played. Ties go to the lower numbers, so nothing is random.
pub(super) fn choose(n_players: usize, results: &Results, from: u64, n: u64) -> Vec<PairPlan> {
    let Some(mut knowledge) = knowledge(results) else { return Vec::new() };
    let mut pairs = Vec::new();
    for pair in from..from + n {
        let mut best = (f64::NEG_INFINITY, 0, 1);
        for one in 0..n_players {
            for two in one + 1..n_players {
                let gain = knowledge.gain(one, two);
                if gain > best.0 * (1.0 + 1e-9) || best.0 == f64::NEG_INFINITY {
                    best = (gain, one, two);
                }
            }
        }
        let (_, one, two) = best;
        knowledge.learn(one, two);
        pairs.push(if pair % 2 == 0 {
            PairPlan { pair, one, two }
        } else {
            PairPlan { pair, one: two, two: one }
        });
    }
    pairs
}
