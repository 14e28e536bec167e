//! Kinds of player over a MAV model.

use super::{search_keys, search_name, search_settings};
use crate::{
    BuildError, GreedyPlayer, GreedyScoring, GreedySettings, Key, Kind, Options, Registry, SearchPlayer,
    SharedEvaluators,
};
use mavis_eval::{Cache, Evaluator, WorldModel};
use mavis_model::{
    MavModel, ModelError,
    decode::MavDecoder,
    evaluator::{Embedded, EmbeddedSettings, PassCounter},
};
use mavis_net::{Device, Precision};
use mavis_search::knob::{Knob, Range};
use std::{num::NonZeroUsize, path::Path, sync::Arc};

/// Evaluations of a model that are remembered; one takes some ten kilobytes.
const REMEMBERED: usize = 20_000;

/// Requests of one pass on a GPU, where a pass of 256 costs little more than one of 64.
const GPU_BATCH: usize = 256;

/// Where the model comes from that is used when none is named.
pub type DefaultModel = fn() -> Result<MavModel, String>;

/// Adds `mav` and `mav-mcts`. Players of one model share one evaluator, and so its batches; the counter returned tells what
/// all of them have asked.
pub fn add_models(registry: &mut Registry, default: DefaultModel) -> PassCounter {
    let counter = PassCounter::default();
    let shared = Shared { evaluators: SharedEvaluators::default(), default, counter: counter.clone() };
    let model_keys = || {
        vec![
            Key::new("model", "a model file (default the bundled one)"),
            Key::new(
                "precision",
                "numbers of the processor: bf16, exact (slower) or int8 (faster, slightly off) (default bf16)",
            ),
            Key::new("device", "cpu, cuda, or auto for a GPU where there is one (default cpu)"),
            threads_key(),
        ]
    };
    let mut keys = model_keys();
    keys.extend(greedy_keys());
    keys.push(Key::new(
        "world",
        "rules, or model: states, legal moves and ends are the model's own word, and moves that the rules refuse are passed over (default rules)",
    ));
    let greedy = shared.clone();
    registry.add(Kind {
        name: "mav",
        help: "the MAV model without search",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let world = options.value::<WorldModel>("world")?.unwrap_or_default();
            let settings = GreedySettings { world, ..greedy_settings(options)? };
            let evaluator = greedy.evaluator(options, world)?;
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
            let evaluator = shared.evaluator(options, settings.world)?;
            let name = search_name("mav-mcts", &settings, seed);
            Ok(Box::new(SearchPlayer::new(name, evaluator, settings, fixed)))
        }),
    });
    counter
}

/// What all players of models share.
#[derive(Clone)]
struct Shared {
    evaluators: SharedEvaluators,
    default: DefaultModel,
    counter: PassCounter,
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

/// The option `threads`, with the machine's cores as its default.
fn threads_key() -> Key {
    const HELP: &str = "processor threads of a pass (default all cores)";
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let knob =
        Knob { name: "threads", range: Range::Integer(1, 1024), default: cores.to_string(), help: HELP };
    Key { knob: Some(knob), ..Key::new("threads", HELP) }
}

impl Shared {
    /// The evaluator that the options name, loaded if nobody has it yet.
    fn evaluator(
        &self,
        options: &mut Options<'_>,
        world: WorldModel,
    ) -> Result<Arc<dyn Evaluator>, BuildError> {
        let path = options.value::<String>("model")?;
        let asked = Asked {
            name: path.clone().unwrap_or_else(|| "bundled model".to_owned()),
            precision: options.value::<Precision>("precision")?.unwrap_or_default(),
            device: options.value::<Device>("device")?.unwrap_or_default(),
            threads: options.positive::<usize>("threads")?.and_then(NonZeroUsize::new),
            world,
        };
        let load = || -> Result<Arc<dyn Evaluator>, String> {
            let model = match &path {
                Some(path) => MavModel::load(Path::new(path)).map_err(|error| error.to_string())?,
                None => (self.default)()?,
            };
            let embedded = asked.open(&model, self.counter.clone()).map_err(|error| error.to_string())?;
            Ok(Arc::new(Cache::new(embedded, REMEMBERED)))
        };
        self.evaluators
            .find_or_load(&format!("{asked:?}"), load)
            .map_err(|reason| BuildError::Unavailable { player: options.kind().to_owned(), reason })
    }
}

/// Which evaluator is asked for; equal ones are one.
#[derive(Debug)]
struct Asked {
    name: String,
    precision: Precision,
    device: Device,
    threads: Option<NonZeroUsize>,
    world: WorldModel,
}

impl Asked {
    fn open(&self, model: &MavModel, counter: PassCounter) -> Result<Embedded, ModelError> {
        let on_gpu = self.precision != Precision::Int8
            && self.device.resolved().is_ok_and(|device| device == Device::Cuda);
        let batch = if on_gpu { GPU_BATCH } else { EmbeddedSettings::default().batch };
        let (world, threads, name) = (self.world, self.threads, self.name.clone());
        let settings = EmbeddedSettings { world, batch, threads, name, counter };
        let open = || MavDecoder::open(model, self.precision, self.device);
        let mut decoders = vec![open()?];
        // The second packs and reads while the pass of the first runs. Without the memory for it there is one.
        decoders.extend(on_gpu.then(open).and_then(Result::ok));
        Embedded::start(decoders, settings)
    }
}
