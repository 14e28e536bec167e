//! Settings of the queue: a TOML file, then environment variables, then flags.

use super::queue_failure;
use crate::input::BadInput;
use mavis_league::wire::toml_fault;
use mavis_queue::cluster::{Access, QueueSettings};
use mavis_queue::{Cluster, Needs, QueueError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the file may say.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QueueConfig {
    /// Addresses of servers.
    servers: Vec<String>,
    /// User name, or the variable `MAVIS_QUEUE_USER`.
    user: Option<String>,
    /// Password, or the variable `MAVIS_QUEUE_PASSWORD`.
    password: Option<String>,
    /// Token, or the variable `MAVIS_QUEUE_TOKEN`.
    token: Option<String>,
    /// File with the seed of an NKey; the variable `MAVIS_QUEUE_NKEY` holds the seed itself.
    nkey_file: Option<PathBuf>,
    /// Credentials file of NATS.
    credentials: Option<PathBuf>,
    /// Refuse servers without TLS.
    tls: bool,
    /// Certificates to trust, in PEM.
    tls_ca: Option<PathBuf>,
    /// Our certificate and its key, in PEM.
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    /// Servers that keep each message.
    replicas: Option<usize>,
    /// Seconds without a sign of life after which a job is given to another worker.
    lease: Option<f64>,
    /// Deliveries of a job before it is set aside.
    attempts: Option<u64>,
    /// Hours that results are kept on the servers.
    keep: Option<f64>,
    /// Jobs on the queue ahead of the oldest unfinished one.
    window: Option<usize>,
    /// Engines of a worker: names in jobs, programs on this machine.
    pub(crate) engines: BTreeMap<String, PathBuf>,
    /// The seed of the NKey, from the file or the environment.
    #[serde(skip)]
    nkey: Option<String>,
}

impl QueueConfig {
    /// Reads the file, then the environment; `servers` is the flag.
    pub(crate) fn read(file: Option<&Path>, servers: Option<&str>) -> Result<Self, BadInput> {
        let mut config = match file {
            None => Self::default(),
            Some(path) => {
                let at = |reason: String| BadInput::new(format!("{}: {reason}", path.display()));
                let text = std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
                toml::from_str(&text).map_err(|error| at(toml_fault(&text, &error)))?
            }
        };
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        config.user = variable("MAVIS_QUEUE_USER").or(config.user);
        config.password = variable("MAVIS_QUEUE_PASSWORD").or(config.password);
        config.token = variable("MAVIS_QUEUE_TOKEN").or(config.token);
        config.nkey = match (variable("MAVIS_QUEUE_NKEY"), &config.nkey_file) {
            (None, Some(path)) => Some(
                std::fs::read_to_string(path)
                    .map_err(|error| BadInput::new(format!("nkey_file {}: {error}", path.display())))?,
            ),
            (seed, _) => seed,
        };
        if let Some(servers) = servers {
            config.servers = Access::to(servers).servers;
        }
        if config.servers.is_empty() {
            return Err(BadInput::new(
                "no server given: expected --queue nats://HOST:4222, or servers in --queue-config",
            ));
        }
        Ok(config)
    }

    /// Connects for jobs with these needs.
    pub(crate) fn connect(&self, needs: Needs) -> anyhow::Result<Cluster> {
        self.try_connect(needs)?.map_err(queue_failure)
    }

    /// The same with the queue's own error, for those who try again.
    pub(crate) fn try_connect(&self, needs: Needs) -> Result<Result<Cluster, QueueError>, BadInput> {
        Ok(Cluster::connect(&self.access()?, self.settings()?, needs))
    }

    fn access(&self) -> Result<Access, BadInput> {
        let tls_identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (None, None) => None,
            _ => return Err(BadInput::new("expected both tls_cert and tls_key, or neither")),
        };
        if self.user.is_some() != self.password.is_some() {
            return Err(BadInput::new("expected both a user and a password for the queue, or neither"));
        }
        Ok(Access {
            servers: self.servers.clone(),
            user: self.user.clone(),
            password: self.password.clone(),
            token: self.token.clone(),
            nkey: self.nkey.clone(),
            credentials: self.credentials.clone(),
            tls_ca: self.tls_ca.clone(),
            tls_identity,
            tls: self.tls,
        })
    }

    fn settings(&self) -> Result<QueueSettings, BadInput> {
        let default = QueueSettings::default();
        let time = |name: &str, value: Option<f64>, unit: f64, default: Duration| match value {
            None => Ok(default),
            Some(value) if value > 0.0 => Duration::try_from_secs_f64(value * unit)
                .map_err(|error| BadInput::new(format!("bad value '{value}' for {name}: {error}"))),
            Some(value) => {
                Err(BadInput::new(format!("bad value '{value}' for {name}: expected more than 0")))
            }
        };
        Ok(QueueSettings {
            replicas: self.replicas,
            lease: time("lease", self.lease, 1.0, default.lease)?,
            attempts: self.attempts.unwrap_or(default.attempts).max(1),
            keep: time("keep", self.keep, 3600.0, default.keep)?,
            window: self.window.unwrap_or(default.window).max(1),
        })
    }
}
