//! `mavis bench league`: what a league costs beside its engines.

mod bare;
mod model;

use super::usage::Usage;
use crate::commands::{answer, answer_json};
use crate::input::{BadInput, OrBadInput};
use crate::registry;
use bare::Bare;
use clap::Args;
use mavis_league::wire::{LeagueConfig, LeagueStore, PlayerConfig, StoredGame};
use mavis_league::{RunOptions, run};
use mavis_oracle::process::find_engine;
use serde::Serialize;
use std::{fmt, sync::Arc};

/// Measures what a league adds to the engines that play in it: an engine against itself, once through a league and once through bare
/// pipes that repeat the same games.
///
/// The bare loop knows no rules, keeps no clock and writes nothing down: it is the least any match runner can cost. On Linux the
/// processor time of the program and of its engines is counted apart, which a busy machine disturbs less than the clock.
///
/// With --device the bundled model plays itself instead, and the evaluations per second of the league are compared with those of
/// the model alone in batches of the same size, measured in the same run.
///
/// Examples: mavis bench league --games 200 --nodes 2000; mavis bench league --device cuda --games 64 --concurrency 64
#[derive(Args)]
pub(crate) struct BenchLeague {
    /// Measure searches of the bundled model on this device: cpu, cuda, or auto
    #[arg(long)]
    device: Option<String>,
    /// With --device: options of the searches, such as sims=400,batch=16
    #[arg(long, default_value = "sims=400,batch=16", requires = "device")]
    search: String,
    /// With --device: the game
    #[arg(long, default_value = "chess", requires = "device")]
    game: String,
    /// With --device: plies after which a game ends
    #[arg(long, requires = "device")]
    plies: Option<u32>,
    /// A UCI engine
    #[arg(long, default_value = "stockfish")]
    engine: String,
    /// Nodes per move
    #[arg(long, default_value_t = 2000)]
    nodes: u64,
    /// Milliseconds per move, instead of nodes
    #[arg(long, value_name = "MILLISECONDS", conflicts_with = "nodes")]
    movetime: Option<u64>,
    /// Games to play, in pairs from the book of paper 001
    #[arg(long, default_value_t = 40)]
    games: u64,
    /// Concurrent games
    #[arg(long, default_value_t = 2, value_parser = crate::input::at_once)]
    concurrency: usize,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Measured {
    engine: String,
    pace: String,
    concurrency: usize,
    games: usize,
    plies: usize,
    league: Way,
    bare: Way,
    /// Plies per second of the league by those of the bare loop.
    ratio: f64,
    /// Microseconds of the program's own processor time per move, beside those of the bare loop.
    overhead_micros: Option<f64>,
}

/// One way to play the games.
#[derive(Serialize)]
struct Way {
    seconds: f64,
    plies_per_second: f64,
    games_per_minute: f64,
    /// Microseconds of processor time per move: the program's own, and the engines'.
    own_micros: Option<f64>,
    engine_micros: Option<f64>,
    /// Cores kept busy by both, on average.
    cores: Option<f64>,
}

/// What an engine spends on a move.
#[derive(Clone, Copy)]
enum Pace {
    Nodes(u64),
    Milliseconds(u64),
}

impl Pace {
    /// As an option of a player.
    fn option(self) -> String {
        match self {
            Self::Nodes(n) => format!("nodes={n}"),
            Self::Milliseconds(n) => format!("movetime={n}"),
        }
    }

    /// As it is sent to an engine.
    fn go(self) -> String {
        match self {
            Self::Nodes(n) => format!("go nodes {n}"),
            Self::Milliseconds(n) => format!("go movetime {n}"),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(n) => write!(f, "{n} nodes"),
            Self::Milliseconds(n) => write!(f, "{n} ms"),
        }
    }
}

impl BenchLeague {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if self.games == 0 || self.concurrency == 0 {
            return Err(BadInput::new("--games and --concurrency must be at least 1").into());
        }
        if let Some(device) = &self.device {
            let league = model::ModelLeague {
                device: device.parse().or_bad_input()?,
                search: self.search.clone(),
                rules: self.game.parse().or_bad_input()?,
                plies: self.plies,
                games: self.games,
                concurrency: self.concurrency,
            };
            let measured = league.measure()?;
            return if self.json { answer_json(&measured) } else { answer(&measured.text()) };
        }
        let program = find_engine(&self.engine, std::env::var_os("PATH").as_deref()).or_bad_input()?;
        let (games, league) = self.by_league()?;
        let plies = games.iter().map(|game| game.moves.len()).sum();
        let usage = Usage::start();
        let bare = Bare { program, pace: self.pace(), concurrency: self.concurrency };
        let usage = usage.end(&bare.replay(&games)?);
        let (league, bare) = (league.way(plies, games.len()), usage.way(plies, games.len()));
        let measured = Measured {
            engine: self.engine.clone(),
            pace: self.pace().to_string(),
            concurrency: self.concurrency,
            games: games.len(),
            plies,
            ratio: league.plies_per_second / bare.plies_per_second,
            overhead_micros: league.own_micros.zip(bare.own_micros).map(|(league, bare)| league - bare),
            league,
            bare,
        };
        if self.json { answer_json(&measured) } else { answer(&measured.text()) }
    }

    fn pace(&self) -> Pace {
        self.movetime.map_or(Pace::Nodes(self.nodes), Pace::Milliseconds)
    }

    /// Plays the games in a league of its own, in a folder that goes away.
    fn by_league(&self) -> anyhow::Result<(Vec<StoredGame>, Usage)> {
        let folder = std::env::temp_dir().join(format!("mavis-bench-league-{}", std::process::id()));
        let player = |name: &str| PlayerConfig {
            name: Some(name.to_owned()),
            ..PlayerConfig::new(&format!("uci:{{{}}},{}", self.engine, self.pace().option()))
        };
        let mut config = LeagueConfig::new("bench", "chess", vec![player("one"), player("other")]);
        config.openings.book = Some("table4".to_owned());
        config.schedule.pairs = self.games.div_ceil(2);
        config.concurrency = Some(self.concurrency);
        let registry = Arc::new(registry::players());
        let mut usage = Usage::start();
        let played = run(&config, &folder, &folder, &registry, &RunOptions::default(), &mut |_| usage.look());
        let usage = usage.end(&[]);
        let games = LeagueStore::read(&folder);
        // A folder left behind among temporary files does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        played.or_bad_input()?;
        Ok((games.or_bad_input()?.1, usage))
    }
}

impl Usage {
    fn way(&self, plies: usize, games: usize) -> Way {
        let seconds = self.seconds();
        let micros = |processor: Option<f64>| processor.map(|seconds| 1e6 * seconds / plies.max(1) as f64);
        Way {
            seconds,
            plies_per_second: plies as f64 / seconds,
            games_per_minute: 60.0 * games as f64 / seconds,
            own_micros: micros(self.own()),
            engine_micros: micros(self.engines()),
            cores: self.own().zip(self.engines()).map(|(own, engines)| (own + engines) / seconds),
        }
    }
}

impl Measured {
    fn text(&self) -> String {
        let Self { engine, pace, games, plies, concurrency, .. } = self;
        let mut text = format!(
            "{games} games ({plies} plies) of {engine} against itself, {pace} a move, {concurrency} at once\n"
        );
        text.push_str("          plies/s  games/min  own µs/ply  engine µs/ply  cores busy\n");
        let number = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        for (name, way) in [("league", &self.league), ("bare", &self.bare)] {
            text.push_str(&format!(
                "{name:<8} {:>8.0} {:>10.0} {:>11} {:>14} {:>11}\n",
                way.plies_per_second,
                way.games_per_minute,
                number(way.own_micros, 0),
                number(way.engine_micros, 0),
                number(way.cores, 2),
            ));
        }
        text.push_str(&format!("the league plays at {:.1} % of the bare loop's speed", 100.0 * self.ratio));
        if let Some(overhead) = self.overhead_micros {
            text.push_str(&format!(" and adds {overhead:.0} µs of processor time per move"));
        }
        text + "\n"
    }
}
