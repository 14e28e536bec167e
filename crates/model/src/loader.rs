//! Threads that build batches ahead of the trainer.

use crate::pack::PackedBatch;
use mavis_data::RecordError;
use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

/// Training data as numbered batches; any thread can build any of them.
pub trait Batches: Send {
    /// Fills `packed` with batch number `number`.
    ///
    /// # Errors
    /// A record that cannot be used.
    fn fill(&self, number: u64, packed: &mut PackedBatch) -> Result<(), RecordError>;
}

/// Batches in order, built ahead by worker threads.
///
/// Worker `w` builds batches `w`, `w + n`, ... and the reader asks them in turn, so the order never depends on timing.
pub struct Loader {
    lanes: Vec<Lane>,
    next: u64,
}

struct Lane {
    ready: Receiver<Result<PackedBatch, RecordError>>,
    /// Batches come back here, so that their memory is used again.
    spent: SyncSender<PackedBatch>,
    worker: Option<JoinHandle<()>>,
}

impl Loader {
    /// Starts `n_workers` threads at batch number `first`.
    #[must_use]
    pub fn start(batches: &(impl Batches + Clone + 'static), first: u64, n_workers: usize) -> Self {
        let n_workers = n_workers.max(1) as u64;
        let lanes = (0..n_workers)
            .map(|lane| {
                // The lane of batch k is k modulo the number of lanes, wherever the run starts.
                let start = first + (lane + n_workers - first % n_workers) % n_workers;
                spawn(batches.clone(), start, n_workers)
            })
            .collect();
        Self { lanes, next: first }
    }

    /// The next batch; `None` when a worker died.
    pub fn next_batch(&mut self) -> Option<Result<PackedBatch, RecordError>> {
        let lane = (self.next % self.lanes.len() as u64) as usize;
        self.next += 1;
        self.lanes[lane].ready.recv().ok()
    }

    /// Gives the memory of the batch read last back.
    pub fn recycle(&self, packed: PackedBatch) {
        let lane = ((self.next - 1) % self.lanes.len() as u64) as usize;
        // A full or closed channel only means that the memory is freed instead.
        let _ = self.lanes[lane].spent.try_send(packed);
    }
}

fn spawn(batches: impl Batches + 'static, start: u64, stride: u64) -> Lane {
    let (send, ready) = sync_channel(2);
    let (spent, reuse) = sync_channel::<PackedBatch>(4);
    let worker = std::thread::spawn(move || {
        let mut number = start;
        loop {
            let mut packed = reuse.try_recv().unwrap_or_default();
            let built = batches.fill(number, &mut packed).map(|()| packed);
            let failed = built.is_err();
            if send.send(built).is_err() || failed {
                return;
            }
            number += stride;
        }
    });
    Lane { ready, spent, worker: Some(worker) }
}

impl Drop for Loader {
    fn drop(&mut self) {
        for lane in self.lanes.drain(..) {
            let Lane { ready, spent, worker } = lane;
            // With both ends gone the worker's next send fails and it ends.
            drop((ready, spent));
            if let Some(worker) = worker {
                let _ = worker.join();
            }
        }
    }
}
