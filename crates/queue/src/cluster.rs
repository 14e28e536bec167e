//! The queue of many machines, on NATS JetStream.
//!
//! Jobs of one kind with the same needs are a *class*. The stream `MAVIS_JOBS` is a work queue with one subject for each job,
//! `mavis.job.CLASS.ID`, and one consumer for each class, which describes the class and which all its workers pull from. A job
//! is in the queue at most once: its subject may hold one message. A worker confirms a job when its result is safe, and tells
//! the server before that it is still at work; a job without either sign is given to another worker.
//!
//! Results are messages of `MAVIS_DONE`, again one for each job, so that the first result counts and a second one is refused;
//! large ones are objects of the bucket `mavis-results`, which the message names. Jobs that failed too often move to
//! `MAVIS_ASIDE` with their error. Workers declare themselves in `MAVIS_WORKERS`, whose messages expire.
//!
//! No two clocks are compared: all deadlines are measured by one server, or by one process from its own start.

mod access;
mod collector;
mod objects;
mod ordered;
mod status;
mod streams;
mod worker;

pub use access::Access;
pub use collector::Collector;
pub use objects::Blobs;
pub use status::{AsideJob, ClassStatus, Status, WorkerStatus};
pub use worker::{WorkerEvent, WorkerSettings, WorkerSummary, work};

use crate::{Needs, QueueError};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use streams::Streams;
use tokio::runtime::Runtime;

/// How jobs of this process are queued. Whoever submits decides; workers read it from the class.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// Servers that keep each message. `None` means what the queue has, 1 for a new one.
    pub replicas: Option<usize>,
    /// Time without a sign of life after which a job is given to another worker.
    pub lease: Duration,
    /// Deliveries of a job before it is set aside.
    pub attempts: u64,
    /// How long results are kept on the servers.
    pub keep: Duration,
    /// Jobs on the queue ahead of the oldest unfinished one.
    pub window: usize,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            replicas: None,
            lease: Duration::from_secs(30),
            attempts: 5,
            keep: Duration::from_secs(3 * 24 * 3600),
            window: 1024,
        }
    }
}

/// A connection to the queue, shared by all that use it. Calls block; a small runtime of its own serves the connection.
#[derive(Clone)]
pub struct Cluster {
    runtime: Arc<Runtime>,
    streams: Streams,
    settings: QueueSettings,
    needs: Needs,
    stop: Arc<AtomicBool>,
}

impl Cluster {
    /// Connects, and makes what the queue consists of where it is missing.
    ///
    /// # Errors
    /// When no server answers, the credentials are refused, or JetStream is not there.
    pub fn connect(access: &Access, settings: QueueSettings, needs: Needs) -> Result<Self, QueueError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("queue")
            .enable_all()
            .build()
            .map_err(|error| QueueError::server("cannot start threads", error))?;
        let streams = runtime.block_on(async {
            let client = access.connect().await?;
            Streams::open(client, &settings).await
        })?;
        Ok(Self { runtime: Arc::new(runtime), streams, settings, needs, stop: Arc::default() })
    }

    /// The same connection for jobs with other needs.
    #[must_use]
    pub fn with_needs(&self, needs: Needs) -> Self {
        Self { needs, ..self.clone() }
    }

    /// The same connection; when `stop` is raised, jobs that wait are withdrawn and a run ends with what is there.
    #[must_use]
    pub fn with_stop(&self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self.clone() }
    }

    /// What its jobs need.
    #[must_use]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Files for jobs, by their content.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        Blobs::new(self.runtime.handle().clone(), self.streams.clone())
    }
}
