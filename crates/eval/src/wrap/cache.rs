//! A bounded cache by request key.

use crate::{BestAction, Evaluation, Evaluator, MoveValue, Replies, Request, Verdict};
use mavis_game::{Game as _, Position};
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Remembers answers by the key of the position (and move).
///
/// Keys look at the board, not at history or move counters. Ends of games may hang on both, so only lists of moves are
/// remembered; failures and hallucinations are not. The cache holds between `capacity / 2` and `capacity` answers: it
/// fills one half, then forgets the older half.
#[derive(Clone, Debug)]
pub struct Cache<E> {
    inner: E,
    store: Arc<Store>,
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
struct Store {
    halves: Mutex<Halves>,
    half_capacity: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

type Map = HashMap<u64, Arc<(Request, Evaluation)>, BuildHasherDefault<KeyIsHash>>;

#[derive(Debug, Default)]
struct Halves {
    young: Map,
    old: Map,
}

/// Position keys are spread over 64 bits already.
#[derive(Clone, Copy, Default, Debug)]
struct KeyIsHash(u64);

impl Hasher for KeyIsHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl<E> Cache<E> {
    /// Remembers up to `capacity` answers of `inner`.
    pub fn new(inner: E, capacity: usize) -> Self {
        let store = Store {
            halves: Mutex::default(),
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

impl Store {
    fn lock(&self) -> MutexGuard<'_, Halves> {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, request: &Request) -> Option<Evaluation> {
        let key = cache_key(request);
        let mut halves = self.lock();
        let known = match halves.young.get(&key) {
            Some(known) => known.clone(),
            None => {
                // What is asked for again moves to the young half and stays.
                let known = halves.old.remove(&key)?;
                halves.young.insert(key, known.clone());
                known
            }
        };
        drop(halves);
        // Two positions may share a key; the stored request tells.
        (known.0 == *request).then(|| known.1.clone())
    }

    fn remember(&self, request: Request, evaluation: Evaluation) {
        let mut halves = self.lock();
        if halves.young.len() >= self.half_capacity {
            halves.old = std::mem::take(&mut halves.young);
        }
        halves.young.insert(cache_key(&request), Arc::new((request, evaluation)));
    }
}

/// The request's key and its game: equal boards of different games must not meet.
fn cache_key(request: &Request) -> u64 {
    let game = request.rules().name().bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    request.key().wrapping_add(game.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl<E: Evaluator> Evaluator for Cache<E> {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let known: Vec<Option<Evaluation>> = requests.iter().map(|request| self.find(request)).collect();
        let missing: Vec<Request> = requests
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(request, _)| request.clone())
            .collect();
        self.store.hits.fetch_add((requests.len() - missing.len()) as u64, Ordering::Relaxed);
        self.store.misses.fetch_add(missing.len() as u64, Ordering::Relaxed);
        if missing.is_empty() {
            return crate::ready(known.into_iter().flatten().map(Ok).collect());
        }
        let replies = self.inner.evaluate(missing.clone());
        let store = self.store.clone();
        Box::pin(async move {
            let replies = replies.await;
            for (request, reply) in missing.into_iter().zip(&replies) {
                if let Ok(evaluation @ Evaluation { verdict: Verdict::Moves(_), .. }) = reply {
                    store.remember(request, evaluation.clone());
                }
            }
            let mut replies = replies.into_iter();
            let failed = || Err(crate::EvalError::Failed("no reply to a request".to_owned()));
            known
                .into_iter()
                .map(|known| known.map_or_else(|| replies.next().unwrap_or_else(failed), Ok))
                .collect()
        })
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        self.inner.best_action(state, listed)
    }

    fn describe(&self) -> String {
        format!("{}, cached", self.inner.describe())
    }
}

impl<E> Cache<E> {
    /// A remembered answer, with the asked state (and its history) in place of the remembered one.
    fn find(&self, request: &Request) -> Option<Evaluation> {
        let mut evaluation = self.store.find(request)?;
        if let Request::State(state) = request {
            evaluation.state = state.clone();
        }
        still_running(request, &evaluation.state).then_some(evaluation)
    }
}

/// Whether the rules have not ended the game by history, which a key does not see.
fn still_running(request: &Request, state: &Position) -> bool {
    matches!(request, Request::Child { .. }) || state.outcome().is_none()
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
            cache.evaluate_one(Request::State(start.clone())).await,
            cache.evaluate_one(requests[0].clone()).await
        );
    }
}
