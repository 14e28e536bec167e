//! What an oracle says of a position.

use mavis_game::{Move, Rules};

pub use mavis_value::Score;

/// An oracle's judgment of every legal move.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranking {
    /// Every legal move once, best first; equals in the order the oracle prefers them.
    pub moves: Vec<RankedMove>,
}

/// The judgment of one move, as the player who makes it sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankedMove {
    /// The move.
    pub mv: Move,
    /// Its score in the oracle's own measure.
    pub score: Score,
    /// Plies from the position judged to the end of the game with best play, where the oracle knows.
    pub plies: Option<u32>,
    /// The mover's win probability after the move.
    pub win_probability: f32,
}

impl RankedMove {
    /// A ranking whose win probability follows from the score.
    #[must_use]
    pub fn new(rules: Rules, mv: Move, score: Score, plies: Option<u32>) -> Self {
        Self { mv, score, plies, win_probability: score.win_probability(rules) }
    }
}

impl Ranking {
    /// The move to play; `None` only for a ranking without moves, which no oracle gives.
    #[must_use]
    pub fn best(&self) -> Option<Move> {
        self.moves.first().map(|entry| entry.mv)
    }

    /// The ranking on one move.
    #[must_use]
    pub fn of(&self, mv: Move) -> Option<&RankedMove> {
        self.moves.iter().find(|entry| entry.mv == mv)
    }

    /// The moves whose score equals the best one's (and whose distance does, where known).
    pub fn optimal(&self) -> impl Iterator<Item = Move> + '_ {
        let best = self.moves.first().copied();
        self.moves
            .iter()
            .filter(move |entry| {
                best.is_some_and(|best| (entry.score, entry.plies) == (best.score, best.plies))
            })
            .map(|entry| entry.mv)
    }

    /// Sorts by win probability, then by what the score says beyond it; equals keep their order.
    pub(crate) fn sorted(mut moves: Vec<RankedMove>) -> Self {
        moves.sort_by(|a, b| b.order().partial_cmp(&a.order()).unwrap_or(std::cmp::Ordering::Equal));
        Self { moves }
    }
}

impl RankedMove {
    /// Greater is better. A mate counts above any centipawns, the faster the better.
    fn order(&self) -> f32 {
        match self.score {
            Score::Centipawns(centipawns) => centipawns as f32,
            Score::Mate(moves) if moves > 0 => 1e6 - moves as f32,
            Score::Mate(moves) => -1e6 - moves as f32,
            Score::Solved(score) => score as f32,
            Score::WinRate(rate) => rate,
            Score::Margin(margin) => margin,
        }
    }
}
