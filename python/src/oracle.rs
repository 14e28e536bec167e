//! Solvers and oracles.

use crate::{bad_input, chain, interrupt, position::Position};
use mavis_bundled::{OracleMaker, wire::SolvedRecord};
use mavis_game::{Game as _, Rules};
use mavis_oracle::{Oracle as AnyOracle, OracleError, Score, connect4::Connect4Solver};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};

/// An oracle behind a lock, since it keeps tables and may be a child process.
pub(crate) type SharedOracle = Arc<Mutex<Box<dyn AnyOracle>>>;

/// The right value of every legal move, or the best there is: `connect4`, `othello:nodes=300000`, `stockfish:nodes=5000`,
/// `hex:playouts=20000`, `togyz`, `syzygy:DIR`, `uci:PROGRAM`, `htp:PROGRAM`.
#[pyclass(module = "mavis", frozen)]
pub(crate) struct Oracle {
    oracle: SharedOracle,
    identity: String,
}

#[derive(Serialize)]
struct RankedMoveRecord {
    r#move: String,
    score: f64,
    unit: &'static str,
    plies: Option<u32>,
    win_probability: f32,
}

impl Oracle {
    pub(crate) fn shared(&self) -> (SharedOracle, String) {
        (self.oracle.clone(), self.identity.clone())
    }
}

#[pymethods]
impl Oracle {
    #[new]
    #[pyo3(signature = (spec, /))]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        py.detach(|| {
            let path = std::env::var_os("PATH");
            let maker = OracleMaker::new(Some(spec), None, path.as_deref()).map_err(bad_input)?;
            let oracle = maker.make(1).map_err(bad_input)?.remove(0);
            Ok(Self { identity: oracle.identity().to_string(), oracle: Arc::new(Mutex::new(oracle)) })
        })
    }

    /// Name, version and settings.
    #[getter]
    fn identity(&self) -> &str {
        &self.identity
    }

    /// The ranking on a position that is not over.
    #[pyo3(signature = (position, /))]
    fn evaluate<'py>(slf: &Bound<'py, Self>, position: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._oracle")?.call_method1("evaluate", (slf, position))
    }

    /// The ranking on a position as JSON, best move first.
    #[pyo3(signature = (position, /))]
    fn _evaluate(&self, py: Python<'_>, position: PyRef<'_, Position>) -> PyResult<String> {
        let (oracle, asked) = (self.oracle.clone(), position.get().clone());
        let judged = asked.clone();
        drop(position);
        let work = move || oracle.lock().unwrap_or_else(PoisonError::into_inner).evaluate(&asked);
        let ranking = interrupt::run_detached(py, work)?.map_err(failure)?;
        let moves: Vec<RankedMoveRecord> = ranking
            .moves
            .iter()
            .map(|entry| {
                let (score, unit) = plain(entry.score);
                let (plies, win_probability) = (entry.plies, entry.win_probability);
                RankedMoveRecord { r#move: judged.move_text(entry.mv), score, unit, plies, win_probability }
            })
            .collect();
        serde_json::to_string(&moves).map_err(bad_input)
    }

    fn __repr__(&self) -> String {
        format!("<mavis.Oracle {}>", self.identity)
    }
}

/// A score as a number and its unit.
fn plain(score: Score) -> (f64, &'static str) {
    match score {
        Score::Centipawns(score) => (f64::from(score), "centipawns"),
        Score::Mate(score) => (f64::from(score), "mate"),
        Score::Solved(score) => (f64::from(score), "solved"),
        Score::WinRate(score) => (f64::from(score), "win rate"),
        Score::Margin(score) => (f64::from(score), "margin"),
    }
}

/// What the user asked wrongly is a `ValueError`, an engine that failed is not.
fn failure(error: OracleError) -> PyErr {
    match &error {
        OracleError::WrongGame { .. } | OracleError::GameOver { .. } => bad_input(error),
        _ => PyRuntimeError::new_err(chain(&error)),
    }
}

/// Exact scores of every move, the JSON of `mavis solve`.
#[pyfunction]
#[pyo3(signature = (position, /))]
pub(crate) fn solve(py: Python<'_>, position: PyRef<'_, Position>) -> PyResult<String> {
    let asked = position.get().clone();
    drop(position);
    let rules = asked.rules();
    if rules != Rules::Connect4 {
        return Err(bad_input(format!("no exact solver for {rules} (connect4 has one)")));
    }
    if let (Some(outcome), Some(reason)) = (asked.outcome(), asked.end_reason()) {
        return Err(bad_input(format!("the game is over: {outcome} ({reason})")));
    }
    let judged = asked.clone();
    let ranking = interrupt::run_detached(py, move || Connect4Solver::default().evaluate(&judged))?;
    serde_json::to_string(&SolvedRecord::new(&*asked, &ranking.map_err(failure)?)).map_err(bad_input)
}
