//! Kinds of player over a MAV model.

use super::{search_keys, search_name, search_settings};
use crate::{
    BuildError, GreedyPlayer, GreedyScoring, GreedySettings, Key, Kind, Options, Registry, SearchPlayer,
    SharedEvaluators,
};
use mavis_eval::{Cache, Evaluator, WorldModel};
use mavis_model::{
    MavModel,
    decode::MavDecoder,
    evaluator::{Embedded, EmbeddedSettings},
};
use mavis_net::{Device, Precision};
use std::{num::NonZeroUsize, path::Path, sync::Arc};

/// Evaluations of a model that are remembered; one takes some ten kilobytes.
const REMEMBERED: usize = 20_000;

/// Requests of one pass on a GPU, where a pass of 256 costs little more than one of 64.
const GPU_BATCH: usize = 256;

/// Where the model comes from that is used when none is named.
pub type DefaultModel = fn() -> Result<MavModel, String>;

/// Adds `mav` and `mav-mcts`. Players of one model share one evaluator, and so its batches.
pub fn add_models(registry: &mut Registry, default: DefaultModel) {
    let shared = SharedEvaluators::default();
    let model_keys = || {
        vec![
            Key::new("model", "a model file (default the bundled one)"),
            Key::new(
                "precision",
                "numbers of the processor: bf16, exact (slower) or int8 (faster, slightly off) (default bf16)",
            ),
            Key::new("device", "cpu, cuda, or auto for a GPU where there is one (default cpu)"),
            Key::new("threads", "processor threads of a pass (default all cores)"),
        ]
    };
    let mut keys = model_keys();
    keys.extend(greedy_keys());
    keys.push(Key::new(
        "world",
        "rules, or model: states, legal moves and ends are the model's own word, and moves that the rules refuse are passed over (default rules)",
    ));
    let evaluators = shared.clone();
    registry.add(Kind {
        name: "mav",
        help: "the MAV model without search",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let world = options.value::<WorldModel>("world")?.unwrap_or_default();
            let settings = GreedySettings { world, ..greedy_settings(options)? };
            let evaluator = evaluator(options, &evaluators, default, world)?;
            Ok(Box::new(GreedyPlayer::new("mav".to_owned(), evaluator, settings, seed)))
        }),
    });
    let mut keys = model_keys();
    keys.extend(search_keys());
    registry.add(Kind {
        name: "mav-mcts",
        help: "MCTS over the MAV model's values",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let (settings, fixed) = search_settings(options, seed)?;
            let evaluator = evaluator(options, &shared, default, settings.world)?;
            let name = search_name("mav-mcts", &settings, seed);
            Ok(Box::new(SearchPlayer::new(name, evaluator, settings, fixed)))
        }),
    });
}

/// The options of a player without search.
pub(super) fn greedy_keys() -> [Key; 2] {
    [
        Key::new(
            "scoring",
            "mean or max of the value distribution, or best_action, the model's own choice (default mean; among won moves it is always asked)",
        ),
        Key::new("temperature", "0 plays the best move, more draws among the good ones (default 0)"),
    ]
}

pub(super) fn greedy_settings(options: &mut Options<'_>) -> Result<GreedySettings, BuildError> {
    let mut settings = GreedySettings::default();
    settings.scoring = options.value("scoring")?.unwrap_or(settings.scoring);
    settings.temperature = options.value("temperature")?.unwrap_or(settings.temperature);
    let bad = |reason: &str| {
        Err(BuildError::Unavailable { player: options.kind().to_owned(), reason: reason.to_owned() })
    };
    if !settings.temperature.is_finite() || settings.temperature < 0.0 {
        return bad("temperature is a number from 0 up");
    }
    if settings.temperature > 0.0 && settings.scoring == GreedyScoring::BestAction {
        return bad("temperature draws by value, so it goes with scoring=mean or scoring=max");
    }
    Ok(settings)
}

fn evaluator(
    options: &mut Options<'_>,
    shared: &SharedEvaluators,
    default: DefaultModel,
    world: WorldModel,
) -> Result<Arc<dyn Evaluator>, BuildError> {
    let path = options.value::<String>("model")?;
    let precision = options.value::<Precision>("precision")?.unwrap_or_default();
    let device = options.value::<Device>("device")?.unwrap_or_default();
    let threads = options.positive::<usize>("threads")?.and_then(NonZeroUsize::new);
    let name = path.clone().unwrap_or_else(|| "bundled model".to_owned());
    let load = || -> Result<Arc<dyn Evaluator>, String> {
        let model = match &path {
            Some(path) => MavModel::load(Path::new(path)).map_err(|error| error.to_string())?,
            None => default()?,
        };
        let on_gpu =
            device.resolved().is_ok_and(|device| device == Device::Cuda) && precision != Precision::Int8;
        let batch = if on_gpu { GPU_BATCH } else { EmbeddedSettings::default().batch };
        let settings = EmbeddedSettings { world, batch, threads, name: name.clone() };
        let open = || MavDecoder::open(&model, precision, device).map_err(|error| error.to_string());
        let mut decoders = vec![open()?];
        // The second packs and reads while the pass of the first runs. Without the memory for it there is one.
        decoders.extend(on_gpu.then(open).and_then(Result::ok));
        let embedded = Embedded::start(decoders, settings).map_err(|error| error.to_string())?;
        Ok(Arc::new(Cache::new(embedded, REMEMBERED)))
    };
    let threads_name = threads.map_or_else(String::new, |threads| format!(" {threads} threads"));
    shared
        .find_or_load(&format!("{name} {world} {precision} {device}{threads_name}"), load)
        .map_err(|reason| BuildError::Unavailable { player: options.kind().to_owned(), reason })
}
