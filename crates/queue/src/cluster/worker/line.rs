//! A standing request for the jobs of a class.

use super::Shared;
use super::held::Held;
use crate::cluster::streams::Class;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a request stays open at the servers: a job that comes meanwhile is handed out at once.
const OPEN: Duration = Duration::from_secs(2);
/// Pause after a request that failed at once, as while no server can be reached.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a line stays open for a class that has no jobs: more often follow.
const LINGER: Duration = Duration::from_secs(60);

/// A class that this worker can run.
pub(super) struct Source {
    pub(super) class: Class,
    pub(super) consumer: PullConsumer,
}

/// Takes the jobs of one class as long as it is open.
pub(super) struct Line {
    end: Arc<AtomicBool>,
    /// When jobs came last.
    served: watch::Receiver<Instant>,
    task: JoinHandle<()>,
}

impl Line {
    pub(super) fn open(shared: Arc<Shared>, source: Source) -> Self {
        let (served, watcher) = watch::channel(Instant::now());
        let end = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(follow(shared, source, Arc::clone(&end), served));
        Self { end, served: watcher, task }
    }

    /// Whether no job came for a while.
    pub(super) fn is_idle(&self) -> bool {
        self.served.borrow().elapsed() > LINGER
    }

    /// Asks for no further job. The request that is open runs out by itself: jobs it brings must not be lost.
    pub(super) fn close(self) -> Self {
        self.end.store(true, Ordering::Relaxed);
        self
    }

    pub(super) fn is_closed(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits until the last request has run out.
    pub(super) async fn closed(self) {
        // A line that panicked has no request open either.
        let _ = self.task.await;
    }
}

async fn follow(shared: Arc<Shared>, source: Source, end: Arc<AtomicBool>, served: watch::Sender<Instant>) {
    let mut held = shared.n_held.subscribe();
    let mut busy = false;
    let ends = || end.load(Ordering::Relaxed) || shared.drain.load(Ordering::Relaxed);
    while !ends() {
        let (cores, ahead) = (shared.threads.n(), shared.threads.n_ahead());
        // Half of what is fetched ahead at a time: fewer requests, and the other half is worked on meanwhile.
        let enough = (ahead / 2).max(1);
        let room = (cores + ahead).saturating_sub(*held.borrow_and_update());
        if room < enough {
            // An end is noticed soon even when jobs are long.
            let _ = tokio::time::timeout(OPEN, held.changed()).await;
            continue;
        }
        let begin = Instant::now();
        // A class that had no jobs last time reserves one place only, since others may fill the rest.
        let fetched = fetch(&shared, &source, if busy { room } else { 1 }).await;
        // Nobody would answer for a class that was removed; the next listing says whether it is back.
        let Some(n_taken) = fetched else { return };
        busy = n_taken > 0;
        if busy {
            served.send_replace(Instant::now());
        } else if begin.elapsed() < PAUSE {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Takes up to `room` jobs of a class: those that are there, and those that come while the request is open. `None` when the servers
/// refuse, as for a class that was removed.
async fn fetch(shared: &Arc<Shared>, source: &Source, room: usize) -> Option<usize> {
    let asked = source.consumer.batch().max_messages(room).expires(OPEN);
    let Ok(mut messages) = asked.messages().await else { return Some(0) };
    let mut n_taken = 0;
    // Ends by itself when nobody answers.
    while let Some(message) = messages.next().await {
        n_taken += 1;
        tokio::spawn(Held::new(Arc::clone(shared), source.class.clone(), message.ok()?).finish());
    }
    Some(n_taken)
}
