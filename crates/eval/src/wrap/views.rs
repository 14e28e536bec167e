//! The average of an evaluator over views of each position.

use crate::{
    BestAction, EndOrMoves, EvalError, Evaluation, Evaluator, MoveValue, OneReply, Replies, Reply, Request,
    Value,
};
use mavis_game::{Game, Move};
use mavis_value::{Distribution, N_BUCKETS, Scoring};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

/// An evaluator that asks another one about the position and its other views (`Game::view`), all in one batch, and averages
/// the values of each move.
///
/// States, ends and legal moves are those of the rules, so it is not for evaluators that play without them. A move that no
/// view lists is left out, and so is an illegal one; one that some list has the average over these. Distributions are averaged
/// with the same weight each, so that mean and max scoring read the average. A view that is answered with a hallucination does
/// not count; any other error is the answer.
///
/// Requests for ends and illegal moves, and for positions with one view, are passed on as they are.
/// Put it before a [`Cache`](crate::Cache): then each view is remembered, for players with any number of views.
#[derive(Clone, Debug)]
pub struct Views<E> {
    inner: E,
    most: usize,
}

impl<E> Views<E> {
    /// Averages `inner` over the first `most` views of a position, or as many as it has; 1 changes nothing.
    pub fn new(inner: E, most: usize) -> Self {
        Self { inner, most }
    }

    /// Appends what has to be asked to answer a request; `None` if that is the request itself.
    fn split<G: Game>(&self, request: Request<G>, asked: &mut Vec<Request<G>>) -> Option<Averaging<G>> {
        let running = request.by_rules().filter(|state| request.end(state).is_none());
        let others = running.iter().flat_map(|state| {
            let there = (1..state.n_views()).filter_map(|number| Some((number, state.view(number)?)));
            there.take(self.most.saturating_sub(1))
        });
        let (mut numbers, views): (Vec<usize>, Vec<G>) = others.unzip();
        let Some(state) = running.filter(|_| !views.is_empty()) else {
            asked.push(request);
            return None;
        };
        numbers.insert(0, 0);
        let legal = request.legal(&state);
        asked.push(Request::State { position: state.clone(), legal: Some(legal.clone()) });
        asked.extend(views.into_iter().map(Request::running));
        Some(Averaging { state, legal, numbers })
    }

    /// What has to be asked to answer several requests, and for each how much of it and how it is averaged.
    fn split_all<G: Game>(&self, requests: Vec<Request<G>>) -> (Vec<Request<G>>, Vec<Part<G>>) {
        let mut asked = Vec::new();
        let split = |request| {
            let before = asked.len();
            let averaging = self.split(request, &mut asked);
            Part { n_asked: asked.len() - before, averaging }
        };
        let parts = requests.into_iter().map(split).collect();
        (asked, parts)
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Views<E> {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        let (asked, parts) = self.split_all(requests);
        let replies = self.inner.evaluate(asked);
        Box::pin(async move {
            let mut replies = replies.await.into_iter();
            parts.into_iter().map(|part| part.reply(&mut replies)).collect()
        })
    }

    fn evaluate_each(&self, requests: Vec<Request<G>>) -> Vec<OneReply<G>> {
        let (asked, parts) = self.split_all(requests);
        let mut replies = self.inner.evaluate_each(asked).into_iter();
        let reply = |part: Part<G>| -> OneReply<G> {
            let own: Vec<OneReply<G>> = replies.by_ref().take(part.n_asked).collect();
            Box::pin(async move { part.reply(&mut all(own).await.into_iter()) })
        };
        parts.into_iter().map(reply).collect()
    }

    /// The choice of the evaluator for the position as it is.
    fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
        self.inner.best_action(state, listed)
    }

    fn concurrent_batches(&self) -> usize {
        self.inner.concurrent_batches()
    }

    fn describe(&self) -> String {
        format!("{}, views={}", self.inner.describe(), self.most)
    }
}

/// Waits for several replies that are under way at the same time.
async fn all<G>(mut pending: Vec<OneReply<G>>) -> Vec<Reply<G>> {
    let mut replies: Vec<Option<Reply<G>>> = pending.iter().map(|_| None).collect();
    let poll = |context: &mut Context<'_>| {
        for (reply, future) in replies.iter_mut().zip(&mut pending) {
            if reply.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *reply = Some(ready);
            }
        }
        if replies.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    };
    poll_fn(poll).await;
    replies.into_iter().flatten().collect()
}

/// The part of what is asked that belongs to one request.
struct Part<G> {
    n_asked: usize,
    /// `None` means that the request itself is asked.
    averaging: Option<Averaging<G>>,
}

impl<G: Game> Part<G> {
    /// Takes its replies from the front.
    fn reply(self, replies: &mut impl Iterator<Item = Reply<G>>) -> Reply<G> {
        let own = replies.take(self.n_asked);
        match self.averaging {
            Some(averaging) => averaging.average(own),
            None => own.last().unwrap_or_else(missing),
        }
    }
}

fn missing<G>() -> Reply<G> {
    Err(EvalError::Failed("no reply to a request".to_owned()))
}

/// A running position with what is needed to average the answers about its views.
struct Averaging<G> {
    state: Arc<G>,
    /// Its legal moves in the order of the rules.
    legal: Arc<[Move]>,
    /// The numbers of the views that are asked, the position itself first.
    numbers: Vec<usize>,
}

impl<G: Game> Averaging<G> {
    fn average(self, replies: impl Iterator<Item = Reply<G>>) -> Reply<G> {
        let mut sums = vec![Sum::default(); self.legal.len()];
        let (mut n_lists, mut without_list) = (0, None);
        for (&number, reply) in self.numbers.iter().zip(replies) {
            match reply {
                Ok(Evaluation { content: EndOrMoves::Moves(moves), .. }) => {
                    n_lists += 1;
                    let places = self.places(number);
                    for MoveValue { mv, value } in &moves {
                        if let Some(&place) = places.get(mv) {
                            sums[place].add(value);
                        }
                    }
                }
                // The game is not over, so this is a mistake in good form.
                Ok(_) | Err(EvalError::Hallucination { .. }) => {
                    without_list.get_or_insert(reply);
                }
                Err(EvalError::Failed(_) | EvalError::Broken(_)) => return reply,
            }
        }
        if n_lists == 0 {
            // The first is about the position itself, so nothing in it has to be translated.
            return without_list.unwrap_or_else(missing);
        }
        let content = EndOrMoves::Moves(self.moves(&sums));
        Ok(Evaluation { state: self.state, content })
    }

    /// Where the moves of a view stand among the legal ones.
    fn places(&self, number: usize) -> HashMap<Move, usize> {
        let seen = |mv: &Move| if number == 0 { *mv } else { self.state.move_in_view(number, *mv) };
        self.legal.iter().enumerate().map(|(place, mv)| (seen(mv), place)).collect()
    }

    /// The moves that a view lists, with their averages.
    fn moves(&self, sums: &[Sum]) -> Vec<MoveValue> {
        let listed = self.legal.iter().zip(sums).filter(|(_, sum)| sum.n > 0);
        let with_distributions = sums.iter().all(|sum| sum.n_distributions == sum.n);
        if with_distributions {
            let (moves, distributions): (Vec<Move>, Vec<Distribution>) =
                listed.map(|(mv, sum)| (*mv, sum.distribution())).unzip();
            let values = Value::of_each(distributions);
            moves.into_iter().zip(values).map(|(mv, value)| MoveValue { mv, value }).collect()
        } else {
            listed.map(|(&mv, sum)| MoveValue { mv, value: sum.value() }).collect()
        }
    }
}

/// The sum of the values of one move.
#[derive(Clone)]
struct Sum {
    n: u16,
    n_distributions: u16,
    mean: f32,
    mode: f32,
    weights: [f32; N_BUCKETS],
}

impl Default for Sum {
    fn default() -> Self {
        Self { n: 0, n_distributions: 0, mean: 0.0, mode: 0.0, weights: [0.0; N_BUCKETS] }
    }
}

impl Sum {
    fn add(&mut self, value: &Value) {
        self.n += 1;
        self.mean += value.win_probability(Scoring::Mean);
        self.mode += value.win_probability(Scoring::Max);
        let Some(distribution) = &value.distribution else { return };
        self.n_distributions += 1;
        let total: f32 = distribution.0.iter().sum();
        if total > 0.0 {
            for (sum, weight) in self.weights.iter_mut().zip(&distribution.0) {
                *sum += weight / total;
            }
        }
    }

    /// The average distribution.
    fn distribution(&self) -> Distribution {
        Distribution(self.weights.map(|weight| weight / f32::from(self.n)))
    }

    /// The average without a distribution.
    fn value(&self) -> Value {
        let n = f32::from(self.n);
        Value { mean: self.mean / n, mode: self.mode / n, distribution: None }
    }
}

#[cfg(test)]
mod tests;
