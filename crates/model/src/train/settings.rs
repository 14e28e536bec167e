//! Settings of a training run: one TOML file, unknown keys refused.
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

use super::run_settings::{RunSettings, laid_over, within};
use crate::{
    InputAttention, LearningRateSchedule, Preset, Shape,
    mixture::{BatchSettings, ExampleSettings, MixSettings},
    pack::LossSettings,
};
use mavis_net::{Algorithm, OptimizerSettings, TransformerConfig};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainSettings {
    /// Size of the network.
    pub preset: Preset,
    /// A shape of your own in place of the preset's: width, layers, heads, width of the feed-forward layer.
    pub shape: Option<[usize; 4]>,
    /// RMSNorm on queries and keys.
    pub qk_norm: bool,
    /// Whether input tokens see each other fully instead of causally; such a model cannot be exported.
    #[serde(rename = "full_input")]
    pub input: InputAttention,
    /// Whether a learned table says which field of a state a token stands for ([`mavis_lang::place`]); such a model cannot be exported.
    pub places: bool,
    /// What every run has.
    #[serde(flatten)]
    pub run: RunSettings,
    /// What to learn from.
    pub data: Vec<DataSet>,
    /// Traces of internal search to learn from beside it.
    pub traces: Vec<TraceSet>,
    /// What to measure on; never trained on.
    pub validation: Vec<Validation>,
    /// Sizes of a step.
    pub batch: BatchSettings,
    /// What examples look like.
    pub examples: ExampleSettings,
    /// Shares of a batch.
    pub mix: MixSettings,
    /// How losses are weighted.
    pub loss: LossSettings,
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
            input: InputAttention::Causal,
            places: false,
            run: RunSettings::default(),
            data: Vec::new(),
            traces: Vec::new(),
            validation: Vec::new(),
            batch: BatchSettings::default(),
            examples: ExampleSettings::default(),
            mix: MixSettings::default(),
            loss: LossSettings::default(),
        };
        if preset == Preset::Test {
            return plain;
        }
        Self {
            input: InputAttention::Full,
            places: true,
            examples: ExampleSettings { flipped: 0.5, ..plain.examples },
            loss: LossSettings { value_focus: 2.0, ..plain.loss },
            run: RunSettings {
                optimizer: OptimizerSettings { algorithm: Algorithm::Muon, ..plain.run.optimizer },
                schedule: LearningRateSchedule {
                    peak: 2e-3,
                    shape: Shape::Trapezoid,
                    decay: 0.6,
                    ..plain.run.schedule
                },
                ..plain.run
            },
            ..plain
        }
    }

    /// Settings of a file, laid over those of its preset; unknown keys are errors.
    ///
    /// # Errors
    /// When a key is unknown or a value is not of its kind.
    pub fn from_table(mut table: toml::Table) -> Result<Self, toml::de::Error> {
        keep_older_shares(&mut table);
        // A causal model is there to be exported.
        if table.get("full_input").and_then(toml::Value::as_bool) == Some(false) {
            table.entry("places").or_insert(toml::Value::Boolean(false));
        }
        let preset = table.get("preset").cloned().map(Preset::deserialize).transpose()?;
        laid_over(&Self::of(preset.unwrap_or(Preset::Test)), table)
    }
}

/// A file that divides its examples into plain stars and text alone, as files did before tracked stars, keeps its meaning: the
/// shares it does not know are none.
fn keep_older_shares(table: &mut toml::Table) {
    let Some(examples) = table.get_mut("examples").and_then(toml::Value::as_table_mut) else { return };
    if examples.contains_key("plain")
        && !["tracked", "random_play"].iter().any(|key| examples.contains_key(*key))
    {
        for (key, share) in [("tracked", 0.0), ("random_play", 0.0), ("star", 0.3), ("tracking", 0.4)] {
            examples.entry(key).or_insert(toml::Value::Float(share));
        }
    }
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

/// Traces to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSet {
    /// A table of traces.
    pub path: PathBuf,
    /// Its share of the traces, relative to the other sets.
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

/// Settings that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad training settings: {0}")]
pub struct SettingsError(pub String);

impl TrainSettings {
    /// The shape of the network.
    ///
    /// # Errors
    /// When the kernels cannot serve it, or another number of the settings is out of its range.
    pub fn network(&self) -> Result<TransformerConfig, SettingsError> {
        self.validate()?;
        let mut config = self.preset.shape(mavis_lang::vocabulary().len(), self.run.seed);
        if let Some([d_model, n_layers, n_heads, d_ff]) = self.shape {
            config = TransformerConfig { d_model, n_layers, n_heads, d_ff, ..config };
        }
        config.qk_norm = self.qk_norm;
        config.variant.places = self.places.then_some(mavis_lang::N_PLACES);
        config.validate().map_err(|error| SettingsError(error.to_string()))?;
        Ok(config)
    }
}

impl TrainSettings {
    fn validate(&self) -> Result<(), SettingsError> {
        self.run.validate()?;
        let examples = &self.examples;
        let ExampleSettings {
            plain,
            tracked,
            random_play,
            random_plies,
            star,
            tracking,
            in_turn,
            in_turn_from: _,
            ended,
            mirrored,
            flipped,
        } = *examples;
        for (key, share) in [
            ("plain", plain),
            ("tracked", tracked),
            ("random_play", random_play),
            ("star", star),
            ("tracking", tracking),
            ("in_turn", in_turn),
            ("ended", ended),
            ("mirrored", mirrored),
            ("flipped", flipped),
        ] {
            within(&format!("examples.{key}"), share, 0.0, 1.0)?;
        }
        if random_plies == 0 {
            return Err(SettingsError("examples.random_plies must be positive".to_owned()));
        }
        // Shares such as 0.7 and 0.3 need not sum to exactly 1.
        if examples.text() < -1e-5 {
            return Err(SettingsError(format!(
                "examples.plain, examples.tracked and examples.random_play must sum to at most 1, not {plain} + {tracked} + {random_play}"
            )));
        }
        let BatchSettings { examples, tokens, sequence } = self.batch;
        if examples == 0 {
            return Err(SettingsError("batch.examples must be positive".to_owned()));
        }
        // Less than a sequence would leave out examples that the sequence allows, and in the end all of them.
        if sequence == 0 || tokens < sequence {
            return Err(SettingsError(format!(
                "batch.tokens must hold at least one sequence: {tokens} tokens, {sequence} for batch.sequence"
            )));
        }
        for set in &self.data {
            within("the weight of data", set.weight, 0.0, f32::MAX)?;
        }
        for set in &self.traces {
            within("the weight of traces", set.weight, 0.0, f32::MAX)?;
        }
        within("mix.traces", self.mix.traces, 0.0, 1.0)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Budget;

    fn read(text: &str) -> Result<TrainSettings, toml::de::Error> {
        TrainSettings::from_table(text.parse().expect("TOML"))
    }

    #[test]
    fn a_file_is_laid_over_its_preset() {
        assert_eq!(read("").expect("empty"), TrainSettings::default());
        let small =
            read("preset = '9m'\nbudget = { minutes = 2.0 }\n[schedule]\npeak = 1e-3\n").expect("settings");
        assert_eq!(small.run.optimizer.algorithm, Algorithm::Muon);
        assert_eq!(small.input, InputAttention::Full);
        let of_preset = TrainSettings::of(Preset::Small).run.schedule;
        assert_eq!(small.run.schedule, LearningRateSchedule { peak: 1e-3, ..of_preset });
        assert_eq!(small.run.budget, Budget::Minutes(2.0));
        let causal = read("preset = '9m'\nfull_input = false").expect("settings");
        assert_eq!((causal.input, causal.places), (InputAttention::Causal, false));
        assert!(small.places);
        assert!(read("preset = '9m'\nfull_input = false\nplaces = true").expect("settings").places);
    }

    #[test]
    fn a_file_without_tracked_stars_keeps_its_meaning() {
        let old = read("preset = '9m'\n[examples]\nplain = 0.85\nmirrored = 0.5").expect("settings").examples;
        assert_eq!(
            (old.plain, old.tracked, old.random_play, old.star, old.tracking),
            (0.85, 0.0, 0.0, 0.3, 0.4)
        );
        assert_eq!((old.mirrored, old.flipped), (0.5, 0.5));
        let new = read("[examples]\nplain = 0.5\ntracked = 0.2").expect("settings").examples;
        assert_eq!((new.tracked, new.random_play), (0.2, ExampleSettings::default().random_play));
        let silent = read("[examples]\nmirrored = 0.5").expect("settings").examples;
        assert_eq!(silent, ExampleSettings { mirrored: 0.5, ..ExampleSettings::default() });
    }

    #[test]
    fn unknown_keys_and_presets_are_errors() {
        for text in ["presett = '9m'", "[optimizer]\nalgoritm = 'muon'", "preset = '10m'", "preset = 9"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_out_of_their_range_are_named() {
        for (text, part) in [
            ("budget = { minutes = -1.0 }", "budget.minutes must be a number from 0 on, not -1"),
            ("budget = { minutes = nan }", "budget.minutes"),
            ("schedule.peak = -1.0", "schedule.peak must be a number from 0 on, not -1"),
            ("schedule.peak = inf", "schedule.peak"),
            ("optimizer.average_decay = 2.0", "optimizer.average_decay must be from 0 to 1, not 2"),
            ("examples.random_plies = 0", "examples.random_plies must be positive"),
            ("examples.mirrored = 3.0", "examples.mirrored must be from 0 to 1, not 3"),
            ("examples = { plain = 0.9, tracked = 0.2 }", "must sum to at most 1, not 0.9 + 0.2 + 0.05"),
            ("batch.examples = 0", "batch.examples"),
            ("batch.tokens = 10", "10 tokens, 512 for batch.sequence"),
            ("data = [{ path = 'x', game = 'chess', weight = -1.0 }]", "the weight of data"),
        ] {
            let error = read(text).expect(text).network().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn every_key_is_documented() {
        let page = include_str!("../../../../docs/model.md");
        let settings = toml::Table::try_from(TrainSettings::default()).expect("table");
        for (key, value) in &settings {
            match value.as_table().filter(|_| key != "budget") {
                None => assert!(page.contains(&format!("`{key}`")), "{key}"),
                Some(table) => {
                    let told = |name: &String| {
                        page.contains(&format!("`{key}.{name}`")) || page.contains(&format!("`.{name}`"))
                    };
                    assert_eq!(table.keys().find(|name| !told(name)), None, "{key}");
                }
            }
        }
        assert!(page.contains("`shape`") && page.contains("`puzzles`"));
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
