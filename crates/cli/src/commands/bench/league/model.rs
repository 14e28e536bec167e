//! Searches of the bundled model in many games at once, beside the model alone.

use super::super::usage::Usage;
use crate::bundled;
use crate::input::{BadInput, OrBadInput};
use mavis_game::{Game as _, Position, Rules};
use mavis_league::wire::{LeagueConfig, LeagueStore, PlayerConfig, StoredGame};
use mavis_league::{RunOptions, run};
use mavis_model::{decode::MavDecoder, measure::evaluations_per_second};
use mavis_net::{Device, Precision};
use mavis_play::{Registry, add_models};
use serde::Serialize;
use std::{sync::Arc, time::Duration};

/// How long the model alone is measured.
const ALONE: Duration = Duration::from_secs(3);
/// Plies of the games that are played before the clock starts. A GPU prepares a pass of a size when it first comes, which takes many times as
/// long as the pass, and a search comes to dozens of sizes.
const WARM_UP: u32 = 1;
const WARM_UP_ON_GPU: u32 = 40;
/// Most positions of the games that the model alone evaluates.
const POSITIONS: usize = 256;

/// A league of the bundled model against itself.
pub(super) struct ModelLeague {
    pub(super) device: Device,
    pub(super) search: String,
    pub(super) rules: Rules,
    pub(super) plies: Option<u32>,
    pub(super) games: u64,
    pub(super) concurrency: usize,
}

/// What was measured.
#[derive(Serialize)]
pub(super) struct Measured {
    device: String,
    player: String,
    game: String,
    games: usize,
    concurrency: usize,
    plies: usize,
    seconds: f64,
    /// Evaluations per second of all games together.
    evaluations_per_second: f64,
    /// Evaluations of a pass, on average.
    batch: f64,
    /// Microseconds of a pass in the league, its packing and the way of its logits included, on average.
    pass_micros: f64,
    /// Passes under way at any time, on average: below 1 the device waits for the searches.
    passes_under_way: f64,
    /// Cores kept busy, on average.
    cores: Option<f64>,
    /// The share of simulations that kept trees saved.
    share_saved: f64,
    /// Evaluations per second of the model alone in batches of that size, of positions of the games.
    alone_per_second: f64,
    /// Microseconds of such a batch with the model alone.
    alone_micros: f64,
    /// The league's by those of the model alone.
    ratio: f64,
}

impl ModelLeague {
    pub(super) fn measure(&self) -> anyhow::Result<Measured> {
        let device = self.device.resolved().or_bad_input()?;
        let spec = format!("mav-mcts:{},device={device}", self.search);
        let mut registry = Registry::default();
        let counter = add_models(&mut registry, bundled::model);
        // Loaded and asked once before the clock starts, and kept, so that the games find it.
        let mut keeper = registry.build(&spec.parse().or_bad_input()?, 0).or_bad_input()?;
        keeper.ready_for(self.rules).or_bad_input()?;
        let registry = Arc::new(registry);
        let warm_up = if device == Device::Cuda { WARM_UP_ON_GPU } else { WARM_UP };
        self.play(&spec, &registry, self.concurrency as u64, Some(warm_up))?;
        let before = counter.passes();
        let usage = Usage::start();
        let games = self.play(&spec, &registry, self.games, self.plies)?;
        let usage = usage.end(&[]);
        let passes = counter.passes();
        drop(keeper);
        let n_requests = (passes.requests - before.requests) as f64;
        let n_passes = (passes.passes - before.passes).max(1) as f64;
        let batch = n_requests / n_passes;
        let busy = passes.busy.saturating_sub(before.busy).as_secs_f64();
        let mut decoder =
            MavDecoder::open(&bundled::model().map_err(BadInput::new)?, Precision::default(), device)?;
        let n = (batch.round() as usize).max(1);
        let alone_per_second =
            evaluations_per_second(&mut decoder, &positions(self.rules, &games), n, ALONE)?;
        let moves = || games.iter().flat_map(|game| &game.moves);
        let (made, kept) = moves().fold((0, 0), |(made, kept), mv| (made + mv.nodes, kept + mv.kept));
        let rate = n_requests / usage.seconds();
        Ok(Measured {
            device: device.to_string(),
            player: spec,
            game: self.rules.to_string(),
            games: games.len(),
            concurrency: self.concurrency,
            plies: moves().count(),
            seconds: usage.seconds(),
            evaluations_per_second: rate,
            batch,
            pass_micros: 1e6 * busy / n_passes,
            passes_under_way: busy / usage.seconds(),
            cores: usage.own().map(|seconds| seconds / usage.seconds()),
            share_saved: kept as f64 / (made + kept).max(1) as f64,
            alone_per_second,
            alone_micros: 1e6 * n as f64 / alone_per_second,
            ratio: rate / alone_per_second,
        })
    }

    /// Plays games in a folder that goes away.
    fn play(
        &self,
        spec: &str,
        registry: &Arc<Registry>,
        games: u64,
        plies: Option<u32>,
    ) -> anyhow::Result<Vec<StoredGame>> {
        let folder = std::env::temp_dir().join(format!("mavis-bench-model-league-{}", std::process::id()));
        let player = |name: &str| PlayerConfig { name: Some(name.to_owned()), ..PlayerConfig::new(spec) };
        let mut config =
            LeagueConfig::new("bench", &self.rules.to_string(), vec![player("one"), player("other")]);
        config.openings.random_plies = 4;
        config.schedule.pairs = games.div_ceil(2);
        config.concurrency = Some(self.concurrency);
        config.adjudication.max_plies = plies;
        let played = run(&config, &folder, &folder, registry, &RunOptions::default(), &mut |_| {});
        let games = LeagueStore::read(&folder);
        // A folder left behind among temporary files does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        played.or_bad_input()?;
        Ok(games.or_bad_input()?.1)
    }
}

/// Positions of the games, spread over them.
fn positions(rules: Rules, games: &[StoredGame]) -> Vec<Position> {
    let mut all = Vec::new();
    for game in games {
        let start = match &game.start {
            Some(text) => Position::parse(rules, text),
            None => Ok(Position::start(rules)),
        };
        let Ok(mut position) = start else { continue };
        let played = game.moves.iter().map(|mv| &mv.text);
        for text in game.opening.iter().chain(played) {
            all.push(position.clone());
            if position.play_text(text).is_err() {
                break;
            }
        }
    }
    let step = all.len().div_ceil(POSITIONS).max(1);
    let mut spread: Vec<Position> = all.into_iter().step_by(step).collect();
    if spread.is_empty() {
        spread.push(Position::start(rules));
    }
    spread
}

impl Measured {
    pub(super) fn text(&self) -> String {
        let cores = self.cores.map_or("-".to_owned(), |cores| format!("{cores:.1}"));
        format!(
            "{} games ({} plies) of {} in {}, {} at once, {:.1} s, {cores} cores busy\n\
             league       {:>10.0} evaluations/s in batches of {:.1}, {:.1} % of the simulations saved by kept trees\n\
             passes       {:>10.0} µs each, {:.2} under way on average\n\
             model alone  {:>10.0} evaluations/s in batches of the same size, {:.0} µs each\n\
             the league reaches {:.1} % of the model alone\n",
            self.games,
            self.plies,
            self.player,
            self.game,
            self.concurrency,
            self.seconds,
            self.evaluations_per_second,
            self.batch,
            100.0 * self.share_saved,
            self.pass_micros,
            self.passes_under_way,
            self.alone_per_second,
            self.alone_micros,
            100.0 * self.ratio,
        )
    }
}
