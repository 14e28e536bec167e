//! The move an evaluator likes best, without any search.

use crate::{Analysis, Choice, MoveAnalysis, Player, PlayerError, Turn, runtime};
use mavis_eval::{Evaluator, Request, Verdict};
use mavis_game::{Game as _, Rules};
use mavis_lang::Scoring;
use mavis_search::Stop;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

/// How a greedy player chooses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GreedySettings {
    /// What of a distribution counts.
    pub scoring: GreedyScoring,
    /// 0 plays the best move; above, moves are drawn with weights `exp(value / temperature)`.
    pub temperature: f32,
}

impl Default for GreedySettings {
    fn default() -> Self {
        Self { scoring: GreedyScoring(Scoring::Mean), temperature: 0.0 }
    }
}

/// `mean` or `max`, as a player's option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GreedyScoring(pub Scoring);

impl FromStr for GreedyScoring {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mean" => Ok(Self(Scoring::Mean)),
            "max" => Ok(Self(Scoring::Max)),
            other => Err(format!("scoring is mean or max, not '{other}'")),
        }
    }
}

/// Asks an evaluator once a move.
pub struct GreedyPlayer {
    name: String,
    evaluator: Arc<dyn Evaluator>,
    settings: GreedySettings,
    random: Xoshiro256PlusPlus,
}

impl GreedyPlayer {
    /// A player over an evaluator; its moves follow from the seed.
    #[must_use]
    pub fn new(name: String, evaluator: Arc<dyn Evaluator>, settings: GreedySettings, seed: u64) -> Self {
        Self { name, evaluator, settings, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The index of the move to play among moves sorted by value, best first.
    fn pick(&mut self, moves: &[MoveAnalysis]) -> usize {
        let temperature = self.settings.temperature;
        if temperature <= 0.0 {
            return 0;
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

impl Player for GreedyPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_game(&mut self, _: Rules) {}

    fn reseed(&mut self, seed: u64) {
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        let deadline = turn.limit.deadline(Instant::now(), Duration::from_millis(2));
        let stop = Stop { deadline, cancel: turn.cancel.clone() };
        let asked = self.evaluator.evaluate_one(Request::state(turn.position.clone()));
        let runtime = runtime().map_err(PlayerError::Failed)?;
        let reply = runtime.block_on(async {
            tokio::select! {
                reply = asked => Some(reply),
                () = stop.due() => None,
            }
        });
        let (listed, trouble) = match reply {
            Some(Ok(evaluation)) => match evaluation.verdict {
                Verdict::Moves(moves) => (moves, None),
                Verdict::Ended(outcome) => {
                    (Vec::new(), Some(format!("the evaluator calls the game over, {outcome}")))
                }
            },
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
            None => (Vec::new(), Some("no evaluation in time".to_owned())),
        };
        let mut moves: Vec<MoveAnalysis> = listed
            .into_iter()
            .filter(|entry| turn.position.is_legal(entry.mv) && turn.limit.allows(entry.mv))
            .map(|entry| {
                let value = entry.value.win_probability(self.settings.scoring.0);
                MoveAnalysis {
                    value: Some(value),
                    model_value: Some(value),
                    distribution: entry.value.distribution,
                    ..MoveAnalysis::plain(entry.mv)
                }
            })
            .collect();
        // A stable sort: equals stay in the evaluator's order.
        moves.sort_by(|a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
        let picked = self.pick(&moves);
        let ranked = moves.clone();
        if let Some(first) = moves.get_mut(..=picked) {
            first.rotate_right(1);
        }
        let Some(mut analysis) = Analysis::of_moves(moves, 1) else {
            let reason = trouble.unwrap_or_else(|| "no legal move among the listed ones".to_owned());
            return without_opinion(turn, &reason);
        };
        analysis.tell(&turn.limit, turn.sink);
        // The list stays in the order of values even if another move was drawn.
        analysis.moves = ranked;
        Ok(analysis)
    }
}

/// The first move that may be played, with the reason why it is no better one.
pub(super) fn without_opinion(turn: &mut Turn<'_>, reason: &str) -> Result<Analysis, PlayerError> {
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
    use mavis_game::Position;
    use mavis_search::Cancel;
    use std::collections::HashSet;

    fn analyze(evaluator: impl Evaluator + 'static, settings: GreedySettings, seed: u64) -> Analysis {
        let position = Position::start(Rules::Othello);
        let mut player = GreedyPlayer::new("greedy".into(), Arc::new(evaluator), settings, seed);
        player
            .analyze(&mut Turn {
                start: &position,
                moves: &[],
                position: &position,
                limit: Limit { time: Some(Duration::from_millis(200)), ..Limit::default() },
                cancel: Cancel::new(),
                sink: &mut |_: &Thought| {},
            })
            .unwrap()
    }

    #[test]
    fn the_best_value_is_played_and_scoring_matters() {
        let mean = analyze(Scripted::new(4), GreedySettings::default(), 0);
        let values: Vec<f32> = mean.moves.iter().filter_map(|entry| entry.value).collect();
        assert!(values.len() == 4 && values.is_sorted_by(|a, b| a >= b), "{values:?}");
        assert_eq!(mean.choice.mv, mean.moves[0].mv);
        let by_mode = GreedySettings { scoring: GreedyScoring(Scoring::Max), ..GreedySettings::default() };
        let max = analyze(Scripted::new(4), by_mode, 0);
        assert_ne!(max.moves[0].value, mean.moves[0].value);
    }

    #[test]
    fn temperature_varies_the_move_and_a_seed_repeats_it() {
        let warm = GreedySettings { temperature: 10.0, ..GreedySettings::default() };
        let drawn: HashSet<_> = (0..40).map(|seed| analyze(Scripted::new(4), warm, seed).choice.mv).collect();
        assert_eq!(drawn.len(), 4);
        assert_eq!(analyze(Scripted::new(4), warm, 9), analyze(Scripted::new(4), warm, 9));
    }

    #[test]
    fn trouble_gives_a_legal_move_and_a_note() {
        let broken = Faulty::new(Scripted::new(1), Faults { failures: 1.0, ..Faults::default() });
        let analysis = analyze(broken, GreedySettings::default(), 0);
        assert!(analysis.choice.thought.note.is_some_and(|note| note.contains("on purpose")));
    }
}
