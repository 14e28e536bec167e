//! Othello by alpha-beta: exact discs near the end, an estimate before.

mod board;
mod endgame;
mod estimate;

use crate::alphabeta::{AlphaBeta, Effort, UNIT};
use crate::oracle::{refuse_finished, refuse_other};
use crate::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use board::Board;
use endgame::Endgame;
pub use estimate::{KNOTS, N_FEATURES, OthelloWeights, design};
use mavis_game::{Game, Move, Moves, Othello, Position, Rules};

/// How an Othello position is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OthelloSettings {
    /// Up to this many empty squares every move is solved to the end.
    pub exact_from: u32,
    /// What a search spends before that.
    pub effort: Effort,
}

impl Default for OthelloSettings {
    /// Exact from 16 empty squares, some tenths of a second before.
    fn default() -> Self {
        Self { exact_from: 16, effort: Effort { depth: 10, nodes: 300_000 } }
    }
}

/// Judges Othello positions.
pub struct OthelloOracle {
    settings: OthelloSettings,
    weights: OthelloWeights,
    search: AlphaBeta,
    endgame: Endgame,
}

impl Default for OthelloOracle {
    fn default() -> Self {
        Self::new(OthelloSettings::default())
    }
}

impl OthelloOracle {
    /// An oracle with these settings.
    #[must_use]
    pub fn new(settings: OthelloSettings) -> Self {
        Self::with_weights(settings, OthelloWeights::default())
    }

    /// An oracle with other weights than the usual ones.
    #[must_use]
    pub fn with_weights(settings: OthelloSettings, weights: OthelloWeights) -> Self {
        Self { settings, weights, search: AlphaBeta::new(1 << 17), endgame: Endgame::new(1 << 20) }
    }

    /// Positions searched to the end since the oracle was made.
    #[must_use]
    pub fn n_endgame_nodes(&self) -> u64 {
        self.endgame.n_nodes
    }

    /// The exact difference of discs for the side to move with best play, however many squares are empty.
    pub fn solve(&mut self, position: Othello) -> i32 {
        self.endgame.score(Board { own: position.own(), other: position.opponent() })
    }

    /// A move that keeps the exact score; `None` once the game is over.
    pub fn best_move(&mut self, position: Othello) -> Option<Move> {
        let score = self.solve(position);
        let mut moves = Moves::new();
        position.legal_moves_into(&mut moves);
        moves.into_iter().find(|&mv| {
            let mut next = position;
            next.play_unchecked(mv);
            self.endgame.is_at_most(Board { own: next.own(), other: next.opponent() }, -score)
        })
    }

    /// The exact difference of discs after every legal move, for the player who makes it, best first.
    pub fn solve_moves(&mut self, position: Othello) -> Vec<(Move, i32)> {
        let mut moves = Moves::new();
        position.legal_moves_into(&mut moves);
        let mut scores: Vec<_> = moves
            .into_iter()
            .map(|mv| {
                let mut next = position;
                next.play_unchecked(mv);
                (mv, -self.solve(next))
            })
            .collect();
        scores.sort_by_key(|&(_, score)| -score);
        scores
    }
}

impl Oracle for OthelloOracle {
    fn identity(&self) -> Identity {
        let OthelloSettings { exact_from, effort } = self.settings;
        let settings = format!(
            "exact_from={exact_from} depth={} nodes={} weights={}",
            effort.depth, effort.nodes, self.weights
        );
        Identity::ours("othello-alphabeta", settings)
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, rules == Rules::Othello)
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let &Position::Othello(position) = position else {
            return Err(OracleError::WrongGame { oracle: self.identity().name, rules: position.rules() });
        };
        refuse_finished(&position)?;
        let n_empty = (position.own() | position.opponent()).count_zeros();
        let scores: Vec<(Move, Score)> = if n_empty <= self.settings.exact_from {
            self.solve_moves(position).into_iter().map(|(mv, score)| (mv, Score::Solved(score))).collect()
        } else {
            let weights = self.weights;
            let estimate = |position: &Othello| weights.estimate(position);
            let values = self.search.values(&position, self.settings.effort, &estimate);
            values.into_iter().map(|(mv, value)| (mv, Score::Margin(value as f32 / UNIT as f32))).collect()
        };
        let moves = scores.into_iter().map(|(mv, score)| RankedMove::new(Rules::Othello, mv, score, None));
        Ok(Ranking { moves: moves.collect() })
    }
}
