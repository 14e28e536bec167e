//! PROBS and the AlphaZero-style learner on any game.

use crate::{
    bad_input, chain, interrupt,
    own::{OwnGame, OwnRules},
    process::pool,
};
use mavis_game::{FromRules as _, Rules};
use mavis_net::Device;
use mavis_probs::{
    Meter, ProbsError, ProbsSettings, RunOptions, Summary, preset, small_settings, train as train_six,
    train_game, wire::Line,
};
use mavis_search::Cancel;
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyString, PyType},
};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Trains in a folder, from the start or from where it stopped; returns the metrics of the rounds as JSON lines.
///
/// `game` is a name or the class of a game written in Python, `settings` are those that differ from the preset `small`, as JSON.
#[pyfunction]
pub(crate) fn train_probs(
    py: Python<'_>,
    game: &Bound<'_, PyAny>,
    settings: &str,
    folder: PathBuf,
    device: &str,
) -> PyResult<String> {
    let device: Device = device.parse().map_err(bad_input)?;
    let (stop, pool) = (AtomicBool::new(false), pool()?);
    let raise = || stop.store(true, Ordering::Relaxed);
    if let Ok(name) = game.cast::<PyString>() {
        let rules: Rules = name.extract::<String>()?.parse().map_err(bad_input)?;
        let settings = with(preset("small", rules).map_err(bad_input)?, settings)?;
        let work = || watched(device, &stop, |options| train_six(&settings, &folder, options));
        return interrupt::run(py, raise, || pool.install(work))?;
    }
    let rules = OwnRules::of(game.cast::<PyType>()?)?;
    let settings = with(small_settings(&rules), settings)?;
    let run = rules.begin(&Cancel::new());
    let start = OwnGame::start(rules);
    let work = || watched(device, &stop, |options| train_game(start, &settings, &folder, options));
    let done = interrupt::run(py, raise, || pool.install(work));
    run.end(py)?;
    done?
}

/// Trains, and keeps the lines of the metrics.
fn watched(
    device: Device,
    stop: &AtomicBool,
    train: impl FnOnce(RunOptions<'_>) -> Result<Summary, ProbsError>,
) -> PyResult<String> {
    let mut lines = Vec::new();
    let mut watch = |line: &Line| lines.extend(serde_json::to_string(line));
    let meter = Arc::<Meter>::default();
    train(RunOptions { device, stop, deadline: None, watch: &mut watch, meter, elsewhere: None })
        .map_err(failure)?;
    Ok(lines.join("\n"))
}

/// Settings with some of them replaced.
fn with(settings: ProbsSettings, changes: &str) -> PyResult<ProbsSettings> {
    let mut fields = serde_json::to_value(settings).map_err(bad_input)?;
    let changes: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(changes).map_err(bad_input)?;
    if let Some(fields) = fields.as_object_mut() {
        fields.extend(changes);
    }
    serde_json::from_value(fields).map_err(bad_input)
}

fn failure(error: ProbsError) -> PyErr {
    match &error {
        ProbsError::File { .. } | ProbsError::Damaged { .. } => PyRuntimeError::new_err(chain(&error)),
        _ => bad_input(chain(&error)),
    }
}
