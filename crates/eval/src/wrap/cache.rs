//! A bounded cache of answers.

use crate::{BestAction, EndOrMoves, Evaluation, Evaluator, MoveValue, OneReply, Replies, Reply, Request};
use mavis_game::{Game, Position};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Remembers answers by everything that a request says of its position: the board, whose turn it is, rights and move
/// counters, so that a remembered answer is the one that would be given.
///
/// The history of the game is in no request, yet may end it, so only lists of moves are remembered; failures and
/// hallucinations are not. The cache holds between `capacity / 2` and `capacity` answers: it fills one half, then forgets
/// the older half.
#[derive(Clone, Debug)]
pub struct Cache<E, G = Position> {
    inner: E,
    store: Arc<Store<G>>,
}

/// How a cache has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CacheCounts {
    /// Requests answered from memory.
    pub hits: u64,
    /// Requests passed on.
    pub misses: u64,
    /// Answers held now.
    pub size: usize,
}

#[derive(Debug)]
struct Store<G> {
    halves: Mutex<Halves<G>>,
    half_capacity: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

type Map<G> = HashMap<String, Arc<Evaluation<G>>>;

#[derive(Debug)]
struct Halves<G> {
    young: Map<G>,
    old: Map<G>,
}

impl<E, G: Game> Cache<E, G> {
    /// Remembers up to `capacity` answers of `inner`.
    pub fn new(inner: E, capacity: usize) -> Self {
        let store = Store {
            halves: Mutex::new(Halves { young: Map::new(), old: Map::new() }),
            half_capacity: (capacity / 2).max(1),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        };
        Self { inner, store: Arc::new(store) }
    }

    /// Hits, misses and size so far.
    #[must_use]
    pub fn counts(&self) -> CacheCounts {
        let halves = self.store.lock();
        CacheCounts {
            hits: self.store.hits.load(Ordering::Relaxed),
            misses: self.store.misses.load(Ordering::Relaxed),
            size: halves.young.len() + halves.old.len(),
        }
    }
}

impl<G: Game> Store<G> {
    fn lock(&self) -> MutexGuard<'_, Halves<G>> {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &str) -> Option<Arc<Evaluation<G>>> {
        let mut halves = self.lock();
        if let Some(known) = halves.young.get(key) {
            return Some(known.clone());
        }
        // What is asked for again moves to the young half and stays.
        let (key, known) = halves.old.remove_entry(key)?;
        halves.young.insert(key, known.clone());
        Some(known)
    }

    /// Keeps a list of moves.
    fn remember(&self, key: String, reply: &Reply<G>) {
        let Ok(evaluation @ Evaluation { content: EndOrMoves::Moves(_), .. }) = reply else { return };
        let known = Arc::new(evaluation.clone());
        let mut halves = self.lock();
        if halves.young.len() >= self.half_capacity {
            halves.old = std::mem::take(&mut halves.young);
        }
        halves.young.insert(key, known);
    }

    /// A remembered answer, with the asked state (and its history) in place of the remembered one.
    fn answer(&self, key: &str, request: &Request<G>) -> Option<Evaluation<G>> {
        let mut evaluation = Evaluation::clone(&*self.find(key)?);
        if let Request::State { position, .. } = request {
            evaluation.state = position.clone();
        }
        still_running(request, &evaluation.state).then_some(evaluation)
    }
}

/// Everything a request says: the game, the state as text with its counters, and the move.
fn cache_key<G: Game>(request: &Request<G>) -> String {
    match request {
        Request::State { position, .. } => format!("{} {position}", position.rules()),
        Request::Child { parent, mv } => format!("{} {parent} +{}", parent.rules(), mv.0),
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Cache<E, G> {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        let replies = self.evaluate_each(requests);
        Box::pin(async move {
            let mut all = Vec::with_capacity(replies.len());
            for reply in replies {
                all.push(reply.await);
            }
            all
        })
    }

    fn evaluate_each(&self, requests: Vec<Request<G>>) -> Vec<OneReply<G>> {
        let keys: Vec<String> = requests.iter().map(cache_key).collect();
        let known: Vec<Option<Evaluation<G>>> =
            keys.iter().zip(&requests).map(|(key, request)| self.store.answer(key, request)).collect();
        let missing: Vec<Request<G>> =
            requests.into_iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(it, _)| it).collect();
        self.store.hits.fetch_add((known.len() - missing.len()) as u64, Ordering::Relaxed);
        self.store.misses.fetch_add(missing.len() as u64, Ordering::Relaxed);
        let mut asked =
            if missing.is_empty() { Vec::new() } else { self.inner.evaluate_each(missing) }.into_iter();
        let reply = |(known, key): (Option<Evaluation<G>>, String)| -> OneReply<G> {
            let Some(reply) = known.is_none().then(|| asked.next()).flatten() else {
                let failed = || Err(crate::EvalError::Failed("no reply to a request".to_owned()));
                return Box::pin(std::future::ready(known.map_or_else(failed, Ok)));
            };
            let store = self.store.clone();
            Box::pin(async move {
                let reply = reply.await;
                store.remember(key, &reply);
                reply
            })
        };
        known.into_iter().zip(keys).map(reply).collect()
    }

    fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
        self.inner.best_action(state, listed)
    }

    fn concurrent_batches(&self) -> usize {
        self.inner.concurrent_batches()
    }

    fn describe(&self) -> String {
        format!("{}, cached", self.inner.describe())
    }
}

/// Whether the rules have not ended the game by history, which a key does not see.
fn still_running<G: Game>(request: &Request<G>, state: &G) -> bool {
    matches!(request, Request::Child { .. }) || request.end(state).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, Scripted};
    use mavis_game::{Move, Rules};

    #[tokio::test]
    async fn the_second_answer_comes_from_memory_and_size_is_bounded() {
        let recorder = Recorder::new(Scripted::new(3));
        let cache = Cache::new(recorder.clone(), 8);
        let start = Arc::new(Position::start(Rules::Connect4));
        let requests: Vec<Request> =
            (0..7).map(|column| Request::child(start.clone(), Move(column))).collect();
        let first = cache.evaluate(requests[..3].to_vec()).await;
        let second = cache.evaluate(requests[..3].to_vec()).await;
        assert_eq!(first, second);
        assert_eq!(cache.counts(), CacheCounts { hits: 3, misses: 3, size: 3 });
        for _ in 0..3 {
            cache.evaluate(requests.clone()).await;
            assert!(cache.counts().size <= 8);
        }
        assert_ne!(
            cache.evaluate_one(Request::state(start.clone())).await,
            cache.evaluate_one(requests[0].clone()).await
        );
    }

    /// Move counters are part of what a model reads, so positions that differ in them alone are not one.
    #[tokio::test]
    async fn counters_tell_positions_apart() {
        let position = |text: &str| Request::state(Position::parse(Rules::Chess, text).unwrap());
        let board = "8/8/4k3/8/8/4K3/4R3/8 w - -";
        let cache = Cache::new(Scripted::new(3), 8);
        for counters in ["0 40", "60 40", "0 41"] {
            let asked = cache.evaluate_one(position(&format!("{board} {counters}"))).await.unwrap();
            assert_eq!(asked.state.to_string(), format!("{board} {counters}"));
        }
        assert_eq!(cache.counts(), CacheCounts { hits: 0, misses: 3, size: 3 });
        cache.evaluate_one(position(&format!("{board} 60 40"))).await.unwrap();
        assert_eq!(cache.counts().hits, 1);
    }
}
