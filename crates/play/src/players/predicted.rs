//! The opponent of a deterministic match.

use crate::{Choice, Player, PlayerError, Thought, Turn};
use mavis_game::{Game as _, Rules};

/// Plays the reply that its opponent predicted, and its own player's move where there is no prediction.
///
/// This is the true opponent of paper 003's deterministic matches: with the nominal opponent as its own player, the game
/// goes exactly as MPC-MC foresaw one move ahead.
pub struct Predicted {
    own: Box<dyn Player>,
    /// What the opponent thought of its last move.
    predicted: Option<Thought>,
}

impl Predicted {
    /// An opponent that falls back on `own`.
    #[must_use]
    pub fn new(own: Box<dyn Player>) -> Self {
        Self { own, predicted: None }
    }
}

impl Player for Predicted {
    fn name(&self) -> String {
        format!("predicted:{}", self.own.name())
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        self.own.ready_for(rules)
    }

    fn new_game(&mut self, rules: Rules) {
        self.predicted = None;
        self.own.new_game(rules);
    }

    fn reseed(&mut self, seed: u64) {
        self.own.reseed(seed);
    }

    fn evaluates(&self) -> bool {
        self.own.evaluates()
    }

    fn overhear(&mut self, thought: &Thought) {
        self.predicted = Some(thought.clone());
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        // A prediction is a line that begins with the move just made.
        let predicted = self.predicted.take().filter(|thought| thought.line.first() == turn.moves.last());
        let reply = predicted.as_ref().and_then(|thought| thought.line.get(1).copied());
        match (predicted, reply) {
            (Some(predicted), Some(mv)) if turn.position.is_legal(mv) && turn.limit.allows(mv) => {
                let thought = Thought {
                    depth: predicted.depth.saturating_sub(1),
                    rank: 1,
                    value: predicted.value.map(|value| 1.0 - value),
                    centipawns: predicted.centipawns.map(|score| -score),
                    mate: predicted
                        .mate
                        .map(|moves| if moves > 0 { 1 - moves } else { -moves })
                        .filter(|&n| n != 0),
                    line: predicted.line[1..].to_vec(),
                    note: Some("as predicted".to_owned()),
                    ..Thought::default()
                };
                (turn.sink)(&thought);
                Ok(Choice { mv, thought })
            }
            _ => self.own.choose(turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lookahead, RandomPlayer, Referee};
    use mavis_game::{Move, Position};

    /// Plays the first legal move and always foresees column 7.
    struct Prophet;

    impl Player for Prophet {
        fn name(&self) -> String {
            "prophet".to_owned()
        }

        fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
            let mv = turn.position.legal_moves()[0];
            let line = vec![mv, Move(6)];
            Ok(Choice { mv, thought: Thought { line, value: Some(0.7), ..Thought::default() } })
        }
    }

    #[test]
    fn what_is_foreseen_is_played_and_nothing_else() {
        let start = Position::start(Rules::Connect4);
        let mut echo = Predicted::new(Box::new(RandomPlayer::new(1)));
        let record =
            Referee { max_plies: Some(6), ..Referee::default() }.play(&start, [&mut Prophet, &mut echo]);
        let replies: Vec<&str> =
            record.moves.iter().skip(1).step_by(2).map(|made| made.text.as_str()).collect();
        assert_eq!(replies, ["7", "7", "7"]);
        assert!((record.moves[1].thought.value.unwrap() - 0.3).abs() < 1e-6);
        // Without a prediction it is its own player, also with the first move.
        let mut echo = Predicted::new(Box::new(Lookahead::new(2, 1).unwrap()));
        let mut plain = Lookahead::new(2, 1).unwrap();
        let mut random = RandomPlayer::new(5);
        let one = Referee::default().play(&start, [&mut echo, &mut random]);
        random = RandomPlayer::new(5);
        let other = Referee::default().play(&start, [&mut plain, &mut random]);
        assert_eq!(one.end, other.end);
    }
}
