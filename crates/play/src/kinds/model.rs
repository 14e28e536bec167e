//! Kinds of player over a MAV model.

use super::{search_keys, search_name, search_settings};
use crate::{
    BuildError, GreedyPlayer, GreedyPlayerSettings, GreedyScoring, InternalEvaluator, InternalPlayer,
    InternalPlayerSettings, Key, Kind, Options, Player, Registry, SearchPlayer, Shared, SharedEvaluators,
};
use mavis_eval::{Cache, Evaluator, Views, WorldModel};
use mavis_lang::{
    Top,
    trace::{MAX_DEPTH, Order},
};
use mavis_model::{
    MavModel, ModelError,
    decode::{Grammar, MavDecoder},
    evaluator::{Embedded, EmbeddedSettings, PassCounter},
    internal::{Internal, InternalSettings},
};
use mavis_net::{Device, Precision};
use mavis_search::tunable::{Range, Tunable};
use mavis_value::Scoring;
use std::{num::NonZeroUsize, path::Path, str::FromStr, sync::Arc};

/// Evaluations of a model that are remembered; one takes some ten kilobytes.
const REMEMBERED: usize = 20_000;

/// Requests of one pass on a GPU, where a pass of 256 costs little more than one of 64.
const GPU_BATCH: usize = 256;

/// The largest values of options, as their help states.
const MOST_THREADS: u64 = 1_024;
const MOST_BREADTH: u64 = 400;
const MOST_CONTEXT: u64 = 65_536;
/// Othello has this many views, the other games fewer.
const MOST_VIEWS: u64 = 8;

/// Where the model comes from that is used when none is named.
pub type DefaultModel = fn() -> Result<MavModel, String>;

/// Adds `mav`, `mav-mcts` and `mav-is`. Players of one model share one evaluator, and so its batches; the counter returned counts the
/// requests of all of them.
pub fn add_models(registry: &mut Registry, default: DefaultModel) -> PassCounter {
    let counter = PassCounter::default();
    let shared = Models {
        evaluators: SharedEvaluators::default(),
        internals: Shared::default(),
        default,
        counter: counter.clone(),
    };
    let model_keys = || {
        vec![
            Key::new("model", "a model file (default the bundled one)"),
            Key::new(
                "precision",
                "number format on the processor: bf16, exact (slower) or int8 (faster, less precise) (default bf16)",
            ),
            Key::new("device", "cpu, cuda, or auto for a GPU where there is one (default cpu)"),
            threads_key(),
        ]
    };
    let mut keys = model_keys();
    keys.extend(greedy_keys());
    keys.push(Key::new(
        "world",
        "rules, or model: states, legal moves and ends come from the model, and illegal moves are skipped (default rules)",
    ));
    keys.push(views_key());
    let greedy = shared.clone();
    registry.add(Kind {
        name: "mav",
        help: "the MAV model without search",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let world = options.value::<WorldModel>("world")?.unwrap_or_default();
            let settings = GreedyPlayerSettings { world, ..greedy_settings(options)? };
            let views = views(options, world)?;
            let evaluator = Asked::of(options, world)?.evaluator(&greedy, options.kind())?;
            let evaluator = averaged(evaluator, views);
            Ok(Box::new(GreedyPlayer::new("mav".to_owned(), evaluator, settings, seed)))
        }),
    });
    let mut keys = model_keys();
    keys.extend(internal_keys());
    let internal = shared.clone();
    registry.add(Kind {
        name: "mav-is",
        help: "the MAV model's own minimax search, written as text in one answer",
        keys,
        open: false,
        build: Box::new(move |options, seed| internal_player(&internal, options, seed)),
    });
    let mut keys = model_keys();
    keys.extend(search_keys());
    keys.push(Key::new(
        "internal",
        "the values of every node come from the model's own search of this breadth and depth, such as 2x1 (default none)",
    ));
    keys.push(views_key());
    registry.add(Kind {
        name: "mav-mcts",
        help: "MCTS over the MAV model's values",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let (settings, fixed) = search_settings(options, seed)?;
            let name = search_name("mav-mcts", &settings, seed);
            let tree = options.value::<Tree>("internal")?;
            if tree.is_some() {
                needs_rules(options, "internal", settings.world)?;
            }
            let views = views(options, settings.world)?;
            let evaluator = match tree {
                None => Asked::of(options, settings.world)?.evaluator(&shared, options.kind())?,
                Some(tree) => internal_evaluator(&shared, options, tree)?,
            };
            let internal = tree.map(|Tree { breadth, depth }| format!("internal={breadth}x{depth}"));
            let averaging = (views > 1).then(|| format!("views={views}"));
            let name = [internal, averaging].into_iter().flatten().fold(name, |name, option| {
                let separator = if name.contains(':') { ',' } else { ':' };
                format!("{name}{separator}{option}")
            });
            Ok(Box::new(SearchPlayer::new(name, averaged(evaluator, views), settings, fixed)))
        }),
    });
    counter
}

/// What all players of models share.
#[derive(Clone)]
struct Models {
    evaluators: SharedEvaluators,
    internals: Shared<Internal>,
    default: DefaultModel,
    counter: PassCounter,
}

/// The options of a player without search.
pub(super) fn greedy_keys() -> [Key; 2] {
    [
        Key::new(
            "scoring",
            "mean or max of the value distribution, or best_action, the model's own choice (default mean; best_action is always used among won moves)",
        ),
        Key::new("temperature", "0 plays the best move, higher values draw among the good ones (default 0)"),
    ]
}

pub(super) fn greedy_settings(options: &mut Options<'_>) -> Result<GreedyPlayerSettings, BuildError> {
    let mut settings = GreedyPlayerSettings::default();
    settings.scoring = options.value("scoring")?.unwrap_or(settings.scoring);
    settings.temperature = options.value("temperature")?.unwrap_or(settings.temperature);
    let bad = |reason: &str| {
        Err(BuildError::Unavailable { player: options.kind().to_owned(), reason: reason.to_owned() })
    };
    if !settings.temperature.is_finite() || settings.temperature < 0.0 {
        return bad("expected a temperature of 0 or more");
    }
    if settings.temperature > 0.0 && settings.scoring == GreedyScoring::BestAction {
        return bad("temperature needs scoring=mean or scoring=max");
    }
    Ok(settings)
}

/// The option `threads`, with the machine's cores as its default.
fn threads_key() -> Key {
    const HELP: &str = "processor threads per pass (default all cores)";
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let range = Range::Integer(1, MOST_THREADS);
    let tunable = Tunable { name: "threads", range, default: cores.to_string(), help: HELP };
    Key { tunable: Some(tunable), ..Key::new("threads", HELP) }
}

/// A number from 1 to `most`.
fn up_to<T: TryFrom<u64>>(options: &mut Options<'_>, key: &str, most: u64) -> Result<Option<T>, BuildError> {
    let number = options.positive::<u64>(key)?;
    let read = |number: u64| {
        let value = if number <= most { T::try_from(number).ok() } else { None };
        value.ok_or_else(|| BuildError::value(options.kind(), key, &number.to_string()))
    };
    number.map(read).transpose()
}

/// The option `views`.
fn views_key() -> Key {
    Key::from(Tunable {
        name: "views",
        range: Range::Integer(1, MOST_VIEWS),
        default: 1.to_string(),
        help: "Views of a position (itself, and what symmetries make of it) whose values are averaged, as many as there are: 2 in Connect Four and Hex, 8 in Othello, in chess 2, or 4 where nobody may castle.",
    })
}

/// How many views are averaged.
fn views(options: &mut Options<'_>, world: WorldModel) -> Result<usize, BuildError> {
    let views = up_to(options, "views", MOST_VIEWS)?.unwrap_or(1);
    if views > 1 {
        // A state that the model says cannot be compared with its views.
        needs_rules(options, "views", world)?;
    }
    Ok(views)
}

fn averaged(evaluator: Arc<dyn Evaluator>, views: usize) -> Arc<dyn Evaluator> {
    if views > 1 { Arc::new(Views::new(evaluator, views)) } else { evaluator }
}

/// Refuses an option that a world of the model's own cannot have.
fn needs_rules(options: &Options<'_>, option: &str, world: WorldModel) -> Result<(), BuildError> {
    match world {
        WorldModel::Rules => Ok(()),
        WorldModel::Model => {
            let reason = format!("{option} needs world=rules");
            Err(BuildError::Unavailable { player: options.kind().to_owned(), reason })
        }
    }
}

/// The options of internal search.
fn internal_keys() -> Vec<Key> {
    let InternalPlayerSettings { breadth, depth, compact, order, context, scoring, repeats, grammar, .. } =
        InternalPlayerSettings::default();
    let integer = |name, most, default: usize, help| {
        let default = default.to_string();
        Key::from(Tunable { name, range: Range::Integer(u64::from(name != "depth"), most), default, help })
    };
    vec![
        integer("breadth", MOST_BREADTH, usize::from(breadth), "Moves expanded at every inner node."),
        integer(
            "depth",
            u64::from(MAX_DEPTH),
            usize::from(depth),
            "Plies from the root to the leaves; 0 plays as mav does.",
        ),
        Key::from(Tunable {
            name: "compact",
            range: Range::Switch,
            default: compact.to_string(),
            help: "Leave out the parent's state at every node, for shorter traces.",
        }),
        Key::new(
            "top",
            "moves that every node lists: the K best, or all (default 5, or the breadth if that is more)",
        ),
        Key::from(Tunable {
            name: "order",
            range: Range::Choice(Order::WORDS),
            default: order.to_string(),
            help: "Order of the nodes in a trace: depth first, or breadth first, level by level.",
        }),
        integer(
            "context",
            MOST_CONTEXT,
            context,
            "Tokens of a whole trace at most; larger trees are refused.",
        ),
        Key::from(Tunable {
            name: "scoring",
            range: Range::Choice(Scoring::WORDS),
            default: scoring.to_string(),
            help: "Value that is written for a move: the mean of its distribution, or the likeliest.",
        }),
        Key::from(Tunable {
            name: "repeats",
            range: Range::Switch,
            default: repeats.to_string(),
            help: "Let a list name a move twice where the model wants to, which breaks the trace.",
        }),
        Key::from(Tunable {
            name: "grammar",
            range: Range::Choice(Grammar::WORDS),
            default: grammar.to_string(),
            help: "Tokens that the grammar leaves no choice of: written by the model (free), or as demanded.",
        }),
    ]
}

fn internal_player(
    models: &Models,
    options: &mut Options<'_>,
    seed: u64,
) -> Result<Box<dyn Player>, BuildError> {
    let defaults = InternalPlayerSettings::default();
    let breadth = up_to(options, "breadth", MOST_BREADTH)?.unwrap_or(defaults.breadth);
    let top = match options.value::<String>("top")?.as_deref() {
        None => InternalPlayerSettings::usual_top(breadth),
        Some("all") => Top::All,
        Some(text) => match text.parse() {
            Ok(k @ 1..) => Top::Best(k),
            _ => return Err(BuildError::value(options.kind(), "top", text)),
        },
    };
    let settings = InternalPlayerSettings {
        breadth,
        depth: options.value("depth")?.unwrap_or(defaults.depth),
        compact: options.value("compact")?.unwrap_or(defaults.compact),
        order: options.value("order")?.unwrap_or(defaults.order),
        context: up_to(options, "context", MOST_CONTEXT)?.unwrap_or(defaults.context),
        scoring: options.value("scoring")?.unwrap_or(defaults.scoring),
        repeats: options.value("repeats")?.unwrap_or(defaults.repeats),
        grammar: options.value("grammar")?.unwrap_or(defaults.grammar),
        top,
    };
    if settings.depth > MAX_DEPTH {
        return Err(BuildError::value(options.kind(), "depth", &settings.depth.to_string()));
    }
    let asked = Asked::of(options, WorldModel::Rules)?;
    let evaluator = asked.evaluator(models, options.kind())?;
    let plain =
        |name: String| GreedyPlayer::new(name, evaluator.clone(), GreedyPlayerSettings::default(), seed);
    if settings.depth == 0 {
        return Ok(Box::new(plain("mav".to_owned())));
    }
    let InternalPlayerSettings { breadth, depth, .. } = settings;
    let name = format!("mav-is({breadth},{depth})");
    let internal = asked.internal(models, options.kind())?;
    let fallback = plain(name.clone());
    Ok(Box::new(InternalPlayer::new(name, internal, settings, evaluator, fallback)))
}

/// A tree as an option names it: `BREADTHxDEPTH`.
#[derive(Clone, Copy)]
struct Tree {
    breadth: u16,
    depth: u16,
}

impl FromStr for Tree {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (breadth, depth) = text.split_once('x').ok_or(())?;
        let (breadth, depth) = (breadth.parse().map_err(drop)?, depth.parse().map_err(drop)?);
        if breadth == 0 || !(1..=MAX_DEPTH).contains(&depth) { Err(()) } else { Ok(Self { breadth, depth }) }
    }
}

/// The model's own search as an evaluator, with the settings that `mav-is` has by default.
fn internal_evaluator(
    models: &Models,
    options: &mut Options<'_>,
    tree: Tree,
) -> Result<Arc<dyn Evaluator>, BuildError> {
    let Tree { breadth, depth } = tree;
    let top = InternalPlayerSettings::usual_top(breadth);
    let settings = InternalPlayerSettings { breadth, depth, top, ..InternalPlayerSettings::default() };
    let asked = Asked::of(options, WorldModel::Rules)?;
    let plain = asked.evaluator(models, options.kind())?;
    let internal = asked.internal(models, options.kind())?;
    Ok(Arc::new(Cache::new(InternalEvaluator::new(internal, settings, plain), REMEMBERED)))
}

/// Which evaluator is asked for; equal ones are one.
#[derive(Debug)]
struct Asked {
    /// The file; `None` means the bundled model.
    path: Option<String>,
    precision: Precision,
    device: Device,
    threads: Option<NonZeroUsize>,
    world: WorldModel,
}

impl Asked {
    /// What the options name.
    fn of(options: &mut Options<'_>, world: WorldModel) -> Result<Self, BuildError> {
        Ok(Self {
            path: options.value::<String>("model")?,
            precision: options.value::<Precision>("precision")?.unwrap_or_default(),
            device: options.value::<Device>("device")?.unwrap_or_default(),
            threads: up_to::<usize>(options, "threads", MOST_THREADS)?.and_then(NonZeroUsize::new),
            world,
        })
    }

    /// The evaluator, loaded if nobody has it yet.
    fn evaluator(&self, models: &Models, player: &str) -> Result<Arc<dyn Evaluator>, BuildError> {
        let load = || -> Result<Arc<dyn Evaluator>, BuildError> {
            let model = self.load(models, player)?;
            let embedded = self.open(&model, models.counter.clone());
            let embedded = embedded.map_err(|error| unusable(player, error))?;
            Ok(Arc::new(Cache::new(embedded, REMEMBERED)))
        };
        models.evaluators.find_or_load(&format!("{self:?}"), load)
    }

    /// The model as one that searches by itself, loaded if nobody has it yet.
    fn internal(&self, models: &Models, player: &str) -> Result<Arc<Internal>, BuildError> {
        let load = || -> Result<Arc<Internal>, BuildError> {
            let model = self.load(models, player)?;
            let settings = InternalSettings { threads: self.threads, ..InternalSettings::default() };
            let opened = Internal::open(&model, self.precision, self.device, settings);
            opened.map(Arc::new).map_err(|error| unusable(player, error))
        };
        models.internals.find_or_load(&format!("{self:?}"), load)
    }

    fn load(&self, models: &Models, player: &str) -> Result<MavModel, BuildError> {
        let loaded = match &self.path {
            Some(path) => MavModel::load(Path::new(path)).map_err(|error| error.to_string()),
            None => (models.default)(),
        };
        loaded.map_err(|reason| BuildError::Unavailable { player: player.to_owned(), reason })
    }

    fn open(&self, model: &MavModel, counter: PassCounter) -> Result<Embedded, ModelError> {
        let on_gpu = self.precision != Precision::Int8
            && self.device.resolved().is_ok_and(|device| device == Device::Cuda);
        let batch = if on_gpu { GPU_BATCH } else { EmbeddedSettings::default().batch };
        let (world, threads) = (self.world, self.threads);
        let name = self.path.clone().unwrap_or_else(|| "bundled model".to_owned());
        let settings = EmbeddedSettings { world, batch, threads, name, counter };
        let open = || MavDecoder::open(model, self.precision, self.device);
        let mut decoders = vec![open()?];
        // The second packs and reads while the pass of the first runs. Without the memory for it there is one.
        decoders.extend(on_gpu.then(open).and_then(Result::ok));
        Embedded::start(decoders, settings)
    }
}

fn unusable(player: &str, error: ModelError) -> BuildError {
    match error {
        ModelError::Net(error) => BuildError::of_network(player, &error),
        other => BuildError::Unavailable { player: player.to_owned(), reason: other.to_string() },
    }
}
