//! Togyz Kumalak by alpha-beta: the margin of stones each move may expect.

use crate::alphabeta::{AlphaBeta, Effort, Estimate, UNIT};
use crate::oracle::refuse_finished;
use crate::{Identity, MoveVerdict, Oracle, OracleError, Score, Verdict};
use mavis_game::{Game, Move, Position, Rules, Side, Togyz};

/// What a tuzdyk is worth beyond the stones it has caught, in hundredths of a stone.
///
/// It catches a stone of almost every sowing that passes it, and takes a pit from the opponent; the number is a guess
/// that was never fitted.
const TUZDYK: i32 = 12 * UNIT;
/// A finished game, above every estimate.
const WON: i32 = 1000 * UNIT;
/// Stones still in one's own pits, as a share of a stone won: they are harder for the opponent to take, and belong to
/// their owner if the opponent runs dry.
const OWN_STONE: i32 = 12;
/// One's own pits with stones to choose from.
const MOBILITY: i32 = 40;

impl Estimate for Togyz {
    fn estimate(&self) -> i32 {
        let side = self.side_to_move();
        worth(self, side) - worth(self, side.other())
    }

    fn final_margin(&self) -> i32 {
        let side = self.side_to_move();
        let margin = i32::from(self.final_kazan(side)) - i32::from(self.final_kazan(side.other()));
        // A majority ends the game at once, often by a stone: what counts is that it is won.
        WON * margin.signum()
    }

    fn rank(&self, mv: Move) -> i32 {
        let mut next = *self;
        next.play_unchecked(mv);
        i32::from(next.kazan(self.side_to_move()))
            + if next.tuzdyk(self.side_to_move()).is_some() { 20 } else { 0 }
    }
}

fn worth(position: &Togyz, side: Side) -> i32 {
    let pits = position.pits(side);
    let stones: i32 = pits.iter().map(|&stones| i32::from(stones)).sum();
    let choices = pits.iter().filter(|&&stones| stones > 0).count() as i32;
    let tuzdyk = if position.tuzdyk(side).is_some() { TUZDYK } else { 0 };
    UNIT * i32::from(position.kazan(side)) + tuzdyk + OWN_STONE * stones + MOBILITY * choices
}

/// Judges Togyz Kumalak positions.
pub struct TogyzOracle {
    search: AlphaBeta,
    effort: Effort,
}

impl Default for TogyzOracle {
    fn default() -> Self {
        Self::new(Effort { depth: 12, nodes: 200_000 })
    }
}

impl TogyzOracle {
    /// An oracle that spends this much on each position.
    #[must_use]
    pub fn new(effort: Effort) -> Self {
        Self { search: AlphaBeta::new(1 << 16), effort }
    }
}

impl Oracle for TogyzOracle {
    fn identity(&self) -> Identity {
        Identity::ours("togyz-alphabeta", format!("depth={} nodes={}", self.effort.depth, self.effort.nodes))
    }

    fn evaluate(&mut self, position: &Position) -> Result<Verdict, OracleError> {
        let Position::Togyz(position) = position else {
            return Err(OracleError::WrongGame { oracle: self.identity().name, rules: position.rules() });
        };
        refuse_finished(position)?;
        let values = self.search.values(position, self.effort);
        let moves = values.into_iter().map(|(mv, value)| {
            let score = if value.abs() == WON {
                Score::Solved(value.signum())
            } else {
                Score::Margin(value as f32 / UNIT as f32)
            };
            MoveVerdict::new(Rules::Togyz, mv, score, None)
        });
        Ok(Verdict { moves: moves.collect() })
    }
}
