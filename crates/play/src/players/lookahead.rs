//! The agents that paper 004 measures against.

use crate::{Choice, Player, PlayerError, Thought, Turn};
use mavis_game::{Game, GameVisitor, Move, Outcome};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Scans a few plies fully and plays at random among the best moves it sees.
///
/// One ply takes a win, two also avoid an immediate loss, three also find a forced win. Everything that does not end
/// within the scan counts alike.
pub struct Lookahead {
    plies: u32,
    random: Xoshiro256PlusPlus,
}

impl Lookahead {
    /// A player that scans 1 to 3 plies; `None` for other numbers.
    #[must_use]
    pub fn new(plies: u32, seed: u64) -> Option<Self> {
        (1..=3).contains(&plies).then(|| Self { plies, random: Xoshiro256PlusPlus::seed_from_u64(seed) })
    }
}

impl<G: Game> Player<G> for Lookahead {
    fn name(&self) -> String {
        format!("lookahead:{}", self.plies)
    }

    fn evaluates(&self) -> bool {
        false
    }

    fn reseed(&mut self, seed: u64) {
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        let scored = turn.position.visit(Scan { plies: self.plies });
        let best = scored.iter().map(|(_, score)| *score).max();
        let best_moves: Vec<Move> =
            scored.iter().filter(|(_, score)| Some(*score) == best).map(|(mv, _)| *mv).collect();
        let mv = *best_moves
            .get(self.random.random_range(0..best_moves.len().max(1)))
            .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
        let value = match best {
            Some(1) => Some(1.0),
            Some(-1) => Some(0.0),
            _ => None,
        };
        Ok(Choice { mv, thought: Thought { depth: self.plies, value, ..Thought::default() } })
    }
}

/// The scan as a visitor, so that it runs by the rules of one game and not through a sum of games.
struct Scan {
    plies: u32,
}

impl GameVisitor for Scan {
    type Output = Vec<(Move, i32)>;

    fn visit<G: Game>(self, position: &G) -> Self::Output {
        score_moves(position, self.plies)
    }
}

/// Each legal move with 1 for a seen win, -1 for a seen loss, 0 otherwise, for the side to move.
fn score_moves<G: Game>(position: &G, plies: u32) -> Vec<(Move, i32)> {
    let mut moves = mavis_game::Moves::new();
    position.legal_moves_into(&mut moves);
    moves
        .into_iter()
        .map(|mv| {
            let mut next = position.clone();
            next.play_unchecked(mv);
            let score = if next.side_to_move() == position.side_to_move() {
                scan(&next, plies - 1)
            } else {
                -scan(&next, plies - 1)
            };
            (mv, score)
        })
        .collect()
}

/// The value for the side to move: 1, 0 or -1, looking `plies` further.
fn scan<G: Game>(position: &G, plies: u32) -> i32 {
    if let Some(outcome) = position.outcome() {
        return match outcome {
            Outcome::Draw => 0,
            Outcome::Win(side) if side == position.side_to_move() => 1,
            Outcome::Win(_) => -1,
        };
    }
    if plies == 0 {
        return 0;
    }
    let mut best = -1;
    let mut moves = mavis_game::Moves::new();
    position.legal_moves_into(&mut moves);
    for mv in moves {
        let mut next = position.clone();
        next.play_unchecked(mv);
        let value = scan(&next, plies - 1);
        best = best.max(if next.side_to_move() == position.side_to_move() { value } else { -value });
        if best == 1 {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::{Position, Rules};

    fn best_moves(moves: &str, plies: u32) -> Vec<String> {
        let mut position = Position::start(Rules::Connect4);
        for column in moves.chars() {
            position.play_text(&column.to_string()).unwrap();
        }
        let scored = position.visit(Scan { plies });
        let best = scored.iter().map(|(_, s)| *s).max().unwrap();
        scored.iter().filter(|(_, s)| *s == best).map(|(mv, _)| position.move_text(*mv)).collect()
    }

    #[test]
    fn each_ply_sees_one_thing_more() {
        assert_eq!(best_moves("414141", 1), ["4"], "takes the win");
        assert_eq!(best_moves("41414", 1).len(), 7, "one ply does not see the threat");
        assert_eq!(best_moves("41414", 2), ["4"], "two plies parry it");
        assert_eq!(best_moves("3141", 2).len(), 7, "an open pair is nothing to two plies");
        assert_eq!(best_moves("3141", 3), ["5"], "three plies make an open three: 2-3-4-5 both ends");
    }
}
