//! What searching in batches costs in strength: each variant plays a match against the same search with one evaluation at
//! a time, at equal simulations.
//!
//! The evaluator plays a few random games for each move (the same for the same position), so this needs no model and no
//! GPU; `recipes/virtual.toml` asks the same of the bundled model.
//!
//! `cargo run --release -p mavis-oracle --example batch_effects -- connect4 100 400 16 batch=16 batch=16,virtual=fixed`:
//! game, simulations, games, random games a move, then settings to compare.

#![allow(clippy::print_stdout, reason = "its output is a table for people")]

use mavis_eval::{EndOrMoves, Evaluation, Evaluator, MoveValue, OneReply, Replies, Request, Value, ready};
use mavis_game::{Game, Move, Outcome, Position, Rules, Side};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Random plies before a game.
const OPENING: usize = 4;

/// Win rates of a few random games, the same for the same position.
struct RandomGames {
    n_games: u32,
    /// Batches that were asked for.
    n_batches: Arc<AtomicU64>,
}

impl RandomGames {
    fn value(&self, position: &Position, mv: Move) -> f32 {
        let mut next = position.clone();
        next.play_unchecked(mv);
        let mut random = generator(next.key());
        let points = (0..self.n_games).map(|_| {
            let outcome = next.clone().playout(u32::MAX, &mut random);
            let winner = outcome.and_then(Outcome::winner);
            winner.map_or(0.5, |side| f32::from(side == position.side_to_move()))
        });
        points.sum::<f32>() / self.n_games as f32
    }
}

impl Evaluator for RandomGames {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let answer = |request: &Request| {
            let failed = || mavis_eval::EvalError::Failed("an illegal move".to_owned());
            let state = request.by_rules().ok_or_else(failed)?;
            let value = |mv: Move| MoveValue { mv, value: Value::certain(self.value(&state, mv)) };
            let content = EndOrMoves::Moves(state.legal_moves().into_iter().map(value).collect());
            Ok(Evaluation { state, content })
        };
        ready(requests.iter().map(answer).collect())
    }

    fn evaluate_each(&self, requests: Vec<Request>) -> Vec<OneReply> {
        self.n_batches.fetch_add(u64::from(!requests.is_empty()), Ordering::Relaxed);
        requests.into_iter().map(|request| self.evaluate_one(request)).collect()
    }

    fn describe(&self) -> String {
        format!("{} random games a move", self.n_games)
    }
}

/// Numbers that follow from a key (xorshift).
fn generator(key: u64) -> impl FnMut() -> u32 {
    let mut bits = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        (bits >> 32) as u32
    }
}

/// A position after a few random moves that is not over.
fn opening(rules: Rules, number: u64) -> Position {
    let mut random = generator(number + 1);
    loop {
        let mut position = Position::start(rules);
        for _ in 0..OPENING {
            if let Some(mv) = position.random_move(random()) {
                position.play_unchecked(mv);
            }
        }
        if position.outcome().is_none() {
            return position;
        }
    }
}

/// What a match has come to.
#[derive(Default)]
struct Match {
    /// Points of the first player, by game.
    points: Vec<f64>,
    n_evaluations: u64,
    n_batches: u64,
    n_moves: u64,
    kept: u64,
    simulations: u64,
}

impl Match {
    /// Plays one game of two searches; the first has the side `first`.
    fn play(&mut self, start: &Position, first: Side, mut searches: [Search; 2], n_batches: &AtomicU64) {
        let mut position = start.clone();
        while position.outcome().is_none() && !position.claimable_draw() {
            let player = usize::from(position.side_to_move() != first);
            let search = &mut searches[player];
            search.set_position(position.clone());
            let before = n_batches.load(Ordering::Relaxed);
            let Ok(report) = search.run_blocking(&Stop::never()) else { break };
            if player == 0 {
                self.n_moves += 1;
                self.n_batches += n_batches.load(Ordering::Relaxed) - before;
                self.n_evaluations += u64::from(report.counts.evaluations);
                self.kept += u64::from(report.counts.kept);
                self.simulations += u64::from(report.counts.simulations);
            }
            let Some(mv) = report.best else { break };
            position.play_unchecked(mv);
        }
        let winner = position.outcome().and_then(Outcome::winner);
        self.points.push(winner.map_or(0.5, |side| f64::from(u8::from(side == first))));
    }

    /// Elo of the first player with its 95 % interval, by pairs of games.
    fn elo(&self) -> (f64, f64) {
        let pairs: Vec<f64> = self.points.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        let n = pairs.len() as f64;
        let mean = pairs.iter().sum::<f64>() / n;
        let variance = pairs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let elo = |score: f64| -400.0 * (1.0 / score.clamp(1e-3, 1.0 - 1e-3) - 1.0).log10();
        let error = 1.96 * (variance / n).sqrt();
        (elo(mean), (elo(mean + error) - elo(mean - error)) / 2.0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [game, simulations, games, n_games, specs @ ..] = &arguments[..] else {
        return Err("expected GAME SIMULATIONS GAMES RANDOM_GAMES SETTINGS...".into());
    };
    let rules: Rules = game.parse()?;
    let n_batches = Arc::new(AtomicU64::new(0));
    let evaluator: Arc<dyn Evaluator> =
        Arc::new(RandomGames { n_games: n_games.parse()?, n_batches: n_batches.clone() });
    let base: MctsSettings = format!("sims={simulations},batch=1").parse()?;
    let n_games: u64 = games.parse()?;
    println!("{rules}, {simulations} simulations, {n_games} games each against batch=1");
    for spec in specs {
        let settings: MctsSettings = format!("sims={simulations},{spec}").parse()?;
        let mut played = Match::default();
        for number in 0..n_games {
            let start = opening(rules, number / 2);
            let side = if number % 2 == 0 { start.side_to_move() } else { start.side_to_move().other() };
            let search = |settings: &MctsSettings, seed| {
                let settings = MctsSettings { seed: 2 * number + seed, ..settings.clone() };
                Search::new(start.clone(), evaluator.clone(), settings)
            };
            played.play(&start, side, [search(&settings, 0), search(&base, 1)], &n_batches);
        }
        let (elo, error) = played.elo();
        println!(
            "| `{spec}` | {elo:+.0} ± {error:.0} | {:.1} evaluations a move in batches of {:.1} | {:.1} % saved |",
            played.n_evaluations as f64 / played.n_moves as f64,
            played.n_evaluations as f64 / played.n_batches as f64,
            100.0 * played.kept as f64 / (played.kept + played.simulations).max(1) as f64,
        );
    }
    Ok(())
}
