//! The trait.

use crate::{EvalError, MoveValue, Reply, Request};
use mavis_game::{Game, Move, Position};
use mavis_value::Scoring;
use std::{future::Future, pin::Pin, sync::Arc};

/// Replies under way, one for each request, in their order. Dropping it cancels the work.
pub type Replies<G = Position> = Pin<Box<dyn Future<Output = Vec<Reply<G>>> + Send>>;

/// One reply under way. Dropping it cancels the work.
pub type OneReply<G = Position> = Pin<Box<dyn Future<Output = Reply<G>> + Send>>;

/// A choice under way: a move, or `None` from an evaluator that has no choice beyond its values. Dropping it cancels the
/// work.
pub type BestAction = Pin<Box<dyn Future<Output = Result<Option<Move>, EvalError>> + Send>>;

/// Takes the moves of a state with their win probabilities.
pub type TakeMoves<'a> = dyn FnMut(&[(Move, f32)]) + 'a;

/// Anything that can say what moves are worth.
///
/// `G` is the game it evaluates; without it the trait is about the six games of [`Position`].
///
/// Implementations answer every request, in order; trouble is part of the reply. The future does not borrow the
/// evaluator, so that a search can keep many of them.
pub trait Evaluator<G: Game = Position>: Send + Sync {
    /// Begins to answer a batch.
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G>;

    /// What it is, in a few words, for reports.
    fn describe(&self) -> String;

    /// Chooses among moves it has listed for a state, with the list as context: the `%best_action` of the language, which
    /// distinguishes what the values do not, such as the quickest of several certain wins.
    ///
    /// Evaluators that know nothing beyond their values choose nothing.
    fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
        drop((state, listed));
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Puts the legal moves of a state that is not over, in their order and with their win probabilities, into an empty list, and
    /// says whether it did: `false` from an evaluator whose answers have to be waited for.
    ///
    /// It agrees with [`Evaluator::evaluate`]; a search that may call this needs no future for each of its simulations.
    fn at_once(&self, state: &G, scoring: Scoring, moves: &mut Vec<(Move, f32)>) -> bool {
        let _ = (state, scoring, moves);
        false
    }

    /// The same for states that are ready together: `take` gets the moves of each, in order, as far as all before it have been
    /// answered. Returns how many that were.
    fn all_at_once(&self, states: &[&G], scoring: Scoring, take: &mut TakeMoves<'_>) -> usize {
        let mut moves = Vec::new();
        for (n, state) in states.iter().enumerate() {
            moves.clear();
            if !self.at_once(state, scoring, &mut moves) {
                return n;
            }
            take(&moves);
        }
        states.len()
    }

    /// Batches that it works on at the same time. A search that has as many under way prepares one while it evaluates others.
    fn concurrent_batches(&self) -> usize {
        1
    }

    /// Answers one request.
    fn evaluate_one(&self, request: Request<G>) -> OneReply<G> {
        let replies = self.evaluate(vec![request]);
        Box::pin(async move {
            replies.await.pop().unwrap_or_else(|| Err(EvalError::Failed("no reply to a request".to_owned())))
        })
    }

    /// Begins to answer requests that are ready together, each with a reply of its own that comes and can be cancelled
    /// without the others.
    ///
    /// Evaluators that work in batches see that the requests belong together; for others they are single ones.
    fn evaluate_each(&self, requests: Vec<Request<G>>) -> Vec<OneReply<G>> {
        requests.into_iter().map(|request| self.evaluate_one(request)).collect()
    }
}

/// Replies that are there already.
#[must_use]
pub fn ready<G: Game>(replies: Vec<Reply<G>>) -> Replies<G> {
    Box::pin(std::future::ready(replies))
}

/// An evaluator behind a pointer is one.
macro_rules! behind {
    ($pointer:ident) => {
        impl<G: Game, E: Evaluator<G> + ?Sized> Evaluator<G> for $pointer<E> {
            fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
                (**self).evaluate(requests)
            }

            fn evaluate_each(&self, requests: Vec<Request<G>>) -> Vec<OneReply<G>> {
                (**self).evaluate_each(requests)
            }

            fn at_once(&self, state: &G, scoring: Scoring, moves: &mut Vec<(Move, f32)>) -> bool {
                (**self).at_once(state, scoring, moves)
            }

            fn all_at_once(&self, states: &[&G], scoring: Scoring, take: &mut TakeMoves<'_>) -> usize {
                (**self).all_at_once(states, scoring, take)
            }

            fn concurrent_batches(&self) -> usize {
                (**self).concurrent_batches()
            }

            fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
                (**self).best_action(state, listed)
            }

            fn describe(&self) -> String {
                (**self).describe()
            }
        }
    };
}

behind!(Arc);
behind!(Box);
