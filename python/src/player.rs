//! Players by the line that names them.

use crate::{
    bad_input, interrupt,
    own::{OwnGame, PythonGame, State},
    process::{PerProcess, pool},
};
use mavis_bundled::{Surroundings, wire::AnalysisRecord};
use mavis_game::Position as AnyPosition;
use mavis_play::{BuildError, Limit, Player as AnyPlayer, PlayerError, PlayerSpec, Registry, Turn};
use mavis_probs::add_probs;
use mavis_search::Cancel;
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Every kind of player that this process knows.
pub(crate) fn registry() -> Registry {
    static REGISTRY: PerProcess<Registry> = PerProcess::new();
    let make = || -> Result<Registry, std::convert::Infallible> {
        let key = std::env::var("OPENAI_API_KEY").ok();
        Ok(mavis_bundled::players(&Surroundings::new(std::env::var_os("PATH"), key)))
    };
    match REGISTRY.get_or_make(make) {
        Ok(registry) => Registry::clone(&registry),
        Err(never) => match never {},
    }
}

/// The kinds of player that play any game.
pub(crate) fn open_registry() -> Registry<OwnGame> {
    let mut registry = Registry::rules_only();
    add_probs(&mut registry);
    registry
}

/// A name and its help.
type Helped = (String, String);

/// Every kind of player with its options.
#[pyfunction]
pub(crate) fn players() -> Vec<(String, String, Vec<Helped>)> {
    let registry = registry();
    let kinds = registry.kinds().iter().map(|kind| {
        let keys = kind.keys.iter().map(|key| (key.name.clone(), key.help.clone()));
        (kind.name.to_owned(), kind.help.to_owned(), keys.collect())
    });
    kinds.collect()
}

/// A player that one call uses at a time.
type Locked<G> = Mutex<Box<dyn AnyPlayer<G>>>;
/// A player and its threads, which do not survive `fork`.
type Built<G> = PerProcess<Locked<G>>;

/// A player by its line, as on the command line: `mav-mcts:sims=200`, `lookahead:2`, `uci:stockfish,nodes=2000`.
#[pyclass(module = "mavis", frozen)]
pub(crate) struct Player {
    spec: PlayerSpec,
    seed: u64,
    six: Built<AnyPosition>,
    /// The same for games written in Python.
    own: Built<OwnGame>,
    name: String,
}

impl Player {
    fn six(&self) -> Result<Arc<Locked<AnyPosition>>, BuildError> {
        self.six.get_or_make(|| registry().build(&self.spec, self.seed).map(Mutex::new))
    }

    fn own(&self) -> Result<Arc<Locked<OwnGame>>, BuildError> {
        self.own.get_or_make(|| open_registry().build(&self.spec, self.seed).map(Mutex::new))
    }

    /// The chosen move, and the analysis as JSON.
    fn analysis(
        &self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        limit: Limit,
    ) -> PyResult<(String, String)> {
        match State::of(position)? {
            State::Six(position) => {
                let player = py.detach(|| self.six()).map_err(bad_input)?;
                let start = (position.start().clone(), position.played().to_vec());
                analyze(py, player, start, position.get(), limit, &Cancel::new())
            }
            State::Own(state) => {
                let player = self.own().map_err(bad_input)?;
                let cancel = Cancel::new();
                let run = mavis_game::Game::rules(&state).begin(&cancel);
                let state = Arc::new(state);
                let analysis = analyze(py, player, (state.clone(), Vec::new()), &state, limit, &cancel);
                run.end(py)?;
                analysis
            }
        }
    }
}

fn analyze<G: PythonGame>(
    py: Python<'_>,
    player: Arc<Locked<G>>,
    (start, moves): (Arc<G>, Vec<mavis_game::Move>),
    state: &Arc<G>,
    limit: Limit,
    cancel: &Cancel,
) -> PyResult<(String, String)> {
    if let (Some(outcome), Some(reason)) = (state.outcome(), state.end_reason()) {
        return Err(bad_input(format!("the game is over: {outcome} ({reason})")));
    }
    let pool = pool()?;
    let (asked, token) = (state.clone(), cancel.clone());
    let work = move || {
        // Locked out here: a thread of the pool that waits for its own work may take up another call.
        let mut player = player.lock().unwrap_or_else(PoisonError::into_inner);
        player.ready_for(asked.rules())?;
        let player = &mut **player;
        pool.install(|| {
            let (position, sink) = (&*asked, &mut |_: &mavis_play::Thought| {});
            player.analyze(&mut Turn { start: &*start, moves: &moves, position, limit, cancel: token, sink })
        })
    };
    let analysis = interrupt::run(py, || cancel.cancel(), work)?.map_err(failure)?;
    let shown = serde_json::to_string(&AnalysisRecord::new(&**state, &analysis)).map_err(bad_input)?;
    Ok((state.move_text(analysis.choice.mv), shown))
}

#[pymethods]
impl Player {
    #[new]
    #[pyo3(signature = (spec, /, *, seed = 0))]
    fn new(py: Python<'_>, spec: &str, seed: u64) -> PyResult<Self> {
        let spec: PlayerSpec = spec.parse().map_err(bad_input)?;
        let (six, own) = (PerProcess::new(), PerProcess::new());
        let mut player = Self { spec, seed, six, own, name: String::new() };
        player.name = py.detach(|| -> PyResult<String> {
            let first = match player.six() {
                Ok(built) => return Ok(built.lock().unwrap_or_else(PoisonError::into_inner).name()),
                Err(error) => error,
            };
            // A net of a game written in Python is none of the six.
            let built = player.own().map_err(|_| bad_input(first))?;
            let name = built.lock().unwrap_or_else(PoisonError::into_inner).name();
            Ok(name)
        })?;
        Ok(player)
    }

    /// A short name for tables.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The line that names it.
    #[getter]
    fn spec(&self) -> String {
        self.spec.to_string()
    }

    /// Chooses a move. Time is in seconds; without limits the player's own hold.
    #[pyo3(signature = (position, *, time = None, nodes = None, depth = None))]
    fn choose(
        &self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        time: Option<f64>,
        nodes: Option<u64>,
        depth: Option<u32>,
    ) -> PyResult<String> {
        let limit = Limit { nodes, depth, time: seconds(time)?, ..Limit::default() };
        Ok(self.analysis(py, position, limit)?.0)
    }

    /// What the player thinks of every move. Limits are as in `choose`.
    #[pyo3(signature = (position, *, time = None, nodes = None, depth = None))]
    fn analyze<'py>(
        slf: &Bound<'py, Self>,
        position: &Bound<'py, PyAny>,
        time: Option<f64>,
        nodes: Option<u64>,
        depth: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._player")?.call_method1("analyze", (slf, position, time, nodes, depth))
    }

    /// The move to play, so that a player is a callable as a search is.
    #[pyo3(signature = (position, /))]
    fn __call__(&self, py: Python<'_>, position: &Bound<'_, PyAny>) -> PyResult<String> {
        self.choose(py, position, None, None, None)
    }

    /// What the player thinks of every move, the JSON of `mavis analyze`.
    #[pyo3(signature = (position, *, time = None, nodes = None, depth = None))]
    fn _analyze(
        &self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        time: Option<f64>,
        nodes: Option<u64>,
        depth: Option<u32>,
    ) -> PyResult<String> {
        let limit = Limit { nodes, depth, time: seconds(time)?, lines: u32::MAX, ..Limit::default() };
        Ok(self.analysis(py, position, limit)?.1)
    }

    /// Forgets the game so far.
    fn new_game(&self, py: Python<'_>, game: &str) -> PyResult<()> {
        let rules = game.parse().map_err(bad_input)?;
        py.detach(|| {
            let player = self.six().map_err(bad_input)?;
            player.lock().unwrap_or_else(PoisonError::into_inner).new_game(rules);
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        format!("<mavis.Player {}>", self.spec)
    }
}
fn seconds(time: Option<f64>) -> PyResult<Option<Duration>> {
    let read = |time: f64| {
        let seconds = Duration::try_from_secs_f64(time).ok().filter(|time| !time.is_zero());
        seconds.ok_or_else(|| bad_input(format!("a time is seconds above 0, not {time}")))
    };
    time.map(read).transpose()
}

/// What a player cannot do is the user's choice of player; the rest is a failure.
fn failure(error: PlayerError) -> PyErr {
    match &error {
        PlayerError::Unsupported { .. } => PyValueError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}
