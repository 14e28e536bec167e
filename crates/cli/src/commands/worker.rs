//! `mavis worker`.

pub(super) mod by_line;
mod games;

use super::cluster::engines::Engines;
use super::cluster::{QueueArgs, QueueConfig, model_hash, needs, queue_failure};
use super::{answer, answer_json, note};
use crate::input::BadInput;
use by_line::{ByLine, NodeJudge};
use clap::Args;
use mavis_data::{AnnotateJob, Grower, Judge, SelfPlayer, SelfplayJob, TraceJob};
use mavis_game::Rules;
use mavis_net::Device;
use mavis_probs::{ProbsJob, ProbsRunner};
use mavis_queue::cluster::{WorkerEvent, WorkerSettings, work};
use mavis_queue::{Cluster, Files, Offer, PROTOCOL, QueueError, Stations};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Takes jobs from a queue that other machines fill (data annotate --cluster and others), and gives their results back.
///
/// The first Ctrl-C finishes the jobs in hand, the second stops; a worker that dies loses nothing, its jobs go to others. Jobs name
/// engines, and this worker decides what a name means here: Stockfish is found on PATH, others are given by --engine.
///
/// Example: mavis worker --queue nats://server:4222 --engine lc0=/opt/lc0/lc0
#[derive(Args)]
pub(crate) struct Worker {
    #[command(flatten)]
    queue: QueueArgs,
    /// Jobs that run concurrently. Default: one per core
    #[arg(long, short)]
    jobs: Option<usize>,
    /// An engine of this machine and its program; may be repeated
    #[arg(long = "engine", value_name = "NAME=PROGRAM")]
    engines: Vec<String>,
    /// A model file of this machine that jobs may ask for; may be repeated
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// The worker's name in mavis queue status. Default: the machine's name and the process number
    #[arg(long)]
    name: Option<String>,
    /// Minutes without progress after which a job is taken for hung
    #[arg(long, default_value_t = 60)]
    stall: u64,
    /// Each job as a line of JSON on stdout
    #[arg(long)]
    json: bool,
}

impl Worker {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let config = self.queue.config()?;
        let mut named = config.engines.clone();
        named.extend(named_engines(&self.engines)?);
        let engines = Engines::find(&named)?;
        let drain = crate::stop::flag("the jobs in hand");
        let cluster = patiently(&config, &drain)?;
        let mut stations = Stations::default();
        let here = engines.clone();
        stations.add::<AnnotateJob, _>(move || ByLine::<Judge>::new(here.clone()));
        let here = engines.clone();
        stations.add::<SelfplayJob, _>(move || ByLine::<SelfPlayer>::new(here.clone()));
        let here = engines.clone();
        stations.add::<TraceJob, _>(move || ByLine::<Grower<NodeJudge>>::new(here.clone()));
        let files: Arc<dyn Files> = Arc::new(cluster.blobs());
        stations.add::<ProbsJob, _>(move || ProbsRunner::new(Arc::clone(&files)));
        let models = self.model_hashes()?;
        let offered = models.keys().cloned().collect();
        let players = games::Players::new(engines.clone(), models)?;
        stations.add(move || players.runner());
        let offer = Offer {
            protocol: PROTOCOL,
            mavis: needs().mavis,
            cores: super::data::n_threads(self.jobs),
            kinds: stations.kinds().map(str::to_owned).collect(),
            games: Rules::ALL.iter().map(|rules| rules.name().to_owned()).collect(),
            engines: engines.versions(),
            models: offered,
            gpu: gpu(),
        };
        let name = self.name.clone().unwrap_or_else(default_name);
        note(&format!("worker {name}: {} jobs at once, {}", offer.cores, described(&offer)));
        let stall = Duration::from_secs(60 * self.stall.max(1));
        let settings = WorkerSettings { name, offer, stations, drain, stall };
        let json = self.json;
        let done = work(&cluster, settings, |event| tell(&event, json)).map_err(queue_failure)?;
        if json {
            return answer_json(&json!({ "event": "end", "done": done.n_done, "failed": done.n_failed }));
        }
        answer(&format!("{} jobs done, {} failed\n", done.n_done, done.n_failed))
    }

    fn model_hashes(&self) -> Result<BTreeMap<String, PathBuf>, BadInput> {
        self.models.iter().map(|path| Ok((model_hash(path)?, path.clone()))).collect()
    }
}

/// Connects, however long the servers take to come up: machines start in any order.
fn patiently(config: &QueueConfig, drain: &AtomicBool) -> anyhow::Result<Cluster> {
    let mut told = false;
    loop {
        match config.try_connect(needs())? {
            Err(error @ QueueError::Connect { .. }) if !drain.load(Ordering::Relaxed) => {
                if !std::mem::replace(&mut told, true) {
                    note(&format!("{error}; trying again"));
                }
                std::thread::sleep(Duration::from_secs(1));
            }
            result => return result.map_err(queue_failure),
        }
    }
}

/// `NAME=PROGRAM` of every flag.
fn named_engines(flags: &[String]) -> Result<BTreeMap<String, PathBuf>, BadInput> {
    let read = |flag: &String| match flag.split_once('=') {
        Some((name, program)) => Ok((name.to_owned(), program.into())),
        None => Err(BadInput::new(format!("expected --engine NAME=PROGRAM, got '{flag}'"))),
    };
    flags.iter().map(read).collect()
}

fn default_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    format!("{}-{}", host.chars().map(plain).collect::<String>(), std::process::id())
}

/// The GPU that models would use here.
fn gpu() -> Option<String> {
    let device = Device::Auto.resolved().ok()?;
    (device == Device::Cuda).then(|| "CUDA".to_owned())
}

fn described(offer: &Offer) -> String {
    let engines: Vec<String> =
        offer.engines.iter().map(|(name, version)| format!("{name} = {version}")).collect();
    if engines.is_empty() { "no engines".to_owned() } else { engines.join(", ") }
}

fn tell(event: &WorkerEvent, json: bool) {
    match event {
        WorkerEvent::Done { kind, n_done } if json => {
            // A reader that went away is no reason to stop the work.
            let _ = answer_json(&json!({ "event": "done", "kind": kind, "n": n_done }));
        }
        WorkerEvent::Done { .. } => {}
        WorkerEvent::Failed { kind, reason, aside } if json => {
            let _ =
                answer_json(&json!({ "event": "failed", "kind": kind, "reason": reason, "aside": aside }));
        }
        WorkerEvent::Failed { kind, reason, aside } => {
            note(&format!("{kind} job failed{}: {reason}", if *aside { ", set aside" } else { "" }));
        }
        WorkerEvent::Lacks { kind, reason } => {
            note(&format!("{kind} jobs wait that this worker cannot run: {reason}"))
        }
    }
}
