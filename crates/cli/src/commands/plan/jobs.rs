//! The jobs that can be planned: how many items they have, and the command that does some of them.

use super::{
    Job, PlanOptions,
    estimate::number,
    measure::{Sampled, command},
};
use crate::{
    commands::{bench::random_positions, train},
    input::{BadInput, OrBadInput as _},
};
use clap::Args;
use mavis_data::{
    TableReader, TableWriter, sample,
    wire::{Place, PositionRow},
};
use mavis_game::Rules;
use mavis_league::wire::{LeagueConfig, LeagueStore, PlayerConfig};
use mavis_model::{loader::Batches as _, pack::PackedBatch, train::Budget};
use std::{
    collections::HashSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Items of the first part for each core: enough for every thread to have some.
const FIRST_PER_CORE: u64 = 8;
/// Plies of a game in a measurement, which is shorter than a real one.
const PLIES_OF_PART: u32 = 8;
/// Batches whose tokens are counted.
const BATCHES: u64 = 8;

fn n_cores() -> u64 {
    std::thread::available_parallelism().map_or(1, usize::from) as u64
}

/// The words of a command.
fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Plans `mavis data annotate`.
///
/// Example: mavis plan annotate --positions 15000000 --oracle stockfish:nodes=100000 --machine cores=64,count=10
#[derive(Args)]
pub(super) struct PlanAnnotate {
    /// Positions to annotate
    #[arg(long)]
    positions: u64,
    /// The oracle, with its nodes. Default: the usual oracle of the game
    #[arg(long)]
    oracle: Option<String>,
    /// The game, where --input does not give the positions
    #[arg(long, default_value = "chess")]
    game: String,
    /// A table of positions to measure with. Default: positions of random play
    #[arg(long)]
    input: Option<PathBuf>,
    #[command(flatten)]
    options: PlanOptions,
    /// Further options of `mavis data annotate`
    #[arg(last = true)]
    rest: Vec<OsString>,
}

impl PlanAnnotate {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let oracle = self.oracle.as_deref().unwrap_or("the usual oracle");
        let title = format!("annotate by {oracle}");
        let job = Job { title, items: "positions", n_items: self.positions as f64 };
        self.options.run(job, FIRST_PER_CORE * n_cores(), |n, out| {
            let table = out.with_extension("parquet");
            let n_rows = match &self.input {
                Some(input) => some_of(input, &table, n)?,
                None => random_table(rules, &table, n)?,
            };
            let mut arguments = words(&["data", "annotate"]);
            arguments.extend([table.into_os_string(), "--out".into(), out.into()]);
            if let Some(oracle) = &self.oracle {
                arguments.extend(words(&["--oracle", oracle]));
            }
            arguments.extend(self.rest.iter().cloned());
            command(&arguments, n_rows, out)
        })
    }
}

/// Writes some rows of a table of positions; how many there were.
fn some_of(input: &Path, table: &Path, n: u64) -> anyhow::Result<u64> {
    sample::<PositionRow, _>(&[input], table, n, 1).or_bad_input()?;
    let rows = TableReader::<PositionRow>::open(&[table]).or_bad_input()?;
    Ok(rows.count() as u64)
}

/// Writes different positions of random play.
fn random_table(rules: Rules, table: &Path, n: u64) -> anyhow::Result<u64> {
    let (mut writer, mut seen) = (TableWriter::create(table)?, HashSet::new());
    for position in random_positions(rules, n as usize, 1) {
        let place = Place::of(&position, None);
        if seen.insert(place.position.clone()) {
            writer.write(&PositionRow { place, played: None })?;
        }
    }
    writer.finish()?;
    Ok(seen.len() as u64)
}

/// Plans `mavis data selfplay`.
///
/// Example: mavis plan selfplay --games 1000000 --game connect4 -- --random-plies 14
#[derive(Args)]
pub(super) struct PlanSelfplay {
    /// Games to play
    #[arg(long)]
    games: u64,
    /// The game
    #[arg(long)]
    game: String,
    #[command(flatten)]
    options: PlanOptions,
    /// Further options of `mavis data selfplay`
    #[arg(last = true)]
    rest: Vec<OsString>,
}

impl PlanSelfplay {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let title = format!("self-play of {rules}");
        let job = Job { title, items: "games", n_items: self.games as f64 };
        self.options.run(job, FIRST_PER_CORE * n_cores(), |n, out| {
            let mut arguments =
                words(&["data", "selfplay", "--game", &self.game, "-n", &n.to_string(), "--out"]);
            arguments.push(out.into());
            arguments.extend(self.rest.iter().cloned());
            command(&arguments, n, out)
        })
    }
}

/// Plans `mavis data traces`.
///
/// Example: mavis plan traces --roots 1000000 -- data/chess --model bundled
#[derive(Args)]
pub(super) struct PlanTraces {
    /// Roots to search from
    #[arg(long)]
    roots: u64,
    #[command(flatten)]
    options: PlanOptions,
    /// The input, and further options of `mavis data traces`
    #[arg(last = true, required = true)]
    rest: Vec<OsString>,
}

impl PlanTraces {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let job = Job { title: "traces".to_owned(), items: "roots", n_items: self.roots as f64 };
        self.options.run(job, FIRST_PER_CORE * n_cores(), |n, out| {
            let mut arguments = words(&["data", "traces"]);
            arguments.extend(self.rest.iter().cloned());
            arguments.extend(words(&["--roots", &n.to_string(), "--out"]));
            arguments.push(out.into());
            command(&arguments, n, out)
        })
    }
}

/// Plans `mavis league run` by the cost of a ply, which is measured in the first plies of games from random openings.
///
/// Example: mavis plan league --games 28000 --plies 120 --game chess --player mav-mcts:sims=400 --player uci:stockfish,nodes=2000
#[derive(Args)]
pub(super) struct PlanLeague {
    /// Games to play
    #[arg(long)]
    games: u64,
    /// Plies of a game, on average
    #[arg(long)]
    plies: u32,
    /// The game
    #[arg(long)]
    game: String,
    /// The players, with their simulations or nodes; twice for two of them
    #[arg(long, required = true)]
    player: Vec<String>,
    #[command(flatten)]
    options: PlanOptions,
    /// Further options of `mavis league run`
    #[arg(last = true)]
    rest: Vec<OsString>,
}

impl PlanLeague {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let (games, plies) = (self.games as f64, f64::from(self.plies));
        let title =
            format!("league of {} games of {plies} plies, {}", number(games), self.player.join(" and "));
        let job = Job { title, items: "plies", n_items: games * plies };
        let first = 2 * n_cores() * u64::from(PLIES_OF_PART);
        self.options.run(job, first, |n, out| {
            let config = self.config(rules, n);
            let file = out.with_extension("toml");
            std::fs::write(&file, toml::to_string(&config)?)?;
            let mut arguments = words(&["league", "run", "--config"]);
            arguments.extend([file.into_os_string(), "--out".into(), out.into()]);
            arguments.extend(self.rest.iter().cloned());
            let sampled = command(&arguments, n, out)?;
            let games = LeagueStore::read(out).or_bad_input()?.1;
            let items = games.iter().map(|game| game.moves.len() as u64).sum();
            Ok(Sampled { items, ..sampled })
        })
    }

    /// A league of about `n` plies.
    fn config(&self, rules: Rules, n: u64) -> LeagueConfig {
        let second = self.player.get(1).unwrap_or(&self.player[0]);
        let players = [("one", &self.player[0]), ("other", second)];
        let players = players
            .map(|(name, spec)| PlayerConfig { name: Some(name.to_owned()), ..PlayerConfig::new(spec) });
        let mut config = LeagueConfig::new("plan", &rules.to_string(), players.to_vec());
        config.openings.random_plies = (self.plies / 4).min(12);
        config.schedule.pairs = n.div_ceil(2 * u64::from(PLIES_OF_PART));
        config.adjudication.max_plies = Some(PLIES_OF_PART);
        config
    }
}

/// Plans `mavis train mav`.
///
/// Example: mavis plan train --config recipes/first.toml --tokens 2000000000 --per gpu --machine gpus=8
#[derive(Args)]
pub(super) struct PlanTrain {
    /// Settings of the run as TOML
    #[arg(long)]
    config: PathBuf,
    /// Steps to train. Default: those of the settings
    #[arg(long, conflicts_with = "tokens")]
    steps: Option<u64>,
    /// Tokens to train on, instead of steps
    #[arg(long)]
    tokens: Option<u64>,
    /// Overrides a setting, e.g. --set preset=9m
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    #[command(flatten)]
    options: PlanOptions,
}

impl PlanTrain {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (steps, tokens) = self.steps()?;
        let title = format!("train {} on {} tokens a step", self.config.display(), number(tokens));
        let job = Job { title, items: "steps", n_items: steps };
        self.options.run(job, 2, |n, out| {
            let mut arguments = words(&["train", "mav", "--config"]);
            arguments.push(self.config.clone().into_os_string());
            for line in &self.overrides {
                arguments.extend(words(&["--set", line]));
            }
            let budget = format!("budget={{steps={n}}}");
            let measured = ["measure_every=0", "checkpoint_every=0", &budget];
            measured.iter().for_each(|line| arguments.extend(words(&["--set", line])));
            arguments.extend(["--out".into(), out.into()]);
            command(&arguments, n, out)
        })
    }

    /// Steps of the run, and tokens of a step.
    fn steps(&self) -> anyhow::Result<(f64, f64)> {
        let settings = train::read_settings(&self.config, &self.overrides)?;
        settings.network().or_bad_input()?;
        let mixture = train::material(&settings)?.mixture;
        let (mut packed, mut n_tokens) = (PackedBatch::default(), 0);
        for batch in 0..BATCHES {
            mixture.fill(batch, &mut packed)?;
            n_tokens += packed.batch.len();
        }
        let per_step = n_tokens.max(1) as f64 / BATCHES as f64;
        let steps = match (self.tokens, self.steps, settings.run.budget) {
            (Some(tokens), ..) => (tokens as f64 / per_step).ceil(),
            (None, Some(steps), _) | (None, None, Budget::Steps(steps)) => steps as f64,
            (None, None, Budget::Minutes(_)) => {
                let reason = "the settings give minutes, which need no plan; give --steps or --tokens";
                return Err(BadInput::new(reason).into());
            }
        };
        Ok((steps, per_step))
    }
}
