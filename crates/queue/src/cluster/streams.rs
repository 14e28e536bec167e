//! What the queue consists of on the servers.

use super::QueueSettings;
use crate::{JobId, Needs, QueueError};
use async_nats::jetstream::consumer::{self, AckPolicy, PullConsumer};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{Context, object_store};
use async_nats::{Client, HeaderMap, RequestErrorKind, jetstream};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::time::{Duration, Instant};

/// How often a worker says that it is there.
pub(super) const ALIVE: Duration = Duration::from_secs(5);
/// How long the servers may fail to answer before a request is given up: an election takes seconds, a restart perhaps a minute.
const PATIENCE: Duration = Duration::from_secs(300);
/// The same while the queue is opened: somebody waits for it, and servers that have just started elect leaders first.
const OPENING: Duration = Duration::from_secs(60);
/// How long a server with JetStream may seem to have none.
const ELECTION: Duration = Duration::from_secs(3);
/// The most a job may hold; servers refuse messages above a megabyte by default.
pub(super) const MOST_BYTES: usize = 900_000;

/// Headers of results and of jobs set aside.
pub(super) const ERROR: &str = "Mavis-Error";
pub(super) const WORKER: &str = "Mavis-Worker";
pub(super) const ATTEMPTS: &str = "Mavis-Attempts";
pub(super) const OBJECT: &str = "Mavis-Object";

/// Handles of all parts.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) context: Context,
    pub(super) jobs: Stream,
    pub(super) done: Stream,
    pub(super) aside: Stream,
    pub(super) workers: Stream,
    pub(super) results: object_store::ObjectStore,
    pub(super) replicas: usize,
}

/// A class as its consumer describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Class {
    pub(super) kind: String,
    pub(super) needs: Needs,
    /// Milliseconds without a sign of life after which a job is given to another worker.
    pub(super) lease_ms: u64,
    pub(super) attempts: u64,
}

impl Class {
    pub(super) fn name(&self) -> String {
        self.needs.class(&self.kind)
    }

    pub(super) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    /// The class that a consumer describes.
    pub(super) fn of(info: &consumer::Info) -> Option<Self> {
        serde_json::from_str(info.config.description.as_deref()?).ok()
    }
}

/// Whether a message was stored, or its subject already held one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    Stored,
    AlreadyThere,
}

pub(super) fn job_subject(class: &str, id: &JobId) -> String {
    format!("mavis.job.{class}.{id}")
}

pub(super) fn done_subject(class: &str, id: &JobId) -> String {
    format!("mavis.done.{class}.{id}")
}

/// Where a worker declares itself. The process stands beside the name, since two workers may have been given one name.
pub(super) fn worker_subject(name: &str, process: u64) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    format!("mavis.worker.{}~{process:016x}", name.chars().map(plain).collect::<String>())
}

pub(super) fn aside_subject(class: &str, id: &JobId) -> String {
    format!("mavis.aside.{class}.{id}")
}

impl Streams {
    pub(super) async fn open(client: Client, settings: &QueueSettings) -> Result<Self, QueueError> {
        let context = jetstream::new(client);
        await_jetstream(&context).await?;
        let once = Config {
            storage: StorageType::File,
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            allow_direct: true,
            num_replicas: settings.replicas.unwrap_or(1),
            ..Config::default()
        };
        let stream = |name: &str, subject: &str, config: Config| Config {
            name: name.to_owned(),
            subjects: vec![subject.to_owned()],
            ..config
        };
        let jobs = Config { retention: RetentionPolicy::WorkQueue, ..once.clone() };
        let jobs = opened(&context, stream("MAVIS_JOBS", "mavis.job.>", jobs), settings).await?;
        let kept = Config { max_age: settings.keep, ..once.clone() };
        let done = opened(&context, stream("MAVIS_DONE", "mavis.done.>", kept), settings).await?;
        // Set aside again, with another error: the last one counts.
        let last = Config { discard: DiscardPolicy::Old, discard_new_per_subject: false, ..once };
        let workers = Config { storage: StorageType::Memory, max_age: 4 * ALIVE, ..last.clone() };
        let workers = opened(&context, stream("MAVIS_WORKERS", "mavis.worker.*", workers), settings).await?;
        let aside = opened(&context, stream("MAVIS_ASIDE", "mavis.aside.>", last), settings).await?;
        let replicas = jobs.cached_info().config.num_replicas;
        let results = bucket(&context, settings, replicas).await?;
        Ok(Self { context, jobs, done, aside, workers, results, replicas })
    }

    /// Puts a message on a subject that holds none.
    pub(super) async fn put_once(
        &self,
        what: &str,
        subject: &str,
        headers: &HeaderMap,
        payload: &Bytes,
    ) -> Result<Put, QueueError> {
        persist(what, || async {
            let mut message = PublishMessage::build().payload(payload.clone());
            if !headers.is_empty() {
                message = message.headers(headers.clone());
            }
            let sent = self.context.send_publish(subject.to_owned(), message).await;
            let stored = match sent {
                Ok(ack) => ack.await,
                Err(error) => Err(error),
            };
            match stored {
                Ok(_) => Ok(Put::Stored),
                // The limit of the stream, which the server checks anyway; a condition in the message would cost it a second look.
                Err(error) if error.to_string().contains("per subject") => Ok(Put::AlreadyThere),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// The message on a subject, if there is one, as the stream's leader has it.
    pub(super) async fn last(
        &self,
        stream: &Stream,
        subject: &str,
    ) -> Result<Option<(HeaderMap, Bytes)>, QueueError> {
        persist("read a message", || async {
            match stream.get_last_raw_message_by_subject(subject).await {
                Ok(message) => Ok(Some((message.headers, message.payload))),
                Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Takes a subject's message away, if there is one.
    pub(super) async fn remove(&self, stream: &Stream, subject: &str) -> Result<(), QueueError> {
        persist("remove a message", || async { stream.purge().filter(subject).await }).await?;
        Ok(())
    }

    /// The consumer of a class, made where it is missing.
    pub(super) async fn consumer(&self, class: &Class) -> Result<PullConsumer, QueueError> {
        let name = class.name();
        let config = consumer::pull::Config {
            durable_name: Some(name.clone()),
            description: Some(serde_json::to_string(class).unwrap_or_default()),
            filter_subject: format!("mavis.job.{name}.>"),
            ack_policy: AckPolicy::Explicit,
            ack_wait: class.lease(),
            // Workers count deliveries themselves, since they move a job to those set aside.
            max_deliver: -1,
            max_ack_pending: 100_000,
            max_waiting: 16_384,
            ..consumer::pull::Config::default()
        };
        persist("make the consumer of a class", || self.jobs.create_consumer(config.clone())).await
    }
}

/// Waits until JetStream answers; servers that have just started first elect a leader.
async fn await_jetstream(context: &Context) -> Result<(), QueueError> {
    let begin = Instant::now();
    // The answer's form depends on the server's version; that there is one is enough.
    let asked = persist_for(OPENING, "JetStream does not answer", || async {
        match context.client().request("$JS.API.INFO", Bytes::new()).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == RequestErrorKind::NoResponders && begin.elapsed() > ELECTION => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    });
    match asked.await? {
        true => Ok(()),
        false => {
            Err(QueueError::Settings("the server has no JetStream: start it as nats-server -js".to_owned()))
        }
    }
}

/// A stream as it is, or made. Another number of replicas is a change that the caller asked for.
async fn opened(context: &Context, config: Config, settings: &QueueSettings) -> Result<Stream, QueueError> {
    let name = config.name.clone();
    let what = format!("cannot open stream {name}");
    let stream = persist_for(OPENING, &what, || context.get_or_create_stream(config.clone())).await?;
    let has = stream.cached_info().config.clone();
    match settings.replicas {
        Some(wanted) if wanted != has.num_replicas => {
            let config = Config { num_replicas: wanted, ..has };
            persist_for(OPENING, &what, || context.update_stream(config.clone())).await?;
            persist_for(OPENING, &what, || context.get_stream(&name)).await
        }
        _ => Ok(stream),
    }
}

async fn bucket(
    context: &Context,
    settings: &QueueSettings,
    replicas: usize,
) -> Result<object_store::ObjectStore, QueueError> {
    let config = object_store::Config {
        bucket: "mavis-results".to_owned(),
        max_age: settings.keep,
        num_replicas: replicas,
        ..object_store::Config::default()
    };
    persist_for(OPENING, "cannot open a bucket", || async {
        match context.get_object_store(&config.bucket).await {
            Ok(bucket) => Ok(bucket),
            Err(_) => context.create_object_store(config.clone()).await,
        }
    })
    .await
}

/// Tries until it works or patience ends: servers are restarted and elect leaders, connections break.
pub(super) async fn persist<T, E: std::fmt::Display, F: Future<Output = Result<T, E>>>(
    what: &str,
    attempt: impl FnMut() -> F,
) -> Result<T, QueueError> {
    persist_for(PATIENCE, what, attempt).await
}

async fn persist_for<T, E: std::fmt::Display, F: Future<Output = Result<T, E>>>(
    patience: Duration,
    what: &str,
    mut attempt: impl FnMut() -> F,
) -> Result<T, QueueError> {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(50);
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) if begin.elapsed() > patience => return Err(QueueError::server(what, error)),
            Err(_) => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(2));
            }
        }
    }
}
