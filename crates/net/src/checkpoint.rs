//! Checkpoints: a full one continues with a run exactly, a small one ships.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use mavis_stable::kill_safe::replace_file;
use safetensors::SafeTensors;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::{ConfigError, TransformerConfig};
use crate::layout::Layout;
use crate::trainer::TrainState;
use crate::wire::{self, Entry, TensorError, Values};

/// A shape whose parameters can be saved.
pub trait NetworkConfig: Serialize + DeserializeOwned {
    /// Name of this kind of network in files.
    const KIND: &'static str;

    /// The flat buffer of the shape.
    ///
    /// # Errors
    /// When the shape is not served.
    fn layout(&self) -> Result<Layout, ConfigError>;
}

impl NetworkConfig for TransformerConfig {
    const KIND: &'static str = "transformer";

    fn layout(&self) -> Result<Layout, ConfigError> {
        Layout::transformer(self)
    }
}

/// Everything a run needs to go on as if it had never stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<C> {
    /// The shape.
    pub config: C,
    /// Hash of the vocabulary the ids belong to; empty when there is none.
    pub vocabulary: String,
    /// Parameters, moments, average and step.
    pub state: TrainState,
    /// The caller's own: data position, random state.
    pub opaque: Vec<u8>,
    /// The caller's own, readable by other tools: preset, recipe, metrics.
    pub notes: BTreeMap<String, String>,
}

/// Averaged parameters in bf16, for evaluation and shipping.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallCheckpoint<C> {
    /// The shape.
    pub config: C,
    /// Hash of the vocabulary the ids belong to; empty when there is none.
    pub vocabulary: String,
    /// Updates done.
    pub step: u64,
    /// The flat buffer; saving rounds it to bf16.
    pub parameters: Vec<f32>,
    /// The caller's own: preset, recipe, metrics.
    pub notes: BTreeMap<String, String>,
}

/// What a file says about itself, without its tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// `full` or `small`.
    pub kind: String,
    /// Kind of network, see [`NetworkConfig::KIND`].
    pub network: String,
    /// The shape as JSON.
    pub config: String,
    /// Hash of the vocabulary.
    pub vocabulary: String,
    /// Updates done.
    pub step: u64,
    /// The caller's own.
    pub notes: BTreeMap<String, String>,
}

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("cannot {action} checkpoint {}: {source}", path.display())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not a safetensors file, or cut off.
    #[error("checkpoint {} is damaged or not a safetensors file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the reader found.
        reason: String,
    },
    /// A safetensors file that is not one of ours.
    #[error("{} is not a Mavis checkpoint: its metadata has no valid {key}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The missing key.
        key: &'static str,
    },
    /// Another kind of file or network than was asked for.
    #[error("checkpoint {} is of kind '{got}', expected '{expected}'", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: String,
        /// What it is.
        got: String,
    },
    /// Trained on another vocabulary.
    #[error("checkpoint {} belongs to vocabulary {got}, this program has {expected}", path.display())]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// The vocabulary asked for.
        expected: String,
        /// That of the file.
        got: String,
    },
    /// The shape in the file is not served.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A tensor is missing or does not fit the shape.
    #[error("checkpoint {}: {source}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// Which, and how.
        source: TensorError,
    },
    /// The buffers to save do not fit the shape.
    #[error("cannot save: {0}")]
    State(#[from] crate::error::NetError),
}

impl<C: NetworkConfig> Checkpoint<C> {
    /// Writes the file atomically: an old file at `path` stays until the new one is whole.
    ///
    /// # Errors
    /// When a buffer does not fit the shape or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), CheckpointError> {
        let layout = self.config.layout()?;
        self.state.validate(&layout)?;
        let mut entries = Vec::new();
        for (prefix, buffer) in [
            ("parameters.", &self.state.parameters),
            ("first_moment.", &self.state.first_moment),
            ("second_moment.", &self.state.second_moment),
            ("average.", &self.state.average),
        ] {
            entries.extend(layout.tensors().iter().map(|tensor| Entry::f32(prefix, tensor, buffer)));
        }
        let opaque = Values::U8(&self.opaque);
        entries.push(Entry { name: "opaque".into(), shape: vec![self.opaque.len()], values: opaque });
        let metadata = metadata("full", &self.config, &self.vocabulary, self.state.step, &self.notes);
        save(path, &metadata, &entries)
    }

    /// Reads a full checkpoint; with `vocabulary`, only one of that vocabulary.
    ///
    /// # Errors
    /// See [`CheckpointError`].
    pub fn load(path: &Path, vocabulary: Option<&str>) -> Result<Self, CheckpointError> {
        let bytes = read(path)?;
        let (file, info) = open::<C>(path, &bytes, vocabulary)?;
        if info.kind != "full" {
            return Err(wrong_kind(path, "full checkpoint", &format!("{} checkpoint", info.kind)));
        }
        let config: C = config_of(path, &info)?;
        let layout = config.layout()?;
        let flat =
            |prefix| wire::read_flat(&file, &layout, prefix).map_err(|source| tensor_error(path, source));
        let state = TrainState {
            step: info.step,
            parameters: flat("parameters.")?,
            first_moment: flat("first_moment.")?,
            second_moment: flat("second_moment.")?,
            average: flat("average.")?,
        };
        let Ok(opaque) = file.tensor("opaque") else {
            return Err(tensor_error(path, TensorError::Missing { name: "opaque".into() }));
        };
        let opaque = opaque.data().to_vec();
        Ok(Self { config, vocabulary: info.vocabulary, state, opaque, notes: info.notes })
    }
}

impl<C: NetworkConfig> SmallCheckpoint<C> {
    /// Writes the file atomically: an old file at `path` stays until the new one is whole.
    ///
    /// # Errors
    /// When the buffer does not fit the shape or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), CheckpointError> {
        let layout = self.config.layout()?;
        if self.parameters.len() != layout.len() {
            let (expected, got) = (layout.len(), self.parameters.len());
            return Err(crate::error::NetError::Length { what: "parameters", expected, got }.into());
        }
        let entries: Vec<Entry<'_>> = layout
            .tensors()
            .iter()
            .map(|tensor| Entry {
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                values: Values::Bf16(self.parameters.get(tensor.range()).unwrap_or_default()),
            })
            .collect();
        let metadata = metadata("small", &self.config, &self.vocabulary, self.step, &self.notes);
        save(path, &metadata, &entries)
    }

    /// Reads a small checkpoint, or the average of a full one; with `vocabulary`, only one of that vocabulary.
    ///
    /// # Errors
    /// See [`CheckpointError`].
    pub fn load(path: &Path, vocabulary: Option<&str>) -> Result<Self, CheckpointError> {
        Self::from_bytes(path, &read(path)?, vocabulary)
    }

    /// The same from memory, such as a model built into the program; `name` appears in errors.
    ///
    /// # Errors
    /// See [`CheckpointError`].
    pub fn from_bytes(name: &Path, bytes: &[u8], vocabulary: Option<&str>) -> Result<Self, CheckpointError> {
        let (file, info) = open::<C>(name, bytes, vocabulary)?;
        let config: C = config_of(name, &info)?;
        let prefix = if info.kind == "full" { "average." } else { "" };
        let parameters =
            wire::read_flat(&file, &config.layout()?, prefix).map_err(|source| tensor_error(name, source))?;
        Ok(Self { config, vocabulary: info.vocabulary, step: info.step, parameters, notes: info.notes })
    }
}

/// Reads what a checkpoint says about itself.
///
/// # Errors
/// See [`CheckpointError`].
pub fn inspect(path: &Path) -> Result<CheckpointInfo, CheckpointError> {
    let bytes = read(path)?;
    info(path, &bytes).map(|(_, info)| info)
}

/// Reads the tensors of a layout from any safetensors file by their names, f32, bf16 or f16: how weights come in from other tools.
///
/// # Errors
/// See [`CheckpointError`].
pub fn read_tensors(path: &Path, layout: &Layout) -> Result<Vec<f32>, CheckpointError> {
    let bytes = read(path)?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| damaged(path, &error))?;
    wire::read_flat(&file, layout, "").map_err(|source| tensor_error(path, source))
}

fn metadata<C: NetworkConfig>(
    kind: &str,
    config: &C,
    vocabulary: &str,
    step: u64,
    notes: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let config = serde_json::to_string(config).unwrap_or_default();
    let own = [
        ("format", "pt".into()),
        (wire::KIND, kind.into()),
        (wire::NETWORK, C::KIND.into()),
        (wire::CONFIG, config),
        (wire::VOCABULARY, vocabulary.into()),
        (wire::STEP, step.to_string()),
    ];
    let own = own.into_iter().map(|(key, value)| (key.to_string(), value));
    own.chain(notes.iter().map(|(key, value)| (format!("{}{key}", wire::NOTE), value.clone()))).collect()
}

fn save(
    path: &Path,
    metadata: &BTreeMap<String, String>,
    entries: &[Entry<'_>],
) -> Result<(), CheckpointError> {
    replace_file(path, |writer| wire::write(writer, metadata, entries))
        .map_err(|source| CheckpointError::Io { action: "write", path: path.into(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, CheckpointError> {
    std::fs::read(path).map_err(|source| CheckpointError::Io { action: "read", path: path.into(), source })
}

/// Parses the file and checks kind of network and vocabulary.
fn open<'a, C: NetworkConfig>(
    path: &Path,
    bytes: &'a [u8],
    vocabulary: Option<&str>,
) -> Result<(SafeTensors<'a>, CheckpointInfo), CheckpointError> {
    let (file, info) = info(path, bytes)?;
    if info.network != C::KIND {
        return Err(wrong_kind(path, C::KIND, &info.network));
    }
    match vocabulary {
        Some(expected) if expected != info.vocabulary => Err(CheckpointError::Vocabulary {
            path: path.into(),
            expected: expected.into(),
            got: info.vocabulary,
        }),
        _ => Ok((file, info)),
    }
}

fn info<'a>(path: &Path, bytes: &'a [u8]) -> Result<(SafeTensors<'a>, CheckpointInfo), CheckpointError> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| damaged(path, &error))?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| damaged(path, &error))?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let field = |key: &'static str| {
        metadata.get(key).cloned().ok_or_else(|| CheckpointError::Foreign { path: path.into(), key })
    };
    let notes = metadata
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(wire::NOTE)?.to_string(), value.clone())))
        .collect();
    let info = CheckpointInfo {
        kind: field(wire::KIND)?,
        network: field(wire::NETWORK)?,
        config: field(wire::CONFIG)?,
        vocabulary: field(wire::VOCABULARY)?,
        step: field(wire::STEP)?
            .parse()
            .map_err(|_| CheckpointError::Foreign { path: path.into(), key: wire::STEP })?,
        notes,
    };
    Ok((file, info))
}

fn config_of<C: NetworkConfig>(path: &Path, info: &CheckpointInfo) -> Result<C, CheckpointError> {
    serde_json::from_str(&info.config)
        .map_err(|_| CheckpointError::Foreign { path: path.into(), key: wire::CONFIG })
}

fn damaged(path: &Path, reason: &dyn std::fmt::Display) -> CheckpointError {
    CheckpointError::Damaged { path: path.into(), reason: reason.to_string() }
}

fn tensor_error(path: &Path, source: TensorError) -> CheckpointError {
    CheckpointError::Tensor { path: path.into(), source }
}

fn wrong_kind(path: &Path, expected: &str, got: &str) -> CheckpointError {
    CheckpointError::Kind { path: path.into(), expected: expected.into(), got: got.into() }
}
