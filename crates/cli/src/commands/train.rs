//! `mavis train`: networks from annotated positions.

mod plot;
mod predictor;

use crate::{
    annotated,
    input::{BadInput, OrBadInput},
    stop,
};
use anyhow::Context;
use clap::{Args, Subcommand};
use mavis_data::{Annotations, Puzzle, read_puzzles};
use mavis_model::{
    MavModel,
    mixture::{Mixture, MixtureSettings},
    train::{Budget, Event, Material, RunFolder, TrainSettings, train},
};
use mavis_net::{TrainState, initial_parameters};
use serde::de::DeserializeOwned;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Trains a network.
#[derive(Args)]
pub(crate) struct Train {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Mav(TrainMav),
    Predictor(predictor::TrainPredictor),
    Plot(plot::Plot),
}

/// Trains the MAV model; run it again with the same folder to go on.
///
/// Example: mavis train mav --config recipes/yardstick.toml --out runs/first --max-minutes 20
#[derive(Args)]
struct TrainMav {
    /// Settings as TOML
    #[arg(long)]
    config: PathBuf,
    /// Folder of the run: settings, metrics, checkpoints
    #[arg(long)]
    out: PathBuf,
    /// Overrides a setting, e.g. --set loss.value_smear=0.75
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Trains for so many minutes whatever the settings say
    #[arg(long)]
    max_minutes: Option<f64>,
    /// Starts from the weights of this model instead of random ones
    #[arg(long)]
    from: Option<PathBuf>,
}

impl Train {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Mav(command) => command.run(),
            What::Predictor(command) => command.run(),
            What::Plot(command) => command.run(),
        }
    }
}

impl TrainMav {
    fn run(self) -> anyhow::Result<()> {
        let table = read_table(&self.config, &self.overrides)?;
        let mut settings =
            TrainSettings::from_table(table).map_err(|error| bad_file(&self.config, &error))?;
        if let Some(minutes) = self.max_minutes {
            settings.budget = Budget::Minutes(minutes);
        }
        let network = settings.network().or_bad_input()?;
        settings.device.resolved().or_bad_input()?;
        let material = material(&settings)?;
        note(&format!(
            "{} positions, {} examples a step",
            material.mixture.n_positions(),
            material.mixture.examples_per_batch()
        ));
        let card = MavModel::card(settings.full_input);
        let mut keeper = RunFolder::open(&self.out, &settings, card, stop::flag(), Box::new(show))?;
        let state = match (keeper.resume()?, &self.from) {
            (Some(state), _) => {
                note(&format!("going on from step {}", state.step));
                state
            }
            (None, Some(path)) => TrainState::new(MavModel::load(path)?.parameters),
            (None, None) => TrainState::new(initial_parameters(&network)?),
        };
        let (optimizer, tokens) = (settings.optimizer.clone(), settings.batch.tokens);
        let mut trainer = settings.device.trainer(network, optimizer, state, tokens)?;
        train(&mut *trainer, &material, &settings, &mut keeper)?;
        Ok(())
    }
}

/// Reads the file, then lays the overrides over it.
fn read_table(path: &Path, overrides: &[String]) -> anyhow::Result<toml::Table> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string()).map_err(chain)?;
    let mut table: toml::Table = text.parse().map_err(|error| bad_file(path, &error))?;
    for line in overrides {
        lay_over(&mut table, line)?;
    }
    Ok(table)
}

/// The same as settings; unknown keys are errors.
fn read_settings<T: DeserializeOwned>(path: &Path, overrides: &[String]) -> anyhow::Result<T> {
    read_table(path, overrides)?.try_into().map_err(|error| bad_file(path, &error).into())
}

fn chain(error: anyhow::Error) -> BadInput {
    BadInput::new(format!("{error:#}"))
}

fn bad_file(path: &Path, error: &toml::de::Error) -> BadInput {
    BadInput::new(format!("{}: {}", path.display(), error.message()))
}

/// Puts one `key.key=value` in its place; the value is TOML, or plain text where it is not.
pub(super) fn lay_over(table: &mut toml::Table, line: &str) -> Result<(), BadInput> {
    let bad = || BadInput::new(format!("bad override '{line}' (expected KEY=VALUE)"));
    let (path, text) = line.split_once('=').ok_or_else(bad)?;
    let value = format!("value = {text}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()));
    let (parents, key) = path.rsplit_once('.').map_or((None, path), |(parents, key)| (Some(parents), key));
    let mut place = table;
    for parent in parents.into_iter().flat_map(|parents| parents.split('.')) {
        let below = place.entry(parent).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = below.as_table_mut().ok_or_else(bad)?;
    }
    place.insert(key.to_owned(), value);
    Ok(())
}

fn material(settings: &TrainSettings) -> anyhow::Result<Material> {
    let puzzles = match &settings.puzzles {
        Some(puzzles) => read_puzzles(&puzzles.path, usize::MAX).map_err(|error| chain(error.into()))?,
        None => Vec::new(),
    };
    let mut known = puzzle_boards(&puzzles);
    let mut validation = Vec::new();
    for set in &settings.validation {
        let name =
            set.path.file_name().map_or_else(|| set.game.clone(), |name| name.to_string_lossy().into_owned());
        let measured = open(&set.path, &set.game, |_| true)?;
        for idx in 0..measured.len() {
            known.insert(board_of(&measured.get(idx).or_bad_input()?.position.to_string()));
        }
        validation.push((name, measured));
    }
    let mut sets = Vec::new();
    for set in &settings.data {
        sets.push((open(&set.path, &set.game, |fen| !known.contains(&board_of(fen)))?, set.weight));
    }
    let mixture_settings = MixtureSettings {
        seed: settings.seed,
        batch: settings.batch,
        examples: settings.examples.clone(),
        loss: settings.loss.clone(),
        full_input: settings.full_input,
    };
    let mixture = Mixture::new(sets, mixture_settings)
        .ok_or_else(|| BadInput::new("no data to train on: the settings need [[data]]"))?;
    let limit = settings.puzzles.as_ref().map_or(0, |puzzles| puzzles.limit);
    Ok(Material { mixture, validation, puzzles: puzzles.into_iter().take(limit).collect() })
}

/// Boards of puzzles, which are left out of the data: a position is the same whatever its move counters say.
fn puzzle_boards(puzzles: &[Puzzle]) -> HashSet<String> {
    let positions = puzzles.iter().flat_map(|puzzle| &puzzle.steps);
    positions.map(|(position, _)| board_of(&position.to_string())).collect()
}

/// The first four fields of a FEN.
fn board_of(fen: &str) -> String {
    fen.split(' ').take(4).collect::<Vec<_>>().join(" ")
}

/// A set of positions by its path and the name of its game.
fn open(path: &Path, game: &str, keep: impl FnMut(&str) -> bool) -> anyhow::Result<Arc<dyn Annotations>> {
    annotated::open(path, game.parse().or_bad_input()?, keep, &note)
}

pub(super) fn note(text: &str) {
    #[expect(clippy::print_stderr, reason = "progress belongs on stderr")]
    {
        eprintln!("{text}");
    }
}

/// One line a log line, for people.
fn show(event: &Event) {
    match event {
        Event::Step(line) => {
            let kinds: Vec<String> =
                line.by_kind.iter().map(|(kind, loss)| format!("{kind} {loss:.4}")).collect();
            note(&format!(
                "step {:>7}  {:>5.1} %  loss {:.4}  {}  lr {:.2e}  norm {:.2}  {:.0} tokens/s  waiting {:.1} %",
                line.step,
                100.0 * line.progress,
                line.loss,
                kinds.join("  "),
                line.learning_rate,
                line.gradient_norm,
                line.tokens_per_second,
                100.0 * line.waiting
            ));
        }
        Event::Measure(measured) => {
            for (name, q) in &measured.quality {
                note(&format!(
                    "measured {name}: F1 {:.4} (precision {:.4}, recall {:.4}), whole sets {:.1} %, best move {:.1} % by mean, {:.1} % by max, regret {:.4}, value error {:.4}",
                    q.f1,
                    q.precision,
                    q.recall,
                    100.0 * q.whole_sets,
                    100.0 * q.best_by_mean,
                    100.0 * q.best_by_max,
                    q.regret,
                    q.value_error
                ));
            }
            for (name, q) in &measured.predictions {
                let error =
                    q.value_error.map_or_else(String::new, |error| format!(", value error {error:.4}"));
                note(&format!(
                    "measured {name}: action accuracy {:.1} %, Kendall's tau-b {:.4}, regret {:.4}{error}",
                    100.0 * q.action_accuracy,
                    q.kendall_tau,
                    q.regret
                ));
            }
            if let Some((solved, first)) = measured.puzzles {
                note(&format!("puzzles: {:.1} % solved, {:.1} % first moves", 100.0 * solved, 100.0 * first));
            }
        }
    }
}
