//! A trained MAV model as a file.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{InputAttention, ModelError, train::Card};
use mavis_lang::vocabulary_hash;
use mavis_net::{
    Decoder, Device, Layout, NetError, Precision, SmallCheckpoint, TransformerConfig, Variant,
    cpu::CpuDecoder,
};
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

    /// The same model with a learned table of places, which begins with zeros and so changes no answer; a model that has one stays as it is.
    ///
    /// # Errors
    /// When the shape is refused.
    pub fn with_places(self) -> Result<Self, ModelError> {
        if self.config.variant.places.is_some() {
            return Ok(self);
        }
        let variant = Variant { places: Some(mavis_lang::N_PLACES), ..self.config.variant.clone() };
        let config = TransformerConfig { variant, ..self.config };
        let without = TransformerConfig {
            variant: Variant { places: None, ..config.variant.clone() },
            ..config.clone()
        };
        let shape = |config| Layout::transformer(config).map_err(NetError::from);
        let (from, to) = (shape(&without)?, shape(&config)?);
        let mut parameters = vec![0.0; to.len()];
        for tensor in from.tensors() {
            let place = to.tensor(&tensor.name).and_then(|tensor| parameters.get_mut(tensor.range()));
            if let (Some(to), Some(from)) = (place, self.parameters.get(tensor.range())) {
                to.copy_from_slice(from);
            }
        }
        Ok(Self { config, parameters, ..self })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use mavis_net::{Batch, Decoder, Want, initial_parameters};

    #[test]
    fn a_table_of_places_begins_with_no_effect_and_is_kept_in_files() {
        let config = Preset::Test.shape(mavis_lang::vocabulary().padded_len(), 3);
        let parameters = initial_parameters(&config).unwrap();
        let plain = MavModel { config, input: InputAttention::Full, step: 1, parameters };
        let mut placed = plain.clone().with_places().unwrap();
        let mut batch = Batch::default();
        batch.push_prompted(&[3, 9, 60, 61, 62, 20], 6);
        batch.place_last(&[0, 0, 1, 2, 3, 0]);
        let logits = |model: &MavModel| {
            model.cpu_decoder(Precision::Exact).unwrap().logits(&batch, &Want::last(&batch)).unwrap().values
        };
        assert_eq!(logits(&plain), logits(&placed));
        let table = Layout::transformer(&placed.config).unwrap();
        let table = table.tensor("model.embed_places.weight").unwrap().range();
        placed.parameters[table].fill(0.5);
        assert_ne!(logits(&plain), logits(&placed));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        placed.save(&path).unwrap();
        let read = MavModel::load(&path).unwrap();
        assert_eq!(read.config, placed.config);
        assert_eq!(read.clone().with_places().unwrap().parameters, read.parameters);
        assert_eq!(logits(&read).len(), logits(&placed).len());
    }
}
