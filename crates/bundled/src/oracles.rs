//! Oracles by the line that names them.

use crate::Surroundings;
use mavis_game::Rules;
use mavis_net::Device;
use mavis_oracle::connect4::Connect4Solver;
use mavis_oracle::engine::{EngineSettings, Limit, UciOracle};
use mavis_oracle::hex::{HexOracle, HexSettings};
use mavis_oracle::htp::{HtpOracle, HtpQuestion, HtpSettings};
use mavis_oracle::othello::{OthelloOracle, OthelloSettings};
use mavis_oracle::process::find_engine;
use mavis_oracle::syzygy::SyzygyOracle;
use mavis_oracle::togyz::TogyzOracle;
use mavis_oracle::{Effort, Oracle};
use mavis_play::{PlayerOracle, PlayerSpec};
use mavis_probs::NetOracle;
use mavis_stable::seed::hash_bytes;
use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// What `--oracle` takes.
pub const HELP: &str = "Oracles:
  stockfish   Stockfish on PATH: stockfish:nodes=5000 (also depth=N, movetime=MILLISECONDS, and any UCI option by name)
  uci:PROGRAM any UCI engine that knows MultiPV, with the same keys
  syzygy:DIR  chess endings by the Syzygy tables in a folder, or in several joined by ':'
  connect4    the exact Connect Four solver
  othello     alpha-beta, exact near the end: othello:nodes=300000,depth=10,exact_from=16
  togyz       alpha-beta: togyz:nodes=200000,depth=12
  hex         tree search, exact where its solver reaches (up to 11x11): hex:playouts=20000,solver_nodes=200,seed=0
  net:NAME    bundled nets for their game (connect4, hex11, hex7, othello, togyz), by search: net:hex7,sims=400,device=cpu
  net:FILE    the same with nets of `mavis probs train`: net:best.safetensors
  player:LINE a player with a value for every move, such as player:mav-mcts:sims=400 or player:{mav-mcts:sims=400,device=cuda}
  htp:PROGRAM any HTP engine of Hex, by a command of its own: winning=COMMAND lists the winning moves of a color,
              rates=COMMAND moves with their win rates; also args=ARGUMENTS, setup=COMMANDS with ';' between them,
              patience=MILLISECONDS. Example: htp:mavis,args={gtp --game hex --player oracle},rates=mavis-values";

/// A line that names no oracle, or an oracle that is not there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct OracleSpecError(String);

fn fault(reason: impl std::fmt::Display) -> OracleSpecError {
    OracleSpecError(reason.to_string())
}

/// Reads the line of an oracle; without one it is the usual one of the game.
///
/// # Errors
/// When the line is none, or neither is given.
pub fn oracle_spec(line: Option<&str>, rules: Option<Rules>) -> Result<PlayerSpec, OracleSpecError> {
    match (line, rules) {
        (Some(line), _) => line.parse().map_err(fault),
        (None, Some(Rules::Chess | Rules::Chess960)) => "stockfish:nodes=5000".parse().map_err(fault),
        (None, Some(rules)) => rules.name().parse().map_err(fault),
        (None, None) => Err(fault("no position to evaluate, and no --oracle given")),
    }
}

/// Makes oracles that are all alike.
pub struct OracleMaker {
    build: Box<dyn Fn() -> Result<Box<dyn Oracle>, OracleSpecError>>,
}

impl OracleMaker {
    /// Reads the line; without one the oracle is the usual one of the game. Engines are looked up in `search_path`, which has
    /// the form of the variable `PATH`.
    ///
    /// # Errors
    /// When the line names no oracle, an option is wrong, or an engine is missing.
    pub fn new(
        line: Option<&str>,
        rules: Option<Rules>,
        search_path: Option<&OsStr>,
    ) -> Result<Self, OracleSpecError> {
        Self::of_spec(&oracle_spec(line, rules)?, search_path)
    }

    /// The same for a line that was read.
    ///
    /// # Errors
    /// As [`OracleMaker::new`].
    pub fn of_spec(spec: &PlayerSpec, search_path: Option<&OsStr>) -> Result<Self, OracleSpecError> {
        match spec.kind.as_str() {
            "stockfish" => engine("stockfish", spec, search_path),
            "uci" => match &spec.argument {
                Some(program) => engine(program, spec, search_path),
                None => Err(fault("expected uci:PROGRAM")),
            },
            "htp" => htp(spec, search_path),
            "syzygy" => syzygy(spec),
            "net" => net(spec),
            "player" => player(spec, search_path),
            "connect4" => {
                refuse_options(spec)?;
                Ok(Self { build: Box::new(|| Ok(Box::new(Connect4Solver::default()))) })
            }
            "othello" => {
                let mut settings = OthelloSettings::default();
                let OthelloSettings { exact_from, effort } = &mut settings;
                let Effort { depth, nodes } = effort;
                read_numbers(
                    spec,
                    &mut [("exact_from", exact_from), ("depth", depth)],
                    &mut [("nodes", nodes)],
                )?;
                Ok(Self { build: Box::new(move || Ok(Box::new(OthelloOracle::new(settings)))) })
            }
            "togyz" => {
                let mut effort = Effort { depth: 12, nodes: 200_000 };
                let Effort { depth, nodes } = &mut effort;
                read_numbers(spec, &mut [("depth", depth)], &mut [("nodes", nodes)])?;
                Ok(Self { build: Box::new(move || Ok(Box::new(TogyzOracle::new(effort)))) })
            }
            "hex" => {
                let mut settings = HexSettings::default();
                let HexSettings { playouts, solver_nodes, seed, .. } = &mut settings;
                let mut wide = [("solver_nodes", solver_nodes), ("seed", seed)];
                read_numbers(spec, &mut [("playouts", playouts)], &mut wide)?;
                Ok(Self { build: Box::new(move || Ok(Box::new(HexOracle::new(settings)))) })
            }
            other => Err(fault(format!(
                "unknown oracle '{other}' (known: stockfish uci syzygy connect4 othello togyz hex net player htp)"
            ))),
        }
    }

    /// `n` oracles, one for each thread.
    ///
    /// # Errors
    /// When an engine cannot be started.
    pub fn make(&self, n: usize) -> Result<Vec<Box<dyn Oracle>>, OracleSpecError> {
        (0..n).map(|_| (self.build)()).collect()
    }
}

fn engine(
    program: &str,
    spec: &PlayerSpec,
    search_path: Option<&OsStr>,
) -> Result<OracleMaker, OracleSpecError> {
    let path = find_engine(program, search_path).map_err(fault)?;
    let mut limit = None;
    let mut options = Vec::new();
    for (key, value) in &spec.options {
        // To an engine 0 is no limit at all.
        let number = || match value.parse::<u64>() {
            Ok(number @ 1..) => Ok(number),
            _ => Err(fault(format!("bad value '{value}' for {key} (expected a whole number of 1 or more)"))),
        };
        let given = match key.as_str() {
            "nodes" => Limit::Nodes(number()?),
            "depth" => Limit::Depth(number()?.try_into().map_err(fault)?),
            "movetime" => Limit::Time(Duration::from_millis(number()?)),
            _ => {
                options.push((key.clone(), value.clone()));
                continue;
            }
        };
        if limit.replace(given).is_some() {
            return Err(fault("give one of nodes, depth and movetime"));
        }
    }
    let limit = limit.unwrap_or(Limit::Nodes(5_000));
    let settings = EngineSettings { options, ..EngineSettings::new(path, limit) };
    Ok(OracleMaker {
        build: Box::new(move || Ok(Box::new(UciOracle::start(settings.clone()).map_err(fault)?))),
    })
}

fn htp(spec: &PlayerSpec, search_path: Option<&OsStr>) -> Result<OracleMaker, OracleSpecError> {
    let Some(program) = &spec.argument else { return Err(fault("expected htp:PROGRAM")) };
    let mut settings = HtpSettings {
        program: find_engine(program, search_path).map_err(fault)?,
        arguments: Vec::new(),
        preparation: Vec::new(),
        question: HtpQuestion::Rates(String::new()),
        patience: Duration::from_secs(60),
    };
    let mut question = None;
    for (key, value) in &spec.options {
        match key.as_str() {
            "winning" => question = Some(HtpQuestion::WinningMoves(value.clone())),
            "rates" => question = Some(HtpQuestion::Rates(value.clone())),
            "args" => settings.arguments = value.split_whitespace().map(str::to_owned).collect(),
            "setup" => settings.preparation = value.split(';').map(|line| line.trim().to_owned()).collect(),
            "patience" => {
                let bad = |_| fault(format!("bad value '{value}' for {key}"));
                settings.patience = Duration::from_millis(value.parse().map_err(bad)?);
            }
            _ => return Err(fault(format!("the oracle 'htp' takes no '{key}'"))),
        }
    }
    settings.question =
        question.ok_or_else(|| fault("the oracle 'htp' needs winning=COMMAND or rates=COMMAND"))?;
    Ok(OracleMaker {
        build: Box::new(move || Ok(Box::new(HtpOracle::start(settings.clone()).map_err(fault)?))),
    })
}

fn syzygy(spec: &PlayerSpec) -> Result<OracleMaker, OracleSpecError> {
    let Some(argument) = &spec.argument else { return Err(fault("expected syzygy:DIR")) };
    if let Some(key) = spec.options.keys().next() {
        return Err(fault(format!("the oracle 'syzygy' takes no '{key}'")));
    }
    let folders: Vec<_> = std::env::split_paths(argument).collect();
    // The files are shared by all threads.
    let oracle = SyzygyOracle::open(&folders).map_err(fault)?;
    Ok(OracleMaker { build: Box::new(move || Ok(Box::new(oracle.clone()))) })
}

fn net(spec: &PlayerSpec) -> Result<OracleMaker, OracleSpecError> {
    let Some(file) = &spec.argument else { return Err(fault("expected net:NAME or net:FILE")) };
    let (mut simulations, mut device) = (400, Device::Cpu);
    for (key, value) in &spec.options {
        match key.as_str() {
            "sims" => {
                let number: NonZeroU32 =
                    value.parse().map_err(|_| fault(format!("bad value '{value}' for {key}")))?;
                simulations = number.get();
            }
            "device" => device = value.parse().map_err(fault)?,
            _ => return Err(fault(format!("the oracle 'net' takes no '{key}'"))),
        }
    }
    // The nets are shared by all threads.
    let path = Path::new(file);
    let oracle = match crate::NETS.iter().find(|net| net.name == file) {
        Some(net) => NetOracle::from_bytes(path, net.bytes, simulations, device),
        None => NetOracle::load(path, simulations, device),
    };
    let oracle = oracle.map_err(fault)?;
    Ok(OracleMaker { build: Box::new(move || Ok(Box::new(oracle.clone()))) })
}

fn player(spec: &PlayerSpec, search_path: Option<&OsStr>) -> Result<OracleMaker, OracleSpecError> {
    let Some(line) = &spec.argument else { return Err(fault("expected player:LINE")) };
    if let Some(key) = spec.options.keys().next() {
        return Err(fault(format!("expected a player's options in braces: player:{{LINE,{key}=VALUE}}")));
    }
    let line: PlayerSpec = line.parse().map_err(fault)?;
    let registry = crate::players(&Surroundings::new(search_path.map(OsStr::to_owned), None));
    // A table says by which weights it was made: files keep their names when their content changes.
    let files = line.options.values().chain(&line.argument).filter_map(|name| std::fs::read(name).ok());
    let hashes: String = files.map(|bytes| format!(" {:016x}", hash_bytes(0, &bytes))).collect();
    let settings = format!("{line}{hashes}");
    let build = move || -> Result<Box<dyn Oracle>, OracleSpecError> {
        let player = registry.build(&line, 0).map_err(fault)?;
        Ok(Box::new(PlayerOracle::new(player, settings.clone())))
    };
    // What is wrong with the line is said before any work begins.
    build()?;
    Ok(OracleMaker { build: Box::new(build) })
}

/// Reads keys that are numbers; any other is refused.
fn read_numbers(
    spec: &PlayerSpec,
    keys: &mut [(&str, &mut u32)],
    wide_keys: &mut [(&str, &mut u64)],
) -> Result<(), OracleSpecError> {
    if let Some(argument) = &spec.argument {
        return Err(fault(format!("the oracle '{}' takes no '{argument}'", spec.kind)));
    }
    for (key, value) in &spec.options {
        let bad = |_| fault(format!("bad value '{value}' for {key}"));
        if let Some((_, place)) = keys.iter_mut().find(|(name, _)| name == key) {
            **place = value.parse().map_err(bad)?;
        } else if let Some((_, place)) = wide_keys.iter_mut().find(|(name, _)| name == key) {
            **place = value.parse().map_err(bad)?;
        } else {
            return Err(fault(format!("the oracle '{}' takes no '{key}'", spec.kind)));
        }
    }
    Ok(())
}

fn refuse_options(spec: &PlayerSpec) -> Result<(), OracleSpecError> {
    match spec.options.keys().next().or(spec.argument.as_ref()) {
        Some(key) => Err(fault(format!("the oracle '{}' takes no '{key}'", spec.kind))),
        None => Ok(()),
    }
}
