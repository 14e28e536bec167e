//! Runners behind bytes, as a worker has them.

use crate::{Beat, JobKind, Runner};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A runner of a kind that only its name tells.
pub trait Station: Send {
    /// Does a job.
    ///
    /// # Errors
    /// In words, when the bytes are no job of its kind, or it cannot be done.
    fn run(&mut self, input: &[u8], beat: &Beat) -> Result<Vec<u8>, String>;
}

struct Typed<K, R>(R, PhantomData<fn() -> K>);

impl<K: JobKind, R: Runner<K>> Station for Typed<K, R> {
    fn run(&mut self, input: &[u8], beat: &Beat) -> Result<Vec<u8>, String> {
        let input = K::read_input(input).map_err(|reason| format!("not a {} job: {reason}", K::NAME))?;
        Ok(K::write_output(&self.0.run(input, beat)?))
    }
}

type Make = Box<dyn Fn() -> Box<dyn Station> + Send + Sync>;

/// The kinds of job that a worker knows. Each of its threads makes runners of its own.
#[derive(Default)]
pub struct Stations(BTreeMap<&'static str, Make>);

impl Stations {
    /// Adds a kind; `make` gives a thread its runner.
    pub fn add<K: JobKind, R: Runner<K> + 'static>(&mut self, make: impl Fn() -> R + Send + Sync + 'static) {
        self.0.insert(K::NAME, Box::new(move || Box::new(Typed::<K, R>(make(), PhantomData))));
    }

    /// Names of all kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.keys().copied()
    }

    /// A runner of a kind.
    #[must_use]
    pub fn make(&self, kind: &str) -> Option<Box<dyn Station>> {
        self.0.get(kind).map(|make| make())
    }
}
