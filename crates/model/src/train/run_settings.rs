//! Settings that every training run has, whatever it learns.
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

use super::SettingsError;
use crate::LearningRateSchedule;
use mavis_net::{Device, OptimizerSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::PathBuf;

/// How a run proceeds, whatever it learns; in a file its keys are written beside those of the network and the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
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
    /// Puzzles to measure on, and to keep out of the training data.
    pub puzzles: Option<Puzzles>,
    /// The optimizer.
    pub optimizer: OptimizerSettings,
    /// The learning rate.
    pub schedule: LearningRateSchedule,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            device: Device::Cpu,
            budget: Budget::Steps(1000),
            workers: 2,
            log_every: 50,
            measure_every: 0,
            checkpoint_every: 0,
            validation_positions: 10_000,
            puzzles: None,
            optimizer: OptimizerSettings::default(),
            schedule: LearningRateSchedule::default(),
        }
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

/// Puzzles in Lichess' CSV form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Puzzles {
    /// The file.
    pub path: PathBuf,
    /// How many of its rows are measured; all are kept out of the training data.
    pub limit: usize,
}

impl RunSettings {
    /// Refuses numbers that no run can go by.
    ///
    /// # Errors
    /// The first of them, by its key.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if let Budget::Minutes(minutes) = self.budget {
            within("budget.minutes", minutes, 0.0, f64::MAX)?;
        }
        let LearningRateSchedule { peak, decay, end, .. } = self.schedule;
        within("schedule.peak", peak, 0.0, f32::MAX)?;
        within("schedule.decay", decay, 0.0, 1.0)?;
        within("schedule.end", end, 0.0, 1.0)?;
        let OptimizerSettings { beta1, beta2, eps, weight_decay, clip_norm, .. } = self.optimizer;
        within("optimizer.beta1", beta1, 0.0, 1.0)?;
        within("optimizer.beta2", beta2, 0.0, 1.0)?;
        within("optimizer.eps", eps, 0.0, 1.0)?;
        within("optimizer.weight_decay", weight_decay, 0.0, f32::MAX)?;
        within("optimizer.clip_norm", clip_norm.unwrap_or(1.0), 0.0, f32::MAX)?;
        within("optimizer.muon_momentum", self.optimizer.muon_momentum, 0.0, 1.0)?;
        within("optimizer.muon_scale", self.optimizer.muon_scale, 0.0, f32::MAX)?;
        within("optimizer.average_decay", self.optimizer.average_decay, 0.0, 1.0)
    }
}

/// Refuses a number outside its range, ends included; one that is no number is outside of any.
pub(crate) fn within<T>(key: &str, value: T, least: T, most: T) -> Result<(), SettingsError>
where
    T: PartialOrd + Into<f64> + Copy,
{
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let (value, least, most) = (value.into(), least.into(), most.into());
    let range = match most < f64::from(f32::MAX) {
        true => format!("from {least} to {most}"),
        false => format!("a number from {least} on"),
    };
    Err(SettingsError(format!("{key} must be {range}, not {value}")))
}

/// Settings of a file laid over those it does not name; unknown keys are errors.
///
/// # Errors
/// When a key is unknown or a value is not of its kind.
pub(crate) fn laid_over<T: Serialize + DeserializeOwned>(
    base: &T,
    mut given: toml::Table,
) -> Result<T, toml::de::Error> {
    let as_table = |settings: &T| toml::Table::try_from(settings).map_err(serde::de::Error::custom);
    let keys: Vec<String> = given.keys().cloned().collect();
    for (key, value) in as_table(base)? {
        match (given.get_mut(&key), value) {
            // A budget is one of two kinds, so a file's replaces it whole.
            (Some(toml::Value::Table(given)), toml::Value::Table(base)) if key != "budget" => {
                for (key, value) in base {
                    given.entry(key).or_insert(value);
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                given.insert(key, value);
            }
        }
    }
    let settings = given.try_into()?;
    // Whatever was understood is written again.
    let known = as_table(&settings)?;
    match keys.iter().find(|key| !known.contains_key(*key)) {
        None => Ok(settings),
        Some(unknown) => {
            let known: Vec<&str> = known.keys().map(String::as_str).collect();
            let text = format!("unknown field `{unknown}`, expected one of {}", known.join(", "));
            Err(serde::de::Error::custom(text))
        }
    }
}
