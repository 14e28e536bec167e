//! Who answers, how, and how the answers are gathered and shown.

use crate::commands::{answer, answer_json, note};
use crate::input::OrBadInput;
use crate::{registry, stop};
use anyhow::anyhow;
use clap::Args;
use indicatif::ProgressBar;
use mavis_game::{Game as _, Position};
use mavis_league::metrics::{Metric, metric_table, metrics_json};
use mavis_league::wire::{LimitsConfig, MetricJson};
use mavis_play::{Analysis, Limit, Player, PlayerError, PlayerSpec, Turn};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Threads that ask one model: their questions meet in its batches.
const MODEL_JOBS: usize = 32;

/// Who answers, and how.
#[derive(Args)]
pub(super) struct Asked {
    /// The player: a name with options, as `mavis players` lists them
    #[arg(long, default_value = "mav")]
    pub(super) player: String,
    /// Makes players and positions repeat exactly
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Seconds per move. Default: the player's own limits
    #[arg(long)]
    movetime: Option<f64>,
    /// Positions or simulations per move. Default: the player's own limits
    #[arg(long)]
    nodes: Option<u64>,
    /// Depth in plies. Default: the player's own limits
    #[arg(long)]
    depth: Option<u32>,
    /// Positions evaluated concurrently. Default: 32 for model players, 1 per core for others, 1 with --movetime
    #[arg(long, short, value_parser = crate::input::at_once)]
    jobs: Option<usize>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// What the answers gave, in order, and how many came and were asked for.
pub(super) struct Answers<R> {
    pub(super) list: Vec<R>,
    n_answered: usize,
    n_asked: usize,
}

impl<R> Answers<Option<R>> {
    /// Leaves out the answers that gave nothing to measure.
    pub(super) fn flatten(self) -> Answers<R> {
        let Self { list, n_answered, n_asked } = self;
        Answers { list: list.into_iter().flatten().collect(), n_answered, n_asked }
    }
}

#[derive(Serialize)]
struct Shown {
    player: String,
    n: usize,
    n_asked: usize,
    metrics: Vec<MetricJson>,
}

impl Asked {
    /// Every item's answer, in the order of the items. Each thread has a player of its own, whose randomness starts again with
    /// each item, and a state of the caller's. The first Ctrl-C ends the asking; what was answered still counts.
    pub(super) fn ask_all<T: Sync, S, R: Send>(
        &self,
        items: &[T],
        state: impl Fn() -> S + Sync,
        ask: impl Fn(&mut dyn Player, &mut S, &T, &Limit) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<Answers<R>> {
        let spec: PlayerSpec = self.player.parse().or_bad_input()?;
        let limits = LimitsConfig { time: self.movetime, nodes: self.nodes, depth: self.depth };
        let limit = limits.limit().or_bad_input()?;
        let registry = registry::players();
        let bar = ProgressBar::new(items.len() as u64);
        let n_threads = self.n_threads(&spec).clamp(1, items.len().max(1));
        let (stopped, next, failed) =
            (stop::flag("the positions in hand"), AtomicUsize::new(0), AtomicBool::new(false));
        let work = || -> anyhow::Result<Vec<(usize, R)>> {
            let mut player = registry.build(&spec, self.seed).or_bad_input()?;
            let mut state = state();
            let mut answers = Vec::new();
            while !stopped.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                let idx = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(idx) else { break };
                // The multiplier spreads neighbors over all bits.
                player.reseed(self.seed.wrapping_add((idx as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
                let answer = ask(&mut *player, &mut state, item, &limit);
                failed.fetch_or(answer.is_err(), Ordering::Relaxed);
                answers.push((idx, answer?));
                bar.inc(1);
            }
            Ok(answers)
        };
        let answers = thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
            let mut answers = Vec::with_capacity(items.len());
            for worker in workers {
                answers.extend(worker.join().map_err(|_| anyhow!("the player {} panicked", self.player))??);
            }
            anyhow::Ok(answers)
        });
        bar.finish_and_clear();
        let mut answers = answers?;
        answers.sort_by_key(|(idx, _)| *idx);
        let list: Vec<R> = answers.into_iter().map(|(_, answer)| answer).collect();
        Ok(Answers { n_answered: list.len(), list, n_asked: items.len() })
    }

    fn n_threads(&self, spec: &PlayerSpec) -> usize {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or(match (self.movetime, spec.kind.starts_with("mav")) {
            (_, true) => MODEL_JOBS,
            (Some(_), false) => 1,
            (None, false) => cores,
        })
    }

    /// The metrics as a table or as JSON, from so many answers.
    pub(super) fn show<R>(&self, answers: &Answers<R>, metrics: &[Metric]) -> anyhow::Result<()> {
        let (n, n_answered, n_asked) = (answers.list.len(), answers.n_answered, answers.n_asked);
        if self.json {
            let metrics = metrics_json(metrics);
            return answer_json(&Shown { player: self.player.clone(), n, n_asked, metrics });
        }
        if n_answered < n_asked {
            note(&format!("stopped after {n_answered} of {n_asked}"));
        }
        if n < n_answered {
            let n_without = n_answered - n;
            note(&format!("{n_without} of {n_answered} positions got no value from {}", self.player));
        }
        answer(&metric_table(metrics))
    }
}

/// What a player thinks of every move of a position by itself.
pub(super) fn analyze(
    player: &mut dyn Player,
    position: &Position,
    limit: &Limit,
) -> Result<Analysis, PlayerError> {
    player.new_game(position.rules());
    player.analyze(&mut Turn::alone(position, Limit { lines: u32::MAX, ..limit.clone() }, &mut |_| {}))
}
