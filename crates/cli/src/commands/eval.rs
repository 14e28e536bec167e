//! `mavis eval`: single answers of a player against known ones.

use super::{answer, answer_json};
use crate::{
    input::{BadInput, OrBadInput},
    registry,
};
use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use mavis_data::import::Source;
use mavis_game::{Game as _, Position, Rules};
use mavis_league::metrics::{
    Bands, Metric, Puzzle, metric_table, metrics_json, puzzles, read_puzzles, solve_puzzle, solver,
    solver_sample,
};
use mavis_league::wire::{LimitsConfig, MetricJson};
use mavis_league::{BookError, Openings};
use mavis_oracle::connect4::Connect4Solver;
use mavis_play::{Limit, Player, PlayerSpec};
use serde::Serialize;
use std::{io::BufRead, path::PathBuf, thread};

/// Measures a player on positions with known answers; every number comes with its 95 % interval.
#[derive(Subcommand)]
pub(crate) enum Eval {
    Puzzles(Puzzles),
    Solver(Solver),
}

/// Lets a player solve chess puzzles: the whole solution must be played, other mates count.
///
/// The file has Lichess' form: a header that names the columns FEN and Moves, and Rating if there is one; .gz, .zst and .bz2 are
/// read as they are.
///
/// Example: mavis eval puzzles --input lichess_puzzles.csv.gz --limit 500
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Puzzles {
    #[command(flatten)]
    asked: Asked,
    /// The file of puzzles
    #[arg(long)]
    input: PathBuf,
    /// Only the first puzzles of the file
    #[arg(long)]
    limit: Option<usize>,
}

/// Compares a player's moves in Connect Four with the exact solver, by ply.
///
/// Positions come from random play that has not ended, evenly over the plies.
///
/// Example: mavis eval solver --player mcts:sims=1000 --positions 300
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Solver {
    #[command(flatten)]
    asked: Asked,
    /// How many positions
    #[arg(long, default_value_t = 200)]
    positions: u64,
    /// Stones on the emptiest boards; the solver takes long below 10
    #[arg(long, default_value_t = 12)]
    from_ply: u32,
    /// Stones on the fullest boards
    #[arg(long, default_value_t = 32)]
    to_ply: u32,
}

/// Who answers, and how.
#[derive(Args)]
struct Asked {
    /// The player
    #[arg(long, default_value = "mav")]
    player: String,
    /// Makes players and positions repeat exactly
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds a move; the player's own limits if none is given
    #[arg(long)]
    movetime: Option<f64>,
    /// Positions or simulations a move
    #[arg(long)]
    nodes: Option<u64>,
    /// Plies of depth
    #[arg(long)]
    depth: Option<u32>,
    /// Players at work, one a thread
    #[arg(long, short, default_value_t = 1)]
    jobs: usize,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    player: String,
    n: usize,
    metrics: Vec<MetricJson>,
}

impl Eval {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Puzzles(command) => command.run(),
            Self::Solver(command) => command.run(),
        }
    }
}

impl Puzzles {
    fn run(self) -> anyhow::Result<()> {
        let list = self.read()?;
        let results = self.asked.ask_all(
            &list,
            || (),
            |player, (), puzzle, limit| {
                solve_puzzle(player, puzzle, limit).with_context(|| format!("puzzle {}", puzzle.id))
            },
        )?;
        self.asked.show(results.len(), &puzzles(&results))
    }

    fn read(&self) -> Result<Vec<Puzzle>, BadInput> {
        let path = self.input.display();
        let unreadable = |error: std::io::Error| BadInput::new(format!("cannot read {path}: {error}"));
        // Lichess' file has millions of lines; those beyond the limit are never read.
        let n_lines = self.limit.map_or(usize::MAX, |limit| limit.saturating_add(1));
        let mut text = String::new();
        for line in Source::open(&self.input).map_err(unreadable)?.lines().take(n_lines) {
            text.push_str(&line.map_err(unreadable)?);
            text.push('\n');
        }
        let list = read_puzzles(&text).map_err(|error| BadInput::new(format!("{path}: {error}")))?;
        if list.is_empty() {
            return Err(BadInput::new(format!("{path} holds no puzzle")));
        }
        Ok(list)
    }
}

impl Solver {
    fn run(self) -> anyhow::Result<()> {
        if self.from_ply > self.to_ply || self.to_ply > 41 {
            let (from, to) = (self.from_ply, self.to_ply);
            return Err(BadInput::new(format!("no plies from {from} to {to} (at most 41)")).into());
        }
        let positions = self.draw()?;
        let samples =
            self.asked.ask_all(&positions, Connect4Solver::default, |player, exact, position, limit| {
                solver_sample(player, exact, position, limit).with_context(|| format!("position {position}"))
            })?;
        let samples: Vec<_> = samples.into_iter().flatten().collect();
        self.asked.show(samples.len(), &solver(&samples, &Bands::every(6.0, 0.0, 42.0)))
    }

    fn draw(&self) -> Result<Vec<Position>, BookError> {
        let n_plies = u64::from(self.to_ply - self.from_ply) + 1;
        let mut positions = Vec::new();
        for number in 0..self.positions {
            let ply = self.from_ply + (number % n_plies) as u32;
            let opening = Openings::new(Rules::Connect4, self.asked.seed, None, true, ply).opening(number)?;
            let position = opening.position(Rules::Connect4)?;
            // Where random play always ends before that ply, the opening is the empty board.
            if position.ply() == ply {
                positions.push(position);
            }
        }
        Ok(positions)
    }
}

impl Asked {
    /// Every item's answer. Each thread has a player of its own with a seed of its own, and a state of the caller's.
    fn ask_all<T: Sync, S, R: Send>(
        &self,
        items: &[T],
        state: impl Fn() -> S + Sync,
        ask: impl Fn(&mut dyn Player, &mut S, &T, &Limit) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<Vec<R>> {
        let spec: PlayerSpec = self.player.parse().or_bad_input()?;
        let limits = LimitsConfig { time: self.movetime, nodes: self.nodes, depth: self.depth };
        let limit = limits.limit().or_bad_input()?;
        let registry = registry::players();
        let bar = ProgressBar::new(items.len() as u64);
        let n_threads = self.jobs.clamp(1, items.len().max(1));
        let work = |thread: usize| -> anyhow::Result<Vec<R>> {
            let mut player = registry.build(&spec, self.seed.wrapping_add(thread as u64)).or_bad_input()?;
            let mut state = state();
            let mut answers = Vec::new();
            for item in items.iter().skip(thread).step_by(n_threads) {
                answers.push(ask(&mut *player, &mut state, item, &limit)?);
                bar.inc(1);
            }
            Ok(answers)
        };
        let answers = thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..n_threads).map(|thread| scope.spawn(move || work(thread))).collect();
            let mut answers = Vec::with_capacity(items.len());
            for worker in workers {
                answers.extend(worker.join().map_err(|_| anyhow!("the player {} panicked", self.player))??);
            }
            Ok(answers)
        });
        bar.finish_and_clear();
        answers
    }

    fn show(&self, n: usize, metrics: &[Metric]) -> anyhow::Result<()> {
        if self.json {
            let metrics = metrics_json(metrics);
            return answer_json(&Shown { player: self.player.clone(), n, metrics });
        }
        answer(&metric_table(metrics))
    }
}
