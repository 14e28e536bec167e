//! The threads that run jobs.

use crate::{Beat, QueueError, Station, Stations};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A job for a thread.
pub(super) struct Assignment {
    pub(super) kind: String,
    pub(super) input: Vec<u8>,
    pub(super) beat: Beat,
    pub(super) reply: oneshot::Sender<Result<Vec<u8>, String>>,
}

/// Jobs are fetched ahead for so much time of every thread, so that none waits for the network; long jobs are not.
const AHEAD: Duration = Duration::from_millis(500);
/// The most that is fetched ahead for a thread.
const MOST_AHEAD: u128 = 16;

/// One thread for each core, each with runners of its own.
pub(super) struct Threads {
    n: usize,
    jobs: mpsc::Sender<Assignment>,
    /// A moving mean of how long a job takes, in microseconds; 0 before the first.
    mean: Arc<AtomicU64>,
}

impl Threads {
    pub(super) fn start(n: usize, stations: Arc<Stations>) -> Result<Self, QueueError> {
        let (jobs, inbox) = mpsc::channel::<Assignment>();
        let inbox = Arc::new(Mutex::new(inbox));
        let (n, mean) = (n.max(1), Arc::new(AtomicU64::new(0)));
        for number in 0..n {
            let (inbox, stations, mean) = (Arc::clone(&inbox), Arc::clone(&stations), Arc::clone(&mean));
            // Not joined: they end with their sender, and a hung one must not keep the program from ending.
            std::thread::Builder::new()
                .name(format!("job-{number}"))
                .spawn(move || run(&inbox, &stations, &mean))
                .map_err(|error| QueueError::server("cannot start a thread", error))?;
        }
        Ok(Self { n, jobs, mean })
    }

    pub(super) fn assign(&self, assignment: Assignment) {
        // A reply channel that is dropped tells the waiting side.
        let _ = self.jobs.send(assignment);
    }

    pub(super) fn n(&self) -> usize {
        self.n
    }

    /// Whether several jobs end in the time of one that is fetched ahead.
    pub(super) fn are_jobs_short(&self) -> bool {
        self.n_ahead() > 2 * self.n
    }

    /// Jobs to fetch beyond those that run.
    pub(super) fn n_ahead(&self) -> usize {
        let mean = u128::from(self.mean.load(Ordering::Relaxed));
        AHEAD.as_micros().checked_div(mean).map_or(0, |each| self.n * each.min(MOST_AHEAD) as usize)
    }
}

fn run(inbox: &Mutex<mpsc::Receiver<Assignment>>, stations: &Stations, mean: &AtomicU64) {
    let mut own: BTreeMap<String, Box<dyn Station>> = BTreeMap::new();
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Assignment { kind, input, beat, reply }) = next else { return };
        let begin = Instant::now();
        let station = match own.remove(&kind) {
            Some(station) => Some(station),
            None => stations.make(&kind),
        };
        let result = match station {
            None => Err(format!("this worker knows no jobs of kind {kind}")),
            Some(mut station) => match catch_unwind(AssertUnwindSafe(|| station.run(&input, &beat))) {
                Ok(result) => {
                    own.insert(kind, station);
                    result
                }
                // Whatever state the panic left behind is not used again.
                Err(_) => Err("the job panicked".to_owned()),
            },
        };
        let (before, took) = (mean.load(Ordering::Relaxed), begin.elapsed().as_micros() as u64);
        let after = if before == 0 { took } else { (3 * before + took) / 4 };
        mean.store(after.max(1), Ordering::Relaxed);
        // Nobody waits for a job that was taken for hung.
        let _ = reply.send(result);
    }
}
