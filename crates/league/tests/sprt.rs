//! Error rates of the sequential test on simulated matches.

use mavis_game::{Outcome, Side};
use mavis_league::{EloScale, GameResult, Pentanomial, Results, SprtConfig, SprtDecision, SprtError, sprt};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Pairs of a match with a given Elo difference: openings favor one side at random, some games are drawn.
struct Match {
    /// Probability of each pair result.
    cumulative: [f64; 5],
}

impl Match {
    /// `draws`: draw rate of a game; `bias`: how much of the rest the opening's favored side takes.
    fn logistic(elo: f64, draws: f64, bias: f64) -> Self {
        let score = 1.0 / (1.0 + 10f64.powf(-elo / 400.0));
        let edge = score - 0.5;
        let mut p = [0.0; 5];
        for lean in [bias, -bias] {
            // Expected points of the player in its game with the favored and with the other side.
            let game = |lean: f64| {
                let win = 0.5 * (1.0 - draws) * (1.0 + lean) + edge;
                [1.0 - draws - win, draws, win]
            };
            for (i, a) in game(lean).into_iter().enumerate() {
                for (j, b) in game(-lean).into_iter().enumerate() {
                    assert!(a >= 0.0 && b >= 0.0, "impossible case");
                    p[i + j] += 0.5 * a * b;
                }
            }
        }
        let mut sum = 0.0;
        Self {
            cumulative: p.map(|p| {
                sum += p;
                sum
            }),
        }
    }

    /// The same with the difference given in normalized Elo, found by bisection.
    fn normalized(elo: f64, draws: f64, bias: f64) -> Self {
        let unit = 800.0 / std::f64::consts::LN_10;
        // Beyond this the weaker side of an opening would win with a negative probability.
        let most = 0.5 + 0.499 * (1.0 - draws) * (1.0 - bias);
        let limit = 400.0 * (most / (1.0 - most)).log10();
        let (mut low, mut high) = (-limit, limit);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let candidate = Self::logistic(middle, draws, bias);
            let (mean, variance) = candidate.moments();
            if (mean - 0.5) / (2.0 * variance).sqrt() * unit < elo {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self::logistic(0.5 * (low + high), draws, bias)
    }

    fn moments(&self) -> (f64, f64) {
        let p: Vec<f64> =
            (0..5).map(|k| self.cumulative[k] - if k > 0 { self.cumulative[k - 1] } else { 0.0 }).collect();
        let mean: f64 = (0..5).map(|k| p[k] * k as f64 / 4.0).sum();
        (mean, (0..5).map(|k| p[k] * (k as f64 / 4.0 - mean).powi(2)).sum())
    }

    fn pair(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let luck = rng.random::<f64>() * self.cumulative[4];
        self.cumulative.iter().position(|&top| luck < top).unwrap_or(4) as f64 / 2.0
    }

    fn run(&self, config: &SprtConfig, rng: &mut Xoshiro256PlusPlus) -> SprtDecision {
        let mut pairs = Pentanomial::default();
        loop {
            pairs.add(self.pair(rng));
            match sprt(&pairs, config).expect("sensible").decision {
                SprtDecision::Continue if pairs.n_pairs() < 200_000 => {}
                decision => return decision,
            }
        }
    }
}

/// Share of wrong decisions must not exceed the nominal rate beyond chance, nor be far below it.
fn error_rates(n_matches: u64, gap: f64) {
    for scale in [EloScale::Logistic, EloScale::Normalized] {
        for (draws, bias) in [(0.0, 0.0), (0.4, 0.3), (0.85, 0.2), (0.94, 0.0)] {
            // Draw-heavy matches have little spread, so a smaller difference is found in as many pairs.
            let elo1 = match scale {
                EloScale::Logistic => gap * (1.0_f64 - draws).sqrt(),
                EloScale::Normalized => gap,
            };
            let config = SprtConfig { elo0: 0.0, elo1, scale, ..SprtConfig::default() };
            for (truth, wrong, nominal) in
                [(0.0, SprtDecision::AcceptElo1, config.alpha), (elo1, SprtDecision::AcceptElo0, config.beta)]
            {
                let players = match scale {
                    EloScale::Logistic => Match::logistic(truth, draws, bias),
                    EloScale::Normalized => Match::normalized(truth, draws, bias),
                };
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
                let n_wrong =
                    (0..n_matches).filter(|_| players.run(&config, &mut rng) == wrong).count() as f64;
                let rate = n_wrong / n_matches as f64;
                let chance = 3.0 * (nominal * (1.0 - nominal) / n_matches as f64).sqrt();
                assert!(
                    rate <= nominal * 1.1 + chance && rate >= 0.6 * nominal - chance,
                    "{scale} draws {draws} bias {bias} truth {truth}: {rate}"
                );
            }
        }
    }
}

#[test]
fn error_rates_are_nominal() {
    error_rates(150, 40.0);
}

#[test]
#[ignore = "2,000 matches a case; 150 run by default"]
fn error_rates_are_nominal_in_many_matches() {
    error_rates(2000, 20.0);
}

#[test]
fn pairs_are_counted_once_complete() {
    let game = |pair, first, second, outcome| GameResult { first, second, outcome, pair };
    let results = Results {
        players: vec!["new".into(), "old".into(), "other".into()],
        games: vec![
            game(0, 0, 1, Outcome::Win(Side::First)),
            game(1, 0, 1, Outcome::Draw),
            game(0, 1, 0, Outcome::Win(Side::Second)),
            game(2, 0, 2, Outcome::Draw),
            game(3, 1, 0, Outcome::Win(Side::First)),
            game(3, 0, 1, Outcome::Draw),
        ],
    };
    assert_eq!(Pentanomial::of(&results, 0, 1), Pentanomial([0, 1, 0, 0, 1]));
    assert_eq!(Pentanomial::of(&results, 1, 0), Pentanomial([1, 0, 0, 1, 0]));
}

#[test]
fn clear_matches_stop_and_bad_tests_are_refused() {
    let config = SprtConfig::default();
    let state = sprt(&Pentanomial([10, 60, 200, 150, 60]), &config).expect("sensible");
    assert_eq!(state.decision, SprtDecision::AcceptElo1);
    assert!(state.elo.low > 0.0 && state.normalized_elo.value > state.elo.value);
    assert_eq!(sprt(&Pentanomial::default(), &config).expect("sensible").decision, SprtDecision::Continue);
    // Nothing but wins, or nothing but drawn pairs, stays finite.
    for counts in [[0, 0, 0, 0, 30], [0, 0, 500, 0, 0]] {
        for scale in [EloScale::Logistic, EloScale::Normalized] {
            let state = sprt(&Pentanomial(counts), &SprtConfig { scale, ..config }).expect("sensible");
            assert!(state.llr.is_finite(), "{counts:?} {scale}: {state:?}");
        }
    }
    let wrong = SprtConfig { elo0: 5.0, elo1: 0.0, ..config };
    assert!(matches!(sprt(&Pentanomial::default(), &wrong), Err(SprtError::Order { .. })));
    let wrong = SprtConfig { alpha: 0.7, ..config };
    assert!(matches!(sprt(&Pentanomial::default(), &wrong), Err(SprtError::Rate { name: "alpha", .. })));
    assert_eq!("normalized".parse::<EloScale>(), Ok(EloScale::Normalized));
}
