//! The kind of player over a predictor of paper 002.

use crate::{
    BuildError, Key, Kind, Options, Player, Registry, Shared,
    players::{Finisher, PredictorPlayer, PredictorPolicy, UciLimits, UciPlayer, UciSettings},
};
use mavis_model::predictor::{Predictor, PredictorModel, SharedNetwork};
use mavis_net::{Decoder, Device, NetError, Precision};
use mavis_oracle::process::{Patience, find_engine};
use std::{
    ffi::OsString,
    path::Path,
    sync::{Arc, Mutex},
};

/// Nodes the finisher spends on a position: it has to see that five moves win, not by how much.
const FINISHER_NODES: u64 = 50_000;

/// Networks of predictors on a GPU, by file and time of its last change.
type Networks = Shared<Mutex<Box<dyn Decoder>>>;

/// Adds `predictor`. Players of one file share its network on a GPU; on a processor each has its own, so that none waits. The finisher is looked up in `search_path` (the variable `PATH`).
pub fn add_predictors(registry: &mut Registry, search_path: Option<OsString>) {
    let networks = Networks::default();
    registry.add(Kind {
        name: "predictor",
        help: "a predictor of action values, state values or actions, without search; chess only",
        keys: vec![
            Key::new("argument", "the file of the predictor"),
            Key::new("device", "cpu, cuda, or auto for a GPU where there is one (default cpu)"),
            Key::new("policy", "argmax, or softmax in the first moves of a game (default argmax)"),
            Key::new("temperature", "of the softmax (default 0.005 for values, 0.05 for actions)"),
            Key::new(
                "opening",
                "full moves at the start of a game in which the softmax policy is used (default 5)",
            ),
            Key::new(
                "repetition",
                "true counts a move that repeats a position a third time as a draw (default true)",
            ),
            Key::new(
                "finisher",
                "a UCI engine that takes over where the five best moves all win (default none)",
            ),
        ],
        open: false,
        build: Box::new(move |options, seed| build(options, &search_path, &networks, seed)),
    });
}

fn build(
    options: &mut Options<'_>,
    search_path: &Option<OsString>,
    networks: &Networks,
    seed: u64,
) -> Result<Box<dyn Player>, BuildError> {
    let unavailable = |reason: String| BuildError::Unavailable { player: "predictor".to_owned(), reason };
    let file = options.argument::<String>()?;
    let file =
        file.ok_or_else(|| unavailable("expected the file of a predictor: predictor:FILE".to_owned()))?;
    let device: Device = options.value("device")?.unwrap_or_default();
    let mut policy = PredictorPolicy::default();
    policy.choice = options.value("policy")?.unwrap_or(policy.choice);
    policy.temperature = options.value("temperature")?;
    policy.opening = options.value("opening")?.unwrap_or(policy.opening);
    policy.sees_repetition = options.value("repetition")?.unwrap_or(policy.sees_repetition);
    if policy.temperature.is_some_and(|temperature| !(temperature.is_finite() && temperature > 0.0)) {
        return Err(unavailable("temperature must be positive".to_owned()));
    }
    let finisher = match options.value::<String>("finisher")?.filter(|name| name != "none") {
        Some(name) => Some(finisher(&name, search_path).map_err(unavailable)?),
        None => None,
    };
    let model = PredictorModel::load(Path::new(&file)).map_err(|error| unavailable(error.to_string()))?;
    let network = network(&model, Path::new(&file), device, networks)
        .map_err(|error| BuildError::of_network("predictor", &error))?;
    let name = format!("predictor-{}", model.spec.target);
    let predictor = Predictor::sharing(model.spec, network);
    Ok(Box::new(PredictorPlayer::new(name, predictor, policy, finisher, seed)))
}

/// The network of a file: on a GPU the one that is there.
fn network(
    model: &PredictorModel,
    file: &Path,
    device: Device,
    networks: &Networks,
) -> Result<SharedNetwork, NetError> {
    let new = || {
        let decoder = device.decoder(&model.config, &model.parameters, Precision::default())?;
        Ok(Arc::new(Mutex::new(decoder)))
    };
    if device.resolved()? == Device::Cpu {
        return new();
    }
    // A training run may have replaced the file since; a file that cannot be asked for its time has just been read all the same.
    let changed = std::fs::metadata(file).and_then(|file| file.modified()).ok();
    networks.find_or_load(&format!("{} {changed:?}", file.display()), new)
}

/// An engine by name; it must be there, but starts when it is needed.
fn finisher(name: &str, search_path: &Option<OsString>) -> Result<Finisher, String> {
    let settings = UciSettings {
        program: find_engine(name, search_path.as_deref()).map_err(|error| error.to_string())?,
        arguments: Vec::new(),
        options: Vec::new(),
        limits: UciLimits { nodes: Some(FINISHER_NODES), ..UciLimits::default() },
        patience: Patience::default(),
        jitter: 0.0,
    };
    Ok(Box::new(move || match UciPlayer::start(settings.clone()) {
        Ok(player) => Ok(Box::new(player)),
        Err(error) => Err(error.to_string()),
    }))
}
