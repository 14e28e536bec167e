//! The folder a run lives in: settings, log, checkpoints.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::{Event, Keeper};
use crate::ModelError;
use mavis_net::{AllReduce, Checkpoint, SmallCheckpoint, TrainState, Trainer, TransformerConfig, Weights};
use mavis_stable::folder_lock::FolderLock;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A run on disk: `settings.toml`, `metrics.jsonl`, `checkpoint.safetensors` (resumes) and `model.safetensors` (ships).
pub struct RunFolder {
    folder: PathBuf,
    card: Card,
    metrics: File,
    /// Held while this process writes.
    _lock: FolderLock,
    /// Raised to end the run with a checkpoint.
    stop: Arc<AtomicBool>,
    /// Sees each event after it is kept.
    watch: Box<dyn FnMut(&Event)>,
    /// The ranks that share the run, this one first.
    ranks: Option<Arc<dyn AllReduce>>,
}

/// What the files of a model say beside shape and weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Names what token ids mean, so that they are never read with another meaning.
    pub vocabulary: String,
    /// How the input is read, and whatever else its kind of model needs.
    pub notes: BTreeMap<String, String>,
}

impl Card {
    /// A model of these parameters, as it ships.
    pub(crate) fn model(
        self,
        config: TransformerConfig,
        step: u64,
        parameters: Vec<f32>,
    ) -> SmallCheckpoint<TransformerConfig> {
        let Self { vocabulary, notes } = self;
        SmallCheckpoint { config, vocabulary, step, parameters, notes }
    }
}

impl RunFolder {
    /// Opens a folder, creating it if need be.
    ///
    /// # Errors
    /// When another process trains in the folder, or it cannot be written.
    pub fn open(
        folder: &Path,
        card: Card,
        stop: Arc<AtomicBool>,
        watch: Box<dyn FnMut(&Event)>,
    ) -> Result<Self, ModelError> {
        let lock = FolderLock::take(folder)?;
        let path = folder.join("metrics.jsonl");
        let metrics = open_log(&path).map_err(file_error(&path))?;
        Ok(Self { folder: folder.to_owned(), card, metrics, _lock: lock, stop, watch, ranks: None })
    }

    /// The same for a run that other ranks share.
    #[must_use]
    pub fn with_ranks(self, ranks: Arc<dyn AllReduce>) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// Writes the settings beside what is there; only once [`RunFolder::resume`] has found nothing against it, so that the
    /// settings of a checkpoint stay beside it.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep_settings(&self, settings: &impl Serialize) -> Result<(), ModelError> {
        let text = toml::to_string(settings).unwrap_or_default();
        let path = self.folder.join("settings.toml");
        std::fs::write(&path, text).map_err(file_error(&path))
    }

    /// The state to continue from, if the folder has a checkpoint.
    ///
    /// # Errors
    /// When there is one that cannot be used, or one of another network.
    pub fn resume(&self, network: &TransformerConfig) -> Result<Option<TrainState>, ModelError> {
        let path = self.folder.join("checkpoint.safetensors");
        if !path.exists() {
            return Ok(None);
        }
        let checkpoint = Checkpoint::<TransformerConfig>::load(&path, Some(&self.card.vocabulary))?;
        refuse_other(&path, checkpoint.config, network)?;
        Ok(Some(checkpoint.state))
    }
}

/// Opens a file of lines to append to; a line that a killed process left unfinished is dropped.
fn open_log(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let text = std::fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        file.set_len(whole as u64)?;
    }
    Ok(file)
}

/// Refuses the parameters of a file for another network than theirs.
///
/// # Errors
/// When the shapes differ in anything but the seed of parameters, which are there already.
pub fn refuse_other(
    path: &Path,
    found: TransformerConfig,
    network: &TransformerConfig,
) -> Result<(), ModelError> {
    match (TransformerConfig { init_seed: network.init_seed, ..found }) == *network {
        true => Ok(()),
        false => Err(ModelError::OtherNetwork(path.display().to_string())),
    }
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> ModelError {
    let path = path.display().to_string();
    move |source| ModelError::File { path, source }
}

impl Keeper for RunFolder {
    fn log(&mut self, event: &Event) -> Result<(), ModelError> {
        let mut line = serde_json::to_string(event).unwrap_or_default();
        line.push('\n');
        let written = self.metrics.write_all(line.as_bytes());
        written.map_err(file_error(&self.folder.join("metrics.jsonl")))?;
        (self.watch)(event);
        Ok(())
    }

    fn checkpoint(&mut self, trainer: &mut dyn Trainer) -> Result<(), ModelError> {
        let config = trainer.config().clone();
        let average = trainer.parameters(Weights::Average)?;
        let model = self.card.clone().model(config.clone(), trainer.step(), average);
        model.save(&self.folder.join("model.safetensors"))?;
        let Card { vocabulary, notes } = self.card.clone();
        let checkpoint =
            Checkpoint { config, vocabulary, state: trainer.state()?, opaque: Vec::new(), notes };
        Ok(checkpoint.save(&self.folder.join("checkpoint.safetensors"))?)
    }

    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn ranks(&self) -> Option<&dyn AllReduce> {
        self.ranks.as_deref()
    }
}
