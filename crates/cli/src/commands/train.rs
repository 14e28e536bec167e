//! `mavis train`: networks from annotated positions.

mod held_out;
mod plot;
mod predictor;
mod ranks;
mod run;

use super::note;
use crate::{
    annotated,
    input::{BadInput, OrBadInput, one_line},
};
use clap::{Args, Subcommand};
use held_out::HeldOut;
use mavis_data::TraceTable;
use mavis_game::Rules;
use mavis_model::{
    MavModel,
    mixture::{Mixture, MixtureSettings},
    train::{Event, Material, TrainSettings, train},
};
use run::{Common, RunArgs};
use std::{path::Path, sync::Arc};

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

/// Trains the MAV model; the same command continues a run.
///
/// With --ranks several processes share every batch, one for each GPU of this machine.
/// Example: mavis train mav --config recipes/yardstick.toml --out runs/first --max-minutes 20
#[derive(Args)]
struct TrainMav {
    #[command(flatten)]
    run: RunArgs,
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
        let mut settings = self.run.settings(TrainSettings::from_table)?;
        settings.run.budget = self.run.budget(settings.run.budget);
        let network = settings.network().or_bad_input()?;
        settings.run.device.resolved().or_bad_input()?;
        let material = material(&settings)?;
        let left_out = material.mixture.left_out()?;
        self.run.note(&format!(
            "{} positions, {} examples a step, {} of them traces{}",
            material.mixture.n_positions(),
            material.mixture.examples_per_batch(),
            material.mixture.traces_per_batch(),
            if left_out < 0.02 {
                String::new()
            } else {
                format!(
                    "; {:.0} % of them find no room in {} tokens",
                    100.0 * left_out,
                    settings.batch.tokens
                )
            }
        ));
        let card = MavModel::card(settings.input);
        let weights = |path: &_| {
            let model = MavModel::load(path)?;
            let model = if settings.places { model.with_places()? } else { model };
            Ok((model.config, model.parameters))
        };
        let (device, n_samples) = (settings.run.device, material.mixture.n_positions());
        let common = Common { settings: &settings, device, network: &network, n_samples };
        let mut begun = self.run.begin(&common, card, weights)?;
        let (optimizer, tokens) = (settings.run.optimizer.clone(), settings.batch.tokens);
        let mut trainer = device.trainer(network, optimizer, begun.state, tokens, begun.ranks)?;
        train(&mut *trainer, &material, &settings, &mut *begun.keeper)?;
        self.run.wrote();
        Ok(())
    }
}

fn chain(error: anyhow::Error) -> BadInput {
    BadInput::new(one_line(&error))
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

/// The settings of a run of the MAV model.
pub(super) fn read_settings(config: &Path, overrides: &[String]) -> anyhow::Result<TrainSettings> {
    run::read_settings(config, overrides, TrainSettings::from_table)
}

/// What a run learns from and is measured on.
pub(super) fn material(settings: &TrainSettings) -> anyhow::Result<Material> {
    let rules = |game: &str| game.parse::<Rules>().or_bad_input();
    let validation: Vec<_> = (settings.validation.iter())
        .map(|set| Ok((set.path.as_path(), rules(&set.game)?)))
        .collect::<anyhow::Result<_>>()?;
    let held_out = HeldOut::read(settings.run.puzzles.as_ref(), validation.into_iter())?;
    let mut sets = Vec::new();
    for set in &settings.data {
        let keep = |fen: &str| held_out.allows(fen);
        sets.push((annotated::open_game(&set.path, rules(&set.game)?, keep, &note)?, set.weight));
    }
    let mixture_settings = MixtureSettings {
        seed: settings.run.seed,
        batch: settings.batch,
        examples: settings.examples.clone(),
        loss: settings.loss.clone(),
        input: settings.input,
    };
    let mixture = Mixture::new(sets, mixture_settings).ok_or_else(|| {
        BadInput::new(
            "no data to train on: [[data]] is missing, or all of its positions are used for validation",
        )
    })?;
    let traces = settings.traces.iter().map(|set| Ok((open_traces(&set.path, &held_out)?, set.weight)));
    let traces = traces.collect::<anyhow::Result<Vec<_>>>()?;
    let mixture = mixture.with_traces(traces, settings.mix.traces);
    let HeldOut { validation, puzzles, .. } = held_out;
    Ok(Material { mixture, validation, puzzles })
}

/// Traces without a position that is measured on.
fn open_traces(path: &Path, held_out: &HeldOut) -> anyhow::Result<Arc<TraceTable>> {
    let table = TraceTable::open(&[path], |position| held_out.allows(position));
    let table = table.map_err(|error| chain(error.into()))?;
    if let Some(refused) = table.first_refused() {
        let n = table.n_refused();
        note(&format!("{}: {n} traces cannot be used, the first is {refused}", path.display()));
    }
    Ok(Arc::new(table))
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
                    "measured {name}: F1 {:.4} (precision {:.4}, recall {:.4}), whole sets {:.1} %, action accuracy {:.1} % (co-best {:.1} % by mean, {:.1} % by max), regret {:.4}, value error {:.4}",
                    q.f1,
                    q.precision,
                    q.recall,
                    100.0 * q.whole_sets,
                    100.0 * q.action_accuracy,
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
                    "measured {name}: action accuracy {:.1} % (co-best {:.1} %), Kendall's tau-b {:.4}, regret {:.4}{error}",
                    100.0 * q.action_accuracy,
                    100.0 * q.co_best_accuracy,
                    q.kendall_tau,
                    q.regret
                ));
            }
            if let Some(shares) = measured.puzzles {
                note(&format!(
                    "puzzles: {:.1} % solved ({:.1} % with other mates counted), {:.1} % first moves",
                    100.0 * shares.solved,
                    100.0 * shares.solved_or_mates,
                    100.0 * shares.first_right
                ));
            }
        }
    }
}
