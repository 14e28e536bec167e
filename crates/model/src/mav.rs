//! A trained MAV model as a file.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{InputAttention, ModelError, train::Card};
use mavis_lang::vocabulary_hash;
use mavis_net::{Decoder, Device, NetError, Precision, SmallCheckpoint, TransformerConfig, cpu::CpuDecoder};
use std::path::Path;

/// The key under which a file says how positions are read.
const FULL_INPUT: &str = "full_input";

/// A trained model: averaged weights and how its input is read.
#[derive(Clone, Debug)]
pub struct MavModel {
    /// The shape.
    pub config: TransformerConfig,
    /// How it reads its input.
    pub input: InputAttention,
    /// Updates it was trained for.
    pub step: u64,
    /// The flat parameters.
    pub parameters: Vec<f32>,
}

impl MavModel {
    /// Reads a model.
    ///
    /// # Errors
    /// When the file is damaged, foreign, or of another vocabulary.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let small = SmallCheckpoint::<TransformerConfig>::load(path, Some(&vocabulary_hash()))?;
        Self::from_small(small, &path.display().to_string())
    }

    /// Reads a model that is in memory.
    ///
    /// # Errors
    /// As [`MavModel::load`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, ModelError> {
        let small = SmallCheckpoint::<TransformerConfig>::from_bytes(
            Path::new(name),
            bytes,
            Some(&vocabulary_hash()),
        )?;
        Self::from_small(small, name)
    }

    fn from_small(small: SmallCheckpoint<TransformerConfig>, name: &str) -> Result<Self, ModelError> {
        let input = small
            .notes
            .get(FULL_INPUT)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| ModelError::Foreign(name.to_owned()))?;
        Ok(Self { config: small.config, input, step: small.step, parameters: small.parameters })
    }

    /// Writes the model in bf16.
    ///
    /// # Errors
    /// When the file cannot be written; what was there stays.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let card = Self::card(self.input);
        Ok(card.model(self.config.clone(), self.step, self.parameters.clone()).save(path)?)
    }

    /// What the file says beside shape and weights.
    #[must_use]
    pub fn card(input: InputAttention) -> Card {
        let notes = [(FULL_INPUT.to_owned(), input.to_string())].into();
        Card { vocabulary: vocabulary_hash(), notes }
    }

    /// A decoder on a device.
    ///
    /// # Errors
    /// When the device is missing or the shape is refused.
    pub fn decoder(&self, precision: Precision, device: Device) -> Result<Box<dyn Decoder>, NetError> {
        device.decoder(&self.config, &self.parameters, precision)
    }

    /// A decoder on the processor.
    ///
    /// # Errors
    /// When the shape is refused.
    pub fn cpu_decoder(&self, precision: Precision) -> Result<CpuDecoder, NetError> {
        CpuDecoder::new(self.config.clone(), &self.parameters, precision)
    }
}
