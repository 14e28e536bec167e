//! MCTS over any evaluator as a player.

use crate::{
    Analysis, Choice, Limit, MoveAnalysis, Player, PlayerError, Thought, Turn, runtime, shared::try_evaluator,
};
use mavis_eval::{EndOrMoves, Evaluation, Evaluator};
use mavis_game::{FromRules, Game, Position};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, MoveReport, Proof, Report, RulesCheck, Search},
    wire::SavedTree,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Time kept in reserve for the way from the search back to the game.
const OVERHEAD: Duration = Duration::from_millis(2);
/// Leaf count of dynamic virtual counts when time, not simulations, ends the search (paper 001 at 1000 simulations).
const TIMED_LEAF_COUNT: u32 = 16;

/// Searches with MCTS over an evaluator and keeps the tree between moves.
pub struct SearchPlayer<G: Game = Position> {
    name: String,
    evaluator: Arc<dyn Evaluator<G>>,
    settings: MctsSettings,
    /// Whether the number of simulations was asked for; otherwise a limit of time alone lifts it.
    fixed_simulations: bool,
    /// The search of the game so far.
    search: Option<Search<G>>,
}

impl<G: Game> SearchPlayer<G> {
    /// A player that searches by `settings`. Unless `fixed_simulations`, a limit of time alone lifts their number.
    #[must_use]
    pub fn new(
        name: String,
        evaluator: Arc<dyn Evaluator<G>>,
        settings: MctsSettings,
        fixed_simulations: bool,
    ) -> Self {
        Self { name, evaluator, settings, fixed_simulations, search: None }
    }

    /// The settings under a limit.
    fn limited(&self, limit: &Limit, timed: bool) -> MctsSettings {
        let mut settings = self.settings.clone();
        let by_nodes = limit.nodes.map(|nodes| u32::try_from(nodes).unwrap_or(u32::MAX));
        if !self.fixed_simulations && (timed || limit.infinite || limit.depth.is_some() || by_nodes.is_some())
        {
            settings.simulations = u32::MAX;
            if settings.n_max == 0 && by_nodes.is_none() {
                settings.n_max = TIMED_LEAF_COUNT;
            }
        }
        settings.simulations = settings.simulations.min(by_nodes.unwrap_or(u32::MAX)).max(1);
        settings
    }
}

impl<G: FromRules> Player<G> for SearchPlayer<G> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: G::Rules) -> Result<(), PlayerError> {
        try_evaluator(&*self.evaluator, rules)
    }

    fn new_game(&mut self, _: G::Rules) {
        self.search = None;
    }

    fn reseed(&mut self, seed: u64) {
        self.settings.seed = seed;
        self.search = None;
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_, G>) -> Result<Analysis, PlayerError> {
        let began = Instant::now();
        let rules = turn.position.rules();
        let runtime = runtime().map_err(PlayerError::Failed)?;
        let deadline = turn.limit.deadline(began, OVERHEAD);
        let settings = self.limited(&turn.limit, deadline.is_some());
        let mut search = match self.search.take() {
            Some(mut search) if search.position().rules() == rules => {
                search.set_settings(settings);
                search.set_position(turn.position.clone());
                search
            }
            _ => Search::new(turn.position.clone(), self.evaluator.clone(), settings),
        };
        search.wait_for_root(turn.limit.patience(began, OVERHEAD));
        search.restrict((!turn.limit.only.is_empty()).then(|| turn.limit.only.clone()));

        // A depth is reached when the expected line is so long; the token is this search's own, since the turn's
        // would end the whole game.
        let stop = Stop { deadline, cancel: mavis_search::Cancel::new() };
        let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let mut progress = move |report: &Report| drop(sender.send(report.clone()));
        let report = runtime.block_on(async {
            let run = search.run_with(&stop, &mut progress);
            tokio::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    () = turn.cancel.cancelled(), if !stop.cancel.is_cancelled() => stop.cancel.cancel(),
                    Some(report) = reports.recv() => {
                        if let Some(analysis) = analysis::<G>(&report, None) {
                            analysis.report(&turn.limit, turn.sink);
                        }
                        if turn.limit.depth.is_some_and(|depth| report.line.len() >= depth as usize) {
                            stop.cancel.cancel();
                        }
                    }
                    report = &mut run => break report,
                }
            }
        });
        if let Some(reason) = report.broken {
            return Err(PlayerError::Broken(reason));
        }
        let found = match analysis(&report, search.root_evaluation()) {
            Some(found) => found,
            None => fallback(&report, turn)?,
        };
        found.report(&turn.limit, turn.sink);
        self.search = Some(search);
        Ok(found)
    }

    fn tree(&self) -> Option<SavedTree> {
        self.search.as_ref().map(Search::snapshot)
    }

    fn tree_check(&self) -> Option<RulesCheck> {
        self.search.as_ref().and_then(Search::rules_check)
    }

    fn resume(&mut self, tree: &SavedTree) -> Result<(), PlayerError> {
        let restored = Search::restore(tree, self.evaluator.clone(), self.settings.clone());
        self.search = Some(restored.map_err(|error| PlayerError::Failed(error.to_string()))?);
        Ok(())
    }
}

/// A report as an analysis, the chosen move first; `None` if the search found out nothing.
fn analysis<G: Game>(report: &Report, root: Option<&Evaluation<G>>) -> Option<Analysis> {
    let best = report.best.filter(|_| !report.moves.is_empty())?;
    let distribution = |entry: &MoveReport| match &root?.content {
        EndOrMoves::Moves(moves) => {
            moves.iter().find(|listed| listed.mv == entry.mv)?.value.distribution.clone()
        }
        EndOrMoves::Ended(_) => None,
    };
    let mut moves: Vec<MoveAnalysis> = report
        .moves
        .iter()
        .map(|entry| MoveAnalysis {
            value: entry.value.or(Some(entry.model_value)).map(probability),
            model_value: Some(probability(entry.model_value)),
            visits: Some(entry.visits),
            prior: Some(entry.prior),
            mate: mate(entry.proof, entry.plies_to_end),
            distribution: distribution(entry),
            line: entry.line.clone(),
            ..MoveAnalysis::plain(entry.mv)
        })
        .collect();
    let at = moves.iter().position(|entry| entry.mv == best)?;
    moves[..=at].rotate_right(1);
    let mut analysis = Analysis::of_moves(moves, u64::from(report.counts.simulations))?;
    analysis.choice.thought.kept = u64::from(report.counts.kept);
    Some(analysis)
}

/// The move that is played without any evaluation, with the reason.
fn fallback<G: Game>(report: &Report, turn: &Turn<'_, G>) -> Result<Analysis, PlayerError> {
    let allowed = turn.limit.only.iter().copied().find(|&mv| turn.position.is_legal(mv));
    let mv = report
        .best
        .or(allowed)
        .or_else(|| turn.position.legal_moves().first().copied())
        .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
    let reason = if report.counts.failed > 0 {
        "the evaluator failed; this is the first legal move"
    } else {
        "no evaluation in time; this is the first legal move"
    };
    let thought = Thought { line: vec![mv], note: Some(reason.to_owned()), ..Thought::default() };
    Ok(Choice { mv, thought }.into())
}

/// From the tree's -1 to 1 to a win probability.
fn probability(value: f32) -> f32 {
    0.5 + 0.5 * value
}

/// Moves until a proven end, counted as chess players do: the mover's own moves.
fn mate(proof: Proof, plies_after: Option<u32>) -> Option<i32> {
    let plies = i32::try_from(plies_after?).ok()?;
    match proof {
        Proof::Win => Some(plies / 2 + 1),
        Proof::Loss => Some(-((plies + 1) / 2).max(1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Referee;
    use mavis_eval::{Faults, Faulty, Scripted};
    use mavis_game::{Move, Rules};
    use mavis_search::Cancel;

    fn turn<'a>(position: &'a Position, limit: Limit, sink: &'a mut dyn FnMut(&Thought)) -> Turn<'a> {
        Turn::alone(position, limit, sink)
    }

    fn player(simulations: u32) -> SearchPlayer {
        let settings = MctsSettings { simulations, batch: 4, ..MctsSettings::default() };
        SearchPlayer::new("test".into(), Arc::new(Scripted::new(1)), settings, true)
    }

    #[test]
    fn thoughts_flow_and_every_move_is_listed() {
        let position = Position::start(Rules::Connect4);
        let mut thoughts = Vec::new();
        let mut sink = |thought: &Thought| thoughts.push(thought.clone());
        let limit = Limit { lines: 3, ..Limit::default() };
        let analysis = player(200).analyze(&mut turn(&position, limit, &mut sink)).unwrap();
        assert_eq!(analysis.moves.len(), 7);
        assert!(analysis.moves.iter().all(|entry| entry.distribution.is_some() && entry.value.is_some()));
        assert_eq!(analysis.moves[0].mv, analysis.choice.mv);
        let visits: u32 = analysis.moves.iter().filter_map(|entry| entry.visits).sum();
        assert!((190..=200).contains(&visits), "{visits}");
        assert!(thoughts.len() > 6, "told on the way: {}", thoughts.len());
        assert!(thoughts.iter().any(|thought| thought.rank == 3));
        // Lines come best first, so the last of the best line is the third from the end.
        let best = thoughts.iter().rfind(|thought| thought.rank == 1);
        assert_eq!(best.map(|thought| &thought.line), Some(&analysis.choice.thought.line));
        assert_eq!(thoughts.last().map(|thought| thought.rank), Some(3));
    }

    #[test]
    fn only_the_allowed_moves_are_chosen_and_depth_and_nodes_end_a_search() {
        let position = Position::start(Rules::Connect4);
        let mut sink = |_: &Thought| {};
        let only = vec![Move(6), Move(0)];
        let limit = Limit { only: only.clone(), nodes: Some(50), ..Limit::default() };
        let choice = player(1000).choose(&mut turn(&position, limit, &mut sink)).unwrap();
        assert!(only.contains(&choice.mv));
        assert_eq!(choice.thought.nodes, 50);
        let mut free = player(100);
        free.fixed_simulations = false;
        let limit = Limit { depth: Some(3), ..Limit::default() };
        let choice = free.choose(&mut turn(&position, limit, &mut sink)).unwrap();
        assert!(choice.thought.line.len() >= 3);
    }

    #[test]
    fn the_same_seed_plays_the_same_game_and_trees_are_kept() {
        let play = |seed| {
            let (mut one, mut other) = (player(60), player(40));
            one.reseed(seed);
            other.reseed(seed + 100);
            let record = Referee::default().play(&Position::start(Rules::Connect4), [&mut one, &mut other]);
            assert!(record.verdict.is_some());
            record.moves.iter().map(|made| made.text.clone()).collect::<String>()
        };
        assert_eq!(play(5), play(5));
        let mut one = player(100);
        let mut position = Position::start(Rules::Connect4);
        let mut sink = |_: &Thought| {};
        let first = one.analyze(&mut turn(&position, Limit::default(), &mut sink)).unwrap();
        position.play_unchecked(first.moves[0].line[0]);
        position.play_unchecked(first.moves[0].line[1]);
        let second = one.analyze(&mut turn(&position, Limit::default(), &mut sink)).unwrap();
        let visits: u32 = second.moves.iter().filter_map(|entry| entry.visits).sum();
        let thought = &second.choice.thought;
        assert!(thought.kept > 0 && thought.nodes < 100, "{thought:?}");
        assert_eq!((u64::from(visits), thought.kept + thought.nodes), (100, 100), "kept ones count too");
    }

    #[test]
    fn an_evaluator_that_hangs_or_fails_still_gives_a_legal_move() {
        let position = Position::start(Rules::Othello);
        for faults in
            [Faults { hangs: 1.0, ..Faults::default() }, Faults { failures: 1.0, ..Faults::default() }]
        {
            let evaluator = Arc::new(Faulty::new(Scripted::new(1), faults));
            let mut player = SearchPlayer::new("faulty".into(), evaluator, MctsSettings::default(), false);
            let mut sink = |_: &Thought| {};
            let limit = Limit { time: Some(Duration::from_millis(30)), ..Limit::default() };
            let choice = player.choose(&mut turn(&position, limit, &mut sink)).unwrap();
            assert!(position.is_legal(choice.mv));
            assert!(choice.thought.note.is_some());
        }
    }

    #[test]
    fn a_cancelled_turn_ends() {
        let position = Position::start(Rules::Connect4);
        let cancel = Cancel::new();
        let mut player = player(100);
        player.fixed_simulations = false;
        let mut sink = |thought: &Thought| {
            if thought.nodes > 500 {
                cancel.cancel();
            }
        };
        let limit = Limit { infinite: true, ..Limit::default() };
        let mut turn = turn(&position, limit, &mut sink);
        turn.cancel = cancel.clone();
        let choice = player.choose(&mut turn).unwrap();
        assert!(choice.thought.nodes >= 500);
    }
}
