//! Kinds of player over oracles and engines, with their options.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod model;
mod mpc;
mod predictor;
mod remote;

pub use model::{DefaultModel, add_models};
pub use mpc::add_mpc;
pub use predictor::add_predictors;
pub use remote::add_servers;

use crate::{
    BuildError, EngineSpec, GameOracle, Key, Kind, Options, OraclePlayer, Player, Registry, SearchPlayer,
    players::{GtpPlayer, GtpSettings, UciLimits, UciPlayer, UciSettings},
};
use mavis_eval::{Cache, Scripted};
use mavis_game::FromRules;
use mavis_oracle::{
    Effort, OracleEvaluator, engine,
    process::{Patience, find_engine},
};
use mavis_search::mcts::MctsSettings;
use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

/// Positions a search over an oracle remembers; a ranking takes some kilobytes at most.
const REMEMBERED: usize = 20_000;
/// Nodes of an engine per position as an oracle, by default.
const ORACLE_NODES: u64 = 100_000;

/// Adds `oracle` and `oracle-mcts`. Engines are looked up in `search_path` (the variable `PATH`).
pub fn add_oracles(registry: &mut Registry, search_path: Option<OsString>) {
    let path = search_path.clone();
    registry.add(Kind {
        name: "oracle",
        help: "the best oracle of the game: an exact solver for Connect Four, an engine for chess, built-in searches for Othello, Togyz and Hex",
        keys: vec![
            Key::new("argument", "the UCI engine for chess (default stockfish)"),
            Key::new("nodes", "nodes per position, playouts in Hex (default 100000 for engines, 20000 playouts)"),
            Key::new("depth", "depth in plies instead of nodes"),
            Key::new("movetime", "milliseconds per position instead of nodes, engines and Hex only"),
            Key::new("threads", "threads of the engine (default 1)"),
            Key::new("hash", "mebibytes of the engine's hash (default what the nodes can fill)"),
        ],
        open: false,
        build: Box::new(move |options, _| {
            let spec = engine_spec(options, "nodes", &path)?;
            Ok(Box::new(OraclePlayer::new("oracle".to_owned(), GameOracle::new(spec))))
        }),
    });
    let mut keys = vec![
        Key::new("argument", "the UCI engine for chess (default stockfish)"),
        Key::new("oracle_nodes", "nodes per position for the oracle (default 100000 for engines)"),
    ];
    keys.extend(search_keys());
    registry.add(Kind {
        name: "oracle-mcts",
        help: "MCTS over the oracle's values",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let (settings, fixed) = search_settings(options, seed)?;
            let spec = engine_spec(options, "oracle_nodes", &search_path)?;
            let evaluator = Cache::new(OracleEvaluator::new(GameOracle::new(spec)), REMEMBERED);
            let name = search_name("oracle-mcts", &settings, seed);
            let player = SearchPlayer::new(name, Arc::new(evaluator), settings, fixed);
            Ok(Box::new(player))
        }),
    });
}

/// Adds `scripted-mcts`, a search over values that mean nothing: it needs no model, and tries out everything around one.
pub fn add_scripted<G: FromRules>(registry: &mut Registry<G>) {
    registry.add(Kind {
        name: "scripted-mcts",
        help: "MCTS over made-up values, to try a GUI, a league or a clock without a model",
        keys: search_keys().collect(),
        open: false,
        build: Box::new(|options, seed| {
            let (settings, fixed) = search_settings(options, seed)?;
            let name = search_name("scripted-mcts", &settings, seed);
            Ok(Box::new(SearchPlayer::new(name, Arc::new(Scripted::new(seed)), settings, fixed)))
        }),
    });
}

/// Adds engines in child processes: `uci` for chess, `htp` for Hex, `gtp` for any game.
pub fn add_engines(registry: &mut Registry, search_path: Option<OsString>) {
    registry.add(Kind {
        name: "uci",
        help: "a UCI chess engine; any other option is passed on to it",
        keys: vec![
            Key::new("argument", "the engine's program (default stockfish)"),
            Key::new("args", "arguments of the program, separated by spaces"),
            Key::new("nodes", "nodes per move (default 100000 if nothing else limits it)"),
            Key::new("depth", "plies per move"),
            Key::new("movetime", "milliseconds per move"),
            Key::new("skill", "the engine's Skill Level"),
            Key::new("elo", "the engine's UCI_Elo, with UCI_LimitStrength"),
            Key::new("patience", PATIENCE_HELP),
            Key::new("jitter", "share by which the nodes of each move vary at random, 0 to 1 (default 0)"),
        ],
        open: true,
        build: {
            let path = search_path.clone();
            Box::new(move |options, _| uci_player(options, &path))
        },
    });
    for (name, help) in [
        ("htp", "a Hex engine that speaks HTP, such as mohex or wolve"),
        ("gtp", "an engine of any game that speaks GTP, such as another mavis gtp"),
    ] {
        let path = search_path.clone();
        registry.add(Kind {
            name,
            help,
            keys: vec![
                Key::new("argument", "the engine's program"),
                Key::new("args", "arguments of the program, separated by spaces"),
                Key::new("setup", "commands sent after the start, separated by semicolons"),
                Key::new("patience", PATIENCE_HELP),
            ],
            open: false,
            build: Box::new(move |options, _| gtp_player(options, &path)),
        });
    }
}

const PATIENCE_HELP: &str =
    "timeout of an answer in milliseconds beyond its time limit (default 5000, 60000 for the first one)";

/// A patience that is given holds for every answer.
fn patience(options: &mut Options<'_>) -> Result<Patience, BuildError> {
    let given = options.value("patience")?.map(Duration::from_millis);
    Ok(given.map_or_else(Patience::default, Patience::always))
}

fn gtp_player(options: &mut Options<'_>, path: &Option<OsString>) -> Result<Box<dyn Player>, BuildError> {
    let kind = options.kind().to_owned();
    let unavailable = |reason: String| BuildError::Unavailable { player: kind.clone(), reason };
    let program: String =
        options.argument()?.ok_or_else(|| unavailable(format!("expected {kind}:PROGRAM")))?;
    let arguments: Option<String> = options.value("args")?;
    let setup: Option<String> = options.value("setup")?;
    let patience = patience(options)?;
    let split = |text: &Option<String>, at: &[char]| -> Vec<String> {
        let parts = text.iter().flat_map(|text| text.split(at)).map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let settings = GtpSettings {
        program: find_engine(&program, path.as_deref()).map_err(|error| unavailable(error.to_string()))?,
        arguments: split(&arguments, &[' ']),
        preparation: split(&setup, &[';']),
        patience,
        hex_only: kind == "htp",
    };
    let player = GtpPlayer::start(settings).map_err(|error| unavailable(error.to_string()))?;
    Ok(Box::new(player))
}

fn uci_player(options: &mut Options<'_>, path: &Option<OsString>) -> Result<Box<dyn Player>, BuildError> {
    let program = options.argument::<String>()?.unwrap_or_else(|| "stockfish".to_owned());
    let arguments: Option<String> = options.value("args")?;
    let limits = UciLimits {
        nodes: options.positive("nodes")?,
        depth: options.positive("depth")?,
        move_time: options.positive("movetime")?.map(Duration::from_millis),
    };
    let patience = patience(options)?;
    let jitter = options.value::<f64>("jitter")?.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&jitter) {
        return Err(BuildError::value("uci", "jitter", &jitter.to_string()));
    }
    let mut engine_options = Vec::new();
    if let Some(skill) = options.value::<i64>("skill")? {
        engine_options.push(("Skill Level".to_owned(), skill.to_string()));
    }
    if let Some(elo) = options.value::<i64>("elo")? {
        engine_options.push(("UCI_LimitStrength".to_owned(), "true".to_owned()));
        engine_options.push(("UCI_Elo".to_owned(), elo.to_string()));
    }
    let passed_on = options.remaining();
    engine_options.extend(passed_on.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let unavailable = |reason: String| BuildError::Unavailable { player: "uci".to_owned(), reason };
    let settings = UciSettings {
        program: find_engine(&program, path.as_deref()).map_err(|error| unavailable(error.to_string()))?,
        arguments: arguments.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        options: engine_options,
        limits,
        patience,
        jitter,
    };
    let player = UciPlayer::start(settings).map_err(|error| unavailable(error.to_string()))?;
    Ok(Box::new(player))
}

/// The engine behind an oracle; a missing one is an error only where it was named.
fn engine_spec(
    options: &mut Options<'_>,
    nodes_key: &str,
    path: &Option<OsString>,
) -> Result<EngineSpec, BuildError> {
    let named = options.argument::<String>()?;
    let program = named.clone().unwrap_or_else(|| "stockfish".to_owned());
    let program: Result<PathBuf, String> =
        find_engine(&program, path.as_deref()).map_err(|error| error.to_string());
    if let (Some(_), Err(reason)) = (named, &program) {
        return Err(BuildError::Unavailable { player: "oracle".to_owned(), reason: reason.clone() });
    }
    let nodes: Option<u64> = options.positive(nodes_key)?;
    let depth: Option<u32> = if nodes_key == "nodes" { options.positive("depth")? } else { None };
    let time: Option<u64> = if nodes_key == "nodes" { options.positive("movetime")? } else { None };
    let limit = match (time, depth, nodes) {
        (Some(time), ..) => engine::Limit::Time(Duration::from_millis(time)),
        (_, Some(depth), _) => engine::Limit::Depth(depth),
        (.., nodes) => engine::Limit::Nodes(nodes.unwrap_or(ORACLE_NODES)),
    };
    let effort = (nodes.is_some() || depth.is_some())
        .then(|| Effort { depth: depth.unwrap_or(60), nodes: nodes.unwrap_or(u64::MAX) });
    let mut engine_options = Vec::new();
    for (key, name) in [("threads", "Threads"), ("hash", "Hash")] {
        if let Some(number) = options.value::<u64>(key)? {
            engine_options.push((name.to_owned(), number.to_string()));
        }
    }
    Ok(EngineSpec { program, options: engine_options, limit, effort })
}

/// Every option of the search as an option.
pub(crate) fn search_keys() -> impl Iterator<Item = Key> {
    MctsSettings::tunables().into_iter().map(Key::from)
}

/// The settings of a search from its options, and whether the number of simulations was given.
pub(crate) fn search_settings(
    options: &mut Options<'_>,
    seed: u64,
) -> Result<(MctsSettings, bool), BuildError> {
    let mut settings = MctsSettings { seed, ..MctsSettings::default() };
    let mut fixed = false;
    for tunable in MctsSettings::tunables() {
        let Some(text) = options.value::<String>(tunable.name)? else { continue };
        fixed |= tunable.name == "sims";
        settings.set(tunable.name, &text).map_err(|error| BuildError::Unavailable {
            player: options.kind().to_owned(),
            reason: error.to_string(),
        })?;
    }
    Ok((settings, fixed))
}

/// The player's name with what differs from the defaults, the seed aside.
pub(crate) fn search_name(kind: &str, settings: &MctsSettings, seed: u64) -> String {
    let shown =
        MctsSettings { seed: if settings.seed == seed { 0 } else { settings.seed }, ..settings.clone() };
    match shown.to_string() {
        text if text.is_empty() => kind.to_owned(),
        text => format!("{kind}:{text}"),
    }
}
