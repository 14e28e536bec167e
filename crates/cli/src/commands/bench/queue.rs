//! `mavis bench queue`.

use super::{answer, answer_json};
use crate::commands::cluster::{QueueArgs, QueueConfig, needs, queue_failure};
use clap::Args;
use mavis_queue::cluster::{WorkerSettings, work};
use mavis_queue::{
    Beat, JobKind, Local, Offer, PROTOCOL, Queue, QueueError, Runner, Stations, read_json, write_json,
};
use serde::Serialize;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Measures what a queue costs: the same jobs on threads of this process and through a server and a worker process, in turn.
///
/// With --small the second part sends many tiny jobs through many simulated workers and watches this program's memory.
/// Example: mavis bench queue --queue nats://127.0.0.1:4222
#[derive(Args)]
pub(super) struct BenchQueue {
    #[command(flatten)]
    queue: QueueArgs,
    /// Jobs in each round
    #[arg(long, default_value_t = 200)]
    jobs: u64,
    /// Milliseconds of work per job, on an idle machine
    #[arg(long, default_value_t = 50)]
    millis: u64,
    /// Rounds of either way
    #[arg(long, default_value_t = 3)]
    rounds: u64,
    /// Tiny jobs for the second part. Default: none
    #[arg(long, default_value_t = 0)]
    small: u64,
    /// Simulated workers for the second part
    #[arg(long, default_value_t = 1000)]
    workers: usize,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// Be the workers of such a run, until standard input ends
    #[arg(long, hide = true, value_name = "THREADS")]
    serve: Option<usize>,
}

/// Steps of a hash, so that a job takes the same work everywhere.
enum Steps {}

impl JobKind for Steps {
    const NAME: &'static str = "bench";
    type Input = (u64, u64);
    type Output = u64;

    fn write_input(input: &(u64, u64)) -> Vec<u8> {
        write_json(input)
    }

    fn read_input(bytes: &[u8]) -> Result<(u64, u64), String> {
        read_json(bytes)
    }

    fn write_output(output: &u64) -> Vec<u8> {
        write_json(output)
    }

    fn read_output(bytes: &[u8]) -> Result<u64, String> {
        read_json(bytes)
    }
}

struct Hasher;

impl Runner<Steps> for Hasher {
    fn run(&mut self, (seed, steps): (u64, u64), _: &Beat) -> Result<u64, String> {
        Ok((0..steps).fold(seed, |state, _| mavis_stable::seed::scramble(state)))
    }
}

/// What was measured.
#[derive(Serialize)]
struct Measured {
    threads: usize,
    jobs: u64,
    /// Seconds of each round in this process.
    local_seconds: Vec<f64>,
    /// Seconds of each round through the queue.
    queue_seconds: Vec<f64>,
    /// The queue's median above the other, as a share of it.
    overhead: f64,
    small: Option<Small>,
}

/// Many tiny jobs.
#[derive(Serialize)]
struct Small {
    jobs: u64,
    workers: usize,
    seconds: f64,
    jobs_per_second: f64,
    /// Resident megabytes of this program after each tenth of the jobs.
    megabytes: Vec<f64>,
}

impl BenchQueue {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let config = self.queue.config()?;
        if let Some(threads) = self.serve {
            return self.serve(&config, threads);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let steps = calibrated(Duration::from_millis(self.millis.max(1)));
        let mut cluster = config.connect(needs())?;
        // Jobs of an earlier run have results already: seeds differ from run to run.
        let mut seed = mavis_stable::time::unix_seconds() << 24;
        let (mut local_seconds, mut queue_seconds) = (Vec::new(), Vec::new());
        {
            let _workers = self.start_workers(1, threads)?;
            // Until the worker is there and knows the class.
            timed(&mut cluster, &mut seed, threads as u64, steps)?;
            for _ in 0..self.rounds {
                let mut local = Local::new((0..threads).map(|_| Hasher).collect());
                local_seconds.push(timed(&mut local, &mut seed, self.jobs, steps)?);
                queue_seconds.push(timed(&mut cluster, &mut seed, self.jobs, steps)?);
            }
        }
        let overhead = median(&queue_seconds) / median(&local_seconds) - 1.0;
        let small = if self.small > 0 { Some(self.many(&mut cluster, &mut seed)?) } else { None };
        let jobs = self.jobs;
        let measured = Measured { threads, jobs, local_seconds, queue_seconds, overhead, small };
        if self.json {
            return answer_json(&measured);
        }
        answer(&text(&measured, self.millis))
    }

    /// Tiny jobs through many workers.
    fn many(&self, cluster: &mut mavis_queue::Cluster, seed: &mut u64) -> anyhow::Result<Small> {
        let _workers = self.start_workers(self.workers, 1)?;
        timed(cluster, seed, 1, 1)?;
        let (begin, tenth) = (Instant::now(), (self.small / 10).max(1));
        let (first, mut n_done, mut megabytes) = (*seed, 0, Vec::new());
        let jobs = (0..self.small).map(|number| Ok(((), (first + number, 1))));
        Queue::<Steps>::run(cluster, jobs, |(), _| {
            n_done += 1;
            if n_done % tenth == 0 {
                megabytes.push(resident_megabytes());
            }
            Ok::<(), QueueError>(())
        })
        .map_err(queue_failure)?;
        *seed += self.small;
        let (seconds, jobs, workers) = (begin.elapsed().as_secs_f64(), self.small, self.workers);
        Ok(Small { jobs, workers, seconds, jobs_per_second: jobs as f64 / seconds, megabytes })
    }

    /// A process of workers, which ends when its input does.
    fn start_workers(&self, workers: usize, threads: usize) -> anyhow::Result<Workers> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "queue", "--workers", &workers.to_string(), "--serve", &threads.to_string()]);
        command.args(self.queue.as_flags());
        Ok(Workers(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?))
    }

    fn serve(&self, config: &QueueConfig, threads: usize) -> anyhow::Result<()> {
        let drain = Arc::new(AtomicBool::new(false));
        let offer = Offer {
            protocol: PROTOCOL,
            mavis: needs().mavis,
            cores: threads,
            kinds: [Steps::NAME.to_owned()].into(),
            games: Default::default(),
            engines: Default::default(),
            models: Default::default(),
            gpu: None,
        };
        // A connection for every hundred, as machines would share no connection but a process cannot have a thousand.
        let connections: Result<Vec<_>, _> =
            (0..self.workers.div_ceil(100)).map(|_| config.connect(needs())).collect();
        let connections = connections?;
        std::thread::scope(|scope| {
            for number in 0..self.workers {
                let (cluster, offer, drain) = (&connections[number / 100], offer.clone(), Arc::clone(&drain));
                scope.spawn(move || {
                    let mut stations = Stations::default();
                    stations.add::<Steps, Hasher>(|| Hasher);
                    let name = format!("bench-{}-{number}", std::process::id());
                    let stall = Duration::from_secs(3600);
                    // A worker that fails shows as jobs that are not done.
                    let _ = work(cluster, WorkerSettings { name, offer, stations, drain, stall }, |_| ());
                });
            }
            let mut rest = Vec::new();
            // Whether the parent closed it or died is the same.
            let _ = std::io::Read::read_to_end(&mut std::io::stdin(), &mut rest);
            drain.store(true, Ordering::Relaxed);
        });
        Ok(())
    }
}

/// The process of workers.
struct Workers(Child);

impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends with its input.
        let _ = self.0.wait();
    }
}

/// Seconds that jobs take on a queue.
fn timed(queue: &mut impl Queue<Steps>, seed: &mut u64, n: u64, steps: u64) -> anyhow::Result<f64> {
    let (begin, first) = (Instant::now(), *seed);
    let jobs = (0..n).map(|number| Ok(((), (first + number, steps))));
    queue.run(jobs, |(), _| Ok::<(), QueueError>(())).map_err(queue_failure)?;
    *seed += n;
    Ok(begin.elapsed().as_secs_f64())
}

/// Steps that take so long, as the fastest of several tries says.
fn calibrated(time: Duration) -> u64 {
    const TRY: u64 = 2_000_000;
    let tries = (0..7).map(|seed| {
        let begin = Instant::now();
        // Work whose result nobody uses would be left out of the program.
        let _ = std::hint::black_box(Hasher.run(std::hint::black_box((seed, TRY)), &Beat::default()));
        begin.elapsed()
    });
    let fastest = tries.min().unwrap_or(time);
    ((TRY as f64 * time.as_secs_f64() / fastest.as_secs_f64().max(1e-9)) as u64).max(1)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What the system says, where it does (Linux).
fn resident_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

fn text(measured: &Measured, millis: u64) -> String {
    let Measured { threads, jobs, local_seconds, queue_seconds, overhead, small } = measured;
    let mut text = format!(
        "{jobs} jobs of {millis} ms on {threads} threads, median of {} rounds\n\
         in this process  {:.3} s\nthrough a queue  {:.3} s ({:+.2} %)\n",
        local_seconds.len(),
        median(local_seconds),
        median(queue_seconds),
        100.0 * overhead
    );
    if let Some(Small { jobs, workers, seconds, jobs_per_second, megabytes }) = small {
        let memory: Vec<String> = megabytes.iter().map(|value| format!("{value:.0}")).collect();
        text.push_str(&format!(
            "{jobs} tiny jobs, {workers} workers: {seconds:.1} s, {jobs_per_second:.0} jobs/s; this program's memory after \
             each tenth: {} MB\n",
            memory.join(" ")
        ));
    }
    text
}
