//! Players made of a trained model: `probs:FILE`.

mod think;

use crate::{Algorithm, Model, Planes, ProbsError};
use mavis_game::{FromRules, Game, Position};
use mavis_net::Device;
use mavis_play::{
    Analysis, BuildError, Choice, Key, Kind, Limit, MoveAnalysis, Options, Player, PlayerError, Registry,
    Turn,
};
use mavis_search::{Stop, beam};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
pub(crate) use think::beam_values;
use think::{Opinion, think};

/// Time kept in reserve for what comes after the search.
const OVERHEAD: Duration = Duration::from_millis(5);

/// How much a player thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Nodes of a beam search, or simulations of an AlphaZero-style model. `None` means no limit but time, or no search
    /// at all where there is none either.
    pub expansions: Option<u32>,
    /// Seconds of a move. `None` means no limit.
    pub time: Option<Duration>,
    /// Deepest node a beam search expands.
    pub depth: Option<u32>,
}

/// Plays the move of greatest q-value, at once or after a search.
pub struct ProbsPlayer<G: Game = Position> {
    name: String,
    model: Arc<Model>,
    rules: G::Rules,
    effort: Effort,
}

impl<G: Planes> ProbsPlayer<G> {
    /// A player with a model.
    ///
    /// # Errors
    /// When the model is of another game.
    pub fn new(name: String, model: Arc<Model>, effort: Effort) -> Result<Self, ProbsError> {
        let rules = model.config.rules::<G>()?;
        Ok(Self { name, model, rules, effort })
    }

    /// The search to do under the limits of a turn; `None` for the move at once.
    fn search(&self, turn: &Turn<'_, G>) -> Option<(beam::BeamSettings, Stop)> {
        let Effort { expansions, time, depth } = self.effort;
        if expansions.is_none() && time.is_none() {
            return None;
        }
        let now = Instant::now();
        let own = Limit { time, ..Limit::default() }.deadline(now, OVERHEAD);
        let deadline = own.into_iter().chain(turn.limit.deadline(now, OVERHEAD)).min();
        let nodes = turn.limit.nodes.map(|nodes| u32::try_from(nodes).unwrap_or(u32::MAX).max(1));
        let settings = beam::BeamSettings {
            expansions: expansions.into_iter().chain(nodes).min().unwrap_or(think::MOST),
            depth: depth.unwrap_or(99),
        };
        Some((settings, Stop { deadline, cancel: turn.cancel.clone() }))
    }
}

impl<G: Planes> Player<G> for ProbsPlayer<G> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: G::Rules) -> Result<(), PlayerError> {
        if rules == self.rules { Ok(()) } else { Err(PlayerError::unsupported(&self.name, rules)) }
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_, G>) -> Result<Analysis, PlayerError> {
        self.ready_for(turn.position.rules())?;
        let search = self.search(turn);
        let (mut opinions, nodes) = think(turn.position, &self.model, search.as_ref())
            .map_err(|error| PlayerError::Failed(error.to_string()))?;
        opinions.retain(|opinion| turn.limit.allows(opinion.mv));
        // A stable sort: equals stay in the order of the rules, as in training.
        opinions.sort_by(|a, b| b.order.total_cmp(&a.order));
        let moves = opinions.iter().map(|opinion| opinion.analysis(self.model.config.algorithm)).collect();
        let analysis = Analysis::of_moves(moves, nodes)
            .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
        analysis.report(&turn.limit, turn.sink);
        Ok(analysis)
    }
}

impl Opinion {
    fn analysis(&self, algorithm: Algorithm) -> MoveAnalysis {
        let share = |value: f32| (0.5 + 0.5 * value).clamp(0.0, 1.0);
        MoveAnalysis {
            value: self.value.map(share),
            model_value: (algorithm == Algorithm::Probs).then(|| share(self.output)),
            visits: self.visits,
            prior: (algorithm == Algorithm::Azero).then_some(self.output),
            ..MoveAnalysis::plain(self.mv)
        }
    }
}

/// Adds `probs`.
pub fn add_probs<G: Planes + FromRules>(registry: &mut Registry<G>) {
    registry.add(Kind {
        name: "probs",
        help: "nets trained by `mavis probs train`, for their game",
        keys: vec![
            Key::new("argument", "the model: best.safetensors or model.safetensors of a run"),
            Key::new(
                "expand",
                "nodes of a beam search a move, or simulations (default none: the best q-value at once)",
            ),
            Key::new("time", "seconds of search a move (default none)"),
            Key::new("device", "cpu, cuda, or auto for a GPU where there is one (default cpu)"),
            Key::new("depth", "deepest node the beam search expands (default 99)"),
        ],
        open: false,
        build: Box::new(|options, _| build(options)),
    });
}

fn build<G: Planes + FromRules>(options: &mut Options<'_>) -> Result<Box<dyn Player<G>>, BuildError> {
    let unavailable = |reason: String| BuildError::Unavailable { player: "probs".to_owned(), reason };
    let path: PathBuf = options
        .argument()?
        .ok_or_else(|| unavailable("name a model: probs:runs/first/best.safetensors".to_owned()))?;
    let expansions: Option<u32> = options.positive("expand")?;
    let depth: Option<u32> = options.positive("depth")?;
    let time = options.seconds("time")?;
    let device: Device = options.value("device")?.unwrap_or_default();
    let model = Model::load_on::<G>(&path, device).map_err(|error| unavailable(error.to_string()))?;
    let stem = path.parent().and_then(|folder| folder.file_name()).unwrap_or(path.as_os_str());
    let mut name = format!("probs:{}", stem.to_string_lossy());
    for (key, value) in [
        ("expand", expansions.map(|n| n.to_string())),
        ("time", time.map(|time| time.as_secs_f64().to_string())),
    ] {
        if let Some(value) = value {
            name.push_str(&format!(",{key}={value}"));
        }
    }
    let player = ProbsPlayer::<G>::new(name, Arc::new(model), Effort { expansions, time, depth })
        .map_err(|error| unavailable(error.to_string()))?;
    Ok(Box::new(player))
}
