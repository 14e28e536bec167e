//! What is on the queue, and what can be done about it.

use super::Cluster;
use super::collector::reason;
use super::streams::{Class, Put, Streams, persist};
use crate::{Needs, Offer, QueueError};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

/// The stream behind the bucket of large results and files.
const OBJECTS: &str = "OBJ_mavis-results";

/// The queue at one moment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Status {
    /// Jobs by kind and needs.
    pub classes: Vec<ClassStatus>,
    /// Workers that said they are there.
    pub workers: Vec<WorkerStatus>,
    /// Jobs set aside, with their errors.
    pub aside: Vec<AsideJob>,
    /// Results that are kept.
    pub n_results: u64,
    /// Bytes of these results, and of files for jobs.
    pub result_bytes: u64,
    /// Servers that keep each message.
    pub replicas: usize,
}

/// Jobs of one kind with the same needs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClassStatus {
    /// Its name.
    pub class: String,
    /// The kind of job.
    pub kind: String,
    /// What they need.
    pub needs: Needs,
    /// Jobs that wait for a worker.
    pub n_waiting: u64,
    /// Jobs in the hands of workers.
    pub n_in_work: usize,
    /// Jobs set aside.
    pub n_aside: usize,
    /// Workers that can run them.
    pub able: Vec<String>,
    /// Why the other workers cannot.
    pub unable: Vec<String>,
}

/// A worker as it declared itself last.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its name.
    pub name: String,
    /// What it has.
    pub offer: Offer,
    /// Jobs in hand.
    pub in_hand: usize,
    /// Jobs done since it started.
    pub n_done: u64,
    /// Jobs that failed there.
    pub n_failed: u64,
    /// Whether it finishes the jobs in hand and ends.
    pub draining: bool,
}

/// A job that failed too often.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AsideJob {
    /// Its class.
    pub class: String,
    /// Its name.
    pub job: String,
    /// The last error.
    pub reason: String,
}

impl Cluster {
    /// What is on the queue.
    ///
    /// # Errors
    /// When the servers do not answer.
    pub fn status(&self) -> Result<Status, QueueError> {
        self.runtime.block_on(status(&self.streams))
    }

    /// Puts jobs that were set aside back on the queue; `None` means those of all classes. How many there were.
    ///
    /// # Errors
    /// When the servers do not answer.
    pub fn retry(&self, class: Option<&str>) -> Result<usize, QueueError> {
        self.runtime.block_on(async {
            let streams = &self.streams;
            let mut n = 0;
            for subject in subjects(&streams.aside, &filter("aside", class)).await? {
                let Some((_, payload)) = streams.last(&streams.aside, &subject).await? else { continue };
                let job = subject.replacen("mavis.aside.", "mavis.job.", 1);
                let headers = async_nats::HeaderMap::new();
                let put = streams.put_once("put a job back", &job, &headers, &payload).await?;
                streams.remove(&streams.aside, &subject).await?;
                n += usize::from(put == Put::Stored);
            }
            Ok(n)
        })
    }

    /// Removes jobs that wait and jobs set aside, of one class or all, and classes without jobs; with `results` also what is
    /// done. How many messages were removed.
    ///
    /// # Errors
    /// When the servers do not answer.
    pub fn purge(&self, class: Option<&str>, results: bool) -> Result<u64, QueueError> {
        self.runtime.block_on(async {
            let streams = &self.streams;
            let mut parts = vec![(&streams.jobs, "job"), (&streams.aside, "aside")];
            if results {
                parts.push((&streams.done, "done"));
            }
            let mut n = 0;
            for (stream, word) in parts {
                let filter = filter(word, class);
                let purged = persist("purge", || async { stream.purge().filter(&filter).await }).await?;
                n += purged.purged;
            }
            if results && class.is_none() {
                let objects = persist("purge", || streams.context.get_stream(OBJECTS)).await?;
                n += persist("purge", || async { objects.purge().await }).await?.purged;
            }
            for info in consumers(streams).await? {
                if class.is_none_or(|class| class == info.name) {
                    // One that is gone already is as good.
                    let _ = streams.jobs.delete_consumer(&info.name).await;
                }
            }
            Ok(n)
        })
    }
}

fn filter(word: &str, class: Option<&str>) -> String {
    format!("mavis.{word}.{}.>", class.unwrap_or("*"))
}

async fn status(streams: &Streams) -> Result<Status, QueueError> {
    let mut workers = Vec::new();
    for subject in subjects(&streams.workers, "mavis.worker.*").await? {
        if let Some((_, entry)) = streams.last(&streams.workers, &subject).await?
            && let Ok(worker) = serde_json::from_slice::<WorkerStatus>(&entry)
        {
            workers.push(worker);
        }
    }
    workers.sort_by(|one, two| one.name.cmp(&two.name));
    let mut aside = Vec::new();
    for subject in subjects(&streams.aside, &filter("aside", None)).await? {
        if let Some((headers, _)) = streams.last(&streams.aside, &subject).await? {
            let mut parts = subject.split('.').skip(2).map(str::to_owned);
            let (class, job) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            aside.push(AsideJob { class, job, reason: reason(&headers) });
        }
    }
    let mut classes = Vec::new();
    for info in consumers(streams).await? {
        let Some(class) = Class::of(&info) else { continue };
        let mut status = ClassStatus {
            n_aside: aside.iter().filter(|job| job.class == info.name).count(),
            class: info.name,
            n_waiting: info.num_pending,
            n_in_work: info.num_ack_pending,
            able: Vec::new(),
            unable: Vec::new(),
            kind: class.kind,
            needs: class.needs,
        };
        for worker in &workers {
            match worker.offer.lacks(&status.kind, &status.needs) {
                None => status.able.push(worker.name.clone()),
                Some(reason) => status.unable.push(format!("{}: {reason}", worker.name)),
            }
        }
        classes.push(status);
    }
    let done = persist("read the results' state", || streams.done.get_info()).await?;
    let objects = persist("read the objects' state", || async {
        streams.context.get_stream(OBJECTS).await.map(|stream| stream.cached_info().state.bytes)
    });
    Ok(Status {
        classes,
        workers,
        aside,
        n_results: done.state.messages,
        result_bytes: done.state.bytes + objects.await?,
        replicas: streams.replicas,
    })
}

async fn consumers(streams: &Streams) -> Result<Vec<async_nats::jetstream::consumer::Info>, QueueError> {
    persist("list classes", || async {
        let mut list = Vec::new();
        // One by one: servers answer a list of all with a delay of seconds while one of them is gone.
        let mut names = streams.jobs.consumer_names();
        while let Some(name) = names.next().await {
            let name = name.map_err(|error| error.to_string())?;
            list.push(streams.jobs.consumer_info(&name).await.map_err(|error| error.to_string())?);
        }
        Ok::<_, String>(list)
    })
    .await
}

/// The subjects of a stream's messages.
async fn subjects(stream: &Stream, filter: &str) -> Result<Vec<String>, QueueError> {
    persist("list messages", || async {
        let mut list = Vec::new();
        let mut info = stream.info_with_subjects(filter).await.map_err(|error| error.to_string())?;
        while let Some(next) = info.next().await {
            list.push(next.map_err(|error| error.to_string())?.0);
        }
        list.sort();
        Ok::<_, String>(list)
    })
    .await
}
