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

/// One thread for each core, each with runners of its own.
pub(super) struct Threads {
    jobs: mpsc::Sender<Assignment>,
    /// A moving mean of how long a job takes, in microseconds.
    mean: Arc<AtomicU64>,
}

impl Threads {
    pub(super) fn start(n: usize, stations: Arc<Stations>) -> Result<Self, QueueError> {
        let (jobs, inbox) = mpsc::channel::<Assignment>();
        let inbox = Arc::new(Mutex::new(inbox));
        // Taken for long until the first job says otherwise.
        let mean = Arc::new(AtomicU64::new(Duration::from_secs(10).as_micros() as u64));
        for number in 0..n.max(1) {
            let (inbox, stations, mean) = (Arc::clone(&inbox), Arc::clone(&stations), Arc::clone(&mean));
            // Not joined: they end with their sender, and a hung one must not keep the program from ending.
            std::thread::Builder::new()
                .name(format!("job-{number}"))
                .spawn(move || run(&inbox, &stations, &mean))
                .map_err(|error| QueueError::server("cannot start a thread", error))?;
        }
        Ok(Self { jobs, mean })
    }

    pub(super) fn assign(&self, assignment: Assignment) {
        // A reply channel that is dropped tells the waiting side.
        let _ = self.jobs.send(assignment);
    }

    pub(super) fn mean_time(&self) -> Duration {
        Duration::from_micros(self.mean.load(Ordering::Relaxed))
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
        mean.store((3 * before + took) / 4, Ordering::Relaxed);
        // Nobody waits for a job that was taken for hung.
        let _ = reply.send(result);
    }
}
