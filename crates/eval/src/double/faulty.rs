//! Trouble on purpose: latency, failures, hallucinations, answers that never come.

use crate::{BestAction, EvalError, Evaluator, MoveValue, Replies, Request};
use mavis_game::Game;
use mavis_value::Mistake;
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How much trouble a [`Faulty`] makes. Rates are probabilities for each request.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Faults {
    /// The least time a batch takes.
    pub least_latency: Duration,
    /// The most time a batch takes.
    pub most_latency: Duration,
    /// How often a request fails.
    pub failures: f64,
    /// How often the answer is a hallucination.
    pub hallucinations: f64,
    /// How often a whole batch never comes back.
    pub hangs: f64,
    /// Requests after which every further one finds the network broken; `None` means never.
    pub breaks_after: Option<u64>,
    /// Seed of it all.
    pub seed: u64,
}

/// An evaluator that has trouble with another one.
#[derive(Debug)]
pub struct Faulty<E> {
    inner: E,
    faults: Faults,
    random: Mutex<Xoshiro256PlusPlus>,
    n_asked: AtomicU64,
}

impl<E> Faulty<E> {
    /// Puts trouble before `inner`.
    pub fn new(inner: E, faults: Faults) -> Self {
        let random = Mutex::new(Xoshiro256PlusPlus::seed_from_u64(faults.seed));
        Self { inner, faults, random, n_asked: AtomicU64::new(0) }
    }

    /// Counts a request; whether the network is broken by then.
    fn is_broken(&self) -> bool {
        let n_before = self.n_asked.fetch_add(1, Ordering::SeqCst);
        self.faults.breaks_after.is_some_and(|most| n_before >= most)
    }
}

/// What happens to one request.
#[derive(Clone, Copy)]
enum Fault {
    None,
    Failure,
    Hallucination,
    Broken,
}

fn broken() -> EvalError {
    EvalError::Broken("broken on purpose".to_owned())
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Faulty<E> {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        let Faults { least_latency, most_latency, failures, hallucinations, hangs, .. } = self.faults;
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let hang = random.random_bool(hangs);
        let latency = least_latency + most_latency.saturating_sub(least_latency).mul_f64(random.random());
        let draw = |_: &Request<G>| {
            let number: f64 = random.random();
            if self.is_broken() {
                Fault::Broken
            } else if number < failures {
                Fault::Failure
            } else if number < failures + hallucinations {
                Fault::Hallucination
            } else {
                Fault::None
            }
        };
        let drawn: Vec<Fault> = requests.iter().map(draw).collect();
        drop(random);
        let replies = self.inner.evaluate(requests);
        Box::pin(async move {
            if hang {
                std::future::pending::<()>().await;
            }
            if latency > Duration::ZERO {
                tokio::time::sleep(latency).await;
            }
            let troubled = replies.await.into_iter().zip(drawn).map(|(reply, fault)| match fault {
                Fault::None => reply,
                Fault::Failure => Err(EvalError::Failed("on purpose".to_owned())),
                Fault::Broken => Err(broken()),
                Fault::Hallucination => Err(EvalError::hallucination(Mistake::Malformed, "on purpose")),
            });
            troubled.collect()
        })
    }

    /// A choice has the failures and hangs of a request, without its latency, and counts as one.
    fn best_action(&self, state: Arc<G>, listed: Vec<MoveValue>) -> BestAction {
        if self.is_broken() {
            return Box::pin(std::future::ready(Err(broken())));
        }
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let (hangs, fails) =
            (random.random_bool(self.faults.hangs), random.random_bool(self.faults.failures));
        drop(random);
        if hangs {
            return Box::pin(std::future::pending());
        }
        if fails {
            return Box::pin(std::future::ready(Err(EvalError::Failed("on purpose".to_owned()))));
        }
        self.inner.best_action(state, listed)
    }

    fn concurrent_batches(&self) -> usize {
        self.inner.concurrent_batches()
    }

    fn describe(&self) -> String {
        format!("{} with faults", self.inner.describe())
    }
}
