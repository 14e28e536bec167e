//! Togyz Kumalak by alpha-beta: the margin of stones each move may expect.

use crate::alphabeta::{AlphaBeta, Effort, Margin, UNIT};
use crate::oracle::{refuse_finished, refuse_other};
use crate::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use mavis_game::{Game, Move, Position, Rules, Side, Togyz};
use std::fmt;

/// A finished game, above every estimate.
const WON: i32 = 1000 * UNIT;

/// What an estimate is a sum of, each for the side to move less the same for the other: the right to move, stones won, having
/// a tuzdyk, stones in one's own pits, pits to choose from, pits of one stone, of two (the next stone may make them a
/// tuzdyk), and the fullest pit.
pub const N_FEATURES: usize = 8;

/// Weights of the features in hundredths of a stone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TogyzWeights(pub [i32; N_FEATURES]);

impl TogyzWeights {
    /// The weights set by hand before any were fitted, kept to measure the fitted ones against.
    pub const HAND_SET: Self = Self([0, 100, 1200, 12, 40, 0, 0, 0]);

    /// The usual ones, tuned by games (`examples/fit_estimates.rs`, November 2026) and scaled so that a stone won counts 100.
    pub const TUNED: Self = Self([-48, 100, 1557, 8, 194, -51, 22, 16]);

    /// The margin the side to move may expect, in hundredths of a stone.
    #[must_use]
    pub fn estimate(&self, position: &Togyz) -> i32 {
        features(position).into_iter().zip(self.0).map(|(feature, weight)| feature * weight).sum()
    }
}

impl Default for TogyzWeights {
    fn default() -> Self {
        Self::TUNED
    }
}

impl fmt::Display for TogyzWeights {
    /// The name of weights that have one, else the numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TUNED => f.write_str("tuned"),
            Self::HAND_SET => f.write_str("hand-set"),
            Self(weights) => weights.iter().try_for_each(|weight| write!(f, "{weight}/")),
        }
    }
}

/// The features of a position, for the side to move.
#[must_use]
pub fn features(position: &Togyz) -> [i32; N_FEATURES] {
    let of = |side: Side| {
        let pits = position.pits(side).iter().map(|&stones| i32::from(stones));
        let count = |wanted: i32| pits.clone().filter(|&stones| stones == wanted).count() as i32;
        [
            i32::from(side == position.side_to_move()),
            i32::from(position.kazan(side)),
            i32::from(position.tuzdyk(side).is_some()),
            pits.clone().sum(),
            pits.clone().filter(|&stones| stones > 0).count() as i32,
            count(1),
            count(2),
            pits.clone().max().unwrap_or(0),
        ]
    };
    let (own, other) = (of(position.side_to_move()), of(position.side_to_move().other()));
    std::array::from_fn(|idx| own[idx] - other[idx])
}

impl Margin for Togyz {
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

/// Judges Togyz Kumalak positions.
pub struct TogyzOracle {
    search: AlphaBeta,
    effort: Effort,
    weights: TogyzWeights,
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
        Self::with_weights(effort, TogyzWeights::default())
    }

    /// An oracle with other weights than the usual ones.
    #[must_use]
    pub fn with_weights(effort: Effort, weights: TogyzWeights) -> Self {
        Self { search: AlphaBeta::new(1 << 16), effort, weights }
    }
}

impl Oracle for TogyzOracle {
    fn identity(&self) -> Identity {
        let Effort { depth, nodes } = self.effort;
        Identity::ours("togyz-alphabeta", format!("depth={depth} nodes={nodes} weights={}", self.weights))
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, rules == Rules::Togyz)
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let Position::Togyz(position) = position else {
            return Err(OracleError::WrongGame { oracle: self.identity().name, rules: position.rules() });
        };
        refuse_finished(position)?;
        let weights = self.weights;
        let estimate = |position: &Togyz| weights.estimate(position);
        let values = self.search.values(position, self.effort, &estimate);
        let moves = values.into_iter().map(|(mv, value)| {
            let score = if value.abs() == WON {
                Score::Solved(value.signum())
            } else {
                Score::Margin(value as f32 / UNIT as f32)
            };
            RankedMove::new(Rules::Togyz, mv, score, None)
        });
        Ok(Ranking { moves: moves.collect() })
    }
}
