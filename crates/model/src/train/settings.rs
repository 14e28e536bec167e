//! Settings of a training run: one TOML file, unknown keys refused.

use crate::{
    Preset, Schedule, Shape,
    mixture::{BatchSettings, ExampleSettings},
    pack::LossSettings,
};
use mavis_net::{Algorithm, Device, OptimizerSettings, TransformerConfig};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainSettings {
    /// Size of the network.
    pub preset: Preset,
    /// A shape of your own in place of the preset's: width, layers, heads, width of the feed-forward layer.
    pub shape: Option<[usize; 4]>,
    /// RMSNorm on queries and keys.
    pub qk_norm: bool,
    /// Whether input tokens see each other fully instead of causally; such a model cannot be exported.
    pub full_input: bool,
    /// Seed of parameters, order and draws.
    pub seed: u64,
    /// Where to compute.
    pub device: Device,
    /// How long to train.
    pub budget: Budget,
    /// Threads that build batches.
    pub workers: usize,
    /// Steps between log lines.
    pub log_every: u64,
    /// Steps between measurements; 0 means only at the end.
    pub measure_every: u64,
    /// Steps between checkpoints; 0 means only at the end.
    pub checkpoint_every: u64,
    /// Positions of each validation set that are measured.
    pub validation_positions: usize,
    /// What to learn from.
    pub data: Vec<DataSet>,
    /// What to measure on; never trained on.
    pub validation: Vec<Validation>,
    /// Puzzles to measure on, and to keep out of the training data.
    pub puzzles: Option<Puzzles>,
    /// Sizes of a step.
    pub batch: BatchSettings,
    /// What examples look like.
    pub examples: ExampleSettings,
    /// How losses are weighted.
    pub loss: LossSettings,
    /// The optimizer.
    pub optimizer: OptimizerSettings,
    /// The learning rate.
    pub schedule: Schedule,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self::of(Preset::Test)
    }
}

impl TrainSettings {
    /// What a preset trains with where a file is silent: plain settings for the one of tests, those that won in
    /// `docs/learning.md` for the others.
    #[must_use]
    pub fn of(preset: Preset) -> Self {
        let plain = Self {
            preset,
            shape: None,
            qk_norm: true,
            full_input: false,
            seed: 1,
            device: Device::Cpu,
            budget: Budget::Steps(1000),
            workers: 2,
            log_every: 50,
            measure_every: 0,
            checkpoint_every: 0,
            validation_positions: 10_000,
            data: Vec::new(),
            validation: Vec::new(),
            puzzles: None,
            batch: BatchSettings::default(),
            examples: ExampleSettings::default(),
            loss: LossSettings::default(),
            optimizer: OptimizerSettings::default(),
            schedule: Schedule::default(),
        };
        if preset == Preset::Test {
            return plain;
        }
        Self {
            full_input: true,
            examples: ExampleSettings { flipped: 0.5, ..plain.examples },
            loss: LossSettings { value_focus: 2.0, ..plain.loss },
            optimizer: OptimizerSettings { algorithm: Algorithm::Muon, ..plain.optimizer },
            schedule: Schedule { peak: 2e-3, shape: Shape::Trapezoid, decay: 0.6, ..plain.schedule },
            ..plain
        }
    }

    /// Settings of a file, laid over those of its preset; unknown keys are errors.
    ///
    /// # Errors
    /// When a key is unknown or a value is not of its kind.
    pub fn from_table(mut table: toml::Table) -> Result<Self, toml::de::Error> {
        let preset = table.get("preset").cloned().map(Preset::deserialize).transpose()?;
        let base = toml::Table::try_from(Self::of(preset.unwrap_or(Preset::Test)))
            .map_err(serde::de::Error::custom)?;
        for (key, value) in base {
            match (table.get_mut(&key), value) {
                // A budget is one of two kinds, so a file's replaces it whole.
                (Some(toml::Value::Table(given)), toml::Value::Table(base)) if key != "budget" => {
                    for (key, value) in base {
                        given.entry(key).or_insert(value);
                    }
                }
                (Some(_), _) => {}
                (None, value) => {
                    table.insert(key, value);
                }
            }
        }
        table.try_into()
    }
}

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// So many steps.
    Steps(u64),
    /// So many minutes of training, measurements and checkpoints not counted.
    Minutes(f64),
}

/// Annotated positions to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// A table, or the stem of a pair of FEN and value files.
    pub path: PathBuf,
    /// The game.
    pub game: String,
    /// Its share of each batch, relative to the other sets.
    #[serde(default = "one")]
    pub weight: f32,
}

fn one() -> f32 {
    1.0
}

/// Annotated positions to measure on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// A table, or the stem of a pair of FEN and value files.
    pub path: PathBuf,
    /// The game.
    pub game: String,
}

/// Puzzles in Lichess' CSV form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Puzzles {
    /// The file.
    pub path: PathBuf,
    /// How many of its rows are measured; all are kept out of the training data.
    pub limit: usize,
}

/// How a run proceeds, whatever it learns.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// How long to train.
    pub budget: Budget,
    /// Threads that build batches.
    pub workers: usize,
    /// Steps between log lines.
    pub log_every: u64,
    /// Steps between measurements; 0 means only at the end.
    pub measure_every: u64,
    /// Steps between checkpoints; 0 means only at the end.
    pub checkpoint_every: u64,
    /// The learning rate.
    pub schedule: Schedule,
}

/// Settings that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad training settings: {0}")]
pub struct SettingsError(pub String);

impl TrainSettings {
    /// How the run proceeds.
    #[must_use]
    pub fn pace(&self) -> Pace {
        Pace {
            budget: self.budget,
            workers: self.workers,
            log_every: self.log_every,
            measure_every: self.measure_every,
            checkpoint_every: self.checkpoint_every,
            schedule: self.schedule.clone(),
        }
    }

    /// The shape of the network.
    ///
    /// # Errors
    /// When the kernels cannot serve it.
    pub fn network(&self) -> Result<TransformerConfig, SettingsError> {
        let mut config = self.preset.shape(mavis_lang::vocabulary().len(), self.seed);
        if let Some([d_model, n_layers, n_heads, d_ff]) = self.shape {
            config = TransformerConfig { d_model, n_layers, n_heads, d_ff, ..config };
        }
        config.qk_norm = self.qk_norm;
        config.validate().map_err(|error| SettingsError(error.to_string()))?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TrainSettings, toml::de::Error> {
        TrainSettings::from_table(text.parse().expect("TOML"))
    }

    #[test]
    fn a_file_is_laid_over_its_preset() {
        assert_eq!(read("").expect("empty"), TrainSettings::default());
        let small =
            read("preset = '9m'\nbudget = { minutes = 2.0 }\n[schedule]\npeak = 1e-3\n").expect("settings");
        assert_eq!(small.optimizer.algorithm, Algorithm::Muon);
        assert!(small.full_input);
        assert_eq!(small.schedule, Schedule { peak: 1e-3, ..TrainSettings::of(Preset::Small).schedule });
        assert_eq!(small.budget, Budget::Minutes(2.0));
        assert!(!read("preset = '9m'\nfull_input = false").expect("settings").full_input);
    }

    #[test]
    fn unknown_keys_and_presets_are_errors() {
        for text in ["presett = '9m'", "[optimizer]\nalgoritm = 'muon'", "preset = '10m'", "preset = 9"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn resolved_settings_read_back_as_they_are() {
        for preset in Preset::ALL {
            let settings = TrainSettings::of(preset);
            let table = toml::Table::try_from(&settings).expect("table");
            assert_eq!(TrainSettings::from_table(table).expect("settings"), settings);
        }
    }
}
