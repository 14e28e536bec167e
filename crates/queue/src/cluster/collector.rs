//! Submits jobs and collects their results.

mod inspection;

use super::Cluster;
use super::objects::{fetch, pack_job, unpack};
use super::streams::{
    ATTEMPTS, Class, ERROR, Put, Streams, aside_subject, done_subject, job_subject, persist,
};
use crate::{Finished, JobId, JobKind, QueueError, Submitter};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt;
use inspection::Inspection;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc as queue;
use tokio::task::JoinHandle;

/// Jobs being submitted at the same time: round trips to the servers overlap.
const AT_ONCE: usize = 32;
/// How long a request for results stays open.
const POLL: Duration = Duration::from_secs(2);
/// After so long without a result, open jobs are looked up: what the servers forgot to tell must not be waited for forever.
const QUIET: Duration = Duration::from_secs(10);
/// Open jobs that are looked up at a time.
const LOOKED_UP: usize = 64;

/// Jobs of one kind and their results, in the order in which they finish. Dropping it leaves the jobs on the queue: whoever
/// submits them again gets their results.
pub struct Collector<K: JobKind> {
    cluster: Cluster,
    /// The class as subjects name it.
    name: String,
    submit: queue::UnboundedSender<(JobId, Bytes)>,
    events: mpsc::Receiver<Event>,
    /// Submitted jobs without a result; equal jobs are one on the queue.
    open: HashMap<JobId, Open>,
    tasks: Vec<JoinHandle<()>>,
    inspection: Inspection,
    kind: PhantomData<fn() -> K>,
}

/// A job without a result.
#[derive(Default)]
struct Open {
    numbers: Vec<u64>,
    /// The servers have it.
    queued: bool,
}

/// What the tasks report.
enum Event {
    Queued { id: JobId },
    Done { id: JobId, headers: HeaderMap, payload: Bytes },
    Aside { id: JobId, reason: String },
    Fault(QueueError),
}

impl<K: JobKind> Collector<K> {
    /// A collector of jobs with the needs of a connection.
    ///
    /// # Errors
    /// When the servers do not answer.
    pub fn new(cluster: &Cluster) -> Result<Self, QueueError> {
        let settings = &cluster.settings;
        let class = Class {
            kind: K::NAME.to_owned(),
            needs: cluster.needs.clone(),
            lease_ms: settings.lease.as_millis() as u64,
            attempts: settings.attempts.max(1),
        };
        let name = class.name();
        let streams = &cluster.streams;
        let (sender, events) = mpsc::channel();
        let (submit, jobs) = queue::unbounded_channel();
        let tasks = cluster.runtime.block_on(async {
            streams.consumer(&class).await?;
            let mut tasks = Vec::new();
            let mut known = false;
            for (stream, word) in [(&streams.done, "done"), (&streams.aside, "aside")] {
                let info = persist("read the state of a stream", || stream.get_info()).await?;
                let filter = format!("mavis.{word}.{name}.>");
                // What is there already is looked up job by job, if there is anything.
                known |= has_messages(stream, &filter).await?;
                let from = info.state.last_sequence + 1;
                tasks.push(tokio::spawn(listen(stream.clone(), filter, from, sender.clone())));
            }
            let desk = Desk { streams: streams.clone(), class: name.clone(), known };
            tasks.push(tokio::spawn(desk.submit_all(jobs, sender.clone())));
            Ok::<_, QueueError>(tasks)
        })?;
        let inspection = Inspection::new(streams.clone(), class, sender);
        let cluster = cluster.clone();
        let open = HashMap::new();
        Ok(Self { cluster, name, submit, events, open, tasks, inspection, kind: PhantomData })
    }

    /// Jobs without a result.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.open.values().map(|job| job.numbers.len()).sum()
    }

    fn take(&mut self, event: Event, finished: &mut Vec<Finished<K::Output>>) -> Result<(), QueueError> {
        match event {
            Event::Fault(error) => return Err(error),
            Event::Queued { id } => {
                if let Some(job) = self.open.get_mut(&id) {
                    job.queued = true;
                }
            }
            Event::Aside { id, reason } => {
                for &number in self.open.get(&id).iter().flat_map(|job| &job.numbers) {
                    finished.push(Finished { number, result: Err(reason.clone()) });
                }
            }
            Event::Done { id, headers, payload } => {
                let Some(Open { numbers, .. }) = self.open.remove(&id) else { return Ok(()) };
                let packed =
                    self.cluster.runtime.block_on(fetch(&self.cluster.streams, &headers, payload))?;
                let bad = |reason| QueueError::Result { job: id.to_string(), reason };
                let bytes = unpack(&packed).map_err(bad)?;
                for number in numbers {
                    let output = K::read_output(&bytes).map_err(bad)?;
                    finished.push(Finished { number, result: Ok(output) });
                }
            }
        }
        Ok(())
    }
}

impl<K: JobKind> Submitter<K> for Collector<K> {
    fn submit(&mut self, number: u64, input: &K::Input) -> Result<(), QueueError> {
        let bytes = K::write_input(input);
        let id = JobId::new(&self.name, &bytes);
        let job = self.open.entry(id.clone()).or_default();
        job.numbers.push(number);
        if job.numbers.len() == 1 {
            let packed = pack_job(&bytes)?;
            self.submit
                .send((id, packed))
                .map_err(|_| QueueError::server("submit a job", "the connection is closed"))?;
        }
        Ok(())
    }

    fn wait(&mut self, at_most: Duration) -> Result<Vec<Finished<K::Output>>, QueueError> {
        let mut finished = Vec::new();
        let mut event = self.events.recv_timeout(at_most).ok();
        if event.is_some() || self.open.is_empty() {
            self.inspection.put_off();
        } else if self.inspection.is_due() {
            let queued = self.open.iter().filter(|(_, job)| job.queued);
            let jobs = queued.take(LOOKED_UP).map(|(id, _)| id.clone()).collect();
            self.inspection.start(self.cluster.runtime.handle(), jobs);
        }
        while let Some(next) = event {
            self.take(next, &mut finished)?;
            event = self.events.try_recv().ok();
        }
        Ok(finished)
    }

    fn withdraw(&mut self) -> Result<(), QueueError> {
        // No further job is submitted behind our back.
        self.tasks.iter().for_each(JoinHandle::abort);
        self.inspection.put_off();
        let (streams, name) = (&self.cluster.streams, &self.name);
        let subjects: Vec<String> = self.open.keys().map(|id| job_subject(name, id)).collect();
        self.cluster.runtime.block_on(async {
            let mut removed = futures_util::stream::iter(
                subjects.iter().map(|subject| streams.remove(&streams.jobs, subject)),
            )
            .buffer_unordered(AT_ONCE);
            while let Some(result) = removed.next().await {
                result?;
            }
            Ok(())
        })?;
        self.open.clear();
        Ok(())
    }
}

impl<K: JobKind> Drop for Collector<K> {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.inspection.put_off();
    }
}

/// Puts jobs on the queue.
struct Desk {
    streams: Streams,
    class: String,
    /// Whether the class had results or jobs set aside when the collector began; later ones are heard of.
    known: bool,
}

impl Desk {
    async fn submit_all(self, jobs: queue::UnboundedReceiver<(JobId, Bytes)>, events: mpsc::Sender<Event>) {
        let stream =
            futures_util::stream::unfold(jobs, |mut jobs| async { Some((jobs.recv().await?, jobs)) });
        stream
            .for_each_concurrent(AT_ONCE, |(id, packed)| {
                let (desk, events) = (&self, &events);
                async move {
                    match desk.submit(&id, &packed).await {
                        // The collector is gone when nobody receives.
                        Ok(event) => drop(events.send(event)),
                        Err(error) => drop(events.send(Event::Fault(error))),
                    }
                }
            })
            .await;
    }

    /// Puts a job on the queue, or tells what became of it earlier.
    async fn submit(&self, id: &JobId, packed: &Bytes) -> Result<Event, QueueError> {
        let Self { streams, class, known } = self;
        if *known {
            if let Some(event) = done_before(streams, class, id).await? {
                return Ok(event);
            }
            if let Some((headers, _)) = streams.last(&streams.aside, &aside_subject(class, id)).await? {
                return Ok(Event::Aside { id: id.clone(), reason: reason(&headers) });
            }
        }
        let subject = job_subject(class, id);
        match streams.put_once("submit a job", &subject, &HeaderMap::new(), packed).await? {
            Put::Stored | Put::AlreadyThere => Ok(Event::Queued { id: id.clone() }),
        }
    }
}

/// The result of a job, if it is there.
async fn done_before(streams: &Streams, class: &str, id: &JobId) -> Result<Option<Event>, QueueError> {
    let found = streams.last(&streams.done, &done_subject(class, id)).await?;
    Ok(found.map(|(headers, payload)| Event::Done { id: id.clone(), headers, payload }))
}

/// Whether a stream has messages of a class.
async fn has_messages(stream: &Stream, filter: &str) -> Result<bool, QueueError> {
    // A consumer says how many messages are before it; a list of their subjects would be as long as they are many.
    let config = pull::Config { filter_subject: filter.to_owned(), ..passing() };
    let consumer = persist("count results", || stream.create_consumer(config.clone())).await?;
    Ok(consumer.cached_info().num_pending > 0)
}

/// A consumer that goes away by itself and leaves messages where they are.
fn passing() -> pull::Config {
    pull::Config {
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(60),
        num_replicas: 1,
        memory_storage: true,
        ..pull::Config::default()
    }
}

/// Why a job was set aside.
pub(super) fn reason(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).map_or("unknown", |value| value.as_str()).to_owned();
    format!("{} (attempt {})", text(ERROR), text(ATTEMPTS))
}

/// Follows a stream from a sequence on, whatever happens to servers and connections on the way.
async fn listen(stream: Stream, filter: String, from: u64, events: mpsc::Sender<Event>) {
    let mut next = from;
    loop {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: next },
            filter_subject: filter.clone(),
            ..passing()
        };
        let consumer = match persist("listen for results", || stream.create_consumer(config.clone())).await {
            Ok(consumer) => consumer,
            Err(error) => return drop(events.send(Event::Fault(error))),
        };
        // Any failure ends the inner loop; a new consumer starts behind the last message seen.
        while let Ok(mut batch) = consumer.batch().max_messages(256).expires(POLL).messages().await {
            let (begin, mut failed) = (Instant::now(), false);
            while let Some(message) = batch.next().await {
                let Ok(message) = message else {
                    failed = true;
                    break;
                };
                if let Ok(info) = message.info() {
                    next = info.stream_sequence + 1;
                }
                let id = JobId::of_subject(&message.subject);
                let headers = message.headers.clone().unwrap_or_default();
                let event = match headers.get(ERROR) {
                    Some(_) => Event::Aside { id, reason: reason(&headers) },
                    None => Event::Done { id, headers, payload: message.payload.clone() },
                };
                if events.send(event).is_err() {
                    return;
                }
            }
            // A consumer that says nothing when its time is over is gone.
            if failed || begin.elapsed() > 2 * POLL {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
