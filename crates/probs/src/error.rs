//! What can go wrong.

use mavis_net::{CheckpointError, ConfigError, NetError};
use mavis_stable::folder_lock::LockError;
use std::path::PathBuf;

/// Why a run or a player cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ProbsError {
    /// A word that is none of ours.
    #[error("unknown {what} '{value}' (known: {known})")]
    Unknown {
        /// What was asked for.
        what: &'static str,
        /// The offending word.
        value: String,
        /// Those there are.
        known: String,
    },
    /// No such game.
    #[error("{0}")]
    Game(String),
    /// A setting out of its range.
    #[error("{field} must be {requirement}, not {value}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        requirement: &'static str,
    },
    /// The folder holds a run with other settings.
    #[error("{} holds a run with {field} = {old}, not {new}; take another folder", folder.display())]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// The first setting that differs.
        field: String,
        /// What the run has.
        old: String,
        /// What was asked for.
        new: String,
    },
    /// Another process trains in the folder, or it cannot be written.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file of a run that cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of a run that holds something else.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A model that does not fit what this program knows of its game.
    #[error("{} was trained with other planes of {game} than this program has", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The game.
        game: String,
    },
    /// A net failed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A net that cannot be built.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A checkpoint that cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// An agent of the evaluation could not move.
    #[error("an agent of the evaluation failed: {0}")]
    Agent(#[from] mavis_play::PlayerError),
    /// Self-play on other machines failed.
    #[error(transparent)]
    Queue(#[from] mavis_queue::QueueError),
    /// Somebody stopped it while other machines were at work.
    #[error("stopped")]
    Stopped,
    /// A curve that could not be drawn.
    #[error("cannot draw: {0}")]
    Plot(String),
}
