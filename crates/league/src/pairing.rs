//! Who meets whom: a pure function of settings and seed, and for adaptive leagues of the results so far.

mod adaptive;

use crate::results::Results;
use crate::seeds::{Purpose, rng};
use crate::wire::{LeagueConfig, ScheduleKind};
use rand::Rng;

/// Two games of one opening with sides swapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairPlan {
    /// Its number, which is also that of its opening; its games are `2 pair` and `2 pair + 1`.
    pub pair: u64,
    /// Has the first side in the first game.
    pub one: usize,
    /// Has the first side in the second game.
    pub two: usize,
}

/// One game to play.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GamePlan {
    /// Its number.
    pub game: u64,
    /// The pair it belongs to.
    pub pair: u64,
    /// Who has the first side.
    pub first: usize,
    /// Who has the second side.
    pub second: usize,
}

impl PairPlan {
    /// The two games.
    #[must_use]
    pub fn games(&self) -> [GamePlan; 2] {
        let game = |k, first, second| GamePlan { game: 2 * self.pair + k, pair: self.pair, first, second };
        [game(0, self.one, self.two), game(1, self.two, self.one)]
    }
}

/// The schedule of a league.
#[derive(Clone, Debug)]
pub struct Schedule {
    kind: ScheduleKind,
    seed: u64,
    n_players: usize,
    n_pairs: u64,
    /// Pairings of one cycle of a round robin or gauntlet.
    cycle: Vec<(usize, usize)>,
    round: u64,
}

impl Schedule {
    /// The schedule of a valid configuration.
    #[must_use]
    pub fn new(config: &LeagueConfig) -> Self {
        let names = config.names();
        let n_players = names.len();
        let cycle = match config.schedule.kind {
            ScheduleKind::RoundRobin => round_robin(n_players),
            ScheduleKind::Gauntlet => {
                let named = |name: &String| names.iter().position(|known| known == name);
                let mut challengers: Vec<usize> =
                    config.schedule.challengers.iter().filter_map(named).collect();
                if challengers.is_empty() {
                    challengers.push(0);
                }
                gauntlet(n_players, &challengers)
            }
            ScheduleKind::Random | ScheduleKind::Adaptive => Vec::new(),
        };
        let n_pairs = config.schedule.pairs.saturating_mul(cycle.len().max(1) as u64);
        let (kind, round) = (config.schedule.kind, config.schedule.round);
        Self { kind, seed: config.seed, n_players, n_pairs, cycle, round }
    }

    /// Opening pairs in the whole league.
    #[must_use]
    pub fn n_pairs(&self) -> u64 {
        self.n_pairs
    }

    /// Games in the whole league.
    #[must_use]
    pub fn n_games(&self) -> u64 {
        self.n_pairs.saturating_mul(2)
    }

    /// The pairs that are known once all pairs before number `from` have been played with these results: all the rest,
    /// or the next round of an adaptive league. Empty at the end.
    #[must_use]
    pub fn next_pairs(&self, from: u64, results: &Results) -> Vec<PairPlan> {
        if self.kind == ScheduleKind::Adaptive {
            let n = self.round.min(self.n_pairs.saturating_sub(from));
            return adaptive::choose(self.n_players, results, from, n);
        }
        (from..self.n_pairs).map(|pair| self.pair(pair)).collect()
    }

    fn pair(&self, pair: u64) -> PairPlan {
        let (one, two) = if self.cycle.is_empty() {
            random_pairing(self.n_players, &mut rng(self.seed, Purpose::Pairing, pair))
        } else {
            // All pairings once, then again: the league can be stopped or extended at any point and stays balanced.
            let (one, two) = self.cycle[(pair % self.cycle.len() as u64) as usize];
            if (pair / self.cycle.len() as u64).is_multiple_of(2) { (one, two) } else { (two, one) }
        };
        PairPlan { pair, one, two }
    }
}

/// Every pairing once, spread by the circle method so that a player does not play all its games in a row.
fn round_robin(n: usize) -> Vec<(usize, usize)> {
    let even = n + n % 2;
    let mut circle: Vec<usize> = (0..even).collect();
    let mut pairings = Vec::new();
    for _ in 1..even {
        for k in 0..even / 2 {
            let (one, two) = (circle[k], circle[even - 1 - k]);
            if one < n && two < n {
                pairings.push((one, two));
            }
        }
        circle[1..].rotate_right(1);
    }
    pairings
}

/// Each challenger against each player who is not one, and challengers among themselves never.
fn gauntlet(n: usize, challengers: &[usize]) -> Vec<(usize, usize)> {
    let others = (0..n).filter(|player| !challengers.contains(player));
    others.flat_map(|other| challengers.iter().map(move |&challenger| (challenger, other))).collect()
}

/// Two different players, every combination as likely, as in the league of paper 001.
fn random_pairing(n: usize, rng: &mut impl Rng) -> (usize, usize) {
    let one = rng.random_range(0..n);
    let two = rng.random_range(0..n - 1);
    (one, if two < one { two } else { two + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn schedule(kind: &str, players: usize, pairs: u64) -> Schedule {
        let mut text =
            format!("name='t'\ngame='connect4'\nseed=3\nschedule={{kind='{kind}',pairs={pairs}}}\n");
        for i in 0..players {
            text.push_str(&format!("[[players]]\nplayer='random'\nname='p{i}'\n"));
        }
        Schedule::new(&LeagueConfig::from_toml(&text).expect("valid"))
    }

    fn meetings(pairs: &[PairPlan]) -> BTreeMap<(usize, usize), usize> {
        let mut table = BTreeMap::new();
        for pair in pairs {
            *table.entry((pair.one.min(pair.two), pair.one.max(pair.two))).or_default() += 1;
        }
        table
    }

    #[test]
    fn round_robin_meets_everyone_equally() {
        for players in 2..8 {
            let pairs = schedule("round-robin", players, 3).next_pairs(0, &Results::default());
            assert_eq!(pairs.len(), 3 * players * (players - 1) / 2);
            let table = meetings(&pairs);
            assert_eq!(table.len(), players * (players - 1) / 2);
            assert!(table.values().all(|&n| n == 3));
        }
    }

    #[test]
    fn gauntlet_and_random_and_extension() {
        let pairs = schedule("gauntlet", 5, 2).next_pairs(0, &Results::default());
        assert_eq!(meetings(&pairs).keys().copied().collect::<Vec<_>>(), [(0, 1), (0, 2), (0, 3), (0, 4)]);
        let short = schedule("random", 4, 600).next_pairs(0, &Results::default());
        let long = schedule("random", 4, 900).next_pairs(0, &Results::default());
        assert_eq!(short, long[..600], "more pairs extend the league");
        let table = meetings(&short);
        assert_eq!(table.len(), 6);
        assert!(table.values().all(|&n| (70..130).contains(&n)), "{table:?}");
        assert!(short.iter().all(|pair| pair.one != pair.two));
    }

    #[test]
    fn sides_are_swapped_within_a_pair() {
        let pair = PairPlan { pair: 7, one: 2, two: 5 };
        let [a, b] = pair.games();
        assert_eq!((a.game, a.first, a.second, b.game, b.first, b.second), (14, 2, 5, 15, 5, 2));
    }
}
