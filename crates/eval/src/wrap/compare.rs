//! Asks two evaluators, answers with the first, counts where they differ.

use crate::{BestAction, Evaluation, Evaluator, MoveValue, Replies, Reply, Request, Verdict};
use mavis_game::{Move, Position};
use std::sync::{Arc, Mutex, PoisonError};

/// Two evaluators behind one face; clones share the counts.
#[derive(Clone, Debug)]
pub struct Compare<A, B> {
    first: A,
    second: B,
    agreement: Arc<Mutex<Agreement>>,
}

/// Where two evaluators agree.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Agreement {
    /// Requests both were asked.
    pub requests: u64,
    /// Requests only one of them could answer.
    pub one_failed: u64,
    /// Answers of the same kind: the same outcome, or moves from both.
    pub same_verdict: u64,
    /// Answers with the same state.
    pub same_state: u64,
    /// Lists with the same set of moves.
    pub same_moves: u64,
    /// Lists with the same best move by mean value.
    pub same_best: u64,
    /// Lists compared, for the two above.
    pub lists: u64,
    /// Moves in both lists.
    pub common_moves: u64,
    /// Sum of the absolute differences of mean values over the common moves.
    pub difference: f64,
}

impl Agreement {
    /// The mean absolute difference of values; `None` before the first common move.
    #[must_use]
    pub fn mean_difference(&self) -> Option<f64> {
        (self.common_moves > 0).then(|| self.difference / self.common_moves as f64)
    }

    fn add(&mut self, first: &Reply, second: &Reply) {
        self.requests += 1;
        let (Ok(first), Ok(second)) = (first, second) else {
            self.one_failed += u64::from(first.is_ok() != second.is_ok());
            return;
        };
        self.same_state += u64::from(first.state == second.state);
        match (&first.verdict, &second.verdict) {
            (Verdict::Ended(one), Verdict::Ended(other)) => self.same_verdict += u64::from(one == other),
            (Verdict::Moves(one), Verdict::Moves(other)) => {
                self.same_verdict += 1;
                self.add_lists(one, other);
            }
            _ => {}
        }
    }

    fn add_lists(&mut self, one: &[MoveValue], other: &[MoveValue]) {
        self.lists += 1;
        let mut n_common = 0;
        for first in one {
            if let Some(second) = other.iter().find(|second| second.mv == first.mv) {
                n_common += 1;
                self.difference += f64::from((first.value.mean - second.value.mean).abs());
            }
        }
        self.common_moves += n_common as u64;
        self.same_moves += u64::from(n_common == one.len() && one.len() == other.len());
        self.same_best += u64::from(best(one).is_some() && best(one) == best(other));
    }
}

fn best(moves: &[MoveValue]) -> Option<Move> {
    let better = |a: &&MoveValue, b: &&MoveValue| a.value.mean.total_cmp(&b.value.mean).then(b.mv.cmp(&a.mv));
    moves.iter().max_by(better).map(|best| best.mv)
}

impl<A, B> Compare<A, B> {
    /// Answers with `first`, compares with `second`.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second, agreement: Arc::default() }
    }

    /// The counts so far.
    #[must_use]
    pub fn agreement(&self) -> Agreement {
        *self.agreement.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Evaluator, B: Evaluator> Evaluator for Compare<A, B> {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let first = self.first.evaluate(requests.clone());
        let second = self.second.evaluate(requests);
        let agreement = self.agreement.clone();
        Box::pin(async move {
            let (first, second): (Vec<Reply>, Vec<Reply>) = tokio::join!(first, second);
            let mut agreement = agreement.lock().unwrap_or_else(PoisonError::into_inner);
            for (one, other) in first.iter().zip(&second) {
                agreement.add(one, other);
            }
            drop(agreement);
            first
        })
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        self.first.best_action(state, listed)
    }

    fn describe(&self) -> String {
        format!("{} compared with {}", self.first.describe(), self.second.describe())
    }
}

impl Evaluation {
    /// The move with the best mean value, the lowest code of equals; `None` once the game is over.
    #[must_use]
    pub fn best_move(&self) -> Option<Move> {
        match &self.verdict {
            Verdict::Ended(_) => None,
            Verdict::Moves(moves) => best(moves),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mistaken, Mistakes, Scripted};
    use mavis_game::{Position, Rules};

    #[tokio::test]
    async fn equals_agree_and_others_do_not() {
        let start = Arc::new(Position::start(Rules::Connect4));
        let requests: Vec<Request> =
            (0..7).map(|column| Request::child(start.clone(), Move(column))).collect();
        let same = Compare::new(Scripted::new(5), Scripted::new(5));
        same.evaluate(requests.clone()).await;
        let counts = same.agreement();
        assert_eq!((counts.same_best, counts.same_moves, counts.mean_difference()), (7, 7, Some(0.0)));
        let mistakes = Mistakes { missing_move: 1.0, ..Default::default() };
        let other = Compare::new(Scripted::new(5), Mistaken::new(Scripted::new(6), mistakes));
        other.evaluate(requests).await;
        assert_eq!((other.agreement().same_moves, other.agreement().common_moves), (0, 42));
        assert!(other.agreement().mean_difference() > Some(0.05));
    }
}
