//! MCTS over any evaluator.

use crate::{
    bad_input,
    callable::Calls,
    interrupt,
    own::{OwnGame, PythonGame, RulesUse, State},
    source::{evaluator, open_evaluator},
};
use mavis_bundled::wire::line_text;
use mavis_eval::Evaluator;
use mavis_game::{Game, Move, Position as AnyPosition};
use mavis_search::{
    Cancel, Stop,
    mcts::{MctsSettings, Proof, Report, Search as Mcts, Stopped},
    wire::SavedTree,
};
use pyo3::{prelude::*, sync::MutexExt as _};
use serde::Serialize;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::Duration,
};

/// A search that keeps its tree from one position to the next.
#[pyclass(module = "mavis._mavis", frozen)]
pub(crate) struct Search {
    source: Py<PyAny>,
    settings: MctsSettings,
    six: Arc<Slot<AnyPosition>>,
    /// Made for the first position of a game written in Python.
    own: OnceLock<Arc<Slot<OwnGame>>>,
}

/// Name, default, what it may be and help of every option.
#[pyfunction]
pub(crate) fn search_options() -> Vec<(&'static str, String, String, &'static str)> {
    let row = |tunable: mavis_search::tunable::Tunable| {
        (tunable.name, tunable.default, tunable.range.to_string(), tunable.help)
    };
    MctsSettings::tunables().into_iter().map(row).collect()
}

/// The search of one kind of game.
struct Slot<G: Game> {
    evaluator: Arc<dyn Evaluator<G>>,
    calls: Calls,
    settings: MctsSettings,
    /// `None` before the first position.
    search: Mutex<Option<Mcts<G>>>,
}

impl<G: PythonGame> Slot<G> {
    fn new((evaluator, calls): (Arc<dyn Evaluator<G>>, Calls), settings: &MctsSettings) -> Arc<Self> {
        Arc::new(Self { evaluator, calls, settings: settings.clone(), search: Mutex::default() })
    }

    /// Waits for another search of this object without the interpreter's lock.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<Mcts<G>>> {
        self.search.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes to a position, with the tree below the last one where it leads there.
    fn go_to<'a>(&self, search: &'a mut Option<Mcts<G>>, position: &G) -> &'a mut Mcts<G> {
        let make = || Mcts::new(position.clone(), self.evaluator.clone(), self.settings.clone());
        let known = search.take().filter(|search| search.position().rules() == position.rules());
        let search = search.insert(known.unwrap_or_else(make));
        search.set_position(position.clone());
        search
    }

    fn run(&self, py: Python<'_>, state: &G, only: Option<Vec<String>>, cancel: &Cancel) -> PyResult<String> {
        let only = only.map(|moves| read_moves(state, &moves)).transpose()?;
        let mut search = self.lock(py);
        self.calls.begin(cancel);
        let search = self.go_to(&mut search, state);
        search.restrict(only);
        let stop = Stop::on(cancel);
        let report = interrupt::block_on(py, || cancel.cancel(), search.run(&stop));
        match self.calls.failure() {
            Some(error) => Err(error),
            None => json(state, &report?),
        }
    }

    /// Searches on another thread.
    fn stream(self: &Arc<Self>, state: &Arc<G>, run: Option<RulesUse>, cancel: Cancel) -> PyResult<Stream> {
        let (sender, reports) = channel();
        let (slot, asked, stop) = (self.clone(), state.clone(), Stop::on(&cancel));
        let work = move || {
            let mut search = slot.search.lock().unwrap_or_else(PoisonError::into_inner);
            slot.calls.begin(&stop.cancel);
            let search = slot.go_to(&mut search, &asked);
            search.restrict(None);
            let mut progress = |report: &Report| drop(sender.send(json(&*asked, report)));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let last = match runtime {
                Ok(runtime) => json(&*asked, &runtime.block_on(search.run_with(&stop, &mut progress))),
                Err(error) => Err(PyErr::from(error)),
            };
            let rules = run.map_or(Ok(()), |run| Python::attach(|py| run.end(py)));
            let failure = slot.calls.failure().map_or(rules, Err);
            // Whoever stopped listening has stopped the search.
            drop(sender.send(failure.and(last)));
        };
        std::thread::Builder::new().name("mavis-search".to_owned()).spawn(work)?;
        Ok(Stream { reports: Mutex::new(Some(reports)), cancel })
    }

    fn tree_json(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let search = self.lock(py);
        search.as_ref().map(|search| search.snapshot().to_json()).transpose().map_err(bad_input)
    }

    fn resume(&self, py: Python<'_>, tree: &SavedTree) -> PyResult<()> {
        let restored = Mcts::restore(tree, self.evaluator.clone(), self.settings.clone());
        *self.lock(py) = Some(restored.map_err(bad_input)?);
        Ok(())
    }
}

impl Search {
    fn own(&self, py: Python<'_>) -> PyResult<&Arc<Slot<OwnGame>>> {
        if let Some(slot) = self.own.get() {
            return Ok(slot);
        }
        let evaluator = open_evaluator(self.source.bind(py), &self.settings)?;
        Ok(self.own.get_or_init(|| Slot::new(evaluator, &self.settings)))
    }
}

#[pymethods]
impl Search {
    #[new]
    fn new(source: &Bound<'_, PyAny>, options: Vec<(String, String)>) -> PyResult<Self> {
        let mut settings = MctsSettings::default();
        for (name, value) in &options {
            settings.set(name, value).map_err(bad_input)?;
        }
        let six = Slot::new(evaluator(source, &settings)?, &settings);
        Ok(Self { source: source.clone().unbind(), settings, six, own: OnceLock::new() })
    }

    /// The options that differ from their defaults, `name=value` with commas between.
    #[getter]
    fn settings(&self) -> String {
        self.settings.to_string()
    }

    /// Searches a position and returns the report as JSON.
    #[pyo3(signature = (position, only = None))]
    fn run(
        &self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        only: Option<Vec<String>>,
    ) -> PyResult<String> {
        let cancel = Cancel::new();
        match State::of(position)? {
            State::Six(position) => self.six.run(py, position.get(), only, &cancel),
            State::Own(state) => {
                let run = state.rules().begin(&cancel);
                let report = self.own(py)?.run(py, &state, only, &cancel);
                run.end(py)?;
                report
            }
        }
    }

    /// Searches a position on another thread and reports as it goes.
    fn stream(&self, py: Python<'_>, position: &Bound<'_, PyAny>) -> PyResult<Stream> {
        let cancel = Cancel::new();
        match State::of(position)? {
            State::Six(position) => self.six.stream(position.get(), None, cancel),
            State::Own(state) => {
                let run = state.rules().begin(&cancel);
                self.own(py)?.stream(&Arc::new(state), Some(run), cancel)
            }
        }
    }

    /// The tree as it is, as JSON; nothing before the first search. With `own` that of a game written in Python.
    #[pyo3(signature = (own = false))]
    fn tree_json(&self, py: Python<'_>, own: bool) -> PyResult<Option<String>> {
        if own { self.own(py)?.tree_json(py) } else { self.six.tree_json(py) }
    }

    /// Continues from a saved tree when its position is searched next.
    #[pyo3(signature = (tree, own = false))]
    fn resume(&self, py: Python<'_>, tree: &str, own: bool) -> PyResult<()> {
        let tree = SavedTree::from_json(tree).map_err(bad_input)?;
        if own { self.own(py)?.resume(py, &tree) } else { self.six.resume(py, &tree) }
    }

    /// Forgets the tree.
    fn clear(&self, py: Python<'_>) {
        *self.six.lock(py) = None;
        if let Some(own) = self.own.get() {
            *own.lock(py) = None;
        }
    }
}

/// Reports of a search under way.
#[pyclass(module = "mavis._mavis", frozen)]
pub(crate) struct Stream {
    /// Reports as JSON; `None` once the last one was given.
    reports: Mutex<Option<Receiver<PyResult<String>>>>,
    cancel: Cancel,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[pymethods]
impl Stream {
    /// Asks the search to end with what it has; its last report still comes.
    fn stop(&self) {
        self.cancel.cancel();
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let next = py.detach(|| {
            let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(receiver) = &*reports else { return Ok(None) };
            loop {
                match receiver.recv_timeout(Duration::from_millis(50)) {
                    Ok(report) => return report.map(Some),
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                    Err(RecvTimeoutError::Disconnected) => {
                        *reports = None;
                        return Ok(None);
                    }
                }
            }
        });
        if next.is_err() {
            self.cancel.cancel();
        }
        next
    }
}

fn read_moves(position: &impl Game, moves: &[String]) -> PyResult<Vec<Move>> {
    moves.iter().map(|text| position.parse_move(text).map_err(bad_input)).collect()
}

/// A report for Python; values are win probabilities.
#[derive(Serialize)]
struct Shown {
    best: Option<String>,
    value: f32,
    proof: Option<&'static str>,
    fallback: bool,
    line: Vec<String>,
    moves: Vec<ShownMove>,
    stopped: &'static str,
    kept: u32,
    simulations: u32,
    evaluations: u32,
    failed: u32,
    timed_out: u32,
    hallucinations: u32,
    nodes: usize,
    deepest: usize,
}

#[derive(Serialize)]
struct ShownMove {
    r#move: String,
    visits: u32,
    value: Option<f32>,
    model_value: f32,
    prior: f32,
    proof: Option<&'static str>,
    plies: Option<u32>,
    line: Vec<String>,
}

fn json<G: PythonGame>(position: &G, report: &Report) -> PyResult<String> {
    let counts = &report.counts;
    let text = |mv: Move| position.any_move_text(mv);
    let moves = report.moves.iter().map(|entry| ShownMove {
        r#move: text(entry.mv),
        visits: entry.visits,
        value: entry.value.map(win_probability),
        model_value: win_probability(entry.model_value),
        prior: entry.prior,
        proof: proof_word(entry.proof),
        plies: entry.plies_to_end,
        line: line_text(position, &entry.line),
    });
    let shown = Shown {
        best: report.best.map(text),
        value: win_probability(report.value),
        proof: proof_word(report.proof),
        fallback: report.fallback,
        line: line_text(position, &report.line),
        moves: moves.collect(),
        stopped: match report.stopped {
            Stopped::Running => "running",
            Stopped::Simulations => "simulations",
            Stopped::Limit => "limit",
            Stopped::Full => "full",
            Stopped::Settled => "settled",
            Stopped::NoRoot => "no root",
            Stopped::Broken => "broken",
            _ => "stopped",
        },
        kept: counts.kept,
        simulations: counts.simulations,
        evaluations: counts.evaluations,
        failed: counts.failed,
        timed_out: counts.timed_out,
        hallucinations: counts.n_hallucinations(),
        nodes: counts.nodes,
        deepest: counts.deepest,
    };
    serde_json::to_string(&shown).map_err(bad_input)
}

/// From the tree's -1 to 1 to a win probability.
fn win_probability(value: f32) -> f32 {
    0.5 + 0.5 * value
}

fn proof_word(proof: Proof) -> Option<&'static str> {
    match proof {
        Proof::Win => Some("win"),
        Proof::Loss => Some("loss"),
        Proof::Draw => Some("draw"),
        Proof::Dead => Some("dead"),
        Proof::Unknown => None,
    }
}
