//! What every training run is given: settings, a folder, and where to begin.

use super::{note, show};
use crate::{
    input::{BadInput, OrBadInput},
    stop,
};
use anyhow::Context;
use clap::Args;
use mavis_league::wire::toml_fault;
use mavis_model::{
    ModelError,
    train::{Budget, Card, RunFolder, refuse_other},
};
use mavis_net::{TrainState, TransformerConfig, initial_parameters};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Reads a file of settings and lays the overrides over it; `read` refuses what it does not know.
pub(super) fn read_settings<T>(
    config: &Path,
    overrides: &[String],
    read: impl FnOnce(toml::Table) -> Result<T, toml::de::Error>,
) -> anyhow::Result<T> {
    let path = config.display();
    let bad_file = |error: toml::de::Error| BadInput::new(format!("{path}: {}", error.message()));
    let bad_text = |error, text: &str| BadInput::new(format!("{path}: {}", toml_fault(text, &error)));
    let text = std::fs::read_to_string(config).with_context(|| path.to_string()).map_err(super::chain)?;
    let mut table: toml::Table = text.parse().map_err(|error| bad_text(error, &text))?;
    for line in overrides {
        super::lay_over(&mut table, line)?;
    }
    Ok(read(table).map_err(bad_file)?)
}

/// Which run it is.
#[derive(Args)]
pub(super) struct RunArgs {
    /// Settings as TOML
    #[arg(long)]
    config: PathBuf,
    /// Folder of the run: settings, metrics, checkpoints
    #[arg(long)]
    pub(super) out: PathBuf,
    /// Overrides a setting, e.g. --set schedule.peak=1e-3
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Minutes to train, instead of the budget of the settings. Counts per invocation: a resumed run gets all of them again
    #[arg(long)]
    max_minutes: Option<f64>,
    /// Starts from the weights of this model instead of random ones
    #[arg(long)]
    from: Option<PathBuf>,
}

impl RunArgs {
    /// Reads the file and lays the overrides over it; `read` refuses what it does not know.
    pub(super) fn settings<T>(
        &self,
        read: impl FnOnce(toml::Table) -> Result<T, toml::de::Error>,
    ) -> anyhow::Result<T> {
        read_settings(&self.config, &self.overrides, read)
    }

    /// How long the run lasts.
    pub(super) fn budget(&self, of_settings: Budget) -> Budget {
        self.max_minutes.map_or(of_settings, Budget::Minutes)
    }

    /// The folder, and the state to go on from: its checkpoint, the weights of a model, or new ones.
    pub(super) fn begin<S: Serialize>(
        &self,
        settings: &S,
        card: Card,
        network: &TransformerConfig,
        weights: impl FnOnce(&Path) -> Result<(TransformerConfig, Vec<f32>), ModelError>,
    ) -> anyhow::Result<(RunFolder, TrainState)> {
        let folder =
            RunFolder::open(&self.out, card, stop::flag("this step and its checkpoint"), Box::new(show))?;
        let state = match (folder.resume(network)?, &self.from) {
            (Some(state), _) => {
                note(&format!("going on from step {}", state.step));
                state
            }
            (None, Some(path)) => {
                let (found, parameters) = weights(path).or_bad_input()?;
                refuse_other(path, found, network).or_bad_input()?;
                TrainState::new(parameters)
            }
            (None, None) => TrainState::new(initial_parameters(network)?),
        };
        folder.keep_settings(settings)?;
        Ok((folder, state))
    }
}
