//! Answers in good form and against the rules, as a model that has learned them almost gives.

use super::{mix, unit};
use crate::{BestAction, EndOrMoves, Evaluation, Evaluator, MoveValue, Replies, Reply, Request, Value};
use mavis_game::{Game, Move, Outcome};
use std::sync::Arc;

/// How often a [`Mistaken`] errs: probabilities for each answer, decided by the request's key and the seed.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Mistakes {
    /// How often a legal move is left out (if there are two or more).
    pub missing_move: f64,
    /// How often an illegal move is listed.
    pub illegal_move: f64,
    /// How often a running game is called drawn.
    pub false_end: f64,
    /// How often the state before the move is returned instead of the one after.
    pub stale_state: f64,
    /// Seed of it all.
    pub seed: u64,
}

/// An evaluator that knows the rules imperfectly.
#[derive(Clone, Debug)]
pub struct Mistaken<E> {
    inner: E,
    mistakes: Mistakes,
}

impl<E> Mistaken<E> {
    /// Puts mistakes into the answers of `inner`.
    pub fn new(inner: E, mistakes: Mistakes) -> Self {
        Self { inner, mistakes }
    }
}

impl Mistakes {
    fn spoil<G: Game>(self, request: &Request<G>, reply: Reply<G>) -> Reply<G> {
        let chance = |salt: u64| unit(mix(request.key(), self.seed.wrapping_mul(8).wrapping_add(salt)));
        let Evaluation { mut state, content } = reply?;
        let EndOrMoves::Moves(mut moves) = content else { return Ok(Evaluation { state, content }) };
        if chance(0) < self.false_end {
            return Ok(Evaluation { state, content: EndOrMoves::Ended(Outcome::Draw) });
        }
        if chance(1) < self.missing_move && moves.len() > 1 {
            moves.pop();
        }
        if chance(2) < self.illegal_move
            && let Some(mv) = (0..400).map(Move).find(|&mv| !state.is_legal(mv))
        {
            moves.push(MoveValue { mv, value: Value::certain(0.6) });
        }
        if chance(3) < self.stale_state
            && let Request::Child { parent, .. } = request
        {
            state = parent.clone();
        }
        Ok(Evaluation { state, content: EndOrMoves::Moves(moves) })
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Mistaken<E> {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        let replies = self.inner.evaluate(requests.clone());
        let mistakes = self.mistakes;
        Box::pin(async move {
            let replies = replies.await;
            requests.iter().zip(replies).map(|(request, reply)| mistakes.spoil(request, reply)).collect()
        })
    }

    fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
        self.inner.best_action(state, listed)
    }

    fn concurrent_batches(&self) -> usize {
        self.inner.concurrent_batches()
    }

    fn describe(&self) -> String {
        format!("{} with mistakes", self.inner.describe())
    }
}
