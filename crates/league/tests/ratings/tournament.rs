//! Tournaments with known strengths.

use mavis_game::{Outcome, Side};
use mavis_league::numeric::cumulative_normal;
use mavis_league::{ELO_PER_LOGIT, GameResult, Results};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How players meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Everyone meets everyone in the same number of pairs.
    RoundRobin,
    /// Many players, few pairs each.
    Sparse,
    /// The first player meets all others.
    Gauntlet,
    /// Pairings at random.
    Random,
}

impl Shape {
    pub(crate) const ALL: [Self; 4] = [Self::RoundRobin, Self::Sparse, Self::Gauntlet, Self::Random];
}

/// The truth.
pub(crate) struct Tournament {
    thetas: Vec<f64>,
    gamma: f64,
    nu: f64,
    /// Correlation of the two games of a pair, by a normal copula, so that each game alone follows the model.
    correlation: f64,
    pairings: Vec<(usize, usize)>,
}

impl Tournament {
    pub(crate) fn random(shape: Shape, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9) + 1);
        let n = match shape {
            Shape::RoundRobin => 6,
            Shape::Sparse => 10,
            Shape::Gauntlet => 5,
            Shape::Random => 7,
        };
        let all: Vec<(usize, usize)> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
        let pairings: Vec<(usize, usize)> = match shape {
            Shape::RoundRobin => all.iter().flat_map(|&pairing| [pairing; 12]).collect(),
            Shape::Sparse => all.iter().flat_map(|&pairing| [pairing; 2]).collect(),
            Shape::Gauntlet => (1..n).flat_map(|j| [(0, j); 30]).collect(),
            Shape::Random => (0..250).map(|_| all[rng.random_range(0..all.len())]).collect(),
        };
        Self {
            thetas: (0..n).map(|_| rng.random_range(-1.2..1.2)).collect(),
            gamma: rng.random_range(-0.2..0.6),
            nu: [0.1, 0.7, 2.0, 6.0][rng.random_range(0..4)],
            correlation: rng.random_range(-0.6..0.6),
            pairings,
        }
    }

    pub(crate) fn play(&self, seed: u64) -> Results {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut games = Vec::new();
        for (pair, &(a, b)) in self.pairings.iter().enumerate() {
            let (x, y) = normals(&mut rng);
            let z = self.correlation * x + (1.0 - self.correlation.powi(2)).sqrt() * y;
            for (first, second, luck) in [(a, b, x), (b, a, z)] {
                let outcome = self.outcome(first, second, cumulative_normal(luck));
                games.push(GameResult { first, second, outcome, pair: pair as u64 });
            }
        }
        Results { players: (0..self.thetas.len()).map(|i| format!("p{i}")).collect(), games }
    }

    fn outcome(&self, first: usize, second: usize, luck: f64) -> Outcome {
        let x = self.thetas[first] - self.thetas[second] + self.gamma;
        let [win, draw, _] = chances(x, self.nu);
        if luck < win {
            Outcome::Win(Side::First)
        } else if luck < win + draw {
            Outcome::Draw
        } else {
            Outcome::Win(Side::Second)
        }
    }

    /// True ratings relative to the first player or to the mean.
    pub(crate) fn elos(&self, to_first: bool) -> Vec<f64> {
        let mean = self.thetas.iter().sum::<f64>() / self.thetas.len() as f64;
        let zero = if to_first { self.thetas[0] } else { mean };
        self.thetas.iter().map(|theta| ELO_PER_LOGIT * (theta - zero)).collect()
    }

    pub(crate) fn first_advantage_elo(&self) -> f64 {
        ELO_PER_LOGIT * self.gamma
    }
}

/// Win, draw and loss with logistic expected points and Davidson's draws, by bisection on the win share.
pub(crate) fn chances(x: f64, nu: f64) -> [f64; 3] {
    let expected = 1.0 / (1.0 + (-x).exp());
    let (mut low, mut high) = (-80.0_f64, 80.0_f64);
    let split = |y: f64| {
        let (win, loss) = ((0.5 * y).exp(), (-0.5 * y).exp());
        [win, nu, loss].map(|part| part / (win + nu + loss))
    };
    for _ in 0..100 {
        let y = 0.5 * (low + high);
        let [win, draw, _] = split(y);
        if win + 0.5 * draw < expected {
            low = y;
        } else {
            high = y;
        }
    }
    split(0.5 * (low + high))
}

fn normals(rng: &mut Xoshiro256PlusPlus) -> (f64, f64) {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    let angle = std::f64::consts::TAU * rng.random::<f64>();
    (radius * angle.cos(), radius * angle.sin())
}
