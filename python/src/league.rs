//! Leagues and ratings.

use crate::{
    bad_input, chain, interrupt,
    own::{OwnRules, PythonGame},
    player::{open_registry, registry},
};
use mavis_game::{Outcome, Side};
use mavis_league::{
    GameResult, Intervals, RatingConfig, Results, RunError, RunOptions, rate as rate_results, report, run,
    standard_judges, standings,
    wire::{EstimateJson, LeagueConfig, LeagueStore},
};
use mavis_play::{BuildError, Choice, Key, Kind, Player, PlayerError, Registry, Turn};
use mavis_search::Cancel;
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyType};
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The kind of player that is a Python callable; only a league builds it.
const KIND: &str = "python";

/// The first exception of a callable, which ends the league.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn set(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Plays a league in a folder and returns its standings, the JSON of `mavis league run --json`.
///
/// `config` is the league's configuration as JSON; players `python:NAME` are the callables of that name. `game` is the class of a
/// game written in Python, by whose name the configuration calls it.
#[pyfunction]
pub(crate) fn league(
    py: Python<'_>,
    config: &str,
    folder: PathBuf,
    callables: HashMap<String, Py<PyAny>>,
    concurrency: Option<usize>,
    game: Option<&Bound<'_, PyType>>,
) -> PyResult<String> {
    let config: toml::Value = serde_json::from_str(config).map_err(bad_input)?;
    let config = toml::to_string(&config).map_err(bad_input)?;
    let cancel = Cancel::new();
    let Some(class) = game else {
        let judges = standard_judges();
        let options = RunOptions { concurrency, cancel, judges, ..RunOptions::default() };
        return play(py, &config, &folder, registry(), callables, &options);
    };
    let run = OwnRules::of(class)?.begin(&cancel);
    let options = RunOptions { concurrency, cancel: cancel.clone(), ..RunOptions::default() };
    let league = play(py, &config, &folder, open_registry(), callables, &options);
    run.end(py)?;
    league
}

fn play<G: PythonGame>(
    py: Python<'_>,
    config: &str,
    folder: &Path,
    mut registry: Registry<G>,
    callables: HashMap<String, Py<PyAny>>,
    options: &RunOptions<G>,
) -> PyResult<String> {
    let config = LeagueConfig::from_toml_for::<G>(config).map_err(bad_input)?;
    let failure = Failure::default();
    add_callables(&mut registry, callables, &failure, &options.cancel);
    let registry = Arc::new(registry);
    let work = || run(&config, folder, Path::new(""), &registry, options, &mut |_| {});
    let done = interrupt::run(py, || options.cancel.cancel(), work);
    if let Some(error) = failure.take() {
        return Err(error);
    }
    done?.map_err(run_failure)?;
    let (config, games) =
        LeagueStore::read(folder).map_err(|error| PyRuntimeError::new_err(chain(&error)))?;
    let standings = standings(&config, &games, Intervals::Sandwich).map_err(bad_input)?;
    serde_json::to_string(&report::json(&standings)).map_err(bad_input)
}

fn run_failure(error: RunError) -> PyErr {
    match &error {
        RunError::Store(_) | RunError::Thread(_) | RunError::Broken { .. } => {
            PyRuntimeError::new_err(chain(&error))
        }
        _ => bad_input(chain(&error)),
    }
}

fn add_callables<G: PythonGame>(
    registry: &mut Registry<G>,
    callables: HashMap<String, Py<PyAny>>,
    failure: &Failure,
    cancel: &Cancel,
) {
    let callables: HashMap<String, Arc<Py<PyAny>>> =
        callables.into_iter().map(|(name, callable)| (name, Arc::new(callable))).collect();
    let (failure, cancel) = (failure.clone(), cancel.clone());
    registry.add(Kind {
        name: KIND,
        help: "a Python callable of this league",
        keys: vec![Key::new("argument", "its name")],
        open: false,
        build: Box::new(move |options, _| {
            let name = options.argument::<String>()?.unwrap_or_default();
            let callable =
                callables.get(&name).cloned().ok_or_else(|| BuildError::value(KIND, "argument", &name))?;
            Ok(Box::new(Callable { name, callable, failure: failure.clone(), cancel: cancel.clone() }))
        }),
    });
}

/// A callable that takes a position and returns a move.
struct Callable {
    name: String,
    callable: Arc<Py<PyAny>>,
    failure: Failure,
    cancel: Cancel,
}

impl<G: PythonGame> Player<G> for Callable {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn evaluates(&self) -> bool {
        false
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        let chosen = Python::attach(|py| {
            let position = G::reached(turn.start, turn.moves, turn.position, py)?;
            let text: String = self.callable.bind(py).call1((position,))?.extract()?;
            turn.position.parse_move(&text).map_err(|error| bad_input(format!("{}: {error}", self.name)))
        });
        chosen.map(Choice::plain).map_err(|error| {
            let reason = error.to_string();
            self.failure.set(error);
            self.cancel.cancel();
            PlayerError::Failed(reason)
        })
    }
}

#[derive(Serialize)]
struct Rated {
    elo: EstimateJson,
    games: u64,
    score: Option<f64>,
}

/// Ratings of game results `(first, second, points of the first, opening pair)`, as JSON by player.
#[pyfunction]
#[pyo3(signature = (games, /))]
pub(crate) fn rate(py: Python<'_>, games: Vec<(String, String, f64, u64)>) -> PyResult<String> {
    let mut results = Results { players: Vec::new(), games: Vec::new() };
    for (first, second, points, pair) in games {
        let mut index = |name: String| {
            results.players.iter().position(|known| *known == name).unwrap_or_else(|| {
                results.players.push(name);
                results.players.len() - 1
            })
        };
        let (first, second) = (index(first), index(second));
        let outcome = match points {
            1.0 => Outcome::Win(Side::First),
            0.0 => Outcome::Win(Side::Second),
            0.5 => Outcome::Draw,
            _ => return Err(bad_input(format!("points are 1, 0.5 or 0, not {points}"))),
        };
        results.games.push(GameResult { first, second, outcome, pair });
    }
    let ratings = py.detach(|| rate_results(&results, &RatingConfig::default())).map_err(bad_input)?;
    let rated: BTreeMap<&str, Rated> = ratings
        .players
        .iter()
        .map(|player| {
            let (elo, tally) = (player.elo.into(), &player.tally);
            (player.name.as_str(), Rated { elo, games: tally.n_games(), score: tally.share() })
        })
        .collect();
    serde_json::to_string(&rated).map_err(bad_input)
}
