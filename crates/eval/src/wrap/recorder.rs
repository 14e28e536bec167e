//! Keeps what was asked and answered.

use crate::{BestAction, Evaluator, MoveValue, Replies, Reply, Request};
use mavis_game::Position;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One request with its reply.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Which batch it came in, counted from 0.
    pub batch: usize,
    /// The request.
    pub request: Request,
    /// The reply; `None` while it is under way, and for good if it was cancelled.
    pub reply: Option<Reply>,
}

/// An evaluator that writes down every request and reply of another; clones share the record.
#[derive(Clone, Debug)]
pub struct Recorder<E> {
    inner: E,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<Record>,
    n_batches: usize,
}

impl<E> Recorder<E> {
    /// Records what goes through `inner`.
    pub fn new(inner: E) -> Self {
        Self { inner, log: Arc::default() }
    }

    /// Everything so far, in the order asked.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }

    /// How many requests each batch had.
    #[must_use]
    pub fn batch_sizes(&self) -> Vec<usize> {
        let log = self.lock();
        let mut sizes = vec![0; log.n_batches];
        for record in &log.records {
            sizes[record.batch] += 1;
        }
        sizes
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Evaluator> Evaluator for Recorder<E> {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let mut log = self.lock();
        let batch = log.n_batches;
        log.n_batches += 1;
        let first = log.records.len();
        log.records.extend(requests.iter().cloned().map(|request| Record { batch, request, reply: None }));
        drop(log);
        let replies = self.inner.evaluate(requests);
        let log = self.log.clone();
        Box::pin(async move {
            let replies = replies.await;
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            for (record, reply) in log.records[first..].iter_mut().zip(&replies) {
                record.reply = Some(reply.clone());
            }
            drop(log);
            replies
        })
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        self.inner.best_action(state, listed)
    }

    fn concurrent_batches(&self) -> usize {
        self.inner.concurrent_batches()
    }

    fn describe(&self) -> String {
        format!("{}, recorded", self.inner.describe())
    }
}
