//! An oracle as a player.

mod by_game;

pub use by_game::{EngineSpec, GameOracle};

use super::greedy::without_opinion;
use crate::{Analysis, Choice, MoveAnalysis, Player, PlayerError, Turn, runtime};
use mavis_game::{Position, Rules};
use mavis_oracle::{Oracle, OracleError, RankedMove, Score};
use mavis_search::Stop;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Plays what an oracle ranks first.
///
/// The oracle works on a thread of its own: when the time is up before it has answered, the first legal move is
/// played, and the oracle is asked again at the next move, once it is done.
pub struct OraclePlayer<O> {
    name: String,
    oracle: Arc<Mutex<O>>,
}

impl<O: Oracle + 'static> OraclePlayer<O> {
    /// A player over an oracle.
    #[must_use]
    pub fn new(name: String, oracle: O) -> Self {
        Self { name, oracle: Arc::new(Mutex::new(oracle)) }
    }

    fn failure(&self, error: OracleError) -> PlayerError {
        match error {
            OracleError::WrongGame { rules, .. } => PlayerError::unsupported(&self.name, rules),
            OracleError::Broken { reason, .. } => PlayerError::Broken(reason),
            other => PlayerError::Failed(other.to_string()),
        }
    }
}

impl<O: Oracle + 'static> Player for OraclePlayer<O> {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// One ranking shows whether its engine is there.
    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        let mut oracle = self.oracle.lock().unwrap_or_else(PoisonError::into_inner);
        match oracle.evaluate(&Position::start(rules)) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failure(error)),
        }
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        let deadline = turn.limit.deadline(Instant::now(), Duration::from_millis(2));
        let stop = Stop { deadline, cancel: turn.cancel.clone() };
        let runtime = runtime().map_err(PlayerError::Failed)?;
        let (oracle, position) = (self.oracle.clone(), turn.position.clone());
        let work = runtime.spawn_blocking(move || {
            oracle.lock().unwrap_or_else(PoisonError::into_inner).evaluate(&position)
        });
        let answer = runtime.block_on(async {
            tokio::select! {
                answer = work => Some(answer),
                () = stop.due() => None,
            }
        });
        let ranking = match answer {
            None => return without_opinion(turn, "no answer in time"),
            Some(Err(error)) => return Err(PlayerError::Failed(format!("the oracle stopped: {error}"))),
            Some(Ok(Err(error))) => return Err(self.failure(error)),
            Some(Ok(Ok(ranking))) => ranking,
        };
        let allowed = |judged: &&RankedMove| turn.limit.allows(judged.mv);
        let moves: Vec<MoveAnalysis> = ranking.moves.iter().filter(allowed).map(opinion).collect();
        match Analysis::of_moves(moves, 0) {
            Some(analysis) => {
                analysis.report(&turn.limit, turn.sink);
                Ok(analysis)
            }
            None => without_opinion(turn, "the oracle judged none of the moves asked for"),
        }
    }
}

fn opinion(judged: &RankedMove) -> MoveAnalysis {
    let (centipawns, mate) = match judged.score {
        Score::Centipawns(centipawns) => (Some(centipawns), None),
        Score::Mate(moves) => (None, Some(moves)),
        Score::Solved(score) => (None, distance(score, judged.plies)),
        Score::WinRate(_) | Score::Margin(_) => (None, None),
    };
    MoveAnalysis { value: Some(judged.win_probability), centipawns, mate, ..MoveAnalysis::plain(judged.mv) }
}

/// Own moves until a solved end, which is `plies` away from the position judged.
fn distance(score: i32, plies: Option<u32>) -> Option<i32> {
    let plies = i32::try_from(plies?).ok()?;
    match score.signum() {
        1 => Some((plies + 1) / 2),
        -1 => Some(-(plies / 2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, RandomPlayer, Referee, Thought};
    use mavis_game::{Game as _, Side};
    use mavis_oracle::connect4::Connect4Solver;

    #[test]
    fn the_solver_wins_connect_four_and_knows_how_far_away() {
        let mut solver = OraclePlayer::new("oracle".into(), Connect4Solver::default());
        let mut random = RandomPlayer::new(3);
        // Far enough from the start to be solved at once.
        let mut start = Position::start(Rules::Connect4);
        for column in "44444433333355".chars() {
            start.play_text(&column.to_string()).unwrap();
        }
        let record = Referee::default().play(&start, [&mut solver, &mut random]);
        assert_eq!(record.verdict.and_then(|verdict| verdict.outcome.winner()), Some(Side::First));
        let last = record.moves.last().unwrap();
        assert_eq!((last.thought.mate, last.thought.value), (Some(1), Some(1.0)));
    }

    #[test]
    fn a_foreign_game_is_refused() {
        let mut solver = OraclePlayer::new("oracle".into(), Connect4Solver::default());
        let position = Position::start(Rules::Togyz);
        assert!(solver.ready_for(Rules::Connect4).is_ok());
        assert!(matches!(solver.ready_for(Rules::Togyz), Err(PlayerError::Unsupported { .. })));
        let error =
            solver.choose(&mut Turn::alone(&position, Limit::default(), &mut |_: &Thought| {})).unwrap_err();
        assert_eq!(error.to_string(), "oracle does not play togyz");
    }
}
