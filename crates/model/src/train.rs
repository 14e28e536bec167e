//! The training loop: batches in, a better network out, nothing lost when it stops.

mod folder;
mod ranks;
mod run_settings;
mod settings;

pub use folder::{Card, RunFolder, refuse_other};
pub use ranks::{Follower, share_state};
pub use run_settings::{Budget, Puzzles, RunSettings};
pub(crate) use run_settings::{laid_over, within};
pub use settings::{DataSet, SettingsError, TraceSet, TrainSettings, Validation};

use crate::{
    ModelError,
    fan_out::FanOutNetwork,
    forward::{Forward, value_columns},
    loader::Loader,
    mixture::Mixture,
    pack::{PackedBatch, tag},
    predictor::PredictorQuality,
    validation::{self, PuzzleShares, Quality},
};
use mavis_data::{Annotations, Puzzle};
use mavis_net::{AllReduce, Batch, Logits, NetError, StepReport, StepSettings, Trainer, Want, Weights};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// What a run learns from and is measured on.
pub struct Material {
    /// The training batches.
    pub mixture: Mixture,
    /// Named sets of positions that are never trained on.
    pub validation: Vec<(String, Arc<dyn Annotations>)>,
    /// Puzzles, if any.
    pub puzzles: Vec<Puzzle>,
}

/// What a run learns, and how it is measured.
pub trait Objective {
    /// Starts the threads that build its batches, from batch number `first` on.
    fn loader(&self, first: u64, n_workers: usize) -> Loader;

    /// Names of the kinds of rows, in order of their tags.
    fn kinds(&self) -> &'static [&'static str];

    /// Measures the averaged weights; step and time are filled in already.
    ///
    /// # Errors
    /// A network that fails, or a record that cannot be used.
    fn measure(&self, network: &mut Averaged<'_>, measured: &mut Measurement) -> Result<(), ModelError>;
}

/// One line of the log.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A step was made.
    Step(StepLine),
    /// The network was measured.
    Measure(Measurement),
}

/// A step as the log keeps it.
#[derive(Clone, Debug, Serialize)]
pub struct StepLine {
    /// Steps done.
    pub step: u64,
    /// Seconds of training in this process.
    pub seconds: f64,
    /// Share of the run that is done.
    pub progress: f32,
    /// Examples seen in this process.
    pub examples: u64,
    /// Tokens per second over the last lines.
    pub tokens_per_second: f64,
    /// Share of the time spent waiting for batches.
    pub waiting: f64,
    /// Learning rate.
    pub learning_rate: f32,
    /// Loss, in nats an example.
    pub loss: f32,
    /// Mean loss by kind of row.
    pub by_kind: BTreeMap<&'static str, f32>,
    /// Norm of the gradient before clipping.
    pub gradient_norm: f32,
}

/// A measurement of the averaged weights.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measurement {
    /// Steps done.
    pub step: u64,
    /// Seconds of training in this process.
    pub seconds: f64,
    /// Examples seen in this process.
    pub examples: u64,
    /// Seconds that measuring took.
    pub measuring: f64,
    /// Quality by set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub quality: BTreeMap<String, Quality>,
    /// Quality of a predictor by set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub predictions: BTreeMap<String, PredictorQuality>,
    /// Shares of puzzles.
    pub puzzles: Option<PuzzleShares>,
}

/// Who keeps log lines and checkpoints, and may end the run.
pub trait Keeper {
    /// Takes a log line.
    ///
    /// # Errors
    /// When it cannot be kept; the run ends.
    fn log(&mut self, event: &Event) -> Result<(), ModelError>;

    /// Takes a checkpoint of the whole state.
    ///
    /// # Errors
    /// When it cannot be written; the run ends, the last good one stays.
    fn checkpoint(&mut self, trainer: &mut dyn Trainer) -> Result<(), ModelError>;

    /// Whether the run should end now, with a checkpoint.
    fn should_stop(&self) -> bool;

    /// The group of ranks that the run is divided among; `None` for a run of one process.
    fn ranks(&self) -> Option<&dyn AllReduce> {
        None
    }
}

/// Trains a MAV model; see [`learn`].
///
/// # Errors
/// As [`learn`].
pub fn train(
    trainer: &mut dyn Trainer,
    material: &Material,
    settings: &TrainSettings,
    keeper: &mut dyn Keeper,
) -> Result<(), ModelError> {
    learn(trainer, &MavObjective { material, settings }, &settings.run, keeper)
}

struct MavObjective<'a> {
    material: &'a Material,
    settings: &'a TrainSettings,
}

impl Objective for MavObjective<'_> {
    fn loader(&self, first: u64, n_workers: usize) -> Loader {
        Loader::start(&self.material.mixture, first, n_workers)
    }

    fn kinds(&self) -> &'static [&'static str] {
        &tag::NAMES
    }

    fn measure(&self, network: &mut Averaged<'_>, measured: &mut Measurement) -> Result<(), ModelError> {
        let settings = self.settings;
        for (name, set) in &self.material.validation {
            let quality = validation::quality(
                &mut FanOutNetwork::new(network, settings.input),
                &**set,
                settings.run.validation_positions,
                settings.batch.tokens,
            )?;
            measured.quality.insert(name.clone(), quality);
        }
        let puzzles = &self.material.puzzles;
        if !puzzles.is_empty() {
            let solved = validation::puzzles(
                &mut FanOutNetwork::new(network, settings.input),
                puzzles,
                settings.batch.tokens,
            )?;
            measured.puzzles = Some(solved);
        }
        Ok(())
    }
}

/// Trains until the budget is spent or the keeper ends it; always ends with a checkpoint and a measurement.
///
/// # Errors
/// A network that fails, a record that cannot be used, a keeper that cannot keep.
pub fn learn(
    trainer: &mut dyn Trainer,
    objective: &dyn Objective,
    pace: &RunSettings,
    keeper: &mut dyn Keeper,
) -> Result<(), ModelError> {
    let mut run = TrainingLoop {
        trainer,
        objective,
        pace,
        started: Instant::now(),
        paused: Duration::ZERO,
        meter: Meter::default(),
        examples: 0,
        rates: std::collections::VecDeque::new(),
    };
    run.go(keeper)
}

struct TrainingLoop<'a> {
    trainer: &'a mut dyn Trainer,
    objective: &'a dyn Objective,
    pace: &'a RunSettings,
    started: Instant,
    /// Time spent on measurements and checkpoints, which a budget of minutes does not count.
    paused: Duration,
    meter: Meter,
    examples: u64,
    /// Learning rates of the steps in flight.
    rates: std::collections::VecDeque<f32>,
}

/// What happened since the last line.
#[derive(Default)]
struct Meter {
    since: Option<Instant>,
    tokens: u64,
    waited: Duration,
}

impl TrainingLoop<'_> {
    fn go(&mut self, keeper: &mut dyn Keeper) -> Result<(), ModelError> {
        let pace = self.pace;
        let mut loader = self.objective.loader(self.trainer.step(), pace.workers);
        let mut submitted = self.trainer.step();
        self.meter.since = Some(Instant::now());
        loop {
            let (progress, stop) = ranks::agreed(keeper, self.progress(submitted))?;
            if progress >= 1.0 || stop {
                break;
            }
            let asked = Instant::now();
            let packed = loader.next_batch().ok_or(ModelError::Loader)??;
            self.meter.waited += asked.elapsed();
            self.submit(&packed, submitted, progress)?;
            submitted += 1;
            loader.recycle(packed);
            if self.rates.len() >= 2 {
                self.collect(keeper)?;
            }
            let due = |every: u64| every > 0 && submitted.is_multiple_of(every);
            let (measure, save) = (due(pace.measure_every), due(pace.checkpoint_every));
            if measure || save {
                let pause = Instant::now();
                self.drain(keeper)?;
                if save {
                    keeper.checkpoint(self.trainer)?;
                }
                if measure {
                    self.measure(keeper)?;
                }
                self.paused += pause.elapsed();
                self.meter = Meter { since: Some(Instant::now()), ..Meter::default() };
            }
        }
        self.drain(keeper)?;
        keeper.checkpoint(self.trainer)?;
        self.measure(keeper)
    }

    fn seconds(&self) -> f64 {
        (self.started.elapsed() - self.paused).as_secs_f64()
    }

    fn progress(&self, step: u64) -> f32 {
        match self.pace.budget {
            Budget::Steps(steps) => step as f32 / steps.max(1) as f32,
            Budget::Minutes(minutes) => (self.seconds() / (60.0 * minutes).max(1e-9)) as f32,
        }
    }

    fn submit(&mut self, packed: &PackedBatch, step: u64, progress: f32) -> Result<(), ModelError> {
        let learning_rate = self.pace.schedule.rate(step, progress);
        self.trainer.submit(&packed.batch, &packed.rows, &StepSettings { learning_rate })?;
        self.rates.push_back(learning_rate);
        self.meter.tokens += packed.batch.len() as u64;
        self.examples += packed.n_examples as u64;
        Ok(())
    }

    fn collect(&mut self, keeper: &mut dyn Keeper) -> Result<(), ModelError> {
        let Some(report) = self.trainer.collect()? else { return Ok(()) };
        let rate = self.rates.pop_front().unwrap_or(0.0);
        if self.pace.log_every > 0 && report.step.is_multiple_of(self.pace.log_every) {
            let line = self.line(&report, rate);
            keeper.log(&Event::Step(line))?;
            self.meter = Meter { since: Some(Instant::now()), ..Meter::default() };
        }
        Ok(())
    }

    fn drain(&mut self, keeper: &mut dyn Keeper) -> Result<(), ModelError> {
        while !self.rates.is_empty() {
            self.collect(keeper)?;
        }
        Ok(())
    }

    fn line(&self, report: &StepReport, learning_rate: f32) -> StepLine {
        let elapsed =
            self.meter.since.map_or(Duration::ZERO, |since| since.elapsed()).as_secs_f64().max(1e-9);
        StepLine {
            step: report.step,
            seconds: self.seconds(),
            progress: self.progress(report.step),
            examples: self.examples,
            tokens_per_second: self.meter.tokens as f64 / elapsed,
            waiting: self.meter.waited.as_secs_f64() / elapsed,
            learning_rate,
            loss: report.loss.loss,
            by_kind: report
                .loss
                .tags
                .iter()
                .filter_map(|row| Some((*self.objective.kinds().get(usize::from(row.tag))?, row.loss)))
                .collect(),
            gradient_norm: report.update.gradient_norm,
        }
    }

    fn measure(&mut self, keeper: &mut dyn Keeper) -> Result<(), ModelError> {
        if !ranks::leads(keeper) {
            return Ok(());
        }
        let (step, seconds, examples) = (self.trainer.step(), self.seconds(), self.examples);
        let begin = Instant::now();
        let mut measured = Measurement { step, seconds, examples, ..Measurement::default() };
        self.objective.measure(&mut Averaged(&mut *self.trainer), &mut measured)?;
        measured.measuring = begin.elapsed().as_secs_f64();
        keeper.log(&Event::Measure(measured))
    }
}

/// The running average of a network in training, which is what we measure and ship.
pub struct Averaged<'a>(pub &'a mut dyn Trainer);

impl Forward for Averaged<'_> {
    fn forward(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        let logits = self.0.logits_of(batch, std::slice::from_ref(want), Weights::Average)?;
        Ok(logits.into_iter().next().unwrap_or_default())
    }

    fn moves_and_values(
        &mut self,
        batch: &Batch,
        prompts: &[u32],
        branches: &[u32],
    ) -> Result<(Logits, Logits), NetError> {
        let values = Want { rows: branches.to_vec(), columns: Some(value_columns()), brief: None };
        let mut logits =
            self.0.logits_of(batch, &[Want::rows(prompts), values], Weights::Average)?.into_iter();
        Ok((logits.next().unwrap_or_default(), logits.next().unwrap_or_default()))
    }
}
