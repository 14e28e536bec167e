//! A run on disk: it can be killed at any moment and resumes as if it had never stopped.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    Elsewhere, Learner, Meter, Model, ModelConfig, Planes, ProbsError, ProbsSettings, Progress, elo_curve,
    evaluate,
    wire::{Line, Saved},
};
use mavis_game::{Position, for_game};
use mavis_net::{Checkpoint, Device, TrainState};
use mavis_stable::folder_lock::FolderLock;
use mavis_stable::kill_safe::replace_file;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// The net of the best rating.
const BEST: &str = "best.safetensors";
/// The one before the rating at a stop, for a resumed run.
const BEFORE_STOP: &str = "best-before-stop.safetensors";

/// How a run is watched and ended.
pub struct RunOptions<'a> {
    /// Where the nets live.
    pub device: Device,
    /// Raised to end the run after the round in hand.
    pub stop: &'a AtomicBool,
    /// No round begins after this moment. `None` means no limit.
    pub deadline: Option<Instant>,
    /// Sees every line of the metrics.
    pub watch: &'a mut dyn FnMut(&Line),
    /// Is told where the run stands within a round.
    pub meter: Arc<Meter>,
    /// Other machines for self-play and searches. `None` means this one.
    pub elsewhere: Option<Elsewhere<'a>>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Rounds done.
    pub rounds: u32,
    /// Best rating of a trained net so far; `None` before the first one.
    pub best_elo: Option<f64>,
    /// Seconds of all rounds.
    pub seconds: f64,
    /// Positions passed through a net in self-play and searches.
    pub evaluations: u64,
}

/// Trains in a folder, from the start or from where it stopped: `settings.toml`, `metrics.jsonl`, `elo.svg`,
/// `checkpoint.safetensors` (to resume), `model.safetensors` and `best.safetensors` (play).
///
/// The checkpoint is replaced as a whole after every round and says how much of the metrics belongs to it, so a run that was
/// killed repeats at most one round and comes to the same numbers.
///
/// The net at the end of a run is rated, also where the run was stopped between two ratings. That rating is no part of the
/// checkpoint: a resumed run drops it.
///
/// # Errors
/// When the settings are bad, another process trains in the folder, it holds another run or cannot be written, or a net fails.
pub fn train(
    settings: &ProbsSettings,
    folder: &Path,
    options: RunOptions<'_>,
) -> Result<Summary, ProbsError> {
    let start = Position::start(settings.rules()?);
    for_game!(start, game => train_game(game, settings, folder, options))
}

/// The same for a game outside the six: it is learned from games that begin at `start`.
///
/// # Errors
/// As [`train`].
pub fn train_game<G: Planes>(
    start: G,
    settings: &ProbsSettings,
    folder: &Path,
    options: RunOptions<'_>,
) -> Result<Summary, ProbsError> {
    settings.validate()?;
    ProbsRun::open(start, settings, folder, options)?.run()
}

struct ProbsRun<'a, 'o, G> {
    learner: Learner<G>,
    settings: &'a ProbsSettings,
    folder: &'a Path,
    metrics: File,
    lines: Vec<Line>,
    /// Held while this process writes.
    _lock: FolderLock,
    saved: Saved,
    options: RunOptions<'o>,
}

impl<'a, 'o, G: Planes> ProbsRun<'a, 'o, G> {
    fn open(
        start: G,
        settings: &'a ProbsSettings,
        folder: &'a Path,
        options: RunOptions<'o>,
    ) -> Result<Self, ProbsError> {
        let config = ModelConfig::new(&start, settings)?;
        let lock = FolderLock::take(folder)?;
        keep_settings(settings, folder)?;
        let loaded = load_checkpoint(&folder.join("checkpoint.safetensors"), &config)?;
        let (saved, state) = loaded.map_or((Saved::default(), None), |(saved, state)| (saved, Some(state)));
        let progress = Progress {
            round: saved.round,
            value_steps: saved.value_steps,
            action_steps: saved.action_steps,
            n_evaluations: saved.evaluations,
        };
        let from = state.map(|state| (state, progress));
        let learner = Learner::new(start, settings.clone(), options.device, from)?;
        let learner = learner.with_meter(Arc::clone(&options.meter));
        let (best, before_stop) = (folder.join(BEST), folder.join(BEFORE_STOP));
        if before_stop.exists() {
            std::fs::rename(&before_stop, &best).map_err(file_error("write", &best))?;
        }
        let path = folder.join("metrics.jsonl");
        let (metrics, lines) = open_metrics(&path, saved.metrics_bytes)?;
        Ok(Self { learner, settings, folder, metrics, lines, _lock: lock, saved, options })
    }

    fn run(mut self) -> Result<Summary, ProbsError> {
        if self.saved.metrics_bytes == 0 {
            self.evaluate(0, false)?;
            self.save()?;
        }
        while self.learner.progress().round < self.settings.rounds && !self.is_over() {
            let began = Instant::now();
            let mut round = match &mut self.options.elsewhere {
                None => self.learner.round()?,
                Some(elsewhere) => match self.learner.round_elsewhere(elsewhere) {
                    // A resumed run begins the round again.
                    Err(ProbsError::Stopped) => break,
                    round => round?,
                },
            };
            self.saved.seconds += began.elapsed().as_secs_f64();
            round.seconds = self.saved.seconds;
            let number = round.round;
            self.log(Line::Round(round))?;
            if number.is_multiple_of(self.settings.evaluation.every) || number == self.settings.rounds {
                self.evaluate(number, false)?;
            }
            self.save()?;
        }
        let rounds = self.learner.progress().round;
        if self.last_rated() != Some(rounds) {
            self.evaluate(rounds, true)?;
        }
        Ok(Summary {
            rounds: self.learner.progress().round,
            best_elo: self.saved.best_elo,
            seconds: self.saved.seconds,
            evaluations: self.learner.progress().n_evaluations,
        })
    }

    fn is_over(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
            || self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Rates the net. A rating `at_stop` comes after the last checkpoint.
    fn evaluate(&mut self, round: u32, at_stop: bool) -> Result<(), ProbsError> {
        let (net, start) = (self.learner.action_net(), self.learner.start());
        let mut line = evaluate(net, start, self.settings, round, &self.options.meter)?;
        line.seconds = self.saved.seconds;
        line.evaluations = self.learner.progress().n_evaluations;
        let elo = line.elo;
        self.log(Line::Evaluation(line))?;
        if self.saved.best_elo.is_none_or(|best| elo > best) {
            // Any trained net is better than the first one, whatever a few games say.
            self.saved.best_elo = (round > 0).then_some(elo);
            self.keep_best(elo, at_stop)?;
        }
        let name = format!("{} {}", self.settings.game, self.folder.display());
        let svg = elo_curve(&[(name, self.lines.clone())], crate::Axis::Rounds)?;
        let path = self.folder.join("elo.svg");
        replace_file(&path, |file| file.write_all(svg.as_bytes())).map_err(file_error("write", &path))
    }

    /// Rounds done at the last rating.
    fn last_rated(&self) -> Option<u32> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::Evaluation(line) => Some(line.round),
            Line::Round(_) => None,
        })
    }

    /// Saves the net as the best; the one before is kept where a resumed run needs it.
    fn keep_best(&self, elo: f64, at_stop: bool) -> Result<(), ProbsError> {
        let (best, before_stop) = (self.folder.join(BEST), self.folder.join(BEFORE_STOP));
        if at_stop {
            std::fs::rename(&best, &before_stop).map_err(file_error("write", &before_stop))?;
        }
        self.save_model(BEST, Some(elo))
    }

    fn log(&mut self, line: Line) -> Result<(), ProbsError> {
        let path = self.folder.join("metrics.jsonl");
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        self.metrics.write_all(text.as_bytes()).map_err(file_error("write", &path))?;
        self.saved.metrics_bytes += text.len() as u64;
        (self.options.watch)(&line);
        self.lines.push(line);
        Ok(())
    }

    fn save(&mut self) -> Result<(), ProbsError> {
        let progress = self.learner.progress();
        self.saved.round = progress.round;
        self.saved.value_steps = progress.value_steps;
        self.saved.action_steps = progress.action_steps;
        self.saved.evaluations = progress.n_evaluations;
        // The lines must be on the disk before a checkpoint counts on them.
        let path = self.folder.join("metrics.jsonl");
        self.metrics.sync_data().map_err(file_error("write", &path))?;
        self.save_model("model.safetensors", None)?;
        let checkpoint = Checkpoint {
            config: self.learner.config().clone(),
            vocabulary: String::new(),
            state: self.learner.state()?,
            opaque: serde_json::to_vec(&self.saved).unwrap_or_default(),
            notes: self.notes(None),
        };
        Ok(checkpoint.save(&self.folder.join("checkpoint.safetensors"))?)
    }

    fn save_model(&self, name: &str, elo: Option<f64>) -> Result<(), ProbsError> {
        let state = self.learner.state()?;
        Model::save(self.learner.config(), &state, self.notes(elo), &self.folder.join(name))
    }

    fn notes(&self, elo: Option<f64>) -> BTreeMap<String, String> {
        let round = ("round".to_owned(), self.learner.progress().round.to_string());
        let elo = elo.map(|elo| ("elo".to_owned(), format!("{elo:.0}")));
        [round].into_iter().chain(elo).collect()
    }
}

/// Writes the settings, or compares them with those the folder has; the number of rounds may grow.
fn keep_settings(settings: &ProbsSettings, folder: &Path) -> Result<(), ProbsError> {
    let path = folder.join("settings.toml");
    let table = |settings: &ProbsSettings| toml::Table::try_from(settings).unwrap_or_default();
    if path.exists() {
        let text = std::fs::read_to_string(&path).map_err(file_error("read", &path))?;
        let damaged = |reason: String| ProbsError::Damaged { path: path.clone(), reason };
        let old: toml::Table =
            text.parse().map_err(|error: toml::de::Error| damaged(error.message().to_owned()))?;
        let new = table(settings);
        // Another game changes other settings too, so it is named first.
        let fields = new.get_key_value("game").into_iter().chain(&new);
        for (field, value) in fields.filter(|(field, _)| *field != "rounds") {
            if old.get(field) != Some(value) {
                let shown =
                    |value: Option<&toml::Value>| value.map_or("nothing".to_owned(), ToString::to_string);
                return Err(ProbsError::OtherRun {
                    folder: folder.to_owned(),
                    field: field.clone(),
                    old: shown(old.get(field)),
                    new: shown(Some(value)),
                });
            }
        }
    }
    let text = table(settings).to_string();
    replace_file(&path, |file| file.write_all(text.as_bytes())).map_err(file_error("write", &path))
}

fn load_checkpoint(path: &Path, config: &ModelConfig) -> Result<Option<(Saved, TrainState)>, ProbsError> {
    if !path.exists() {
        return Ok(None);
    }
    let checkpoint = Checkpoint::<ModelConfig>::load(path, None)?;
    let damaged = |reason: String| ProbsError::Damaged { path: path.to_owned(), reason };
    if checkpoint.config != *config {
        return Err(damaged("its nets are not those of the settings".to_owned()));
    }
    let saved = serde_json::from_slice(&checkpoint.opaque).map_err(|error| damaged(error.to_string()))?;
    Ok(Some((saved, checkpoint.state)))
}

/// Opens the metrics for appending, cuts off what belongs to no checkpoint, and reads the rest.
fn open_metrics(path: &PathBuf, bytes: u64) -> Result<(File, Vec<Line>), ProbsError> {
    let error = || file_error("write", path);
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(error())?;
    file.set_len(bytes).map_err(error())?;
    file.seek(SeekFrom::End(0)).map_err(error())?;
    Ok((file, read_metrics(path)?))
}

/// Reads the metrics of a run.
///
/// # Errors
/// When the file cannot be read or holds something else.
pub fn read_metrics(path: &Path) -> Result<Vec<Line>, ProbsError> {
    let text = std::fs::read_to_string(path).map_err(file_error("read", path))?;
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| ProbsError::Damaged {
                path: path.to_owned(),
                reason: format!("line {}: {error}", index + 1),
            })
        })
        .collect()
}

fn file_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ProbsError {
    let path = path.to_owned();
    move |source| ProbsError::File { action, path, source }
}
