//! The embedded evaluator: a model that any number of searches share.
//!
//! A request by the rules is turned into tokens on the thread that asks, and its logits into values on the thread that waits for
//! them. In between lies one queue for all searches; the model's own threads take from it as much as fits into a pass, so that
//! requests that come while a pass runs share the next one. On a GPU two threads with a decoder each take turns: one packs and
//! reads while the other's pass runs. [`mavis_eval::Cache`] in front of it adds a memory. Dropping a reply gives the request up
//! as long as its pass has not begun.
//!
//! On the processor a value does not depend on what shares its pass, bit for bit.

mod answer;
mod queue;

pub use answer::eval_error;

use crate::{MavModel, ModelError, decode::MavDecoder};
use answer::{Answerer, Job, Prepared, Question};
use mavis_eval::{
    BestAction, EvalError, Evaluator, MoveValue, OneReply, Replies, Reply, Request, WorldModel,
};
use mavis_game::{Move, Position};
use mavis_net::Precision;
use queue::{JobOutput, Queue, place, places};
use std::{
    num::NonZeroUsize,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How an embedded model answers.
#[derive(Clone, Debug)]
pub struct EmbeddedSettings {
    /// Where states, legal moves and ends come from.
    pub world: WorldModel,
    /// Requests answered in the same passes at most; more only cost memory.
    pub batch: usize,
    /// Threads of a pass on the processor; `None` means all cores.
    pub threads: Option<NonZeroUsize>,
    /// A name for reports.
    pub name: String,
    /// Where its passes are counted; clones of a counter add up.
    pub counter: PassCounter,
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self {
            world: WorldModel::Rules,
            batch: 64,
            threads: None,
            name: "model".to_owned(),
            counter: PassCounter::default(),
        }
    }
}

/// The stub of a model on its own threads; clones share it. The threads end when all are dropped.
#[derive(Clone, Debug)]
pub struct Embedded {
    stub: Arc<Stub>,
}

#[derive(Debug)]
struct Stub {
    queue: Arc<Queue<Job>>,
    /// Threads that run passes.
    n_threads: usize,
    world: WorldModel,
    description: String,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// The model's own choice among listed moves.
type Choice = Result<Option<Move>, EvalError>;

/// Counts the passes of models; clones share the numbers.
#[derive(Clone, Debug, Default)]
pub struct PassCounter(Arc<[AtomicU64; 3]>);

/// What models have done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Passes {
    /// Batches answered.
    pub passes: u64,
    /// Requests in them.
    pub requests: u64,
    /// Time from taking a batch to its answers, of all threads together: packing, the pass, and reading its logits back.
    pub busy: Duration,
}

impl PassCounter {
    /// The numbers so far.
    #[must_use]
    pub fn passes(&self) -> Passes {
        let [passes, requests, nanoseconds] = self.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        Passes { passes, requests, busy: Duration::from_nanos(nanoseconds) }
    }

    fn add(&self, n_requests: usize) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
        self.0[1].fetch_add(n_requests as u64, Ordering::Relaxed);
    }

    fn add_time(&self, busy: Duration) {
        self.0[2].fetch_add(u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Embedded {
    /// Puts decoders of one model on threads, one each. All must be of the same weights.
    ///
    /// # Errors
    /// When a network has too few tokens for the language, or there is no thread.
    pub fn start(
        decoders: impl IntoIterator<Item = MavDecoder>,
        settings: EmbeddedSettings,
    ) -> Result<Self, ModelError> {
        let world = match settings.world {
            WorldModel::Rules => "rules",
            WorldModel::Model => "model alone",
        };
        let mut stub = Stub {
            queue: Arc::default(),
            n_threads: 0,
            world: settings.world,
            description: format!("{} ({world})", settings.name),
        };
        for mut decoder in decoders {
            crate::decode::check_vocabulary(decoder.network().config().vocab)?;
            let worker = Worker {
                answerer: Answerer { decoder },
                pool: settings.threads.or_else(after_fork).map(pool).transpose()?,
                queue: stub.queue.clone(),
                counter: settings.counter.clone(),
                batch: settings.batch.max(1),
            };
            std::thread::Builder::new()
                .name("mavis-model".to_owned())
                .spawn(move || worker.run())
                .map_err(no_thread)?;
            stub.n_threads += 1;
        }
        Ok(Self { stub: Arc::new(stub) })
    }

    /// A model on the processor.
    ///
    /// # Errors
    /// As [`Embedded::start`], or when the shape is refused.
    pub fn cpu(
        model: &MavModel,
        precision: Precision,
        settings: EmbeddedSettings,
    ) -> Result<Self, ModelError> {
        Self::start([MavDecoder::cpu(model, precision)?], settings)
    }
}

pub(crate) fn no_thread(source: std::io::Error) -> ModelError {
    ModelError::File { path: "a thread for the model".to_owned(), source }
}

/// The threads of a model in a child process: those that all computations share stayed behind in its parent. `None` in a
/// process that shares them with nobody.
fn after_fork() -> Option<NonZeroUsize> {
    static FIRST: OnceLock<u32> = OnceLock::new();
    let process = std::process::id();
    let forked = *FIRST.get_or_init(|| process) != process;
    forked.then(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Threads of their own for the passes of one model.
pub(crate) fn pool(threads: NonZeroUsize) -> Result<rayon::ThreadPool, ModelError> {
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .thread_name(|_| "mavis-pass".to_owned())
        .build();
    built.map_err(|error| no_thread(std::io::Error::other(error)))
}

impl Evaluator for Embedded {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let replies = self.evaluate_each(requests);
        Box::pin(async move {
            let mut all = Vec::with_capacity(replies.len());
            for reply in replies {
                all.push(reply.await);
            }
            all
        })
    }

    fn evaluate_each(&self, requests: Vec<Request>) -> Vec<OneReply> {
        let world = self.stub.world;
        let mut jobs = Vec::with_capacity(requests.len());
        let replies = places(requests.len()).zip(requests).map(|((slot, awaited), request)| -> OneReply {
            match Prepared::new(world, request) {
                Prepared::Answered(reply) => Box::pin(std::future::ready(reply)),
                Prepared::Asked { question, reader } => {
                    jobs.push(Job { question, slot });
                    Box::pin(async move { reader.read(awaited.await) })
                }
            }
        });
        let replies = replies.collect();
        if !jobs.is_empty() {
            self.stub.queue.push(jobs);
        }
        replies
    }

    fn concurrent_batches(&self) -> usize {
        self.stub.n_threads
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        let (slot, awaited) = place();
        self.stub.queue.push([Job { question: Question::Best { state, listed }, slot }]);
        Box::pin(async move {
            match awaited.await {
                JobOutput::Best(choice) => choice,
                JobOutput::Reply(Err(error)) => Err(error),
                JobOutput::Reply(Ok(_)) | JobOutput::Logits(_) => Ok(None),
            }
        })
    }

    fn describe(&self) -> String {
        self.stub.description.clone()
    }
}

/// One thread of a model.
struct Worker {
    answerer: Answerer,
    /// `None` means the threads all computations share.
    pool: Option<rayon::ThreadPool>,
    queue: Arc<Queue<Job>>,
    counter: PassCounter,
    batch: usize,
}

impl Drop for Worker {
    /// A thread that panics leaves nobody waiting for it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.queue.abandon();
        }
    }
}

impl Worker {
    fn run(mut self) {
        let room = self.answerer.decoder.network().room();
        loop {
            let (mut n_jobs, mut left) = (0, room);
            let fits = |job: &Job| {
                let (tokens, rows) = job.question.size();
                n_jobs += 1;
                left.tokens = left.tokens.saturating_sub(tokens);
                left.rows = left.rows.saturating_sub(rows);
                n_jobs <= self.batch && left.tokens > 0 && left.rows > 0
            };
            let Some(jobs) = self.queue.take(|job| job.slot.is_wanted(), fits) else { return };
            self.counter.add(jobs.len());
            let began = Instant::now();
            let answerer = &mut self.answerer;
            match &self.pool {
                Some(pool) => pool.install(|| answerer.answer(jobs)),
                None => answerer.answer(jobs),
            }
            self.counter.add_time(began.elapsed());
        }
    }
}
