//! Long work in shards that survives any stop.
//!
//! A job is a folder: one Parquet file a shard, and `manifest.json`, which says what the job is and which shards are done. A shard is
//! written under another name, brought to the disk and renamed; only then the manifest names it, which is replaced in the same way. So a
//! stop at any moment, kill -9 included, loses at most the shard in work, and a second run with the same settings does what
//! is left. Annotation keeps the shard in work too, in pieces that the next run continues from.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod journal;
mod manifest;

pub(crate) use journal::{Journal, Kept};
pub use manifest::{Job, JobError, Manifest, SetAside, Shard};

use std::time::{Duration, Instant};

/// Progress of a job.
#[derive(Clone, Debug)]
pub enum JobEvent<'a> {
    /// Work went on.
    Progress {
        /// Items done, those of earlier runs included.
        n_done: u64,
        /// Items in all.
        n_total: u64,
        /// Items a second in this run.
        per_second: f64,
        /// Time left at that rate.
        left: Option<Duration>,
    },
    /// A shard is safe on disk.
    Shard(&'a Shard),
}

/// Keeps the rate of a job.
#[derive(Debug)]
pub(crate) struct Meter {
    started: Instant,
    n_total: u64,
    /// Done by earlier runs.
    n_before: u64,
    n_done: u64,
}

impl Meter {
    pub(crate) fn new(n_total: u64, n_before: u64) -> Self {
        Self { started: Instant::now(), n_total, n_before, n_done: n_before }
    }

    pub(crate) fn add(&mut self, n: u64) -> JobEvent<'static> {
        self.n_done = self.n_done.saturating_add(n);
        let seconds = self.started.elapsed().as_secs_f64();
        let per_second = self.n_done.saturating_sub(self.n_before) as f64 / seconds.max(1e-9);
        let n_left = self.n_total.saturating_sub(self.n_done) as f64;
        let left =
            (per_second > 0.0).then(|| Duration::try_from_secs_f64(n_left / per_second).ok()).flatten();
        JobEvent::Progress { n_done: self.n_done, n_total: self.n_total, per_second, left }
    }
}
