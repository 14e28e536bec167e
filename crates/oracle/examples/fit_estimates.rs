//! Finds the weights of the Othello and Togyz estimates, and plays them against those set by hand.
//!
//!     fit_estimates fit --wthor wthor.tsv                       Othello weights by least squares
//!     fit_estimates tune othello --weights A/B/.. --batches 60  moves weights towards those that win games
//!     fit_estimates tune togyz --batches 100
//!     fit_estimates scale --wthor wthor.tsv --weights A/B/..    scales Othello weights to true discs
//!     fit_estimates match togyz --nodes 5000 --pairs 200        the usual weights (or --weights) against those set by hand
//!
//! (`cargo run --release -p mavis-oracle --example fit_estimates -- ...`; WTHOR is a table `year, black_discs,
//! theoretical_black_discs, theory_empties, moves`, of which the score of perfect play from 24 empty squares is used.)
//! A match plays pairs of games from random openings, each side once with either weights, and gives the share of points with a 95 %
//! interval over pairs. The same numbers give the same weights, however many threads there are.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for a person who reads its output")]

use mavis_game::{Game, Othello, Position, Rules, Side};
use mavis_oracle::othello::{self, OthelloOracle, OthelloSettings, OthelloWeights};
use mavis_oracle::togyz::{self, TogyzOracle, TogyzWeights};
use mavis_oracle::{Effort, Oracle};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What is asked for.
struct FitSettings {
    rules: Rules,
    /// Rounds of tuning, and pairs of games in each.
    batches: u64,
    batch: u64,
    /// Nodes of a search.
    nodes: u64,
    /// Pairs of games of a match.
    pairs: u64,
    seed: u64,
    /// Tuning ends after so long, if not before.
    seconds: u64,
    /// Tournament games.
    wthor: Option<String>,
    /// Weights to begin with or to play with.
    weights: Option<Vec<i32>>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|option| option.strip_prefix("--") == Some(name))?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u64| option(name).map_or(default, |text| text.parse().unwrap());
    let settings = FitSettings {
        rules: arguments.get(1).and_then(|game| game.parse().ok()).unwrap_or(Rules::Othello),
        batches: number("batches", 60),
        batch: number("batch", 64),
        nodes: number("nodes", 300),
        pairs: number("pairs", 100),
        seed: number("seed", 1),
        seconds: number("seconds", u64::MAX),
        wthor: option("wthor"),
        weights: option("weights").map(|text| text.split('/').filter_map(|word| word.parse().ok()).collect()),
    };
    match arguments.first().map(String::as_str) {
        Some("fit") => settings.fit(),
        Some("tune") => settings.tune(),
        Some("scale") => settings.scale(),
        Some("match") => {
            settings.play_match(&settings.weights.clone().unwrap_or_else(|| settings.usual(true)))
        }
        _ => println!("fit, tune, scale or match"),
    }
}

/// A position, as a fit sees it: what each weight counts, and the value in hundredths.
type Sample = (Vec<f64>, f64);

impl FitSettings {
    /// The usual weights, or those set by hand.
    fn usual(&self, fitted: bool) -> Vec<i32> {
        if self.rules == Rules::Othello {
            let weights = if fitted { OthelloWeights::default() } else { OthelloWeights::HAND_SET };
            weights.0.concat()
        } else {
            let weights = if fitted { TogyzWeights::default() } else { TogyzWeights::HAND_SET };
            weights.0.to_vec()
        }
    }

    fn oracle(&self, weights: &[i32]) -> Box<dyn Oracle> {
        let effort = Effort { depth: 60, nodes: self.nodes };
        if self.rules == Rules::Othello {
            let rows = weights.chunks_exact(othello::N_FEATURES).map(|row| row.try_into().unwrap());
            let weights = OthelloWeights(rows.collect::<Vec<_>>().try_into().unwrap());
            Box::new(OthelloOracle::with_weights(OthelloSettings { exact_from: 12, effort }, weights))
        } else {
            Box::new(TogyzOracle::with_weights(effort, TogyzWeights(weights.try_into().unwrap())))
        }
    }

    /// Least squares; every tenth game is kept back to judge the result.
    fn fit(&self) {
        let games = tournament(self.wthor.as_deref().unwrap());
        let mut regression = Regression::new(self.usual(false).len());
        let held: Vec<&Sample> = games.iter().step_by(10).flatten().collect();
        for (_, game) in games.iter().enumerate().filter(|(number, _)| number % 10 != 0) {
            game.iter().for_each(|sample| regression.add(sample));
        }
        let weights = round(&regression.solve());
        println!("{}", joined(&weights));
        for (name, weights) in
            [("fitted", &weights), ("hand-set", &self.usual(false)), ("usual", &self.usual(true))]
        {
            println!(
                "{name}: off by {:.0} hundredths of a disc in {} positions held back",
                off(weights, &held),
                held.len()
            );
        }
    }

    /// Weights that estimate discs: the slope of a line through the origin.
    fn scale(&self) {
        let weights = self.weights.clone().unwrap_or_else(|| self.usual(true));
        let (mut products, mut squares) = (0.0, 0.0);
        for (features, value) in tournament(self.wthor.as_deref().unwrap()).iter().flatten() {
            let estimate = sum(features, &weights);
            products += estimate * value;
            squares += estimate * estimate;
        }
        let slope = products / squares;
        println!(
            "times {slope:.3}: {}",
            joined(&round(&weights.iter().map(|w| slope * f64::from(*w)).collect::<Vec<_>>()))
        );
    }

    /// What the features of positions look like: a random game.
    fn random_game(&self, number: u64) -> Vec<Vec<f64>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(number);
        let (mut position, mut seen) = (Position::start(self.rules), Vec::new());
        while let Some(mv) = position.random_move(random.next_u32()).filter(|_| position.ply() < 400) {
            position.play_unchecked(mv);
            seen.push(design(&position));
        }
        seen
    }

    /// Moves weights towards those that win: pairs of games between weights a little to one side and to the other (simultaneous
    /// perturbation, Spall 1992), in batches, so that threads do not matter. A step is as large for every weight as its effect.
    fn tune(&self) {
        let mut weights: Vec<f64> =
            self.weights.clone().unwrap_or_else(|| self.usual(false)).into_iter().map(f64::from).collect();
        let seen = spread(100, |game| self.random_game(game)).concat();
        let steps: Vec<f64> = (0..weights.len())
            .map(|idx| {
                let squares = seen.iter().map(|features| features[idx].powi(2)).sum::<f64>();
                (100.0 / (squares / seen.len() as f64).sqrt()).min(1000.0)
            })
            .collect();
        println!("steps {:?}", round(&steps));
        let begin = Instant::now();
        for batch in 0..self.batches {
            if begin.elapsed().as_secs() > self.seconds {
                println!("stopped before batch {batch}");
                break;
            }
            let rate = 0.05 / (1.0 + batch as f64 / 40.0).powf(0.6);
            let moves = spread(self.batch, |pair| {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed << 48 ^ batch << 24 ^ pair);
                let signs: Vec<f64> =
                    steps.iter().map(|_| [1.0, -1.0][random.next_u32() as usize % 2]).collect();
                let moved = |by: f64| {
                    let moved =
                        weights.iter().zip(&steps).zip(&signs).map(|((w, step), sign)| w + by * step * sign);
                    round(&moved.collect::<Vec<_>>())
                };
                let [a, b] = self.pair(&moved(1.0), &moved(-1.0), &mut random);
                let won = (a + b) as f64 / 2.0 - 1.0;
                signs.iter().zip(&steps).map(|(sign, step)| rate * won * sign * step).collect::<Vec<f64>>()
            });
            for change in moves {
                weights.iter_mut().zip(change).for_each(|(weight, change)| *weight += change);
            }
            if batch % 20 == 19 {
                println!("batch {batch}: {}", joined(&round(&weights)));
            }
        }
        self.play_match(&round(&weights));
    }

    /// Two games from one random opening, each with other colors: points of the first weights, 0 to 2 a game.
    fn pair(&self, one: &[i32], other: &[i32], random: &mut impl RngCore) -> [usize; 2] {
        let mut players = [self.oracle(other), self.oracle(one)];
        let mut start = Position::start(self.rules);
        for _ in 0..8 {
            start.play_unchecked(start.random_move(random.next_u32()).unwrap());
        }
        [Side::First, Side::Second].map(|side| {
            let mut position = start.clone();
            while position.outcome().is_none() && position.ply() < 400 {
                let player = &mut players[usize::from(position.side_to_move() == side)];
                position.play_unchecked(player.evaluate(&position).unwrap().best().unwrap());
            }
            let winner = position.outcome().and_then(|outcome| outcome.winner());
            winner.map_or(1, |winner| if winner == side { 2 } else { 0 })
        })
    }

    /// Plays weights against those set by hand.
    fn play_match(&self, weights: &[i32]) {
        let hand_set = self.usual(false);
        println!("{}\nagainst {}", self.oracle(weights).identity(), self.oracle(&hand_set).identity());
        let pairs = spread(self.pairs, |pair| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed << 48 ^ 1 << 40 ^ pair);
            self.pair(weights, &hand_set, &mut random)
        });
        let count = |result: usize| pairs.iter().flatten().filter(|points| **points == result).count();
        let points: Vec<f64> = pairs.iter().map(|[a, b]| (a + b) as f64 / 4.0).collect();
        let n = points.len() as f64;
        let share = points.iter().sum::<f64>() / n;
        let variance = points.iter().map(|points| (points - share).powi(2)).sum::<f64>() / (n - 1.0);
        println!(
            "  {} wins, {} draws, {} losses: {:.1} % +- {:.1} % of the points",
            count(2),
            count(1),
            count(0),
            100.0 * share,
            196.0 * (variance / n).sqrt()
        );
    }
}

fn round(weights: &[f64]) -> Vec<i32> {
    weights.iter().map(|weight| weight.round() as i32).collect()
}

/// Does `work` for every number below `n` on all cores; results in order.
fn spread<T: Send>(n: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(u64, T)> = std::thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    number if number < n => done.push((number, work(number))),
                    _ => return done,
                }
            }
        };
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn design(position: &Position) -> Vec<f64> {
    match position {
        Position::Othello(position) => othello::design(position),
        Position::Togyz(position) => togyz::features(position).map(f64::from).to_vec(),
        // Other games have no weights.
        _ => Vec::new(),
    }
}

/// Positions of tournament games down to 24 empty squares, with the score of perfect play from there.
fn tournament(path: &str) -> Vec<Vec<Sample>> {
    let text = std::fs::read_to_string(path).unwrap();
    let game = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let score = 2.0 * fields[2].parse::<f64>().unwrap() - 64.0;
        let (mut position, mut samples) = (Othello::default(), Vec::new());
        for mv in fields[4].as_bytes().chunks(2) {
            if position.is_legal(Othello::PASS) {
                position.play_unchecked(Othello::PASS);
            }
            let Ok(mv) = position.parse_move(std::str::from_utf8(mv).unwrap()) else { break };
            position.play_unchecked(mv);
            if (24..=56).contains(&(position.own() | position.opponent()).count_zeros()) {
                let sign = if position.side_to_move() == Side::First { 100.0 } else { -100.0 };
                samples.push((othello::design(&position), sign * score));
            }
        }
        samples
    };
    text.lines().skip(1).map(game).collect()
}

fn sum(features: &[f64], weights: &[i32]) -> f64 {
    features.iter().zip(weights).map(|(feature, weight)| feature * f64::from(*weight)).sum()
}

/// The root of the mean square of what an estimate misses, in hundredths.
fn off(weights: &[i32], samples: &[&Sample]) -> f64 {
    let squares = samples.iter().map(|(features, value)| (sum(features, weights) - value).powi(2));
    (squares.sum::<f64>() / samples.len() as f64).sqrt()
}

fn joined(weights: &[i32]) -> String {
    weights.iter().map(|weight| format!("{weight}/")).collect()
}

/// Sums of a regression.
struct Regression {
    matrix: Vec<Vec<f64>>,
    right: Vec<f64>,
}

impl Regression {
    fn new(n: usize) -> Self {
        Self { matrix: vec![vec![0.0; n]; n], right: vec![0.0; n] }
    }

    fn add(&mut self, (features, target): &Sample) {
        for (row, a) in features.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            for (column, b) in features.iter().enumerate() {
                self.matrix[row][column] += a * b;
            }
            self.right[row] += a * target;
        }
    }

    /// Gauss elimination with pivots, a touch of ridge for features that hardly ever differ.
    fn solve(mut self) -> Vec<f64> {
        let n = self.right.len();
        for idx in 0..n {
            self.matrix[idx][idx] += 10.0;
        }
        for pivot in 0..n {
            let best = (pivot..n)
                .max_by(|&a, &b| self.matrix[a][pivot].abs().total_cmp(&self.matrix[b][pivot].abs()))
                .unwrap();
            self.matrix.swap(pivot, best);
            self.right.swap(pivot, best);
            for row in (0..n).filter(|row| *row != pivot) {
                let factor = self.matrix[row][pivot] / self.matrix[pivot][pivot];
                for column in 0..n {
                    self.matrix[row][column] -= factor * self.matrix[pivot][column];
                }
                self.right[row] -= factor * self.right[pivot];
            }
        }
        (0..n).map(|idx| self.right[idx] / self.matrix[idx][idx]).collect()
    }
}
