//! What players share: the runtime their searches run on, and the evaluators they ask.

use crate::PlayerError;
use mavis_eval::{EvalError, Evaluator, Request};
use mavis_game::FromRules;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::runtime::Runtime;

/// The runtime of all players. Searches run on the threads that wait for them; its own threads carry batches and
/// timers. Threads do not survive `fork`, so a child process gets a runtime of its own.
///
/// # Errors
/// When the system gives it no threads.
pub fn runtime() -> Result<&'static Runtime, String> {
    static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);
    let process = std::process::id();
    let mut current = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, runtime)) = *current
        && owner == process
    {
        return Ok(runtime);
    }
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("mavis-players")
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime for searches: {error}"))?;
    // It lives as long as the process, as a static would.
    let runtime: &'static Runtime = Box::leak(Box::new(built));
    *current = Some((process, runtime));
    Ok(runtime)
}

/// Asks an evaluator for the start of a game, so that one that fails does so before anything depends on it.
pub(crate) fn try_evaluator<G: FromRules>(
    evaluator: &dyn Evaluator<G>,
    rules: G::Rules,
) -> Result<(), PlayerError> {
    let asked = evaluator.evaluate_one(Request::state(G::start(rules)));
    match runtime().map_err(PlayerError::Failed)?.block_on(asked) {
        Err(EvalError::Failed(reason)) => Err(PlayerError::Failed(reason)),
        Err(EvalError::Broken(reason)) => Err(PlayerError::Broken(reason)),
        // A bad answer is not the lack of one; a search has its ways with those.
        Ok(_) | Err(EvalError::Hallucination { .. }) => Ok(()),
    }
}

/// Evaluators by name, so that players of one model meet in one evaluator and their requests in its batches.
pub type SharedEvaluators = Shared<dyn Evaluator>;

/// Things that players share by name; each lives as long as a player that uses it.
pub struct Shared<T: ?Sized>(Arc<Mutex<HashMap<String, Weak<T>>>>);

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: ?Sized> Shared<T> {
    /// The living one of this name, or a new one.
    ///
    /// # Errors
    /// Those of `load`; then nothing is kept.
    pub fn find_or_load<E>(&self, name: &str, load: impl FnOnce() -> Result<Arc<T>, E>) -> Result<Arc<T>, E> {
        // The lock is held while loading, so that two players built at once load one model.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(name).and_then(Weak::upgrade) {
            return Ok(found);
        }
        let loaded = load()?;
        known.retain(|_, known| known.strong_count() > 0);
        known.insert(name.to_owned(), Arc::downgrade(&loaded));
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_eval::Free;

    #[test]
    fn one_name_is_one_evaluator_while_somebody_uses_it() {
        let shared = SharedEvaluators::default();
        let load = || Ok::<Arc<dyn Evaluator>, String>(Arc::new(Free));
        let first = shared.find_or_load("a", load).unwrap();
        let again = shared.find_or_load("a", || Err("loaded twice".to_owned())).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &shared.find_or_load("b", load).unwrap()));
        drop((first, again));
        assert!(shared.find_or_load("a", || Err("gone".to_owned())).is_err());
    }
}
