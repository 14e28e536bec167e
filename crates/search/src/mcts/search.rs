//! A search that owns its tree and can be run again.

use super::{
    MctsSettings, Report, RulesCheck, Stopped,
    drive::{Drive, Root, report},
    pace::Pace,
    report::Counts,
    simulator::Simulator,
    tree::{NodeIdx, Tree},
    world::{ByModel, ByRules},
};
use crate::Stop;
use mavis_eval::{Evaluation, Evaluator, WorldModel};
use mavis_game::{Game, IllegalMove, Move, Position};
use std::{sync::Arc, time::Instant};

/// MCTS over an evaluator: a position, a tree, and what is known of both.
pub struct Search<G: Game = Position> {
    evaluator: Arc<dyn Evaluator<G>>,
    settings: MctsSettings,
    position: G,
    grower: Grower<G>,
    root_evaluation: Option<Evaluation<G>>,
    /// The only root moves to look at; `None` means all.
    restriction: Option<Vec<Move>>,
    /// Set once the position has moved on, so that the kept root gets noise of its own.
    noise_due: bool,
    /// By when the root's evaluation must be there, where that may come later than the deadline of the search.
    root_deadline: Option<Instant>,
    /// How long evaluations have taken.
    pace: Pace,
}

/// The tree and where its knowledge of the world comes from.
enum Grower<G> {
    Rules(Simulator<ByRules<G>>),
    Model(Simulator<ByModel<G>>),
}

/// Why a search cannot be run where it stands.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The runtime for a blocking run could not be made.
    #[error("no runtime for the search: {0}")]
    Runtime(String),
}

impl<G: Game> Search<G> {
    /// A search of a position; nothing is asked yet.
    #[must_use]
    pub fn new(position: G, evaluator: Arc<dyn Evaluator<G>>, settings: MctsSettings) -> Self {
        let grower = Grower::new(&position, &settings);
        Self {
            evaluator,
            settings,
            position,
            grower,
            root_evaluation: None,
            restriction: None,
            noise_due: false,
            root_deadline: None,
            pace: Pace::default(),
        }
    }

    /// Lets the next run wait until then for the root's evaluation, even if its deadline comes first: a move without one is
    /// a guess, and a later one only a shorter search.
    pub fn wait_for_root(&mut self, until: Option<Instant>) {
        self.root_deadline = until;
    }

    /// The position at the root.
    #[must_use]
    pub fn position(&self) -> &G {
        &self.position
    }

    /// The settings it runs by.
    #[must_use]
    pub fn settings(&self) -> &MctsSettings {
        &self.settings
    }

    /// Continues with other settings. The tree is kept unless it was grown under another notion of values or of the world.
    pub fn set_settings(&mut self, settings: MctsSettings) {
        let kept =
            |settings: &MctsSettings| (settings.world, settings.scoring, settings.solver, settings.unvisited);
        if kept(&self.settings) == kept(&settings) {
            self.grower.set_settings(&settings);
        } else {
            self.root_evaluation = None;
            self.grower = Grower::new(&self.position, &settings);
        }
        self.settings = settings;
    }

    /// Looks only at these root moves (those that are legal; all if none is), until a move is played or `None` is given.
    /// A change throws the tree away.
    pub fn restrict(&mut self, moves: Option<Vec<Move>>) {
        let moves = moves.map(|mut moves| {
            moves.retain(|&mv| self.position.is_legal(mv));
            moves
        });
        let moves = moves.filter(|moves| !moves.is_empty());
        if moves != self.restriction {
            self.restriction = moves;
            self.root_evaluation = None;
            self.grower = Grower::new(&self.position, &self.settings);
        }
    }

    /// What the evaluator said of the root, with distributions where it has them.
    #[must_use]
    pub fn root_evaluation(&self) -> Option<&Evaluation<G>> {
        self.root_evaluation.as_ref()
    }

    /// Grows the tree by the settings' simulations or until `stop` says so.
    ///
    /// There is always a move in the report unless the game is over: without one evaluation it is the first legal.
    pub async fn run(&mut self, stop: &Stop) -> Report {
        self.run_with(stop, &mut |_| {}).await
    }

    /// The same, with a report each time the number of simulations has doubled.
    pub async fn run_with(&mut self, stop: &Stop, progress: &mut (dyn FnMut(&Report) + Send)) -> Report {
        if self.position.outcome().is_some() {
            return self.grower.report(&self.settings, Stopped::Settled);
        }
        let stop = stop.clone().within(self.settings.time);
        if std::mem::take(&mut self.noise_due) {
            self.grower.add_root_noise();
        }
        let (evaluator, settings) = (&*self.evaluator, &self.settings);
        let root = Root {
            evaluation: &mut self.root_evaluation,
            restriction: self.restriction.as_deref(),
            // The settings' own time is the most there is.
            deadline: self.root_deadline.take().filter(|_| settings.time.is_none()),
            pace: &mut self.pace,
        };
        let mut report = match &mut self.grower {
            Grower::Rules(simulator) => {
                Drive::new(simulator, evaluator, settings, root).run(&stop, progress).await
            }
            Grower::Model(simulator) => {
                Drive::new(simulator, evaluator, settings, root).run(&stop, progress).await
            }
        };
        // A move the evaluator made up is no move: the fallback is the best of its moves that can be played.
        if report.best.is_none_or(|mv| !self.position.is_legal(mv)) {
            let listed = report.moves.iter().map(|entry| entry.mv).find(|&mv| self.position.is_legal(mv));
            let allowed = self.restriction.as_ref().and_then(|moves| moves.first().copied());
            report.best = listed.or(allowed).or_else(|| self.position.legal_moves().first().copied());
            report.line = report.best.into_iter().collect();
            report.fallback = true;
        }
        report
    }

    /// Runs on a small runtime of its own and waits; not to be called from asynchronous code.
    ///
    /// # Errors
    /// When the runtime cannot be made.
    pub fn run_blocking(&mut self, stop: &Stop) -> Result<Report, SearchError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| SearchError::Runtime(error.to_string()))?;
        Ok(runtime.block_on(self.run(stop)))
    }

    /// Plays a move at the root and keeps the tree below it, if the settings say so and it was looked at.
    ///
    /// # Errors
    /// When the move is illegal; nothing is changed.
    pub fn advance(&mut self, mv: Move) -> Result<(), IllegalMove> {
        self.position.play(mv)?;
        self.restriction = None;
        if !(self.settings.reuse && self.grower.advance(mv, &self.position)) {
            self.grower = Grower::new(&self.position, &self.settings);
        }
        self.root_evaluation = None;
        self.noise_due = !self.grower.tree().is_empty();
        Ok(())
    }

    /// Goes to another position; the tree is kept if the position lies at most two plies below the root.
    pub fn set_position(&mut self, position: G) {
        match self.moves_to(&position) {
            Some(moves) => {
                for mv in moves {
                    // The moves were just found among the legal ones.
                    let advanced = self.advance(mv);
                    debug_assert!(advanced.is_ok());
                }
                // Equality overlooks history; the given position knows it.
                self.position = position;
                self.grower.set_root(&self.position);
            }
            None => {
                self.grower = Grower::new(&position, &self.settings);
                self.position = position;
                self.root_evaluation = None;
                self.restriction = None;
            }
        }
    }

    /// The moves that lead from the root to a position, two at most.
    fn moves_to(&self, position: &G) -> Option<Vec<Move>> {
        if self.position.rules() != position.rules() {
            return None;
        }
        let n_plies = position.ply().checked_sub(self.position.ply())?;
        let after = |before: &G, mv: Move| {
            let mut after = before.clone();
            after.play_unchecked(mv);
            after
        };
        match n_plies {
            0 => (self.position == *position).then(Vec::new),
            1 => {
                let moves = self.position.legal_moves();
                moves.into_iter().find(|&mv| after(&self.position, mv) == *position).map(|mv| vec![mv])
            }
            2 => self.position.legal_moves().into_iter().find_map(|first| {
                let between = after(&self.position, first);
                let replies = between.legal_moves();
                replies.into_iter().find(|&mv| after(&between, mv) == *position).map(|mv| vec![first, mv])
            }),
            _ => None,
        }
    }

    /// Compares a tree grown without the rules with them; `None` where the rules grew it.
    #[must_use]
    pub fn rules_check(&self) -> Option<RulesCheck> {
        match &self.grower {
            Grower::Rules(_) => None,
            Grower::Model(simulator) => Some(simulator.check_rules()),
        }
    }

    pub(crate) fn tree(&self) -> &Tree {
        self.grower.tree()
    }

    /// Puts a loaded tree in place; `states` where the evaluator is the world model.
    pub(crate) fn put_tree(&mut self, tree: Tree, states: Vec<Arc<G>>) {
        match &mut self.grower {
            Grower::Rules(simulator) => simulator.tree = tree,
            Grower::Model(simulator) => {
                simulator.tree = tree;
                simulator.world.states = states;
            }
        }
    }

    /// The state of a node by the evaluator's answer, where it is the world model.
    pub(crate) fn model_state(&self, node: NodeIdx) -> Option<&G> {
        match &self.grower {
            Grower::Rules(_) => None,
            Grower::Model(simulator) => simulator.world.states.get(node.0 as usize).map(|state| &**state),
        }
    }

    pub(crate) fn evaluator_name(&self) -> String {
        self.evaluator.describe()
    }
}

impl<G: Game> Grower<G> {
    fn new(position: &G, settings: &MctsSettings) -> Self {
        match settings.world {
            WorldModel::Rules => Self::Rules(Simulator::new(ByRules { root: position.clone() }, settings)),
            WorldModel::Model => {
                let world = ByModel { root: Arc::new(position.clone()), states: Vec::new() };
                Self::Model(Simulator::new(world, settings))
            }
        }
    }

    fn tree(&self) -> &Tree {
        match self {
            Self::Rules(simulator) => &simulator.tree,
            Self::Model(simulator) => &simulator.tree,
        }
    }

    fn add_root_noise(&mut self) {
        match self {
            Self::Rules(simulator) => simulator.add_root_noise(),
            Self::Model(simulator) => simulator.add_root_noise(),
        }
    }

    fn set_settings(&mut self, settings: &MctsSettings) {
        match self {
            Self::Rules(simulator) => simulator.set_settings(settings),
            Self::Model(simulator) => simulator.set_settings(settings),
        }
    }

    fn set_root(&mut self, position: &G) {
        match self {
            Self::Rules(simulator) => simulator.world.root = position.clone(),
            Self::Model(simulator) => simulator.world.root = Arc::new(position.clone()),
        }
    }

    /// Moves the root; `false` if there is no tree below the move.
    fn advance(&mut self, mv: Move, position: &G) -> bool {
        let Some((tree, origin)) = self.tree().below(mv) else { return false };
        match self {
            Self::Rules(simulator) => {
                simulator.tree = tree;
                simulator.depths = Default::default();
            }
            Self::Model(simulator) => {
                let states = &simulator.world.states;
                // A tree whose root state the model got wrong must not continue from it.
                if *states[origin[0].0 as usize] != *position {
                    return false;
                }
                simulator.world.states = origin.iter().map(|node| states[node.0 as usize].clone()).collect();
                simulator.tree = tree;
                simulator.depths = Default::default();
            }
        }
        self.set_root(position);
        true
    }

    fn report(&mut self, settings: &MctsSettings, stopped: Stopped) -> Report {
        match self {
            Self::Rules(simulator) => report(simulator, settings, &Counts::default(), stopped),
            Self::Model(simulator) => report(simulator, settings, &Counts::default(), stopped),
        }
    }
}
