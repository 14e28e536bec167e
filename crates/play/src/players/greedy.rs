//! The move an evaluator likes best, without any search.

use crate::{Analysis, Choice, MoveAnalysis, Player, PlayerError, Turn, runtime, shared::try_evaluator};
use mavis_eval::{EndOrMoves, EvalError, Evaluator, MoveValue, Request, WorldModel};
use mavis_game::{FromRules, Game, Position};
use mavis_search::Stop;
use mavis_value::Scoring;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    future::Future,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

/// Moves worth at least this are called won: there the values say no more which of them makes progress.
const WON: f32 = 0.99;
/// Values that lie so close together are one.
const TIE: f32 = 0.01;

/// How a greedy player chooses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GreedyPlayerSettings {
    /// What decides.
    pub scoring: GreedyScoring,
    /// 0 plays the best move; above, moves are drawn with weights `exp(value / temperature)`.
    pub temperature: f32,
    /// Whether the evaluator is asked about the position (by the rules) or, by itself, about what follows the last move.
    pub world: WorldModel,
}

impl Default for GreedyPlayerSettings {
    fn default() -> Self {
        Self { scoring: GreedyScoring::Mean, temperature: 0.0, world: WorldModel::Rules }
    }
}

/// What decides, as a player's option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GreedyScoring {
    /// `mean`: the expectation of the value distribution.
    Mean,
    /// `max`: its mode.
    Max,
    /// `best_action`: the evaluator's own choice among the moves it lists.
    BestAction,
}

impl GreedyScoring {
    fn of_values(self) -> Scoring {
        match self {
            Self::Mean | Self::BestAction => Scoring::Mean,
            Self::Max => Scoring::Max,
        }
    }
}

impl FromStr for GreedyScoring {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            "best_action" => Ok(Self::BestAction),
            other => Err(format!("scoring is mean, max or best_action, not '{other}'")),
        }
    }
}

/// Asks an evaluator once a move, and once more where values alone do not decide.
///
/// Two kinds of moves are tied: those within 0.01 of the best one and above 0.99, where values no longer say which move makes
/// progress (paper 001's reason for `%best_action`), and those of exactly the best value, which max scoring gives often, as it
/// knows 64 values only. Among tied moves the evaluator's own choice is played; without one the seed draws, so that the order
/// of the moves decides nothing.
pub struct GreedyPlayer<G: Game = Position> {
    name: String,
    evaluator: Arc<dyn Evaluator<G>>,
    settings: GreedyPlayerSettings,
    random: Xoshiro256PlusPlus,
}

impl<G: Game> GreedyPlayer<G> {
    /// A player over an evaluator; its moves follow from the seed.
    #[must_use]
    pub fn new(
        name: String,
        evaluator: Arc<dyn Evaluator<G>>,
        settings: GreedyPlayerSettings,
        seed: u64,
    ) -> Self {
        Self { name, evaluator, settings, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// What is asked: the position, or with a world of the evaluator's own the last move and the position before it, so that it
    /// says itself where that leads. Moves that the rules refuse are passed over.
    fn request(&self, turn: &Turn<'_, G>, state: &Arc<G>) -> Request<G> {
        match (self.settings.world, turn.moves.split_last()) {
            (WorldModel::Model, Some((&last, before))) => {
                let mut previous = turn.start.clone();
                before.iter().for_each(|&mv| previous.play_unchecked(mv));
                Request::child(previous, last)
            }
            _ => Request::state(state.clone()),
        }
    }

    /// The index of the move to play among moves sorted by value, best first, of which the first `n_equal` are equals.
    fn pick(&mut self, moves: &[MoveAnalysis], n_equal: usize) -> usize {
        let temperature = self.settings.temperature;
        if temperature <= 0.0 {
            return if n_equal > 1 { self.random.random_range(0..n_equal) } else { 0 };
        }
        let best = moves.first().and_then(|entry| entry.value).unwrap_or(0.0);
        let weight = |entry: &MoveAnalysis| ((entry.value.unwrap_or(0.0) - best) / temperature).exp();
        let total: f32 = moves.iter().map(weight).sum();
        let mut left = self.random.random::<f32>() * total;
        let drawn = moves.iter().position(|entry| {
            left -= weight(entry);
            left < 0.0
        });
        drawn.unwrap_or(0)
    }
}

/// How many of the moves, sorted best first, are won and as good as each other.
fn n_won(moves: &[MoveAnalysis]) -> usize {
    let best = moves.first().map_or(0.0, value);
    moves.iter().take_while(|entry| value(entry) >= WON && value(entry) >= best - TIE).count()
}

/// How many of the moves, sorted best first, have exactly the best value.
fn n_equal(moves: &[MoveAnalysis]) -> usize {
    let best = moves.first().map_or(0.0, value);
    moves.iter().take_while(|entry| value(entry) >= best).count()
}

fn value(entry: &MoveAnalysis) -> f32 {
    entry.value.unwrap_or(0.0)
}

impl<G: FromRules> Player<G> for GreedyPlayer<G> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: G::Rules) -> Result<(), PlayerError> {
        try_evaluator(&*self.evaluator, rules)
    }

    fn reseed(&mut self, seed: u64) {
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_, G>) -> Result<Analysis, PlayerError> {
        // Without the evaluation there is nothing to choose by, so it may take more than the move's share of the clock.
        let deadline = turn.limit.patience(Instant::now(), Duration::from_millis(2));
        let stop = Stop { deadline, cancel: turn.cancel.clone() };
        let runtime = runtime().map_err(PlayerError::Failed)?;
        let state = Arc::new(turn.position.clone());
        let asked = self.evaluator.evaluate_one(self.request(turn, &state));
        let reply = runtime.block_on(within(&stop, asked));
        let (listed, trouble) = match reply {
            Some(Ok(evaluation)) => match evaluation.content {
                EndOrMoves::Moves(moves) => (moves, None),
                EndOrMoves::Ended(outcome) => {
                    (Vec::new(), Some(format!("the evaluator calls the game over, {outcome}")))
                }
            },
            Some(Err(EvalError::Broken(reason))) => return Err(PlayerError::Broken(reason)),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
            None => (Vec::new(), Some("no evaluation in time".to_owned())),
        };
        let legal: Vec<MoveValue> =
            listed.into_iter().filter(|entry| turn.position.is_legal(entry.mv)).collect();
        let mut moves: Vec<MoveAnalysis> = legal
            .iter()
            .filter(|entry| turn.limit.allows(entry.mv))
            .map(|entry| {
                let value = entry.value.win_probability(self.settings.scoring.of_values());
                MoveAnalysis {
                    value: Some(value),
                    model_value: Some(value),
                    distribution: entry.value.distribution.clone(),
                    ..MoveAnalysis::plain(entry.mv)
                }
            })
            .collect();
        // A stable sort: equals stay in the evaluator's order, which decides nothing but how they are shown.
        moves.sort_by(|a, b| value(b).total_cmp(&value(a)));
        let n_equal = n_equal(&moves);
        let contenders = match self.settings.scoring {
            _ if self.settings.temperature > 0.0 => 0,
            GreedyScoring::BestAction => moves.len(),
            GreedyScoring::Mean | GreedyScoring::Max => n_won(&moves).max(n_equal),
        };
        let chosen = if contenders > 1 {
            let asked = self.evaluator.best_action(state, legal);
            match runtime.block_on(within(&stop, asked)) {
                Some(Ok(chosen)) => chosen,
                Some(Err(EvalError::Broken(reason))) => return Err(PlayerError::Broken(reason)),
                // Without a choice, in time or at all, the values decide, and the seed among equals.
                Some(Err(_)) | None => None,
            }
        } else {
            None
        };
        let among = |mv| moves[..contenders].iter().position(|entry| entry.mv == mv);
        let picked = chosen.and_then(among).unwrap_or_else(|| self.pick(&moves, n_equal));
        let ranked = moves.clone();
        if let Some(first) = moves.get_mut(..=picked) {
            first.rotate_right(1);
        }
        let Some(mut analysis) = Analysis::of_moves(moves, 1) else {
            let reason = trouble.unwrap_or_else(|| "no legal move among the listed ones".to_owned());
            return without_opinion(turn, &reason);
        };
        analysis.report(&turn.limit, turn.sink);
        // The list stays in the order of values even if another move was drawn.
        analysis.moves = ranked;
        Ok(analysis)
    }
}

/// The answer, or `None` if the stop comes first.
async fn within<T>(stop: &Stop, asked: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        answer = asked => Some(answer),
        () = stop.due() => None,
    }
}

/// The first move that may be played, with the reason why it is no better one.
pub(super) fn without_opinion<G: Game>(
    turn: &mut Turn<'_, G>,
    reason: &str,
) -> Result<Analysis, PlayerError> {
    let legal = turn.position.legal_moves();
    let mv = legal
        .iter()
        .copied()
        .find(|&mv| turn.limit.allows(mv))
        .or_else(|| legal.first().copied())
        .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
    let mut choice = Choice::plain(mv);
    choice.thought.line = vec![mv];
    choice.thought.note = Some(format!("{reason}; this is the first legal move"));
    (turn.sink)(&choice.thought);
    Ok(choice.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, Thought};
    use mavis_eval::{Faults, Faulty, Scripted};
    use mavis_game::Rules;
    use std::collections::HashSet;

    fn analyze(evaluator: impl Evaluator + 'static, settings: GreedyPlayerSettings, seed: u64) -> Analysis {
        let position = Position::start(Rules::Othello);
        let mut player = GreedyPlayer::new("greedy".into(), Arc::new(evaluator), settings, seed);
        player
            .analyze(&mut Turn::alone(
                &position,
                Limit { time: Some(Duration::from_millis(200)), ..Limit::default() },
                &mut |_: &Thought| {},
            ))
            .unwrap()
    }

    #[test]
    fn the_best_value_is_played_and_scoring_matters() {
        let mean = analyze(Scripted::new(4), GreedyPlayerSettings::default(), 0);
        let values: Vec<f32> = mean.moves.iter().filter_map(|entry| entry.value).collect();
        assert!(values.len() == 4 && values.is_sorted_by(|a, b| a >= b), "{values:?}");
        assert_eq!(mean.choice.mv, mean.moves[0].mv);
        let by_mode = GreedyPlayerSettings { scoring: GreedyScoring::Max, ..GreedyPlayerSettings::default() };
        let max = analyze(Scripted::new(4), by_mode, 0);
        assert_ne!(max.moves[0].value, mean.moves[0].value);
    }

    /// Values by move of Othello's four first moves; the choice is always the last that is listed.
    struct Values([f32; 4]);

    impl Evaluator for Values {
        fn evaluate(&self, requests: Vec<Request>) -> mavis_eval::Replies {
            let evaluation = |request: &Request| {
                let state = request.by_rules().unwrap();
                let moves = state.legal_moves().into_iter().zip(self.0);
                let moves =
                    moves.map(|(mv, value)| MoveValue { mv, value: mavis_eval::Value::certain(value) });
                let content = EndOrMoves::Moves(moves.collect());
                Ok(mavis_eval::Evaluation { state, content })
            };
            mavis_eval::ready(requests.iter().map(evaluation).collect())
        }

        fn best_action(&self, _: Arc<Position>, listed: Vec<MoveValue>) -> mavis_eval::BestAction {
            Box::pin(std::future::ready(Ok(listed.last().map(|entry| entry.mv))))
        }

        fn describe(&self) -> String {
            "values".to_owned()
        }
    }

    #[test]
    fn the_evaluator_chooses_among_won_moves_or_always_if_asked_to() {
        let legal = Position::start(Rules::Othello).legal_moves();
        let check = |values, scoring, expected: usize| {
            let settings = GreedyPlayerSettings { scoring, ..GreedyPlayerSettings::default() };
            let analysis = analyze(Values(values), settings, 0);
            assert_eq!(analysis.choice.mv, legal[expected], "{values:?} {scoring:?}");
        };
        // The last is tied with the first; it is not when it is worse, and nobody asks where nothing is won or equal.
        check([0.999, 0.4, 0.3, 0.995], GreedyScoring::Mean, 3);
        check([0.999, 0.4, 0.3, 0.95], GreedyScoring::Mean, 0);
        check([0.999, 0.995, 0.3, 0.98], GreedyScoring::Max, 0);
        check([0.5, 0.4, 0.3, 0.495], GreedyScoring::Mean, 0);
        check([0.5, 0.4, 0.3, 0.2], GreedyScoring::BestAction, 3);
        check([1.0, 1.0, 1.0, 1.0], GreedyScoring::Mean, 3);
        // Equals are a tie wherever they stand, and a worse choice is none.
        check([0.4, 0.5, 0.3, 0.5], GreedyScoring::Max, 3);
        check([0.5, 0.5, 0.3, 0.2], GreedyScoring::BestAction, 3);
    }

    /// The same values without a choice.
    struct Silent(Values);

    impl Evaluator for Silent {
        fn evaluate(&self, requests: Vec<Request>) -> mavis_eval::Replies {
            self.0.evaluate(requests)
        }

        fn describe(&self) -> String {
            "values without a choice".to_owned()
        }
    }

    #[test]
    fn the_seed_draws_among_equals_and_never_another_move() {
        let legal = Position::start(Rules::Othello).legal_moves();
        let by_mode = GreedyPlayerSettings { scoring: GreedyScoring::Max, ..GreedyPlayerSettings::default() };
        let draw = |values, seed| analyze(Silent(Values(values)), by_mode, seed).choice.mv;
        let drawn: HashSet<_> = (0..40).map(|seed| draw([0.5, 0.3, 0.5, 0.5], seed)).collect();
        assert_eq!(drawn, HashSet::from([legal[0], legal[2], legal[3]]));
        assert_eq!(draw([0.5, 0.3, 0.5, 0.5], 7), draw([0.5, 0.3, 0.5, 0.5], 7));
        assert!((0..40).all(|seed| draw([0.5, 0.3, 0.49, 0.5 - f32::EPSILON], seed) == legal[0]));
        // Won moves within the tolerance are no equals: without a choice the best is played.
        assert!((0..40).all(|seed| draw([0.995, 0.3, 0.999, 0.5], seed) == legal[2]));
    }

    #[test]
    fn temperature_varies_the_move_and_a_seed_repeats_it() {
        let warm = GreedyPlayerSettings { temperature: 10.0, ..GreedyPlayerSettings::default() };
        let drawn: HashSet<_> = (0..40).map(|seed| analyze(Scripted::new(4), warm, seed).choice.mv).collect();
        assert_eq!(drawn.len(), 4);
        assert_eq!(analyze(Scripted::new(4), warm, 9), analyze(Scripted::new(4), warm, 9));
    }

    #[test]
    fn trouble_gives_a_legal_move_and_a_note() {
        let broken = Faulty::new(Scripted::new(1), Faults { failures: 1.0, ..Faults::default() });
        let analysis = analyze(broken, GreedyPlayerSettings::default(), 0);
        assert!(analysis.choice.thought.note.is_some_and(|note| note.contains("on purpose")));
    }
}
