//! A machine that takes jobs from the queue.

mod held;
mod line;
mod threads;

use super::Cluster;
use super::status::WorkerStatus;
use super::streams::{ALIVE, Class, Streams, worker_subject};
use crate::{Offer, QueueError, Stations};
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use line::{Line, Source};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use threads::Threads;
use tokio::sync::watch;

/// How often the classes on the queue are listed: by a worker without jobs, and by one that has them.
const LIST: Duration = Duration::from_secs(1);
const LIST_BUSY: Duration = Duration::from_secs(5);
/// Results of short jobs are sent so often.
const TOGETHER: Duration = Duration::from_millis(200);
/// How often a worker looks whether it should end.
const LOOK: Duration = Duration::from_millis(100);

/// A worker.
pub struct WorkerSettings {
    /// Its name, by which people tell workers apart.
    pub name: String,
    /// What it declares.
    pub offer: Offer,
    /// The kinds of job it knows.
    pub stations: Stations,
    /// Raised to finish the jobs in hand and end.
    pub drain: Arc<AtomicBool>,
    /// Time without progress after which a job is taken for hung and left to others.
    pub stall: Duration,
}

/// What a worker tells its watcher.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkerEvent {
    /// A job's result is stored.
    Done {
        /// The kind of job.
        kind: String,
        /// Jobs done so far.
        n_done: u64,
    },
    /// A job failed.
    Failed {
        /// The kind of job.
        kind: String,
        /// Why.
        reason: String,
        /// Whether it was set aside, and not given to a worker again.
        aside: bool,
    },
    /// Jobs are waiting that this worker cannot run.
    Lacks {
        /// The kind of job.
        kind: String,
        /// What is missing.
        reason: String,
    },
}

/// What a worker did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkerSummary {
    /// Jobs done.
    pub n_done: u64,
    /// Jobs that failed.
    pub n_failed: u64,
}

/// State that all tasks of a worker share.
struct Shared {
    streams: Streams,
    name: String,
    /// Where it declares itself.
    subject: String,
    threads: Threads,
    stall: Duration,
    /// Jobs in hand; those who wait for room or for the end watch it.
    n_held: watch::Sender<usize>,
    /// Jobs in hand without an end yet.
    n_running: watch::Sender<usize>,
    begin: tokio::time::Instant,
    n_done: AtomicU64,
    n_failed: AtomicU64,
    /// Raised to finish the jobs in hand and end.
    drain: Arc<AtomicBool>,
    events: std::sync::mpsc::Sender<WorkerEvent>,
}

impl Shared {
    /// Waits for the next moment at which results of short jobs are sent. Sent together they cost servers and networks a fraction of
    /// what they cost one by one. Nothing waits once no job is left to run.
    async fn gather(&self) {
        if !self.threads.are_jobs_short() {
            return;
        }
        let past = self.begin.elapsed().as_millis() as u64 / TOGETHER.as_millis() as u64;
        let next = self.begin + TOGETHER * u32::try_from(past + 1).unwrap_or(u32::MAX);
        let mut n_running = self.n_running.subscribe();
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            // The sender is ours, so the wait cannot fail.
            _ = n_running.wait_for(|n_running| *n_running == 0) => {}
        }
    }
}

/// Takes jobs until it is asked to end, and finishes those in hand.
///
/// # Errors
/// When a thread cannot be started.
pub fn work(
    cluster: &Cluster,
    settings: WorkerSettings,
    mut observe: impl FnMut(WorkerEvent) + Send,
) -> Result<WorkerSummary, QueueError> {
    let WorkerSettings { name, offer, stations, drain, stall } = settings;
    let (sender, events) = std::sync::mpsc::channel();
    let shared = Arc::new(Shared {
        streams: cluster.streams.clone(),
        subject: worker_subject(&name, random_number()),
        name,
        threads: Threads::start(offer.cores, Arc::new(stations))?,
        stall,
        n_held: watch::Sender::new(0),
        n_running: watch::Sender::new(0),
        begin: tokio::time::Instant::now(),
        n_done: AtomicU64::new(0),
        n_failed: AtomicU64::new(0),
        drain,
        events: sender,
    });
    let task = cluster.runtime.spawn(run(Arc::clone(&shared), offer));
    // The watcher is called on this thread, until every task has let go of its sender.
    drop(shared);
    events.into_iter().for_each(&mut observe);
    cluster.runtime.block_on(task).map_err(|error| QueueError::server("the worker's task ended", error))?
}

async fn run(shared: Arc<Shared>, offer: Offer) -> Result<WorkerSummary, QueueError> {
    let alive = tokio::spawn(stay_declared(Arc::clone(&shared), offer.clone()));
    take_jobs(&shared, &offer).await;
    // The sender is ours, so the wait cannot fail.
    let _ = shared.n_held.subscribe().wait_for(|n_held| *n_held == 0).await;
    alive.abort();
    // Gone at once instead of when the entry expires; if not, it expires.
    let gone = shared.streams.remove(&shared.streams.workers, &shared.subject);
    let _ = tokio::time::timeout(Duration::from_secs(2), gone).await;
    Ok(WorkerSummary {
        n_done: shared.n_done.load(Ordering::Relaxed),
        n_failed: shared.n_failed.load(Ordering::Relaxed),
    })
}

/// A number that no other worker has, on this machine or another: the standard library seeds its maps from the system's randomness.
fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Writes the worker's entry again and again; it expires when the worker is gone.
async fn stay_declared(shared: Arc<Shared>, offer: Offer) {
    loop {
        let status = WorkerStatus {
            name: shared.name.clone(),
            offer: offer.clone(),
            in_hand: *shared.n_held.borrow(),
            n_done: shared.n_done.load(Ordering::Relaxed),
            n_failed: shared.n_failed.load(Ordering::Relaxed),
            draining: shared.drain.load(Ordering::Relaxed),
        };
        let entry = serde_json::to_vec(&status).unwrap_or_default();
        // The next one follows soon.
        let _ = shared.streams.context.publish(shared.subject.clone(), entry.into()).await;
        tokio::time::sleep(ALIVE).await;
    }
}

/// Keeps a line open to every class with jobs that this worker can run, until it is asked to end.
async fn take_jobs(shared: &Arc<Shared>, offer: &Offer) {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    let mut ending: Vec<Line> = Vec::new();
    let mut lacking = Vec::new();
    let mut listed = None::<Instant>;
    // A line closed by itself.
    let mut lost = false;
    while !shared.drain.load(Ordering::Relaxed) {
        let n_lines = lines.len();
        lines.retain(|_, line| !line.is_closed());
        lost |= lines.len() < n_lines;
        let every = if *shared.n_held.borrow() > 0 && !lost { LIST_BUSY } else { LIST };
        if listed.is_none_or(|listed| listed.elapsed() > every) {
            if let Some(classes) = list(shared, offer, &mut lacking).await {
                let closed = lines.extract_if(.., |name, line| !classes.contains_key(name) && line.is_idle());
                ending.extend(closed.map(|(_, line)| line.close()));
                for (name, source) in classes {
                    lines.entry(name).or_insert_with(|| Line::open(Arc::clone(shared), source));
                }
            }
            ending.retain(|line| !line.is_closed());
            (listed, lost) = (Some(Instant::now()), false);
        }
        tokio::time::sleep(LOOK).await;
    }
    // What a last request still brings is done, too.
    for line in ending.into_iter().chain(lines.into_values()) {
        line.close().closed().await;
    }
}

/// The classes with jobs that this worker can run; `None` when the servers did not answer.
async fn list(shared: &Shared, offer: &Offer, lacking: &mut Vec<String>) -> Option<BTreeMap<String, Source>> {
    let jobs = &shared.streams.jobs;
    // One by one: servers answer a list of all with a delay of seconds while one of them is gone.
    let mut names = jobs.consumer_names();
    let mut sources = BTreeMap::new();
    while let Some(name) = names.next().await {
        // One that was removed since has no jobs.
        let Ok(consumer): Result<PullConsumer, _> = jobs.get_consumer(&name.ok()?).await else { continue };
        let info = consumer.cached_info().clone();
        let Some(class) = Class::of(&info) else { continue };
        if info.num_pending == 0 && info.num_ack_pending == 0 {
            continue;
        }
        if let Some(reason) = offer.lacks(&class.kind, &class.needs) {
            if !lacking.contains(&info.name) {
                lacking.push(info.name);
                // The watcher may be gone; the queue's status says it too.
                let _ = shared.events.send(WorkerEvent::Lacks { kind: class.kind, reason });
            }
            continue;
        }
        sources.insert(info.name, Source { class, consumer });
    }
    Some(sources)
}
