//! The MAV model.

use crate::{
    arrays::bytes_of,
    bad_input, chain, interrupt,
    lang::{Meaning, request},
    position::Position,
    process::{PerProcess, threads},
};
use mavis_eval::{
    BestAction, EndOrMoves, EvalError, Evaluator, MoveValue, OneReply, Replies, Request, WorldModel,
};
use mavis_game::{Game as _, Outcome, Position as AnyPosition};
use mavis_model::{
    MavModel, ModelError,
    decode::{GreedySettings, MavDecoder, TextSettings},
    evaluator::{Embedded, EmbeddedSettings},
};
use mavis_net::{Device, Precision};
use mavis_value::N_BUCKETS;
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyByteArray};
use serde::Serialize;
use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Requests of one pass: on a GPU one of 256 costs little more than one of 64, and on the processor its cores wait for each
/// other less often than in four of 64.
const BATCH: usize = 256;

/// A trained MAV model. Many threads and searches may use one at a time; their requests share its passes.
#[pyclass(module = "mavis", frozen)]
pub(crate) struct Model {
    shared: Arc<SharedModel>,
}

/// The weights, and the threads of this process that compute with them.
pub(crate) struct SharedModel {
    weights: MavModel,
    name: String,
    precision: Precision,
    device: Device,
    threads: NonZeroUsize,
    /// By the rules, and by the model alone.
    evaluators: [PerProcess<Embedded>; 2],
    writer: PerProcess<Writer>,
}

/// A decoder for text, with threads of its own.
struct Writer {
    decoder: Mutex<MavDecoder>,
    pool: rayon::ThreadPool,
}

impl SharedModel {
    fn on_gpu(&self) -> bool {
        self.precision != Precision::Int8 && self.device.resolved().is_ok_and(|device| device == Device::Cuda)
    }

    fn open(&self) -> Result<MavDecoder, ModelError> {
        MavDecoder::open(&self.weights, self.precision, self.device)
    }

    fn evaluator(&self, world: WorldModel) -> Result<Arc<Embedded>, ModelError> {
        let place = match world {
            WorldModel::Rules => &self.evaluators[0],
            WorldModel::Model => &self.evaluators[1],
        };
        place.get_or_make(|| {
            let on_gpu = self.on_gpu();
            let settings = EmbeddedSettings {
                world,
                batch: BATCH,
                // The pool that computations share by default does not survive `fork`.
                threads: Some(self.threads),
                name: self.name.clone(),
                ..EmbeddedSettings::default()
            };
            let mut decoders = vec![self.open()?];
            // The second packs and reads while the pass of the first runs. Without the memory for it there is one.
            decoders.extend(on_gpu.then(|| self.open()).and_then(Result::ok));
            Embedded::start(decoders, settings)
        })
    }

    fn writer(&self) -> Result<Arc<Writer>, ModelError> {
        self.writer.get_or_make(|| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.get()).build();
            let no_thread = |error| ModelError::File {
                path: "threads for the model".to_owned(),
                source: std::io::Error::other(error),
            };
            Ok(Writer { decoder: Mutex::new(self.open()?), pool: pool.map_err(no_thread)? })
        })
    }
}

/// A model as an evaluator that a search can keep across `fork`.
#[derive(Clone)]
pub(crate) struct ModelEvaluator {
    pub(crate) model: Arc<SharedModel>,
    pub(crate) world: WorldModel,
}

impl ModelEvaluator {
    fn embedded(&self) -> Result<Arc<Embedded>, EvalError> {
        self.model.evaluator(self.world).map_err(|error| EvalError::Failed(error.to_string()))
    }
}

impl Evaluator for ModelEvaluator {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        match self.embedded() {
            Ok(embedded) => embedded.evaluate(requests),
            Err(error) => mavis_eval::ready(requests.iter().map(|_| Err(error.clone())).collect()),
        }
    }

    fn evaluate_each(&self, requests: Vec<Request>) -> Vec<OneReply> {
        match self.embedded() {
            Ok(embedded) => embedded.evaluate_each(requests),
            Err(error) => {
                let failed = |_| -> OneReply { Box::pin(std::future::ready(Err(error.clone()))) };
                requests.into_iter().map(failed).collect()
            }
        }
    }

    fn concurrent_batches(&self) -> usize {
        self.embedded().map_or(1, |embedded| embedded.concurrent_batches())
    }

    fn best_action(&self, state: Arc<AnyPosition>, listed: Vec<MoveValue>) -> BestAction {
        match self.embedded() {
            Ok(embedded) => embedded.best_action(state, listed),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn describe(&self) -> String {
        match self.world {
            WorldModel::Rules => format!("{} (rules)", self.model.name),
            WorldModel::Model => format!("{} (model alone)", self.model.name),
        }
    }
}

/// Offsets of positions among all moves, then mean, mode and distribution of each move, and the value of each position.
type Arrays<'py> = (
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
);

impl Model {
    pub(crate) fn shared(&self) -> Arc<SharedModel> {
        self.shared.clone()
    }

    fn open(
        weights: MavModel,
        name: String,
        device: &str,
        precision: &str,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let device: Device = device.parse().map_err(bad_input)?;
        device.resolved().map_err(bad_input)?;
        let precision: Precision = precision.parse().map_err(bad_input)?;
        let threads = match n_threads {
            None => threads(),
            Some(n) => NonZeroUsize::new(n).ok_or_else(|| bad_input("threads must be above 0"))?,
        };
        let (evaluators, writer) = Default::default();
        let shared = SharedModel { weights, name, precision, device, threads, evaluators, writer };
        Ok(Self { shared: Arc::new(shared) })
    }
}

#[pymethods]
impl Model {
    /// The model that ships with the package; it knows all six games.
    ///
    /// `device` is `cpu`, `cuda` or `auto`; `cuda` needs a package built with that feature (`docs/python.md`).
    #[staticmethod]
    #[pyo3(signature = (*, device = "cpu", precision = "bf16", threads = None))]
    fn bundled(py: Python<'_>, device: &str, precision: &str, threads: Option<usize>) -> PyResult<Self> {
        let weights = py.detach(mavis_bundled::model).map_err(PyRuntimeError::new_err)?;
        Self::open(weights, "bundled model".to_owned(), device, precision, threads)
    }

    /// A model from a file; `device` as for `bundled`.
    #[staticmethod]
    #[pyo3(signature = (path, *, device = "cpu", precision = "bf16", threads = None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        device: &str,
        precision: &str,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let weights =
            py.detach(|| MavModel::load(Path::new(&path))).map_err(|error| bad_input(chain(&error)))?;
        Self::open(weights, path.display().to_string(), device, precision, threads)
    }

    /// The number of parameters.
    #[getter]
    fn n_parameters(&self) -> usize {
        self.shared.weights.parameters.len()
    }

    /// Whether the input is read with full attention.
    #[getter]
    fn full_input(&self) -> bool {
        self.shared.weights.input != mavis_model::InputAttention::Causal
    }

    /// Values of every legal move of every position, all in shared passes, without the interpreter's lock.
    #[pyo3(signature = (positions, /))]
    fn evaluate<'py>(slf: &Bound<'py, Self>, positions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._model")?.call_method1("evaluate", (slf, positions))
    }

    /// The model's own words on a position, token by token.
    #[pyo3(signature = (position, commands = None, *, track = None))]
    fn generate<'py>(
        slf: &Bound<'py, Self>,
        position: &Bound<'py, PyAny>,
        commands: Option<&str>,
        track: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mavis._model")?.call_method1("generate", (slf, position, commands, track))
    }

    /// Values of every legal move of every position, as bytes.
    #[pyo3(signature = (positions, /))]
    fn _evaluate<'py>(&self, py: Python<'py>, positions: Vec<PyRef<'py, Position>>) -> PyResult<Arrays<'py>> {
        let states: Vec<Arc<AnyPosition>> = positions.iter().map(|position| position.get().clone()).collect();
        drop(positions);
        let requests = states.iter().cloned().map(Request::state).collect();
        let evaluator = py.detach(|| self.shared.evaluator(WorldModel::Rules)).map_err(failure)?;
        let replies = interrupt::block_on(py, || {}, evaluator.evaluate(requests))?;
        let mut lists = Vec::with_capacity(replies.len());
        for reply in replies {
            lists.push(reply.map_err(|error| PyRuntimeError::new_err(error.to_string()))?.content);
        }
        arrays(py, &states, &lists)
    }

    /// The model's own words on a position: prompt, answer and what it means, as JSON.
    #[pyo3(signature = (position, commands = None, track = None))]
    fn _generate(
        &self,
        py: Python<'_>,
        position: PyRef<'_, Position>,
        commands: Option<&str>,
        track: Option<&str>,
    ) -> PyResult<String> {
        let request = request(position.get(), commands, track)?;
        let shared = &self.shared;
        let decoded = interrupt::run(
            py,
            || {},
            || {
                let writer = shared.writer()?;
                let mut decoder = writer.decoder.lock().unwrap_or_else(PoisonError::into_inner);
                let requests = std::slice::from_ref(&request);
                let decoder = &mut *decoder;
                writer.pool.install(|| decoder.greedy(requests, &GreedySettings::default()))
            },
        )?;
        let decoded = decoded.map_err(failure)?.remove(0);
        let (meaning, hallucination, mistakes) = match decoded.answer(&request) {
            Ok(answer) => {
                let mistakes = mavis_lang::check_answer(&request, &answer).mistakes;
                let mistakes = mistakes.iter().map(ToString::to_string).collect();
                (Some(Meaning::new(request.commands.rules, &answer)), None, mistakes)
            }
            Err(hallucination) => (None, Some(hallucination.to_string()), Vec::new()),
        };
        let prompt = request.prompt_text();
        let written = Written { prompt, answer: decoded.text(), meaning, hallucination, mistakes };
        serde_json::to_string(&written).map_err(bad_input)
    }

    /// Continues any text of the language, token by token, and returns what was added.
    #[pyo3(signature = (text, *, max_tokens = 256, temperature = 0.0, seed = 0))]
    fn write(
        &self,
        py: Python<'_>,
        text: &str,
        max_tokens: usize,
        temperature: f32,
        seed: u64,
    ) -> PyResult<String> {
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(bad_input(format!("expected a temperature of 0 or more, not {temperature}")));
        }
        let prompts = [mavis_lang::vocabulary().encode(text).map_err(bad_input)?];
        let settings = TextSettings { max_tokens, temperature, n_top: 0, seed };
        let shared = &self.shared;
        let tokens = interrupt::run(
            py,
            || {},
            || {
                let writer = shared.writer()?;
                let mut decoder = writer.decoder.lock().unwrap_or_else(PoisonError::into_inner);
                let mut tokens = Vec::new();
                let mut written = |_, step: &mavis_model::decode::WrittenToken| {
                    tokens.push(step.token);
                    true
                };
                let decoder = &mut *decoder;
                writer.pool.install(|| decoder.write_text(&prompts, &settings, &mut written))?;
                Ok(tokens)
            },
        )?;
        mavis_lang::vocabulary().decode(&tokens.map_err(failure)?).map_err(bad_input)
    }

    fn __repr__(&self) -> String {
        format!("<mavis.Model {}, {} parameters>", self.shared.name, self.shared.weights.parameters.len())
    }
}

#[derive(Serialize)]
struct Written {
    prompt: String,
    answer: String,
    meaning: Option<Meaning>,
    hallucination: Option<String>,
    mistakes: Vec<String>,
}

fn failure(error: ModelError) -> PyErr {
    PyRuntimeError::new_err(chain(&error))
}

fn arrays<'py>(
    py: Python<'py>,
    states: &[Arc<AnyPosition>],
    contents: &[EndOrMoves],
) -> PyResult<Arrays<'py>> {
    let n_moves = |content: &EndOrMoves| match content {
        EndOrMoves::Ended(_) => 0,
        EndOrMoves::Moves(moves) => moves.len(),
    };
    let total: usize = contents.iter().map(n_moves).sum();
    let (mut offsets, mut values) = (vec![0_i64], Vec::with_capacity(contents.len()));
    let (mut means, mut modes) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let mut weights = Vec::with_capacity(total * N_BUCKETS);
    for (state, content) in states.iter().zip(contents) {
        match content {
            EndOrMoves::Ended(outcome) => values.push(points(state, *outcome)),
            EndOrMoves::Moves(moves) => {
                for entry in moves {
                    means.push(entry.value.mean);
                    modes.push(entry.value.mode);
                    match &entry.value.distribution {
                        Some(distribution) => weights.extend_from_slice(&distribution.0),
                        None => weights.extend([0.0; N_BUCKETS]),
                    }
                }
                let best = moves.iter().map(|entry| entry.value.mean).fold(f32::NEG_INFINITY, f32::max);
                values.push(best);
            }
        }
        offsets.push(means.len() as i64);
    }
    let floats = |numbers: &[f32]| bytes_of(py, numbers);
    Ok((bytes_of(py, &offsets)?, floats(&means)?, floats(&modes)?, floats(&weights)?, floats(&values)?))
}

/// What an outcome is worth to the side to move.
fn points(state: &AnyPosition, outcome: Outcome) -> f32 {
    match outcome.winner() {
        None => 0.5,
        Some(side) => f32::from(u8::from(side == state.side_to_move())),
    }
}
