//! A machine that takes jobs from the queue.

mod held;
mod threads;

use super::Cluster;
use super::status::WorkerStatus;
use super::streams::{ALIVE, Class, Streams, worker_subject};
use crate::{Offer, QueueError, Stations};
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use held::Held;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use threads::Threads;
use tokio::sync::Notify;

/// How long the servers may take to hand out jobs that are there.
const ANSWER: Duration = Duration::from_secs(3);
/// How often the classes on the queue are listed: by a worker without jobs, and by one that has them.
const LIST: Duration = Duration::from_secs(1);
const LIST_BUSY: Duration = Duration::from_secs(5);
/// Pauses of a worker that finds nothing to do: short at first, since the next job often follows soon.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Jobs shorter than this are fetched one ahead for each thread, so that no thread waits for the network.
const SHORT: Duration = Duration::from_secs(1);

/// A worker.
pub struct WorkerSettings {
    /// Its name among workers, unique on the queue.
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
    threads: Threads,
    stall: Duration,
    n_held: AtomicUsize,
    n_done: AtomicU64,
    n_failed: AtomicU64,
    /// A job was finished, so that there is room for another.
    room: Notify,
    events: std::sync::mpsc::Sender<WorkerEvent>,
}

/// Takes jobs until it is told to end, and finishes those in hand.
///
/// # Errors
/// When the servers do not answer for minutes, or a thread cannot be started.
pub fn work(
    cluster: &Cluster,
    settings: WorkerSettings,
    mut watch: impl FnMut(WorkerEvent) + Send,
) -> Result<WorkerSummary, QueueError> {
    let WorkerSettings { name, offer, stations, drain, stall } = settings;
    let (sender, events) = std::sync::mpsc::channel();
    let shared = Arc::new(Shared {
        streams: cluster.streams.clone(),
        name,
        threads: Threads::start(offer.cores, Arc::new(stations))?,
        stall,
        n_held: AtomicUsize::new(0),
        n_done: AtomicU64::new(0),
        n_failed: AtomicU64::new(0),
        room: Notify::new(),
        events: sender,
    });
    let task = cluster.runtime.spawn(run(Arc::clone(&shared), offer, drain));
    // The watcher is called on this thread, until every task has let go of its sender.
    drop(shared);
    events.into_iter().for_each(&mut watch);
    cluster.runtime.block_on(task).map_err(|error| QueueError::server("the worker's task ended", error))?
}

async fn run(shared: Arc<Shared>, offer: Offer, drain: Arc<AtomicBool>) -> Result<WorkerSummary, QueueError> {
    let alive = tokio::spawn(stay_declared(Arc::clone(&shared), offer.clone(), Arc::clone(&drain)));
    let result = take_jobs(&shared, &offer, &drain).await;
    while shared.n_held.load(Ordering::Acquire) > 0 {
        shared.room.notified().await;
    }
    alive.abort();
    // Gone at once instead of when the entry expires; if not, it expires.
    let subject = worker_subject(&shared.name);
    let gone = shared.streams.remove(&shared.streams.workers, &subject);
    let _ = tokio::time::timeout(Duration::from_secs(2), gone).await;
    result?;
    Ok(WorkerSummary {
        n_done: shared.n_done.load(Ordering::Relaxed),
        n_failed: shared.n_failed.load(Ordering::Relaxed),
    })
}

/// Writes the worker's entry again and again; it expires when the worker is gone.
async fn stay_declared(shared: Arc<Shared>, offer: Offer, drain: Arc<AtomicBool>) {
    loop {
        let status = WorkerStatus {
            name: shared.name.clone(),
            offer: offer.clone(),
            in_hand: shared.n_held.load(Ordering::Relaxed),
            n_done: shared.n_done.load(Ordering::Relaxed),
            n_failed: shared.n_failed.load(Ordering::Relaxed),
            draining: drain.load(Ordering::Relaxed),
        };
        let entry = serde_json::to_vec(&status).unwrap_or_default();
        // The next one follows soon.
        let _ = shared.streams.context.publish(worker_subject(&shared.name), entry.into()).await;
        tokio::time::sleep(ALIVE).await;
    }
}

/// A class that this worker can run.
struct Source {
    class: Class,
    consumer: PullConsumer,
}

async fn take_jobs(shared: &Arc<Shared>, offer: &Offer, drain: &AtomicBool) -> Result<(), QueueError> {
    let mut sources: Vec<Source> = Vec::new();
    let mut lacking = Vec::new();
    let mut listed = None::<Instant>;
    let mut pause = SHORTEST_PAUSE;
    while !drain.load(Ordering::Relaxed) {
        let ahead = if shared.threads.mean_time() < SHORT { offer.cores } else { 0 };
        let room = (offer.cores + ahead).saturating_sub(shared.n_held.load(Ordering::Acquire));
        if room == 0 {
            // A drain is noticed soon even when jobs are long.
            let _ = tokio::time::timeout(LONGEST_PAUSE, shared.room.notified()).await;
            continue;
        }
        let every = if pause == SHORTEST_PAUSE { LIST_BUSY } else { LIST };
        if listed.is_none_or(|listed| listed.elapsed() > every) {
            if let Some(found) = list(shared, offer, &mut lacking).await {
                sources = found;
            }
            listed = Some(Instant::now());
        }
        let mut n_taken = 0;
        for source in &sources {
            n_taken += fetch(shared, source, room - n_taken).await;
            if n_taken == room {
                break;
            }
        }
        // Every class gets its turn.
        if !sources.is_empty() {
            sources.rotate_left(1);
        }
        if n_taken > 0 {
            pause = SHORTEST_PAUSE;
        } else {
            let _ = tokio::time::timeout(pause, shared.room.notified()).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    Ok(())
}

/// The classes with jobs that this worker can run; `None` when the servers did not answer.
async fn list(shared: &Shared, offer: &Offer, lacking: &mut Vec<String>) -> Option<Vec<Source>> {
    let jobs = &shared.streams.jobs;
    // One by one: servers answer a list of all with a delay of seconds while one of them is gone.
    let mut names = jobs.consumer_names();
    let mut sources = Vec::new();
    while let Some(name) = names.next().await {
        let consumer: PullConsumer = jobs.get_consumer(&name.ok()?).await.ok()?;
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
        sources.push(Source { class, consumer });
    }
    Some(sources)
}

/// Takes up to `room` jobs of a class that are there now.
async fn fetch(shared: &Arc<Shared>, source: &Source, room: usize) -> usize {
    // Nobody answers for a class that was just removed, or while its server is gone; the next listing shows what is there.
    let asked = source.consumer.fetch().max_messages(room);
    let Ok(Ok(mut messages)) = tokio::time::timeout(ANSWER, asked.messages()).await else { return 0 };
    let mut n_taken = 0;
    while let Ok(Some(Ok(message))) = tokio::time::timeout(ANSWER, messages.next()).await {
        n_taken += 1;
        shared.n_held.fetch_add(1, Ordering::AcqRel);
        tokio::spawn(Held::new(Arc::clone(shared), source.class.clone(), message).finish());
    }
    n_taken
}
