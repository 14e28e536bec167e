//! The connection to a queue of many machines, for all commands that use one.

mod config;
pub(crate) mod engines;
pub(crate) mod games;
pub(crate) mod players;

use crate::input::BadInput;
use clap::Args;
pub(crate) use config::QueueConfig;
use mavis_queue::{Cluster, Needs, QueueError, content_hash};
use std::path::{Path, PathBuf};

/// Where a command sends its jobs.
#[derive(Args, Default)]
pub(crate) struct ClusterArgs {
    /// The queue of jobs for workers on other machines: addresses of NATS servers, separated by commas (nats://host:4222, tls://host:4222)
    #[arg(long, value_name = "SERVERS")]
    cluster: Option<String>,
    /// Settings of the queue as TOML: servers, credentials, TLS, replicas (docs/cluster.md)
    #[arg(long, value_name = "FILE")]
    queue_config: Option<PathBuf>,
}

impl ClusterArgs {
    /// The queue; `None` means that the work is done here.
    pub(crate) fn connect(&self, needs: Needs) -> anyhow::Result<Option<Cluster>> {
        if self.cluster.is_none() && self.queue_config.is_none() {
            return Ok(None);
        }
        QueueConfig::read(self.queue_config.as_deref(), self.cluster.as_deref())?.connect(needs).map(Some)
    }
}

/// Where the queue is, for commands that always use one.
#[derive(Args)]
pub(crate) struct QueueArgs {
    /// Addresses of NATS servers, separated by commas (nats://host:4222, tls://host:4222)
    #[arg(long, value_name = "SERVERS")]
    queue: Option<String>,
    /// Settings of the queue as TOML: servers, credentials, TLS, engines (docs/cluster.md)
    #[arg(long, value_name = "FILE")]
    queue_config: Option<PathBuf>,
}

impl QueueArgs {
    /// The same flags for another process of this program.
    pub(crate) fn as_flags(&self) -> Vec<std::ffi::OsString> {
        let mut flags: Vec<std::ffi::OsString> = Vec::new();
        if let Some(queue) = &self.queue {
            flags.extend(["--queue".into(), queue.into()]);
        }
        if let Some(path) = &self.queue_config {
            flags.extend(["--queue-config".into(), path.into()]);
        }
        flags
    }

    pub(crate) fn config(&self) -> Result<QueueConfig, BadInput> {
        QueueConfig::read(self.queue_config.as_deref(), self.queue.as_deref())
    }
}

/// What every job of this program needs.
pub(crate) fn needs() -> Needs {
    Needs::version(env!("CARGO_PKG_VERSION"))
}

/// The name of a file of weights in jobs: its content.
pub(crate) fn model_hash(path: &Path) -> Result<String, BadInput> {
    let bytes = std::fs::read(path)
        .map_err(|error| BadInput::new(format!("cannot read {}: {error}", path.display())))?;
    Ok(content_hash(&[&bytes]))
}

/// Addresses and credentials are the user's; a server that fails later is not.
pub(crate) fn queue_failure(error: QueueError) -> anyhow::Error {
    if error.is_bad_input() { BadInput::new(error).into() } else { error.into() }
}
