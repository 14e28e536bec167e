//! The goals of the search beside what this run reaches: simulations a second of processor time over a free evaluator, the
//! ratio of that time to as many plies of random games in the same run, and the bytes of a node with its moves.
//!
//! Rounds of all rows alternate and the fastest of each counts, so that other work on the machine hits all alike. With a
//! Python that has `open_spiel` in the variable `OPENSPIEL_PYTHON`, its C++ MCTS bot with random rollouts takes part in the
//! first rounds, for scale.

use crate::{Clock, mcts::free};
use criterion::{Criterion, measurement::Measurement};
use mavis_game::{Game as _, Position, Rules, for_game};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, search_game},
};
use std::{ffi::OsStr, io::Write, process::Command, time::Duration};

const ROUNDS: usize = 7;
/// Rounds in which OpenSpiel takes part; one takes seconds.
const PEER_ROUNDS: usize = 3;
/// What measures it.
const PEER_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/openspiel_mcts.py");
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
        open_spiel: None,
    });
    let python = std::env::var_os("OPENSPIEL_PYTHON");
    for round in 0..ROUNDS {
        rows.iter_mut().for_each(Row::round);
        if let Some(python) = python.as_deref().filter(|_| round < PEER_ROUNDS) {
            rows.iter_mut().for_each(|row| row.ask_open_spiel(python));
        }
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
        if let Some(theirs) = row.open_spiel {
            let times = rate / theirs;
            let _ = writeln!(
                out,
                "  OpenSpiel with rollouts: {theirs:.0} simulations/s, ours {times:.0} times that"
            );
        }
    }
}

struct Row {
    rules: Rules,
    simulations: u32,
    goal: f64,
    search: Duration,
    games: Duration,
    bytes_per_node: usize,
    /// Simulations per second of OpenSpiel's bot, where it takes part.
    open_spiel: Option<f64>,
}

impl Row {
    fn round(&mut self) {
        let start = Position::start(self.rules);
        let settings = MctsSettings { simulations: self.simulations, ..MctsSettings::default() };
        let begun = Clock.start();
        let report = for_game!(&start, game => search_game(game, &settings, &Stop::never(), free));
        self.search = self.search.min(Clock.end(begun));
        let begun = Clock.start();
        random_plies(&start, self.simulations);
        self.games = self.games.min(Clock.end(begun));
        self.bytes_per_node = report.counts.bytes / report.counts.nodes.max(1);
    }

    fn ask_open_spiel(&mut self, python: &OsStr) {
        let asked = Command::new(python).arg(PEER_SCRIPT).arg(self.rules.name()).output();
        let answer = asked.map(|output| String::from_utf8_lossy(&output.stdout).replace(',', ""));
        // The line is: game, number, unit.
        let rate = answer.ok().and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        self.open_spiel = match (self.open_spiel, rate) {
            (Some(a), Some(b)) => Some(f64::max(a, b)),
            (a, b) => a.or(b),
        };
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
