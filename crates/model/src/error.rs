//! What can go wrong with a model.

use mavis_data::RecordError;
use mavis_eval::EvalError;
use mavis_net::NetError;
use mavis_stable::folder_lock::LockError;

/// A model that cannot train or answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The network refused its input or failed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A record of the data cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] mavis_net::CheckpointError),
    /// Another process trains in the folder, or it cannot be written.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file of the run could not be written or read.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Parameters of another network.
    #[error("{0} is of another network than the settings describe; settings.toml beside it has its own")]
    OtherNetwork(String),
    /// A model that does not say how its input is read.
    #[error("{0} is not a Mavis model: metadata key `full_input` is missing")]
    Foreign(String),
    /// A position or move that a predictor cannot read.
    #[error("{0}")]
    Input(String),
    /// A request that fan-out cannot answer.
    #[error("fan-out answers requests that give a position and ask for a list of moves")]
    NoList,
    /// A worker thread died.
    #[error("a thread that builds batches panicked")]
    Loader,
}

impl ModelError {
    /// The error as searches see it: a network that failed is broken for good, anything else concerns one request.
    #[must_use]
    pub fn into_eval(self) -> EvalError {
        match self {
            Self::Net(error) => EvalError::Broken(error.to_string()),
            other => EvalError::Failed(other.to_string()),
        }
    }
}
