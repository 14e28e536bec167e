//! Players made of a trained model: `probs`, `probs:NAME` or `probs:FILE`.

mod think;

use crate::{
    Algorithm, BundledNets, Model, Planes, ProbsError,
    nets::{known, names, usual},
    puct::Tree,
};
use mavis_game::{FromRules, Game, Position};
use mavis_net::Device;
use mavis_play::{
    Analysis, BuildError, Choice, Key, Kind, Limit, MoveAnalysis, Options, Player, PlayerError, Registry,
    Turn,
};
use mavis_search::{Stop, beam};
use std::{
    fmt,
    path::Path,
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
    /// The nets and their game; `None` until a game asks for bundled nets.
    own: Option<(Arc<Model>, G::Rules)>,
    /// Where the nets of another game come from. `None` means that it plays one game only.
    others: Option<(BundledNets, Device)>,
    effort: Effort,
    /// Expansions where neither the effort nor the turn limits a search. `None` means no search then.
    usual: Option<u32>,
    /// The tree of the last move, from which the next one goes on.
    tree: Option<Tree<G>>,
}

impl<G: Planes> ProbsPlayer<G> {
    /// A player with a model.
    ///
    /// # Errors
    /// When the model is of another game.
    pub fn new(name: String, model: Arc<Model>, effort: Effort) -> Result<Self, ProbsError> {
        let rules = model.config.rules::<G>()?;
        Ok(Self { name, own: Some((model, rules)), others: None, effort, usual: None, tree: None })
    }

    /// The search to do under the limits of a turn; `None` for the move at once.
    fn search(&self, turn: &Turn<'_, G>) -> Option<(beam::BeamSettings, Stop)> {
        let Effort { mut expansions, time, depth } = self.effort;
        if expansions.is_none() && time.is_none() {
            let usual = self.usual?;
            let Limit { time, nodes, clock, infinite, .. } = &turn.limit;
            let is_limited = time.is_some() || nodes.is_some() || clock.is_some() || *infinite;
            expansions = (!is_limited).then_some(usual);
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

impl<G: Planes + FromRules> ProbsPlayer<G> {
    /// The nets for a game, which are loaded when it is first played.
    fn model(&mut self, rules: G::Rules) -> Result<Arc<Model>, PlayerError> {
        if let Some((model, own)) = &self.own
            && *own == rules
        {
            return Ok(Arc::clone(model));
        }
        let Some((nets, device)) = self.others else {
            return Err(PlayerError::unsupported(&self.name, rules));
        };
        let game = rules.to_string();
        let net = nets.iter().find(|net| net.game == game).ok_or_else(|| {
            PlayerError::Failed(format!(
                "no bundled net plays {game} ({}); name a file: probs:FILE",
                known(nets)
            ))
        })?;
        let model = net.load::<G>(device).map_err(player_error)?;
        let model = Arc::new(model);
        self.own = Some((Arc::clone(&model), rules));
        self.usual = net.expand;
        Ok(model)
    }
}

impl<G: Planes + FromRules> Player<G> for ProbsPlayer<G> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: G::Rules) -> Result<(), PlayerError> {
        self.model(rules).map(|_| ())
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_, G>) -> Result<Analysis, PlayerError> {
        let model = self.model(turn.position.rules())?;
        let search = self.search(turn);
        let thought = think(turn.position, &model, search.as_ref(), &mut self.tree);
        let (mut opinions, nodes) = thought.map_err(player_error)?;
        opinions.retain(|opinion| turn.limit.allows(opinion.mv));
        // A stable sort: equals stay in the order of the rules, as in training.
        opinions.sort_by(|a, b| b.order.total_cmp(&a.order));
        let moves = opinions.iter().map(|opinion| opinion.analysis(model.config.algorithm)).collect();
        let analysis = Analysis::of_moves(moves, nodes)
            .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
        analysis.report(&turn.limit, turn.sink);
        Ok(analysis)
    }
}

/// What an error means for a player: nets that fail are broken for good.
fn player_error(error: ProbsError) -> PlayerError {
    match error {
        ProbsError::Net(error) => PlayerError::Broken(error.to_string()),
        other => PlayerError::Failed(other.to_string()),
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

/// Adds `probs`, which plays with nets of files.
pub fn add_probs<G: Planes + FromRules>(registry: &mut Registry<G>) {
    add_bundled_probs(registry, &[]);
}

/// Adds `probs` with nets that it also takes by name, or by the game being played where no name is given.
pub fn add_bundled_probs<G: Planes + FromRules>(registry: &mut Registry<G>, nets: BundledNets) {
    let argument = match nets {
        [] => "the model: best.safetensors or model.safetensors of a run".to_owned(),
        _ => format!(
            "bundled nets by name ({}), or a file: best.safetensors or model.safetensors of a run (default the bundled nets of the game)",
            names(nets)
        ),
    };
    registry.add(Kind {
        name: "probs",
        help: "nets trained by `mavis probs train`, for their game",
        keys: vec![
            Key::new("argument", &argument),
            Key::new(
                "expand",
                &format!("nodes of a beam search a move, or simulations (default {})", usual(nets)),
            ),
            Key::new("time", "seconds of search a move (default none)"),
            Key::new("device", "cpu, cuda, or auto for a GPU where there is one (default cpu)"),
            Key::new("depth", "deepest node the beam search expands (default 99)"),
        ],
        open: false,
        build: Box::new(move |options, _| build(options, nets)),
    });
}

fn build<G: Planes + FromRules>(
    options: &mut Options<'_>,
    nets: BundledNets,
) -> Result<Box<dyn Player<G>>, BuildError> {
    let unavailable = |reason: String| BuildError::Unavailable { player: "probs".to_owned(), reason };
    let argument: Option<String> = options.argument()?;
    let expansions: Option<u32> = options.positive("expand")?;
    let depth: Option<u32> = options.positive("depth")?;
    let time = options.seconds("time")?;
    let device: Device = options.value("device")?.unwrap_or_default();
    let effort = Effort { expansions, time, depth };
    let (label, loaded) = match argument.as_deref() {
        None if nets.is_empty() => {
            return Err(unavailable("name a model: probs:runs/first/best.safetensors".to_owned()));
        }
        None => ("probs".to_owned(), None),
        Some(name) => {
            let loaded = load::<G>(name, nets, device)?;
            (format!("probs:{}", short(name)), Some(loaded))
        }
    };
    let name = label + &effort.to_string();
    let player = match loaded {
        Some((model, usual)) => {
            let player = ProbsPlayer::<G>::new(name, Arc::new(model), effort);
            ProbsPlayer { usual, ..player.map_err(|error| unavailable(error.to_string()))? }
        }
        None => {
            ProbsPlayer { name, own: None, others: Some((nets, device)), effort, usual: None, tree: None }
        }
    };
    Ok(Box::new(player))
}

/// Nets by the name of bundled ones or by their file, and their usual expansions.
fn load<G: Planes + FromRules>(
    name: &str,
    nets: BundledNets,
    device: Device,
) -> Result<(Model, Option<u32>), BuildError> {
    let unavailable = |reason: String| BuildError::Unavailable { player: "probs".to_owned(), reason };
    let path = Path::new(name);
    let bundled = nets.iter().find(|net| net.name == name);
    let loaded = match bundled {
        Some(net) => net.load::<G>(device),
        None if !nets.is_empty() && !path.exists() => {
            let reason = format!("'{name}' is neither a file nor a bundled net ({})", known(nets));
            return Err(unavailable(reason));
        }
        None => Model::load_on::<G>(path, device),
    };
    let usual = bundled.and_then(|net| net.expand);
    loaded.map(|model| (model, usual)).map_err(|error| match error {
        ProbsError::Net(error) => BuildError::of_network("probs", &error),
        other => unavailable(other.to_string()),
    })
}

/// The folder of a run for its files, which are all named alike.
fn short(name: &str) -> String {
    let path = Path::new(name);
    let stem = path.parent().and_then(Path::file_name).unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// As options behind a name.
impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(expansions) = self.expansions {
            write!(f, ",expand={expansions}")?;
        }
        match self.time {
            Some(time) => write!(f, ",time={}", time.as_secs_f64()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::Rules;
    use mavis_play::Thought;

    #[test]
    fn a_net_searches_as_it_usually_does_unless_limited_otherwise() {
        let model = Arc::new(Model::untrained(Algorithm::Azero));
        let visits = |usual, effort, limit| {
            let player = ProbsPlayer::new("net".to_owned(), Arc::clone(&model), effort).expect("its game");
            let mut player = ProbsPlayer { usual, ..player };
            let position = Position::start(Rules::Connect4);
            let mut sink = |_: &Thought| {};
            let analysis = player.analyze(&mut Turn::alone(&position, limit, &mut sink)).expect("a move");
            analysis.moves.iter().filter_map(|mv| mv.visits).sum::<u32>()
        };
        let given = Effort { expansions: Some(30), ..Effort::default() };
        let nodes = |nodes| Limit { nodes: Some(nodes), ..Limit::default() };
        assert_eq!(visits(None, Effort::default(), Limit::default()), 0);
        assert_eq!(visits(None, Effort::default(), nodes(20)), 0);
        assert_eq!(visits(Some(10), Effort::default(), Limit::default()), 10);
        assert_eq!(visits(Some(10), Effort::default(), nodes(20)), 20);
        assert_eq!(visits(Some(10), given, Limit::default()), 30);
    }

    #[test]
    fn the_next_move_goes_on_from_the_tree_of_the_last_one() {
        let model = Arc::new(Model::untrained(Algorithm::Azero));
        let effort = Effort { expansions: Some(60), ..Effort::default() };
        let mut player = ProbsPlayer::new("net".to_owned(), model, effort).expect("its game");
        let mut visits = |position: &Position| {
            let mut sink = |_: &Thought| {};
            let analysis =
                player.analyze(&mut Turn::alone(position, Limit::default(), &mut sink)).expect("a move");
            analysis.moves.iter().map(|mv| (mv.mv, mv.visits.unwrap_or(0))).collect::<Vec<_>>()
        };
        let total = |visits: &[(mavis_game::Move, u32)]| visits.iter().map(|(_, n)| *n).sum::<u32>();
        let mut position = Position::start(Rules::Connect4);
        let first = visits(&position);
        assert_eq!(total(&first), 60);
        assert_eq!(visits(&position), first, "the same question has the same answer");
        position.play(first[0].0).expect("legal");
        let second = visits(&position);
        assert_eq!(total(&second), 60 + first[0].1 - 1, "what was known of the position is kept");
        // A position that does not follow begins anew.
        assert_eq!(total(&visits(&Position::start(Rules::Connect4))), 60);
    }
}
