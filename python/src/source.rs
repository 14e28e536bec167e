//! What a search may ask: a model, an oracle, a double, or any callable.

use crate::{
    bad_input,
    callable::{Calls, PyEvaluator},
    model::{Model, ModelEvaluator},
    oracle::Oracle,
    own::PythonGame,
};
use mavis_eval::{Cache, Evaluator, WorldModel};
use mavis_oracle::{Identity, Oracle as AnyOracle, OracleError, OracleEvaluator, Ranking};
use mavis_search::mcts::{MctsSettings, Order};
use pyo3::{exceptions::PyTypeError, prelude::*};
use std::sync::{Arc, PoisonError};

/// Answers of a model or an oracle that a search remembers, as the players of the command line do.
const REMEMBERED: usize = 20_000;

/// An evaluator that costs nothing: every legal move is worth one half. For measuring searches.
#[pyclass(module = "mavis", frozen)]
pub(crate) struct Free;

#[pymethods]
impl Free {
    #[new]
    fn new() -> Self {
        Self
    }
}

/// An evaluator with made-up values from a seed, the same everywhere. For tests.
#[pyclass(module = "mavis", frozen)]
pub(crate) struct Scripted {
    seed: u64,
}

#[pymethods]
impl Scripted {
    #[new]
    #[pyo3(signature = (seed = 0))]
    fn new(seed: u64) -> Self {
        Self { seed }
    }
}

/// An evaluator for searches of the six games, and where its Python calls report.
pub(crate) fn evaluator(
    source: &Bound<'_, PyAny>,
    settings: &MctsSettings,
) -> PyResult<(Arc<dyn Evaluator>, Calls)> {
    if let Ok(model) = source.cast::<Model>() {
        let model = model.get().shared();
        let evaluator = ModelEvaluator { model, world: settings.world };
        return Ok((Arc::new(Cache::new(evaluator, REMEMBERED)), Calls::default()));
    }
    if settings.world == WorldModel::Model {
        return Err(bad_input("world=model needs a Model: only it tracks states"));
    }
    if let Ok(oracle) = source.cast::<Oracle>() {
        let (oracle, identity) = oracle.get().shared();
        let evaluator = OracleEvaluator::new(Locked { oracle, identity });
        return Ok((Arc::new(Cache::new(evaluator, REMEMBERED)), Calls::default()));
    }
    open_evaluator(source, settings)
}

/// An evaluator for searches of any game.
pub(crate) fn open_evaluator<G: PythonGame>(
    source: &Bound<'_, PyAny>,
    settings: &MctsSettings,
) -> PyResult<(Arc<dyn Evaluator<G>>, Calls)> {
    let calls = Calls::default();
    let evaluator: Arc<dyn Evaluator<G>> = if source.cast::<Free>().is_ok() {
        Arc::new(mavis_eval::Free)
    } else if let Ok(scripted) = source.cast::<Scripted>() {
        Arc::new(mavis_eval::Scripted::new(scripted.get().seed))
    } else if source.cast::<Model>().is_ok() || source.cast::<Oracle>().is_ok() {
        let kind = source.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a {kind} knows the six games only, none of one's own")));
    } else if source.is_callable() {
        // Only where the search can use the time of an evaluation does it run on a thread of its own.
        let threaded = settings.order == Order::Arrival || settings.timeout.is_some();
        Arc::new(PyEvaluator::new(source.clone().unbind(), calls.clone(), threaded))
    } else {
        let kind = source.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "an evaluator is a Model, an Oracle, or a callable that takes a list of positions, not {kind}"
        )));
    };
    Ok((evaluator, calls))
}

/// An oracle that searches and Python share.
struct Locked {
    oracle: crate::oracle::SharedOracle,
    identity: String,
}

impl AnyOracle for Locked {
    fn identity(&self) -> Identity {
        Identity { name: self.identity.clone(), version: String::new(), settings: String::new() }
    }

    fn evaluate(&mut self, position: &mavis_game::Position) -> Result<Ranking, OracleError> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner).evaluate(position)
    }
}
