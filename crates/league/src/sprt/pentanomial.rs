//! Counts of pair results.

use crate::results::Results;
use std::collections::BTreeMap;

/// How many opening pairs ended with 0, ½, 1, 1½ and 2 points for the first player of the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pentanomial(pub [u64; 5]);

impl Pentanomial {
    /// Counts the complete pairs of `player` against `opponent`; single games without their counterpart wait.
    #[must_use]
    pub fn of(results: &Results, player: usize, opponent: usize) -> Self {
        let mut open: BTreeMap<u64, f64> = BTreeMap::new();
        let mut counts = Self::default();
        for game in &results.games {
            let (Some(points), Some(_)) = (game.points_of(player), game.points_of(opponent)) else {
                continue;
            };
            match open.remove(&game.pair) {
                Some(other) => counts.add(other + points),
                None => {
                    open.insert(game.pair, points);
                }
            }
        }
        counts
    }

    /// Counts one pair by the first player's points, 0 to 2.
    pub fn add(&mut self, points: f64) {
        self.0[(2.0 * points).round().clamp(0.0, 4.0) as usize] += 1;
    }

    /// The number of pairs.
    #[must_use]
    pub fn n_pairs(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Frequencies with a thousandth of a pair in place of every empty count, so that every logarithm is finite.
    pub(super) fn frequencies(&self) -> [f64; 5] {
        let counts = self.filled();
        let total: f64 = counts.iter().sum();
        counts.map(|count| count / total)
    }

    pub(super) fn filled(&self) -> [f64; 5] {
        self.0.map(|count| if count == 0 { 1e-3 } else { count as f64 })
    }
}
