//! What every training run is given: settings, a folder, and where to begin.

use super::{
    note,
    ranks::{Ranks, Started},
    show,
};
use crate::commands::wrote;
use crate::{
    input::{BadInput, OrBadInput, lock_failure},
    stop,
};
use anyhow::Context;
use clap::Args;
use mavis_league::wire::toml_fault;
use mavis_model::{
    ModelError,
    train::{Budget, Card, Follower, Keeper, RunFolder, refuse_other, share_state},
};
use mavis_net::{AllReduce, Device, TrainState, TransformerConfig, initial_parameters};
use mavis_stable::seed::hash_bytes;
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

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
    out: PathBuf,
    /// Overrides a setting, e.g. --set schedule.peak=1e-3
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Minutes to train, instead of the budget of the settings. Counts per invocation: a resumed run gets all of them again
    #[arg(long)]
    max_minutes: Option<f64>,
    /// Starts from the weights of this model instead of random ones
    #[arg(long)]
    from: Option<PathBuf>,
    #[command(flatten)]
    ranks: Ranks,
}

/// What a run begins with.
pub(super) struct Beginning {
    /// Keeps log and checkpoints, or leaves them to another rank.
    pub(super) keeper: Box<dyn Keeper>,
    /// Where to continue.
    pub(super) state: TrainState,
    /// The ranks that share the run.
    pub(super) ranks: Option<Arc<dyn AllReduce>>,
    /// Processes of other ranks, the last to be dropped.
    _started: Option<Started>,
}

/// What must be the same on all ranks of a run.
pub(super) struct Common<'a, S> {
    /// The settings.
    pub(super) settings: &'a S,
    /// Where to compute.
    pub(super) device: Device,
    /// The network.
    pub(super) network: &'a TransformerConfig,
    /// Positions or samples to learn from.
    pub(super) n_samples: usize,
}

impl<S: Serialize> Common<'_, S> {
    fn fingerprint(&self) -> anyhow::Result<u64> {
        let version = env!("CARGO_PKG_VERSION");
        let settings = toml::to_string(self.settings)?;
        let text = format!("{version} {} {} {settings}", self.device.resolved()?, self.n_samples);
        Ok(hash_bytes(0, text.as_bytes()))
    }
}

impl RunArgs {
    /// Reads the file and lays the overrides over it; `read` refuses what it does not know.
    pub(super) fn settings<T>(
        &self,
        read: impl FnOnce(toml::Table) -> Result<T, toml::de::Error>,
    ) -> anyhow::Result<T> {
        self.ranks.check()?;
        read_settings(&self.config, &self.overrides, read)
    }

    /// A line for people, from the process that keeps the folder.
    pub(super) fn note(&self, text: &str) {
        if self.ranks.leads() {
            note(text);
        }
    }

    /// Says where the run is.
    pub(super) fn wrote(&self) {
        if self.ranks.leads() {
            wrote(&self.out);
        }
    }

    /// How long the run lasts.
    pub(super) fn budget(&self, of_settings: Budget) -> Budget {
        self.max_minutes.map_or(of_settings, Budget::Minutes)
    }

    /// The folder, the state to continue from (its checkpoint, the weights of a model, or new ones) and the other ranks.
    pub(super) fn begin<S: Serialize>(
        &self,
        common: &Common<'_, S>,
        card: Card,
        weights: impl FnOnce(&Path) -> Result<(TransformerConfig, Vec<f32>), ModelError>,
    ) -> anyhow::Result<Beginning> {
        let company = self.ranks.meet(common.fingerprint()?)?;
        let folder = self.ranks.leads().then(|| {
            let stop = stop::flag("this step and its checkpoint");
            RunFolder::open(&self.out, card, stop, Box::new(show))
        });
        let folder = folder.transpose().map_err(|error| match error {
            ModelError::Lock(error) => lock_failure(error),
            error => error.into(),
        })?;
        let mut state = match &folder {
            Some(folder) => self.first_state(folder, common.network, weights)?,
            // That of rank 0 takes its place.
            None => TrainState::default(),
        };
        if let Some(folder) = &folder {
            folder.keep_settings(common.settings)?;
        }
        let (mut ranks, mut started) = (None, None);
        if let Some(company) = company {
            state = share_state(&company.met, state)?;
            ranks = Some(common.device.ranks(company.met)?);
            started = Some(company.started);
        }
        let keeper: Box<dyn Keeper> = match (folder, &ranks) {
            (Some(folder), Some(ranks)) => Box::new(folder.with_ranks(ranks.clone())),
            (Some(folder), None) => Box::new(folder),
            (None, Some(ranks)) => Box::new(Follower::new(ranks.clone(), stop::flag("this step"))),
            (None, None) => return Err(BadInput::new("--rank needs --ranks of 2 or more").into()),
        };
        Ok(Beginning { keeper, state, ranks, _started: started })
    }

    /// The state that a run begins with.
    fn first_state(
        &self,
        folder: &RunFolder,
        network: &TransformerConfig,
        weights: impl FnOnce(&Path) -> Result<(TransformerConfig, Vec<f32>), ModelError>,
    ) -> anyhow::Result<TrainState> {
        match (folder.resume(network)?, &self.from) {
            (Some(state), _) => {
                note(&format!("continuing from step {}", state.step));
                Ok(state)
            }
            (None, Some(path)) => {
                let (found, parameters) = weights(path).or_bad_input()?;
                refuse_other(path, found, network).or_bad_input()?;
                Ok(TrainState::new(parameters))
            }
            (None, None) => Ok(TrainState::new(initial_parameters(network)?)),
        }
    }
}
