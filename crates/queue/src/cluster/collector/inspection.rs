//! Looks after jobs whose results do not come.

use super::{Event, QUIET, done_before};
use crate::cluster::streams::{Class, Streams, aside_subject, job_subject};
use crate::{JobId, QueueError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Looks up open jobs when nothing was heard for a while. Results that were not heard of are reported, a class that lost its
/// consumer gets it back, and jobs that are nowhere end the run with an error.
pub(super) struct Inspection {
    parts: Arc<Parts>,
    /// When something was heard last, or the last inspection began.
    quiet_since: Instant,
    task: Option<JoinHandle<()>>,
}

struct Parts {
    streams: Streams,
    class: Class,
    name: String,
    events: mpsc::Sender<Event>,
    /// Jobs were there that their consumer did not count. Once may be chance: a worker was just taking them.
    uncounted: AtomicBool,
}

impl Inspection {
    pub(super) fn new(streams: Streams, class: Class, events: mpsc::Sender<Event>) -> Self {
        let parts = Parts { streams, name: class.name(), class, events, uncounted: AtomicBool::new(false) };
        Self { parts: Arc::new(parts), quiet_since: Instant::now(), task: None }
    }

    /// Something was heard, or there is nothing to wait for.
    pub(super) fn put_off(&mut self) {
        self.quiet_since = Instant::now();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.quiet_since.elapsed() > QUIET && self.task.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(super) fn start(&mut self, runtime: &Handle, jobs: Vec<JobId>) {
        self.quiet_since = Instant::now();
        let parts = Arc::clone(&self.parts);
        self.task = Some(runtime.spawn(async move {
            if let Err(error) = parts.inspect(&jobs).await {
                // The collector is gone when nobody receives.
                let _ = parts.events.send(Event::Fault(error));
            }
        }));
    }
}

impl Parts {
    async fn inspect(&self, jobs: &[JobId]) -> Result<(), QueueError> {
        let (mut waiting, mut removed) = (false, 0);
        for id in jobs {
            if self.is_on_queue(id).await? {
                waiting = true;
            } else if let Some(event) = done_before(&self.streams, &self.name, id).await? {
                // The collector is gone when nobody receives.
                let _ = self.events.send(event);
            // Put back by a retry between the two looks is the last way to be somewhere.
            } else if !self.is_aside(id).await? && !self.is_on_queue(id).await? {
                removed += 1;
            }
        }
        if removed > 0 {
            return Err(QueueError::Removed { n: removed, kind: self.class.kind.clone() });
        }
        if waiting { self.look_after_consumer().await } else { Ok(()) }
    }

    async fn is_on_queue(&self, id: &JobId) -> Result<bool, QueueError> {
        let found = self.streams.last(&self.streams.jobs, &job_subject(&self.name, id)).await?;
        Ok(found.is_some())
    }

    async fn is_aside(&self, id: &JobId) -> Result<bool, QueueError> {
        let found = self.streams.last(&self.streams.aside, &aside_subject(&self.name, id)).await?;
        Ok(found.is_some())
    }

    /// Makes the consumer of the class again where it is missing, or where it knows of no job though there are some.
    async fn look_after_consumer(&self) -> Result<(), QueueError> {
        let consumer = self.streams.consumer(&self.class).await?;
        let info = consumer.cached_info();
        let uncounted = info.num_pending == 0 && info.num_ack_pending == 0;
        if self.uncounted.swap(uncounted, Ordering::Relaxed) && uncounted {
            // One that is gone already is as good.
            let _ = self.streams.jobs.delete_consumer(&self.name).await;
            self.streams.consumer(&self.class).await?;
        }
        Ok(())
    }
}
