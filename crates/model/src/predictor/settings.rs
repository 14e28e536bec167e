//! Settings of a predictor's training run: one TOML file, unknown keys refused.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use super::{Bins, PredictorLoss, PredictorSpec, Target, tokens};
use crate::{
    LearningRateSchedule,
    train::{RunSettings, SettingsError, laid_over, within},
};
use mavis_net::{NormKind, NormPlacement, OptimizerSettings, TransformerConfig, Variant};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictorSettings {
    /// What is predicted: `av`, `sv` or `bc`.
    pub target: Target,
    /// Classes of win probability, 16 to 256; of no effect with `loss = "l2"`.
    pub bins: usize,
    /// `log`, the cross-entropy over bins, or `l2`, the squared error of the win probability; `bc` has `log` only.
    pub loss: PredictorLoss,
    /// Size of the network.
    pub preset: PredictorPreset,
    /// A shape of your own in place of the preset's: width, layers, heads, width of the feed-forward layer.
    pub shape: Option<[usize; 4]>,
    /// `layer` or `rms`.
    pub norm: NormKind,
    /// `post` or `pre`; the paper's text says post.
    pub placement: NormPlacement,
    /// Samples of a step.
    pub samples: usize,
    /// What every run has; the paper's optimizer is Adam, without decay, an average with decay 0.99, and a peak of 4e-4.
    #[serde(flatten)]
    pub run: RunSettings,
    /// What to learn from.
    pub data: Vec<SampleSource>,
    /// Annotated positions to measure on; never trained on.
    pub validation: Vec<PathBuf>,
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
            loss: PredictorLoss::Log,
            preset: PredictorPreset::Test,
            shape: None,
            norm: NormKind::Layer,
            placement: NormPlacement::Post,
            samples: 256,
            run: RunSettings {
                validation_positions: 1000,
                optimizer: OptimizerSettings {
                    weight_decay: 0.0,
                    average_decay: 0.99,
                    ..OptimizerSettings::default()
                },
                schedule: LearningRateSchedule { peak: 4e-4, ..LearningRateSchedule::default() },
                ..RunSettings::default()
            },
            data: Vec::new(),
            validation: Vec::new(),
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
    /// Settings of a file, laid over the defaults; unknown keys are errors.
    ///
    /// # Errors
    /// When a key is unknown or a value is not of its kind.
    pub fn from_table(table: toml::Table) -> Result<Self, toml::de::Error> {
        laid_over(&Self::default(), table)
    }

    /// What is predicted, and how.
    ///
    /// # Errors
    /// A number of bins that is not served, or a loss that the target does not have.
    pub fn spec(&self) -> Result<PredictorSpec, SettingsError> {
        let bins = Bins::new(self.bins).map_err(SettingsError)?;
        if self.loss == PredictorLoss::SquaredError && !self.target.has_values() {
            let text = "loss must be log for target bc, not l2: an action is no number to be wrong by";
            return Err(SettingsError(text.to_owned()));
        }
        Ok(PredictorSpec { target: self.target, bins, loss: self.loss })
    }

    /// The shape of the network.
    ///
    /// # Errors
    /// When the kernels cannot serve it, or another number of the settings is out of its range.
    pub fn network(&self) -> Result<TransformerConfig, SettingsError> {
        self.run.validate()?;
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
            init_seed: self.run.seed,
            variant: Variant {
                norm: self.norm,
                placement: self.placement,
                learned_positions: Some(spec.target.context()),
                places: None,
                outputs: Some(spec.n_outputs()),
            },
        };
        config.validate().map_err(|error| SettingsError(error.to_string()))?;
        if self.samples == 0 {
            return Err(SettingsError("samples must be positive".to_owned()));
        }
        for set in &self.data {
            within("the weight of data", set.weight.unwrap_or(0.0), 0.0, f32::MAX)?;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_and_unknown_ones_are_errors() {
        let page = include_str!("../../../../docs/predictors.md");
        let settings = toml::Table::try_from(PredictorSettings::default()).expect("table");
        let told = |key: &&String| !page.contains(&format!("`{key}`"));
        assert_eq!(settings.keys().find(told), None);
        let read = |text: &str| PredictorSettings::from_table(text.parse().expect("TOML"));
        assert_eq!(read("").expect("empty"), PredictorSettings::default());
        let partly = read("samples = 3\n[optimizer]\nbeta2 = 0.9").expect("settings");
        assert_eq!(
            (partly.samples, partly.run.optimizer.average_decay),
            (3, 0.99),
            "the rest is a predictor's"
        );
        for text in
            ["sample = 3", "[schedule]\npeek = 1.0", "target = 'qv'", "full_input = true", "loss = 'l1'"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn actions_have_no_squared_error() {
        let read = |target: &str| {
            let text = format!("target = '{target}'\nloss = 'l2'");
            PredictorSettings::from_table(text.parse().expect("TOML")).expect("settings").spec()
        };
        assert!(read("av").is_ok() && read("sv").is_ok());
        let refused = read("bc").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "bad training settings: loss must be log for target bc, not l2: an action is no number to be wrong by"
        );
    }
}
