//! `mavis train predictor`: the searchless predictors of paper 002.

use super::{
    held_out::HeldOut,
    note,
    run::{Common, RunArgs},
};
use crate::{
    annotated,
    input::{BadInput, OrBadInput},
};
use clap::Args;
use mavis_game::Rules;
use mavis_model::{
    predictor::{
        BagSamples, PositionSamples, PredictorBatches, PredictorModel, PredictorObjective, PredictorSettings,
        Samples, Target,
    },
    train::learn,
};
use std::{path::Path, sync::Arc};

/// Trains a predictor of action values, state values or actions; the same command continues a run.
///
/// Example: mavis train predictor --target av --config recipes/predictor.toml --out runs/av --max-minutes 20
#[derive(Args)]
pub(super) struct TrainPredictor {
    /// What to predict whatever the settings say: av (value of an action), sv (value of a state) or bc (the oracle's action)
    #[arg(long)]
    target: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

impl TrainPredictor {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut settings = self.run.settings(PredictorSettings::from_table)?;
        if let Some(target) = &self.target {
            settings.target = target.parse().or_bad_input()?;
        }
        settings.run.budget = self.run.budget(settings.run.budget);
        let (spec, network) = (settings.spec().or_bad_input()?, settings.network().or_bad_input()?);
        settings.run.device.resolved().or_bad_input()?;
        let objective = objective(&settings)?;
        self.run.note(&format!(
            "{} samples for target {}, {} a step",
            objective.batches.n_samples(),
            settings.target,
            objective.batches.samples_per_batch()
        ));
        let weights = |path: &_| PredictorModel::load(path).map(|model| (model.config, model.parameters));
        let (device, n_samples) = (settings.run.device, objective.batches.n_samples());
        let common = Common { settings: &settings, device, network: &network, n_samples };
        let mut begun = self.run.begin(&common, spec.card(), weights)?;
        let optimizer = settings.run.optimizer.clone();
        let most_tokens = objective.batches.most_samples_per_batch() * settings.target.context();
        let mut trainer = device.trainer(network, optimizer, begun.state, most_tokens, begun.ranks)?;
        learn(&mut *trainer, &objective, &settings.run, &mut *begun.keeper)?;
        self.run.wrote();
        Ok(())
    }
}

fn objective(settings: &PredictorSettings) -> anyhow::Result<PredictorObjective> {
    let spec = settings.spec().or_bad_input()?;
    let validation = settings.validation.iter().map(|path| (path.as_path(), Rules::Chess));
    let held_out = HeldOut::read(settings.run.puzzles.as_ref(), validation)?;
    let mut sets = Vec::new();
    for source in &settings.data {
        let set = samples(&source.path, settings.target, &held_out)?;
        let weight = source.weight.unwrap_or(set.len() as f32);
        sets.push((set, weight));
    }
    let batches =
        PredictorBatches::new(sets, settings.samples, spec, settings.run.seed).ok_or_else(|| {
            BadInput::new(
                "no data to train on: [[data]] is missing, or all of its positions are used for validation",
            )
        })?;
    let HeldOut { validation, puzzles, .. } = held_out;
    let validation_positions = settings.run.validation_positions;
    Ok(PredictorObjective { spec, batches, validation, validation_positions, puzzles })
}

/// A bag, a table of annotations, or a pair of files; positions that are measured are left out.
fn samples(path: &Path, target: Target, held_out: &HeldOut) -> anyhow::Result<Arc<dyn Samples>> {
    let keep = |fen: &str| held_out.allows(fen);
    if path.extension().is_some_and(|ending| ending == "bag" || ending == "bagz") {
        let bag = BagSamples::open(path, target, keep);
        return Ok(Arc::new(bag.map_err(|error| BadInput::new(format!("{}: {error}", path.display())))?));
    }
    let set = annotated::open_game(path, Rules::Chess, keep, &note)?;
    Ok(Arc::new(PositionSamples::new(set, target).or_bad_input()?))
}
