//! Oracles by the line that names them.

use crate::input::{BadInput, OrBadInput};
use mavis_game::Rules;
use mavis_oracle::connect4::Connect4Solver;
use mavis_oracle::engine::{EngineSettings, Limit, UciOracle};
use mavis_oracle::hex::{HexOracle, HexSettings};
use mavis_oracle::htp::{HtpOracle, HtpQuestion, HtpSettings};
use mavis_oracle::othello::{OthelloOracle, OthelloSettings};
use mavis_oracle::process::find_engine;
use mavis_oracle::syzygy::SyzygyOracle;
use mavis_oracle::togyz::TogyzOracle;
use mavis_oracle::{Effort, Oracle};
use mavis_play::PlayerSpec;
use std::time::Duration;

/// What `--oracle` takes.
pub(crate) const HELP: &str = "Oracles:
  stockfish   Stockfish on PATH: stockfish:nodes=5000 (also depth=N, movetime=MILLISECONDS, and any UCI option by name)
  uci:PROGRAM any UCI engine that knows MultiPV, with the same keys
  syzygy:DIR  chess endings by the Syzygy tables in a folder, or in several joined by ':'
  connect4    the exact Connect Four solver
  othello     alpha-beta, exact near the end: othello:nodes=300000,depth=10,exact_from=16
  togyz       alpha-beta: togyz:nodes=200000,depth=12
  hex         tree search, exact where its solver reaches (up to 11x11): hex:playouts=20000,solver_nodes=200,seed=0
  htp:PROGRAM any HTP engine of Hex, by a command of its own: winning=COMMAND lists the winning moves of a color,
              rates=COMMAND moves with their win rates; also args=ARGUMENTS, setup=COMMANDS with ';' between them,
              patience=MILLISECONDS. Example: htp:mavis,args={gtp --game hex --player oracle},rates=mavis-values";

/// Makes oracles that are all alike.
pub(crate) struct OracleMaker {
    build: Box<dyn Fn() -> Result<Box<dyn Oracle>, BadInput>>,
}

impl OracleMaker {
    /// Reads the line; without one the oracle is the usual one of the game.
    pub(crate) fn new(line: Option<&str>, rules: Option<Rules>) -> Result<Self, BadInput> {
        let spec: PlayerSpec = match (line, rules) {
            (Some(line), _) => line.parse().or_bad_input()?,
            (None, Some(Rules::Chess | Rules::Chess960)) => "stockfish:nodes=5000".parse().or_bad_input()?,
            (None, Some(rules)) => rules.name().parse().or_bad_input()?,
            (None, None) => return Err(BadInput::new("no position to judge, and no --oracle given")),
        };
        match spec.kind.as_str() {
            "stockfish" => engine("stockfish".to_owned(), &spec),
            "uci" => match &spec.argument {
                Some(program) => engine(program.clone(), &spec),
                None => Err(BadInput::new("expected uci:PROGRAM")),
            },
            "htp" => htp(&spec),
            "syzygy" => syzygy(&spec),
            "connect4" => {
                refuse_options(&spec)?;
                Ok(Self { build: Box::new(|| Ok(Box::new(Connect4Solver::default()))) })
            }
            "othello" => {
                let mut settings = OthelloSettings::default();
                let OthelloSettings { exact_from, effort } = &mut settings;
                let Effort { depth, nodes } = effort;
                read_numbers(
                    &spec,
                    &mut [("exact_from", exact_from), ("depth", depth)],
                    &mut [("nodes", nodes)],
                )?;
                Ok(Self { build: Box::new(move || Ok(Box::new(OthelloOracle::new(settings)))) })
            }
            "togyz" => {
                let mut effort = Effort { depth: 12, nodes: 200_000 };
                let Effort { depth, nodes } = &mut effort;
                read_numbers(&spec, &mut [("depth", depth)], &mut [("nodes", nodes)])?;
                Ok(Self { build: Box::new(move || Ok(Box::new(TogyzOracle::new(effort)))) })
            }
            "hex" => {
                let mut settings = HexSettings::default();
                let HexSettings { playouts, solver_nodes, seed } = &mut settings;
                let mut wide = [("solver_nodes", solver_nodes), ("seed", seed)];
                read_numbers(&spec, &mut [("playouts", playouts)], &mut wide)?;
                Ok(Self { build: Box::new(move || Ok(Box::new(HexOracle::new(settings)))) })
            }
            other => Err(BadInput::new(format!(
                "unknown oracle '{other}' (known: stockfish uci syzygy connect4 othello togyz hex htp)"
            ))),
        }
    }

    /// One oracle a thread.
    pub(crate) fn make(&self, n: usize) -> Result<Vec<Box<dyn Oracle>>, BadInput> {
        (0..n).map(|_| (self.build)()).collect()
    }
}

fn engine(program: String, spec: &PlayerSpec) -> Result<OracleMaker, BadInput> {
    let path = find_engine(&program, std::env::var_os("PATH").as_deref()).or_bad_input()?;
    let mut limit = None;
    let mut options = Vec::new();
    for (key, value) in &spec.options {
        let number =
            || value.parse::<u64>().map_err(|_| BadInput::new(format!("bad value '{value}' for {key}")));
        let given = match key.as_str() {
            "nodes" => Limit::Nodes(number()?),
            "depth" => Limit::Depth(number()?.try_into().or_bad_input()?),
            "movetime" => Limit::Time(Duration::from_millis(number()?)),
            _ => {
                options.push((key.clone(), value.clone()));
                continue;
            }
        };
        if limit.replace(given).is_some() {
            return Err(BadInput::new("give one of nodes, depth and movetime"));
        }
    }
    let limit = limit.unwrap_or(Limit::Nodes(5_000));
    let settings = EngineSettings { options, ..EngineSettings::new(path, limit) };
    Ok(OracleMaker {
        build: Box::new(move || Ok(Box::new(UciOracle::start(settings.clone()).or_bad_input()?))),
    })
}

fn htp(spec: &PlayerSpec) -> Result<OracleMaker, BadInput> {
    let Some(program) = &spec.argument else { return Err(BadInput::new("expected htp:PROGRAM")) };
    let mut settings = HtpSettings {
        program: find_engine(program, std::env::var_os("PATH").as_deref()).or_bad_input()?,
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
                let bad = |_| BadInput::new(format!("bad value '{value}' for {key}"));
                settings.patience = Duration::from_millis(value.parse().map_err(bad)?);
            }
            _ => return Err(BadInput::new(format!("the oracle 'htp' takes no '{key}'"))),
        }
    }
    settings.question =
        question.ok_or_else(|| BadInput::new("the oracle 'htp' needs winning=COMMAND or rates=COMMAND"))?;
    Ok(OracleMaker {
        build: Box::new(move || Ok(Box::new(HtpOracle::start(settings.clone()).or_bad_input()?))),
    })
}

fn syzygy(spec: &PlayerSpec) -> Result<OracleMaker, BadInput> {
    let Some(argument) = &spec.argument else { return Err(BadInput::new("expected syzygy:DIR")) };
    if let Some(key) = spec.options.keys().next() {
        return Err(BadInput::new(format!("the oracle 'syzygy' takes no '{key}'")));
    }
    let folders: Vec<_> = std::env::split_paths(argument).collect();
    // The files are shared by all threads.
    let oracle = SyzygyOracle::open(&folders).or_bad_input()?;
    Ok(OracleMaker { build: Box::new(move || Ok(Box::new(oracle.clone()))) })
}

/// Reads keys that are numbers; any other is refused.
fn read_numbers(
    spec: &PlayerSpec,
    keys: &mut [(&str, &mut u32)],
    wide_keys: &mut [(&str, &mut u64)],
) -> Result<(), BadInput> {
    if let Some(argument) = &spec.argument {
        return Err(BadInput::new(format!("the oracle '{}' takes no '{argument}'", spec.kind)));
    }
    for (key, value) in &spec.options {
        let bad = |_| BadInput::new(format!("bad value '{value}' for {key}"));
        if let Some((_, place)) = keys.iter_mut().find(|(name, _)| name == key) {
            **place = value.parse().map_err(bad)?;
        } else if let Some((_, place)) = wide_keys.iter_mut().find(|(name, _)| name == key) {
            **place = value.parse().map_err(bad)?;
        } else {
            return Err(BadInput::new(format!("the oracle '{}' takes no '{key}'", spec.kind)));
        }
    }
    Ok(())
}

fn refuse_options(spec: &PlayerSpec) -> Result<(), BadInput> {
    match spec.options.keys().next().or(spec.argument.as_ref()) {
        Some(key) => Err(BadInput::new(format!("the oracle '{}' takes no '{key}'", spec.kind))),
        None => Ok(()),
    }
}
