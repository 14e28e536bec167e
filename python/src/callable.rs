//! A Python callable as an evaluator: a list of positions in, values of their legal moves out.

use crate::{bad_input, own::PythonGame};
use mavis_eval::{
    EndOrMoves, EvalError, Evaluation, Evaluator, MoveValue, OneReply, Replies, Reply, Request, TakeMoves,
    Value,
};
use mavis_game::{Move, Moves};
use mavis_search::Cancel;
use mavis_value::{Distribution, Mistake, N_BUCKETS, Scoring};
use pyo3::{
    buffer::PyBuffer,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyList},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the calls of one search report: the first exception ends the search and comes out of it as itself.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The first exception, and what replies say of it.
    failure: Option<(PyErr, EvalError)>,
    cancel: Cancel,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a search that `cancel` ends.
    pub(crate) fn begin(&self, cancel: &Cancel) {
        *self.lock() = State { failure: None, cancel: cancel.clone() };
    }

    /// The exception of the calls since, if there was one.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        self.lock().failure.take().map(|(error, _)| error)
    }

    /// Why there are no more calls, if that is so.
    fn ended(&self) -> Option<EvalError> {
        self.lock().failure.as_ref().map(|(_, reason)| reason.clone())
    }

    fn fail(&self, error: PyErr) -> EvalError {
        let reason = EvalError::Failed(error.to_string());
        let mut state = self.lock();
        state.failure.get_or_insert((error, reason.clone()));
        state.cancel.cancel();
        reason
    }
}

/// A callable behind the trait of all evaluators.
pub(crate) struct PyEvaluator {
    callable: Arc<Py<PyAny>>,
    calls: Calls,
    /// Whether calls run on threads of their own, so that the search continues and may give them up; otherwise on its own.
    threaded: bool,
}

impl PyEvaluator {
    pub(crate) fn new(callable: Py<PyAny>, calls: Calls, threaded: bool) -> Self {
        Self { callable: Arc::new(callable), calls, threaded }
    }
}

impl<G: PythonGame> Evaluator<G> for PyEvaluator {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        if !self.threaded {
            return mavis_eval::ready(answer(&self.callable, &self.calls, &requests));
        }
        let (callable, calls) = (self.callable.clone(), self.calls.clone());
        Box::pin(async move {
            let n_requests = requests.len();
            let work = tokio::task::spawn_blocking(move || answer(&callable, &calls, &requests));
            work.await.unwrap_or_else(|error| {
                (0..n_requests).map(|_| Err(EvalError::Failed(error.to_string()))).collect()
            })
        })
    }

    fn evaluate_each(&self, requests: Vec<Request<G>>) -> Vec<OneReply<G>> {
        if requests.is_empty() {
            return Vec::new();
        }
        if !self.threaded {
            let replies = answer(&self.callable, &self.calls, &requests);
            return replies
                .into_iter()
                .map(|reply| -> OneReply<G> { Box::pin(std::future::ready(reply)) })
                .collect();
        }
        // One call for all of them; each reply is handed on by itself.
        let (senders, receivers): (Vec<_>, Vec<_>) =
            requests.iter().map(|_| tokio::sync::oneshot::channel::<Reply<G>>()).unzip();
        let (callable, calls) = (self.callable.clone(), self.calls.clone());
        tokio::task::spawn_blocking(move || {
            for (sender, reply) in senders.into_iter().zip(answer(&callable, &calls, &requests)) {
                // The search may have ended meanwhile.
                drop(sender.send(reply));
            }
        });
        let wait = |receiver: tokio::sync::oneshot::Receiver<Reply<G>>| -> OneReply<G> {
            Box::pin(async move {
                receiver.await.unwrap_or_else(|_| Err(EvalError::Failed("the call was given up".to_owned())))
            })
        };
        receivers.into_iter().map(wait).collect()
    }

    fn all_at_once(&self, states: &[&G], scoring: Scoring, take: &mut TakeMoves<'_>) -> usize {
        if self.threaded || states.is_empty() {
            return 0;
        }
        let (mut moves, mut legal, mut ends) = (Vec::new(), Moves::new(), Vec::with_capacity(states.len()));
        for state in states {
            legal.clear();
            state.legal_moves_into(&mut legal);
            moves.extend_from_slice(&legal);
            ends.push(moves.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let asked: Vec<(&G, &[Move])> = states
            .iter()
            .zip(starts.zip(&ends))
            .map(|(&state, (from, &to))| (state, &moves[from..to]))
            .collect();
        let arcs = states.iter().map(|&state| Arc::new(state.clone()));
        let Ok(values) = ask(&self.callable, &self.calls, arcs, &asked) else { return 0 };
        let probabilities = values.iter().map(|value| value.win_probability(scoring));
        let listed: Vec<(Move, f32)> = moves.iter().copied().zip(probabilities).collect();
        let mut from = 0;
        for to in ends {
            take(&listed[from..to]);
            from = to;
        }
        states.len()
    }

    fn describe(&self) -> String {
        Python::attach(|py| {
            let callable = self.callable.bind(py);
            let name =
                callable.getattr("__name__").or_else(|_| callable.get_type().name().map(Bound::into_any));
            name.map_or_else(|_| "a Python callable".to_owned(), |name| format!("Python {name}"))
        })
    }
}

/// One request as far as the rules answer it.
enum Known<G> {
    Reply(Reply<G>),
    /// The callable is asked for the values of these moves.
    Asked(Arc<G>, Arc<[Move]>),
}

fn answer<G: PythonGame>(callable: &Py<PyAny>, calls: &Calls, requests: &[Request<G>]) -> Vec<Reply<G>> {
    let known: Vec<Known<G>> = requests.iter().map(by_rules).collect();
    let open = || {
        known.iter().filter_map(|known| match known {
            Known::Asked(state, moves) => Some((state, moves)),
            Known::Reply(_) => None,
        })
    };
    let asked: Vec<(&G, &[Move])> = open().map(|(state, moves)| (&**state, &**moves)).collect();
    let arcs = open().map(|(state, _)| state.clone());
    let mut values = match ask(callable, calls, arcs, &asked) {
        Ok(values) => values.into_iter(),
        Err(reason) => return requests.iter().map(|_| Err(reason.clone())).collect(),
    };
    let reply = |known| match known {
        Known::Reply(reply) => reply,
        Known::Asked(state, moves) => {
            let listed = moves.iter().zip(values.by_ref()).map(|(&mv, value)| MoveValue { mv, value });
            Ok(Evaluation { state, content: EndOrMoves::Moves(listed.collect()) })
        }
    };
    known.into_iter().map(reply).collect()
}

/// Calls for the values of the moves of positions, one list for all of them. After an exception there are no more calls.
fn ask<G: PythonGame>(
    callable: &Py<PyAny>,
    calls: &Calls,
    positions: impl Iterator<Item = Arc<G>>,
    asked: &[(&G, &[Move])],
) -> Result<Vec<Value>, EvalError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(reason) = calls.ended() {
        return Err(reason);
    }
    Python::attach(|py| {
        // Signals reach a callable that is Python by themselves; one that is not must not hide them.
        py.check_signals()?;
        let objects: Vec<Py<PyAny>> =
            positions.map(|position| G::object(position, py)).collect::<PyResult<_>>()?;
        read(&callable.bind(py).call1((PyList::new(py, objects)?,))?, asked)
    })
    .map_err(|error| calls.fail(error))
}

fn by_rules<G: PythonGame>(request: &Request<G>) -> Known<G> {
    let Some(state) = request.by_rules() else {
        let reason = "the move cannot be played in the parent state";
        return Known::Reply(Err(EvalError::hallucination(Mistake::IllegalMove, reason)));
    };
    match request.end(&state) {
        Some(outcome) => Known::Reply(Ok(Evaluation { state, content: EndOrMoves::Ended(outcome) })),
        None => {
            let moves = request.legal(&state);
            Known::Asked(state, moves)
        }
    }
}

const EXPECTED: &str = "an evaluator returns for each position the win probabilities of its legal moves, in their order: \
    a list of lists or arrays, or one array of all of them";

/// The values of all moves of all positions that were asked about, one after the other.
fn read<G: PythonGame>(result: &Bound<'_, PyAny>, asked: &[(&G, &[Move])]) -> PyResult<Vec<Value>> {
    if let Some(array) = Array::of(result)? {
        return array.values(asked.iter().map(|(_, moves)| moves.len()).sum());
    }
    let n_results = result.len().map_err(|_| PyTypeError::new_err(EXPECTED))?;
    if n_results != asked.len() {
        return Err(bad_input(format!("{} positions, {n_results} results; {EXPECTED}", asked.len())));
    }
    let mut values = Vec::new();
    for (item, (state, moves)) in result.try_iter()?.zip(asked) {
        values.extend(read_one(&item?, *state, moves)?);
    }
    Ok(values)
}

fn read_one<G: PythonGame>(item: &Bound<'_, PyAny>, state: &G, moves: &[Move]) -> PyResult<Vec<Value>> {
    if let Ok(list) = item.cast::<PyList>() {
        let values: Vec<f32> = list.extract()?;
        return Array { numbers: values, width: 1 }.values(moves.len());
    }
    if let Ok(by_move) = item.cast::<PyDict>() {
        let value = |&mv: &Move| {
            let text = state.move_text(mv);
            let value =
                by_move.get_item(&text)?.ok_or_else(|| bad_input(format!("no value for the move {text}")))?;
            probability(value.extract()?)
        };
        return moves.iter().map(value).collect();
    }
    if let Some(array) = Array::of(item)? {
        return array.values(moves.len());
    }
    // Anything that NumPy can read: tuples, tensors on the processor.
    let numpy = item.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (item, "float32"))?;
    Array::of(&array)?.ok_or_else(|| PyTypeError::new_err(EXPECTED))?.values(moves.len())
}

/// Numbers of an array, one or 64 for each move.
struct Array {
    numbers: Vec<f32>,
    width: usize,
}

impl Array {
    /// Reads an object that has a buffer of floats; `None` for any other.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let (numbers, shape) = if let Ok(buffer) = PyBuffer::<f32>::get(object) {
            (buffer.to_vec(py)?, buffer.shape().to_vec())
        } else if let Ok(buffer) = PyBuffer::<f64>::get(object) {
            let numbers = buffer.to_vec(py)?.into_iter().map(|number| number as f32).collect();
            (numbers, buffer.shape().to_vec())
        } else {
            return Ok(None);
        };
        match shape[..] {
            [_] => Ok(Some(Self { numbers, width: 1 })),
            [_, N_BUCKETS] => Ok(Some(Self { numbers, width: N_BUCKETS })),
            _ => Err(bad_input(format!(
                "an array of shape {shape:?}; {EXPECTED}, or with 64 weights for each move"
            ))),
        }
    }

    fn values(self, n_moves: usize) -> PyResult<Vec<Value>> {
        if self.numbers.len() != n_moves * self.width {
            let n = self.numbers.len() / self.width;
            return Err(bad_input(format!("{n_moves} legal moves, {n} values; {EXPECTED}")));
        }
        if self.width == 1 {
            return self.numbers.into_iter().map(probability).collect();
        }
        self.numbers.chunks(self.width).map(distribution).collect()
    }
}

fn probability(value: f32) -> PyResult<Value> {
    if (0.0..=1.0).contains(&value) {
        return Ok(Value::certain(value));
    }
    Err(bad_input(format!("a win probability is from 0 to 1, not {value}")))
}

fn distribution(weights: &[f32]) -> PyResult<Value> {
    let total: f32 = weights.iter().sum();
    if !(weights.iter().all(|weight| *weight >= 0.0) && total.is_finite() && total > 0.0) {
        return Err(bad_input("the weights of 64 buckets are from 0 up, and not all 0"));
    }
    let mut scaled = [0.0; N_BUCKETS];
    scaled.iter_mut().zip(weights).for_each(|(scaled, weight)| *scaled = weight / total);
    Ok(Distribution(scaled).into())
}
