//! Elo against agents whose ratings are given.

use mavis_league::{Tally, expected_score, numeric::Estimate};

/// The agents of paper 004 with their ratings in Connect Four, as the specs of our players. Other games use the same scale: only the
/// rise of a curve means something there.
pub const AGENTS: [(&str, f64); 4] =
    [("random", 1000.0), ("lookahead:1", 1183.0), ("lookahead:2", 1501.0), ("lookahead:3", 1603.0)];

/// Half of a 95 % interval in standard deviations.
const DEVIATIONS: f64 = 1.959_964;
/// Where ratings are looked for; beyond it nobody plays.
const RANGE: (f64, f64) = (-3000.0, 6000.0);

/// The rating that explains the points against agents of fixed ratings, with its 95 % interval.
///
/// The estimate gives the points that were made; the ends of the interval are the ratings whose expected points are just 1.96
/// deviations away (Wilson's interval, if there is one agent). A clean sweep counts as half a point short of it, so that
/// all three are finite. Draws make the interval wider than need be. Without games the rating is that of nobody: 0.
#[must_use]
pub fn rating(games: &[(f64, Tally)]) -> Estimate {
    let n: f64 = games.iter().map(|(_, tally)| tally.n_games() as f64).sum();
    if n == 0.0 {
        return Estimate { value: 0.0, low: RANGE.0, high: RANGE.1 };
    }
    let points: f64 = games.iter().map(|(_, tally)| tally.points()).sum();
    let points = points.clamp(0.5, n - 0.5);
    let surplus = |elo: f64, deviations: f64| {
        let (mut expected, mut variance) = (0.0, 0.0);
        for (anchor, tally) in games {
            let p = expected_score(elo - anchor);
            expected += tally.n_games() as f64 * p;
            variance += tally.n_games() as f64 * p * (1.0 - p);
        }
        points - expected - deviations * variance.sqrt()
    };
    let root = |deviations: f64| {
        let (mut low, mut high) = RANGE;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if surplus(middle, deviations) > 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    };
    Estimate { value: root(0.0), low: root(DEVIATIONS), high: root(-DEVIATIONS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(wins: u64, draws: u64, losses: u64) -> Tally {
        Tally { wins, draws, losses }
    }

    #[test]
    fn even_games_give_the_anchor_and_wilsons_interval() {
        let estimate = rating(&[(1501.0, tally(40, 20, 40))]);
        assert!((estimate.value - 1501.0).abs() < 1e-6);
        let wilson = mavis_league::numeric::wilson(50, 100).unwrap();
        let elo = |share: f64| 1501.0 + 400.0 * (share / (1.0 - share)).log10();
        assert!((estimate.low - elo(wilson.low)).abs() < 0.1, "{estimate:?}");
        assert!((estimate.high - elo(wilson.high)).abs() < 0.1, "{estimate:?}");
    }

    #[test]
    fn a_clean_sweep_is_finite_and_more_games_say_more() {
        let few = rating(&[(1000.0, tally(10, 0, 0)), (1603.0, tally(10, 0, 0))]);
        let many = rating(&[(1000.0, tally(200, 0, 0)), (1603.0, tally(200, 0, 0))]);
        assert!(few.low < many.low && few.value < many.value && many.high < 4000.0, "{few:?} {many:?}");
        assert!(rating(&[(1000.0, tally(0, 0, 9))]).value < 700.0);
    }
}
