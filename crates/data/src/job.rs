//! Long work in shards that survives any stop.
//!
//! A job is a folder: one Parquet file a shard, and `manifest.json`, which says what the job is and which shards are done. A shard is
//! written under another name, brought to the disk and renamed; only then the manifest names it, which is replaced in the same way. So a
//! stop at any moment, kill -9 included, loses at most the shard in work, and a second run with the same settings does what
//! is left. A second process is refused while one works in the folder. Annotation and self-play keep the shard in work too, in
//! pieces that the next run continues from.
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
mod pieces;

pub(crate) use journal::{Journal, Kept};
pub use manifest::{Job, JobError, Manifest, SetAside, Shard};
pub(crate) use pieces::{Pieces, io};

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
        /// Time left at that rate; `None` before the first item of this run.
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
        self.event(self.started.elapsed())
    }

    /// Where the job stands after some time of this run.
    fn event(&self, elapsed: Duration) -> JobEvent<'static> {
        let seconds = elapsed.as_secs_f64();
        let per_second = self.n_done.saturating_sub(self.n_before) as f64 / seconds.max(1e-9);
        let n_left = self.n_total.saturating_sub(self.n_done) as f64;
        let left =
            (per_second > 0.0).then(|| Duration::try_from_secs_f64(n_left / per_second).ok()).flatten();
        JobEvent::Progress { n_done: self.n_done, n_total: self.n_total, per_second, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_earlier_runs_are_done_but_not_part_of_the_rate() {
        let mut meter = Meter::new(100, 90);
        let mut after_a_minute = |n| {
            meter.add(n);
            match meter.event(Duration::from_secs(60)) {
                JobEvent::Progress { n_done, n_total, per_second, left } => {
                    (n_done, n_total, 60.0 * per_second, left.map(|left| left.as_secs()))
                }
                JobEvent::Shard(_) => panic!("no shard was written"),
            }
        };
        assert_eq!(after_a_minute(0), (90, 100, 0.0, None));
        assert_eq!(after_a_minute(2), (92, 100, 2.0, Some(240)));
        assert_eq!(after_a_minute(8), (100, 100, 10.0, Some(0)));
    }
}
