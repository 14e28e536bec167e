//! Settings of a predictor's training run: one TOML file, unknown keys refused.

use super::{Bins, PredictorSpec, Target, tokens};
use crate::{
    Schedule,
    train::{Budget, Pace, Puzzles, SettingsError},
};
use mavis_net::{Device, NormKind, NormPlacement, OptimizerSettings, TransformerConfig, Variant};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredictorSettings {
    /// What is predicted: `av`, `sv` or `bc`.
    pub target: Target,
    /// Classes of win probability, 16 to 256.
    pub bins: usize,
    /// Size of the network.
    pub preset: PredictorPreset,
    /// A shape of your own in place of the preset's: width, layers, heads, width of the feed-forward layer.
    pub shape: Option<[usize; 4]>,
    /// `layer` or `rms`.
    pub norm: NormKind,
    /// `post` or `pre`; the paper's text says post.
    pub placement: NormPlacement,
    /// Seed of parameters and order.
    pub seed: u64,
    /// Where to compute.
    pub device: Device,
    /// How long to train.
    pub budget: Budget,
    /// Samples of a step.
    pub samples: usize,
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
    pub data: Vec<SampleSource>,
    /// Annotated positions to measure on; never trained on.
    pub validation: Vec<PathBuf>,
    /// Puzzles to measure on, and to keep out of the training data.
    pub puzzles: Option<Puzzles>,
    /// The optimizer; the paper's is Adam, without decay, and an average with decay 0.99.
    pub optimizer: OptimizerSettings,
    /// The learning rate; the paper's ablations use 4e-4.
    pub schedule: Schedule,
}

/// Samples to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSource {
    /// A table of annotations, the stem of a pair of FEN and value files, or a `.bag`.
    pub path: PathBuf,
    /// Its share of each batch, relative to the others; by default as many samples as it has.
    pub weight: Option<f32>,
}

impl Default for PredictorSettings {
    fn default() -> Self {
        Self {
            target: Target::ActionValue,
            bins: Bins::default().count(),
            preset: PredictorPreset::Test,
            shape: None,
            norm: NormKind::Layer,
            placement: NormPlacement::Post,
            seed: 1,
            device: Device::Cpu,
            budget: Budget::Steps(1000),
            samples: 256,
            workers: 2,
            log_every: 50,
            measure_every: 0,
            checkpoint_every: 0,
            validation_positions: 1000,
            data: Vec::new(),
            validation: Vec::new(),
            puzzles: None,
            optimizer: OptimizerSettings {
                weight_decay: 0.0,
                average_decay: 0.99,
                ..OptimizerSettings::default()
            },
            schedule: Schedule { peak: 4e-4, ..Schedule::default() },
        }
    }
}

/// A named size: width, layers, heads; the feed-forward layer is four times as wide as the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PredictorPreset {
    /// About 1M parameters, for tests.
    #[serde(rename = "test")]
    Test,
    /// The paper's 9M: 256, 8, 8.
    #[serde(rename = "9m")]
    Small,
    /// The paper's 136M: 1024, 8, 8.
    #[serde(rename = "136m")]
    Medium,
    /// The paper's 270M: 1024, 16, 8.
    #[serde(rename = "270m")]
    Large,
}

impl PredictorPreset {
    fn shape(self) -> [usize; 4] {
        match self {
            Self::Test => [96, 4, 3, 384],
            Self::Small => [256, 8, 8, 1024],
            Self::Medium => [1024, 8, 8, 4096],
            Self::Large => [1024, 16, 8, 4096],
        }
    }
}

impl PredictorSettings {
    /// What is predicted, and how.
    ///
    /// # Errors
    /// A number of bins that is not served.
    pub fn spec(&self) -> Result<PredictorSpec, SettingsError> {
        let bins = Bins::new(self.bins).map_err(SettingsError)?;
        Ok(PredictorSpec { target: self.target, bins })
    }

    /// The shape of the network.
    ///
    /// # Errors
    /// When the kernels cannot serve it.
    pub fn network(&self) -> Result<TransformerConfig, SettingsError> {
        let spec = self.spec()?;
        let [d_model, n_layers, n_heads, d_ff] = self.shape.unwrap_or_else(|| self.preset.shape());
        let config = TransformerConfig {
            vocab: tokens::N_IDS,
            d_model,
            n_layers,
            n_heads,
            d_ff,
            rope_theta: 10_000.0,
            norm_eps: 1e-5,
            qk_norm: false,
            tied: false,
            init_seed: self.seed,
            variant: Variant {
                norm: self.norm,
                placement: self.placement,
                learned_positions: Some(spec.target.context()),
                outputs: Some(spec.n_outputs()),
            },
        };
        config.validate().map_err(|error| SettingsError(error.to_string()))?;
        if self.samples == 0 {
            return Err(SettingsError("samples must be positive".to_owned()));
        }
        Ok(config)
    }

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
}
