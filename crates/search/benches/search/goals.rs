//! The goals of the search beside what this run reaches: simulations a second of processor time over a free evaluator, the
//! ratio of that time to as many plies of random games in the same run, and the bytes of a node with its moves.
//!
//! Rounds of all rows alternate and the fastest of each counts, so that other work on the machine hits all alike.

use crate::{Clock, mcts::free};
use criterion::{Criterion, measurement::Measurement};
use mavis_game::{Game as _, Position, Rules, for_game};
use mavis_search::{
    Stop,
    mcts::{Settings, search_game},
};
use std::{io::Write, time::Duration};

const ROUNDS: usize = 7;
/// Game, simulations and the least a second on one core.
const GOALS: [(Rules, u32, f64); 2] = [(Rules::Connect4, 100_000, 1e6), (Rules::Chess, 50_000, 3e5)];

pub(crate) fn goals(_: &mut Criterion<Clock>) {
    let mut rows = GOALS.map(|(rules, simulations, goal)| Row {
        rules,
        simulations,
        goal,
        search: Duration::MAX,
        games: Duration::MAX,
        bytes_per_node: 0,
    });
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::round);
    }
    let mut out = std::io::stdout().lock();
    for row in &rows {
        let rate = f64::from(row.simulations) / row.search.as_secs_f64();
        let verdict = if rate >= row.goal { "reached" } else { "missed" };
        // A closed stdout has nobody to tell.
        let _ = writeln!(
            out,
            "goal {}: {:.3} M simulations/s of processor time (goal {:.1} M: {}), {:.2} of the time of as many random \
             plies, {} bytes a node with its moves",
            row.rules,
            rate / 1e6,
            row.goal / 1e6,
            verdict,
            row.search.as_secs_f64() / row.games.as_secs_f64(),
            row.bytes_per_node,
        );
    }
}

struct Row {
    rules: Rules,
    simulations: u32,
    goal: f64,
    search: Duration,
    games: Duration,
    bytes_per_node: usize,
}

impl Row {
    fn round(&mut self) {
        let start = Position::start(self.rules);
        let settings = Settings { simulations: self.simulations, ..Settings::default() };
        let begun = Clock.start();
        let report = for_game!(&start, game => search_game(game, &settings, &Stop::never(), free));
        self.search = self.search.min(Clock.end(begun));
        let begun = Clock.start();
        random_plies(&start, self.simulations);
        self.games = self.games.min(Clock.end(begun));
        self.bytes_per_node = report.counts.bytes / report.counts.nodes.max(1);
    }
}

/// Plays random games until so many plies are made.
fn random_plies(start: &Position, n: u32) {
    let mut random = 1_u32;
    let mut position = start.clone();
    for _ in 0..n {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match position.random_move(random) {
            Some(mv) => position.play_unchecked(mv),
            None => position = start.clone(),
        }
    }
    std::hint::black_box(position.key());
}
