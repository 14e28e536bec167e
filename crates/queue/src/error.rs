//! What goes wrong between a job and its result.

/// A job that has no result, or a queue that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// A job failed here, in the process that submitted it.
    #[error("{kind} job failed: {reason}")]
    Failed {
        /// The kind of job.
        kind: String,
        /// What the runner said.
        reason: String,
    },
    /// Jobs failed on workers as often as allowed.
    #[error(
        "{n} {kind} job(s) set aside, the first because: {reason}; \
         mavis queue retry puts them back, then the same command continues"
    )]
    SetAside {
        /// How many.
        n: usize,
        /// Their kind.
        kind: String,
        /// The first one's reason.
        reason: String,
    },
    /// Jobs were removed from the queue before they had a result.
    #[error("{n} {kind} job(s) were removed from the queue; the same command submits them again")]
    Removed {
        /// How many were missed.
        n: usize,
        /// Their kind.
        kind: String,
    },
    /// No server could be reached.
    #[error("cannot connect to the queue at {servers}: {reason}")]
    Connect {
        /// The addresses.
        servers: String,
        /// Why.
        reason: String,
    },
    /// The server refused the credentials.
    #[error("the queue at {servers} refused the credentials: {reason}")]
    Refused {
        /// The addresses.
        servers: String,
        /// What the server said.
        reason: String,
    },
    /// The server does not answer any more, or refuses a request.
    #[error("queue: {what}: {reason}")]
    Server {
        /// What was tried.
        what: String,
        /// Why it failed.
        reason: String,
    },
    /// A setting that cannot be used.
    #[error("{0}")]
    Settings(String),
    /// A result that cannot be read.
    #[error("result of job {job}: {reason}")]
    Result {
        /// The job.
        job: String,
        /// What is wrong.
        reason: String,
    },
}

impl QueueError {
    /// Whether the settings of the caller are at fault rather than the queue.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::Settings(_) | Self::Connect { .. } | Self::Refused { .. })
    }

    #[cfg(feature = "cluster")]
    pub(crate) fn server(what: &str, reason: impl std::fmt::Display) -> Self {
        Self::Server { what: what.to_owned(), reason: reason.to_string() }
    }
}
