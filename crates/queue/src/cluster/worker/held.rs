//! A job in the hand of a worker.

use super::threads::Assignment;
use super::{Shared, WorkerEvent};
use crate::cluster::objects::{store, unpack};
use crate::cluster::streams::{
    ATTEMPTS, Class, ERROR, OBJECT, Put, WORKER, aside_subject, done_subject, persist,
};
use crate::{Beat, JobId, QueueError};
use async_nats::HeaderMap;
use async_nats::jetstream::{AckKind, Message};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A message with its job. However it ends, room is made for the next one.
pub(super) struct Held {
    shared: Arc<Shared>,
    class: Class,
    /// The class as subjects name it.
    name: String,
    id: JobId,
    message: Message,
    /// How often the job was given to a worker, this time included.
    deliveries: u64,
}

impl Held {
    pub(super) fn new(shared: Arc<Shared>, class: Class, message: Message) -> Self {
        let id = JobId::of_subject(&message.subject);
        let deliveries = message.info().map_or(1, |info| u64::try_from(info.delivered).unwrap_or(1));
        shared.n_held.send_modify(|n_held| *n_held += 1);
        Self { shared, name: class.name(), class, id, message, deliveries }
    }

    pub(super) async fn finish(self) {
        let result = self.process().await;
        if let Err(error) = result {
            // The lease runs out and the job comes back, to this worker or another.
            self.tell(WorkerEvent::Failed {
                kind: self.class.kind.clone(),
                reason: error.to_string(),
                aside: false,
            });
        }
    }

    async fn process(&self) -> Result<(), QueueError> {
        let streams = &self.shared.streams;
        // Its confirmation was lost, or another worker was faster: the result is there.
        if self.deliveries > 1
            && streams.last(&streams.done, &done_subject(&self.name, &self.id)).await?.is_some()
        {
            return self.acknowledge(AckKind::Ack).await;
        }
        if self.deliveries > self.class.attempts {
            let reason = format!("given to a worker {} times without a result", self.class.attempts);
            return self.set_aside(&reason).await;
        }
        self.shared.n_running.send_modify(|n_running| *n_running += 1);
        let result = self.run().await;
        self.shared.n_running.send_modify(|n_running| *n_running -= 1);
        match result {
            Some(Ok(output)) => {
                self.shared.gather().await;
                self.done(&output).await
            }
            Some(Err(reason)) => self.failed(&reason).await,
            // Taken for hung: the lease runs out.
            None => Ok(()),
        }
    }

    /// Runs the job on a thread and keeps its lease meanwhile; `None` when it made no progress for too long.
    async fn run(&self) -> Option<Result<Vec<u8>, String>> {
        let input = match unpack(&self.message.payload) {
            Ok(input) => input,
            Err(reason) => return Some(Err(reason)),
        };
        let (reply, mut result) = oneshot::channel();
        let beat = Beat::default();
        let kind = self.class.kind.clone();
        self.shared.threads.assign(Assignment { kind, input, beat: beat.clone(), reply });
        let period = self.class.lease() / 3;
        let mut alive = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        let mut last = (beat.count(), Instant::now());
        loop {
            tokio::select! {
                done = &mut result => return Some(done.unwrap_or_else(|_| Err("its thread ended".to_owned()))),
                _ = alive.tick() => {
                    if beat.count() != last.0 {
                        last = (beat.count(), Instant::now());
                    } else if last.1.elapsed() > self.shared.stall {
                        return None;
                    }
                    // A lost one is made up for by the next.
                    let _ = self.message.ack_with(AckKind::Progress).await;
                }
            }
        }
    }

    async fn done(&self, output: &[u8]) -> Result<(), QueueError> {
        let streams = &self.shared.streams;
        let (mut headers, payload) = store(streams, &self.id, output).await?;
        headers.insert(WORKER, one_line(&self.shared.name).as_str());
        let subject = done_subject(&self.name, &self.id);
        if streams.put_once("store a result", &subject, &headers, &payload).await? == Put::AlreadyThere
            && let Some(object) = headers.get(OBJECT)
        {
            // Another worker was first; what cannot be removed now expires.
            let _ = streams.results.delete(object.as_str()).await;
        }
        if self.deliveries > 1 {
            // Set aside while this worker was out of reach: now it has a result.
            streams.remove(&streams.aside, &aside_subject(&self.name, &self.id)).await?;
        }
        self.acknowledge(AckKind::Ack).await?;
        let n_done = self.shared.n_done.fetch_add(1, Ordering::Relaxed) + 1;
        self.tell(WorkerEvent::Done { kind: self.class.kind.clone(), n_done });
        Ok(())
    }

    async fn failed(&self, reason: &str) -> Result<(), QueueError> {
        self.shared.n_failed.fetch_add(1, Ordering::Relaxed);
        let aside = self.deliveries >= self.class.attempts;
        self.tell(WorkerEvent::Failed { kind: self.class.kind.clone(), reason: reason.to_owned(), aside });
        if aside {
            return self.set_aside(reason).await;
        }
        // Soon, and preferably by another worker.
        let pause = Duration::from_millis(500) * u32::try_from(self.deliveries).unwrap_or(1);
        self.acknowledge(AckKind::Nak(Some(pause))).await
    }

    /// Moves the job to those set aside, with the error.
    async fn set_aside(&self, reason: &str) -> Result<(), QueueError> {
        let streams = &self.shared.streams;
        let mut headers = HeaderMap::new();
        headers.insert(ERROR, one_line(reason).as_str());
        headers.insert(WORKER, one_line(&self.shared.name).as_str());
        headers.insert(ATTEMPTS, self.deliveries.min(self.class.attempts).to_string().as_str());
        let subject = aside_subject(&self.name, &self.id);
        persist("set a job aside", || async {
            let (headers, payload) = (headers.clone(), self.message.payload.clone());
            let sent = streams.context.publish_with_headers(subject.clone(), headers, payload).await;
            match sent {
                Ok(stored) => stored.await,
                Err(error) => Err(error),
            }
        })
        .await?;
        self.acknowledge(AckKind::Ack).await
    }

    async fn acknowledge(&self, kind: AckKind) -> Result<(), QueueError> {
        // A lost one brings the job back; its result is then found before it is run.
        let sent = self.message.ack_with(kind).await;
        sent.map_err(|error| QueueError::server("confirm a job", error))
    }

    fn tell(&self, event: WorkerEvent) {
        // The watcher may have gone before the last job ended.
        let _ = self.shared.events.send(event);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.n_held.send_modify(|n_held| *n_held -= 1);
    }
}

/// A text as a header may hold it.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
