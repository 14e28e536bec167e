//! `mavis queue`.

use super::cluster::{QueueArgs, needs, queue_failure};
use super::{answer, answer_json};
use clap::{Args, Subcommand};
use mavis_queue::Cluster;
use mavis_queue::cluster::{ClassStatus, Status, WorkerStatus};
use serde_json::json;
use std::fmt::Write as _;

/// Shows what is on a queue of jobs, and mends it.
///
/// Example: mavis queue status --queue nats://server:4222
#[derive(Subcommand)]
pub(crate) enum Queue {
    /// Jobs that wait, are in work or were set aside, and who can run them
    ///
    /// Example: mavis queue status --queue nats://127.0.0.1:4222
    Status(Show),
    /// Workers with what they declared and did
    ///
    /// Example: mavis queue workers --queue nats://127.0.0.1:4222
    Workers(Show),
    /// Puts jobs that were set aside back on the queue
    ///
    /// Example: mavis queue retry --queue nats://127.0.0.1:4222
    Retry(Retry),
    /// Removes jobs that wait and jobs that were set aside
    ///
    /// Example: mavis queue purge --queue nats://127.0.0.1:4222
    Purge(Purge),
}

/// A look at the queue.
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    queue: QueueArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Which jobs to try again.
#[derive(Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    show: Show,
    /// Only jobs of this class, as mavis queue status names it
    #[arg(long)]
    class: Option<String>,
}

/// Which jobs to remove.
#[derive(Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    show: Show,
    /// Only jobs of this class, as mavis queue status names it
    #[arg(long)]
    class: Option<String>,
    /// Remove results too, so that the same jobs are run again
    #[arg(long)]
    results: bool,
}

impl Show {
    fn connect(&self) -> anyhow::Result<Cluster> {
        self.queue.config()?.connect(needs())
    }

    /// The answer to a command that changed something.
    fn changed(&self, what: &str, n: u64) -> anyhow::Result<()> {
        if self.json { answer_json(&json!({ what: n })) } else { answer(&format!("{n} {what}\n")) }
    }
}

impl Queue {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Status(show) => {
                let status = show.connect()?.status().map_err(queue_failure)?;
                if show.json { answer_json(&status) } else { answer(&status_text(&status)) }
            }
            Self::Workers(show) => {
                let workers = show.connect()?.status().map_err(queue_failure)?.workers;
                if show.json { answer_json(&workers) } else { answer(&workers_text(&workers)) }
            }
            Self::Retry(Retry { show, class }) => {
                let n = show.connect()?.retry(class.as_deref()).map_err(queue_failure)?;
                show.changed("jobs put back", n as u64)
            }
            Self::Purge(Purge { show, class, results }) => {
                let n = show.connect()?.purge(class.as_deref(), results).map_err(queue_failure)?;
                show.changed("messages removed", n)
            }
        }
    }
}

fn status_text(status: &Status) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for class in &status.classes {
        let ClassStatus { class, kind, needs, n_waiting, n_in_work, n_aside, able, .. } = class;
        let _ = writeln!(
            text,
            "{kind} {class} ({needs}): {n_waiting} waiting, {n_in_work} in work, {n_aside} set aside; {} able workers",
            able.len()
        );
    }
    for class in status.classes.iter().filter(|class| class.able.is_empty() && class.n_waiting > 0) {
        let why = match class.unable[..] {
            [] => "no worker is there".to_owned(),
            _ => class.unable.join("; "),
        };
        let _ = writeln!(text, "nobody can run {} {}: {why}", class.kind, class.class);
    }
    for job in &status.aside {
        let _ = writeln!(text, "set aside: {} of {}: {}", job.job, job.class, job.reason);
    }
    let (n, bytes) = (status.n_results, status.result_bytes);
    let _ = writeln!(
        text,
        "{} workers, {n} results kept ({:.1} MB), replicas {}",
        status.workers.len(),
        bytes as f64 / 1e6,
        status.replicas
    );
    text
}

fn workers_text(workers: &[WorkerStatus]) -> String {
    let mut text = String::new();
    for WorkerStatus { name, offer, in_hand, n_done, n_failed, draining } in workers {
        let engines: Vec<String> =
            offer.engines.iter().map(|(name, version)| format!("{name} = {version}")).collect();
        let _ = writeln!(
            text,
            "{name}: mavis {}, {} jobs at once, engines [{}], {} models, GPU {}; {in_hand} in hand, {n_done} done, {n_failed} failed{}",
            offer.mavis,
            offer.cores,
            engines.join(", "),
            offer.models.len(),
            offer.gpu.as_deref().unwrap_or("none"),
            if *draining { ", draining" } else { "" }
        );
    }
    if text.is_empty() { "no workers\n".to_owned() } else { text }
}
