//! One definition of each metric of answers; whoever measures, a command, a training run or a league, takes it from here.
//!
//! The headline is what paper 002 defines (section 2.4); the other definition has its own name beside it.
//!
//! | metric | definition | beside it |
//! |---|---|---|
//! | action accuracy | [`ActionSample::is_oracle_move`]: the chosen move is the oracle's own choice | co-best accuracy, [`ActionSample::is_co_best`]: no move has a higher annotated value |
//! | Kendall's tau | [`ActionSample::tau`]: tau-b of one position, averaged over positions where it is defined | |
//! | puzzles solved | [`PuzzleResult::is_solved`]: every move is the listed one | [`PuzzleResult::is_solved_or_mates`]: a mate other than the listed move counts as well |
//! | regret | [`ActionSample::regret`]: win probability given away by the chosen move, averaged over positions | |
//! | value error | [`ActionSample::value_error`]: mean absolute error over the moves of one position, averaged over positions | value error by move: averaged over all moves of all positions, [`ActionSample::value_errors`] |
//!
//! Values are compared exactly: annotations come from one table, so equal values are equal numbers.

use crate::kendall_tau_b;
use mavis_game::{EndReason, Game, Move, Outcome, Position};

/// One position: what an annotation says, and what was answered. Values are win probabilities of the mover, 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ActionSample {
    /// What bands are made of: the ply, or the number of legal moves.
    pub at: f64,
    /// The annotated value of every legal move.
    pub annotated: Vec<(Move, f64)>,
    /// The oracle's own choice, one of the moves with the highest value; `None` where the annotation has none.
    pub best: Option<Move>,
    /// The move that was chosen; `None` for no legal one.
    pub chosen: Option<Move>,
    /// Predicted values of moves, as far as there are any.
    pub predicted: Vec<(Move, f64)>,
    /// What ranks the moves where they have no values: probabilities of being the best.
    pub ranking: Vec<(Move, f64)>,
}

impl ActionSample {
    /// Whether the choice is exactly the oracle's, which is what action accuracy counts; `None` where the oracle has none.
    #[must_use]
    pub fn is_oracle_move(&self) -> Option<bool> {
        self.best.map(|best| self.chosen == Some(best))
    }

    /// Whether no move has a higher annotated value than the chosen one.
    #[must_use]
    pub fn is_co_best(&self) -> bool {
        self.regret().is_some_and(|regret| regret <= 0.0)
    }

    /// How much worse the choice is than the best move; the value of the best move where no legal one was chosen.
    /// `None` without annotations.
    #[must_use]
    pub fn regret(&self) -> Option<f64> {
        let best = self.annotated.iter().map(|(_, value)| *value).reduce(f64::max)?;
        let chosen = self.chosen.and_then(|mv| self.annotated_value(mv)).unwrap_or(0.0);
        Some(best - chosen)
    }

    /// Mean absolute difference of predicted and annotated values over the moves that have both.
    #[must_use]
    pub fn value_error(&self) -> Option<f64> {
        let errors = self.value_errors();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }

    /// The absolute difference of predicted and annotated value of each move that has both.
    #[must_use]
    pub fn value_errors(&self) -> Vec<f64> {
        self.pairs(&self.predicted)
            .into_iter()
            .map(|(predicted, annotated)| (predicted - annotated).abs())
            .collect()
    }

    /// Kendall's tau-b of predicted and annotated values over moves that have both; of the ranking where nothing is
    /// predicted. `None` where either side is all one value.
    #[must_use]
    pub fn tau(&self) -> Option<f64> {
        let scores = if self.predicted.is_empty() { &self.ranking } else { &self.predicted };
        kendall_tau_b(&self.pairs(scores))
    }

    fn annotated_value(&self, mv: Move) -> Option<f64> {
        self.annotated.iter().find(|(known, _)| *known == mv).map(|(_, value)| *value)
    }

    fn pairs(&self, scores: &[(Move, f64)]) -> Vec<(f64, f64)> {
        scores
            .iter()
            .filter_map(|&(mv, predicted)| self.annotated_value(mv).map(|annotated| (predicted, annotated)))
            .collect()
    }
}

/// How a puzzle went, move by move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PuzzleResult {
    /// Its difficulty, where it is known.
    pub rating: Option<f64>,
    /// Moves of the solution.
    pub n_moves: usize,
    /// Moves of it that were found before the first other one.
    pub n_right: usize,
    /// Whether the first other move mates.
    pub other_mate: bool,
}

impl PuzzleResult {
    /// Nothing played yet.
    #[must_use]
    pub fn begin(rating: Option<f64>, n_moves: usize) -> Self {
        Self { rating, n_moves, n_right: 0, other_mate: false }
    }

    /// Counts the choice in the next position; whether the puzzle continues.
    pub fn add(&mut self, position: &Position, listed: Move, chosen: Option<Move>) -> bool {
        let is_right = chosen == Some(listed);
        self.n_right += usize::from(is_right);
        self.other_mate = !is_right && chosen.is_some_and(|mv| mates(position, mv));
        is_right
    }

    /// Whether every move is the listed one.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.n_right == self.n_moves
    }

    /// Whether every move is the listed one, or mates at once.
    #[must_use]
    pub fn is_solved_or_mates(&self) -> bool {
        self.is_solved() || self.other_mate
    }

    /// Whether the first move is the listed one.
    #[must_use]
    pub fn is_first_right(&self) -> bool {
        self.n_right > 0
    }
}

fn mates(position: &Position, mv: Move) -> bool {
    let mut next = position.clone();
    let side = position.side_to_move();
    next.play(mv).is_ok()
        && next.outcome() == Some(Outcome::Win(side))
        && next.end_reason() == Some(EndReason::Checkmate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::Rules;

    fn sample(best: u16, chosen: u16) -> ActionSample {
        ActionSample {
            at: 0.0,
            annotated: vec![(Move(1), 0.9), (Move(2), 0.9), (Move(3), 0.4)],
            best: Some(Move(best)),
            chosen: Some(Move(chosen)),
            predicted: vec![(Move(1), 0.8), (Move(2), 0.9), (Move(3), 0.1)],
            ranking: Vec::new(),
        }
    }

    #[test]
    fn accuracy_is_the_oracles_move_and_a_co_best_move_counts_apart() {
        assert_eq!((sample(1, 1).is_oracle_move(), sample(1, 1).is_co_best()), (Some(true), true));
        assert_eq!((sample(1, 2).is_oracle_move(), sample(1, 2).is_co_best()), (Some(false), true));
        assert_eq!((sample(1, 3).is_oracle_move(), sample(1, 3).is_co_best()), (Some(false), false));
        assert_eq!(sample(1, 3).regret(), Some(0.5));
        assert_eq!(ActionSample { best: None, ..sample(1, 1) }.is_oracle_move(), None);
        let illegal = ActionSample { chosen: None, ..sample(1, 1) };
        assert_eq!((illegal.is_oracle_move(), illegal.regret()), (Some(false), Some(0.9)));
    }

    #[test]
    fn errors_are_by_position_and_by_move() {
        let errors = sample(1, 1).value_errors();
        assert!(errors.iter().zip([0.1, 0.0, 0.3]).all(|(error, expected)| (error - expected).abs() < 1e-12));
        assert!((sample(1, 1).value_error().unwrap() - 0.4 / 3.0).abs() < 1e-12);
        // Two concordant pairs of three; the annotation ties one pair.
        assert!((sample(1, 1).tau().unwrap() - 2.0 / 6.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn another_mate_is_not_the_listed_solution() {
        // Both rooks mate on the back rank.
        let position = Position::parse(Rules::Chess, "6k1/5ppp/8/8/8/8/5PPP/RR4K1 w - - 0 1").unwrap();
        let mv = |text: &str| position.clone().play_text(text).unwrap();
        let (listed, mate, other) = (mv("a1a8"), mv("b1b8"), mv("h2h3"));
        let play = |chosen| {
            let mut result = PuzzleResult::begin(None, 1);
            assert_eq!(result.add(&position, listed, chosen), chosen == Some(listed));
            result
        };
        let kinds =
            |result: PuzzleResult| (result.is_solved(), result.is_solved_or_mates(), result.is_first_right());
        assert_eq!(kinds(play(Some(listed))), (true, true, true));
        assert_eq!(kinds(play(Some(mate))), (false, true, false));
        assert_eq!(kinds(play(Some(other))), (false, false, false));
        assert_eq!(kinds(play(None)), (false, false, false));
    }
}
