//! Things that own threads, recreated in a child process.

use pyo3::{PyResult, exceptions::PyRuntimeError};
use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

/// A value that belongs to one process: after `fork` its threads are gone, so the child makes its own.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    current: Mutex<Option<(u32, Arc<T>)>>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { current: Mutex::new(None) }
    }

    /// The value of this process, made if there is none yet.
    pub(crate) fn get_or_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let process = std::process::id();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some((owner, value)) if *owner == process => Ok(value.clone()),
            _ => {
                let value = Arc::new(make()?);
                // The parent's value is left alone: dropping it would wait for threads that are not there.
                std::mem::forget(current.replace((process, value.clone())));
                Ok(value)
            }
        }
    }
}

/// Threads for computations of this process. The pool that the libraries share by default does not survive `fork`.
pub(crate) fn pool() -> PyResult<Arc<rayon::ThreadPool>> {
    static POOL: PerProcess<rayon::ThreadPool> = PerProcess::new();
    let build = || rayon::ThreadPoolBuilder::new().num_threads(threads().get()).build();
    POOL.get_or_make(build).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The number of cores.
pub(crate) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
