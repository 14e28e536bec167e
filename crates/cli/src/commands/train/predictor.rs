//! `mavis train predictor`: the searchless predictors of paper 002.

use super::{board_of, chain, note, puzzle_boards, read_settings, show};
use crate::{
    annotated,
    input::{BadInput, OrBadInput},
    stop,
};
use clap::Args;
use mavis_data::read_puzzles;
use mavis_game::Rules;
use mavis_model::{
    predictor::{
        BagSamples, PositionSamples, PredictorBatches, PredictorLesson, PredictorModel, PredictorSettings,
        Samples, Target,
    },
    train::{Budget, RunFolder, learn},
};
use mavis_net::{TrainState, initial_parameters};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Trains a predictor of action values, state values or actions; run it again with the same folder to go on.
///
/// Example: mavis train predictor --target av --config recipes/predictor.toml --out runs/av --max-minutes 20
#[derive(Args)]
pub(super) struct TrainPredictor {
    /// What to predict whatever the settings say: av (value of an action), sv (value of a state) or bc (the oracle's action)
    #[arg(long)]
    target: Option<String>,
    /// Settings as TOML
    #[arg(long)]
    config: PathBuf,
    /// Folder of the run: settings, metrics, checkpoints
    #[arg(long)]
    out: PathBuf,
    /// Overrides a setting, e.g. --set schedule.peak=1e-3
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Trains for so many minutes whatever the settings say
    #[arg(long)]
    max_minutes: Option<f64>,
    /// Starts from the weights of this predictor instead of random ones
    #[arg(long)]
    from: Option<PathBuf>,
}

impl TrainPredictor {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut settings: PredictorSettings = read_settings(&self.config, &self.overrides)?;
        if let Some(target) = &self.target {
            settings.target = target.parse().or_bad_input()?;
        }
        if let Some(minutes) = self.max_minutes {
            settings.budget = Budget::Minutes(minutes);
        }
        let (spec, network) = (settings.spec().or_bad_input()?, settings.network().or_bad_input()?);
        settings.device.resolved().or_bad_input()?;
        let lesson = lesson(&settings)?;
        note(&format!(
            "{} samples for target {}, {} a step",
            lesson.batches.n_samples(),
            settings.target,
            lesson.batches.samples_per_batch()
        ));
        let mut keeper = RunFolder::open(&self.out, &settings, spec.card(), stop::flag(), Box::new(show))?;
        let state = match (keeper.resume()?, &self.from) {
            (Some(state), _) => {
                note(&format!("going on from step {}", state.step));
                state
            }
            (None, Some(path)) => TrainState::new(PredictorModel::load(path).or_bad_input()?.parameters),
            (None, None) => TrainState::new(initial_parameters(&network)?),
        };
        let optimizer = settings.optimizer.clone();
        let most_tokens = lesson.batches.samples_per_batch() * settings.target.context();
        let mut trainer = settings.device.trainer(network, optimizer, state, most_tokens)?;
        learn(&mut *trainer, &lesson, &settings.pace(), &mut keeper)?;
        Ok(())
    }
}

fn lesson(settings: &PredictorSettings) -> anyhow::Result<PredictorLesson> {
    let spec = settings.spec().or_bad_input()?;
    let puzzles = match &settings.puzzles {
        Some(puzzles) => read_puzzles(&puzzles.path, usize::MAX).map_err(|error| chain(error.into()))?,
        None => Vec::new(),
    };
    let known = puzzle_boards(&puzzles);
    let mut sets = Vec::new();
    for source in &settings.data {
        let set = samples(&source.path, settings.target, &known)?;
        let weight = source.weight.unwrap_or(set.len() as f32);
        sets.push((set, weight));
    }
    let mut validation = Vec::new();
    for path in &settings.validation {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        validation.push((name, annotated::open(path, Rules::Chess, |_| true, &note)?));
    }
    let batches = PredictorBatches::new(sets, settings.samples, spec.bins, settings.seed)
        .ok_or_else(|| BadInput::new("no data to train on: the settings need [[data]]"))?;
    let limit = settings.puzzles.as_ref().map_or(0, |puzzles| puzzles.limit);
    Ok(PredictorLesson {
        spec,
        batches,
        validation,
        validation_positions: settings.validation_positions,
        puzzles: puzzles.into_iter().take(limit).collect(),
    })
}

/// A bag, a table of annotations, or a pair of files; positions of puzzles are left out.
fn samples(path: &Path, target: Target, known: &HashSet<String>) -> anyhow::Result<Arc<dyn Samples>> {
    let keep = |fen: &str| !known.contains(&board_of(fen));
    if path.extension().is_some_and(|ending| ending == "bag" || ending == "bagz") {
        let bag = BagSamples::open(path, target, keep);
        return Ok(Arc::new(bag.map_err(|error| BadInput::new(format!("{}: {error}", path.display())))?));
    }
    let set = annotated::open(path, Rules::Chess, keep, &note)?;
    Ok(Arc::new(PositionSamples::new(set, target).or_bad_input()?))
}
