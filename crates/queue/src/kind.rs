//! The interface between who has jobs, who queues them and who runs them.

use crate::QueueError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A kind of job: what goes in, what comes out, and both as bytes.
pub trait JobKind: 'static {
    /// Its name on the queue.
    const NAME: &'static str;
    /// What a runner needs beside what it has itself.
    type Input: Send;
    /// The result.
    type Output: Send;

    /// The input as bytes; equal inputs have equal bytes, since a job is named by them.
    fn write_input(input: &Self::Input) -> Vec<u8>;

    /// Reads an input.
    ///
    /// # Errors
    /// In words, when the bytes are none.
    fn read_input(bytes: &[u8]) -> Result<Self::Input, String>;

    /// The result as bytes.
    fn write_output(output: &Self::Output) -> Vec<u8>;

    /// Reads a result.
    ///
    /// # Errors
    /// In words, when the bytes are none.
    fn read_output(bytes: &[u8]) -> Result<Self::Output, String>;
}

/// Does jobs of one kind, one after the other.
pub trait Runner<K: JobKind>: Send {
    /// Does a job. Long ones call [`Beat::progress`] now and then: a job that is silent for too long is given to another worker.
    ///
    /// # Errors
    /// In words, when this runner cannot do it; another one may.
    fn run(&mut self, input: K::Input, beat: &Beat) -> Result<K::Output, String>;
}

/// Takes jobs and hands their results back.
pub trait Queue<K: JobKind> {
    /// Runs jobs and gives each result, with the tag its job came with, to `sink` on the calling thread in the order of the jobs.
    /// Jobs are drawn as they are needed: a bounded number runs ahead of the oldest unfinished one.
    ///
    /// # Errors
    /// The first error of `jobs`, of `sink` or of the queue; then no further job is drawn.
    fn run<T: Send, E: From<QueueError> + Send>(
        &mut self,
        jobs: impl Iterator<Item = Result<(T, K::Input), E>> + Send,
        sink: impl FnMut(T, K::Output) -> Result<(), E>,
    ) -> Result<(), E>;
}

/// Takes jobs one by one and hands results back as they finish, whatever their order.
pub trait Submitter<K: JobKind> {
    /// Takes a job under a number of the caller's.
    ///
    /// # Errors
    /// When it cannot be queued.
    fn submit(&mut self, number: u64, input: &K::Input) -> Result<(), QueueError>;

    /// Waits for finished jobs, and gives all there are. A job set aside stays open, since it may be put back.
    ///
    /// # Errors
    /// When the queue does not answer any more.
    fn wait(&mut self, at_most: Duration) -> Result<Vec<Finished<K::Output>>, QueueError>;

    /// Withdraws all jobs without a result. Results of those in work are kept for whoever submits them again.
    ///
    /// # Errors
    /// When the queue does not answer any more.
    fn withdraw(&mut self) -> Result<(), QueueError>;
}

/// Files that jobs name instead of carrying them, such as weights in training. A file is named by its content.
pub trait Files: Send + Sync {
    /// Stores a file once and gives its name.
    ///
    /// # Errors
    /// When it cannot be stored.
    fn put(&self, bytes: &[u8]) -> Result<String, QueueError>;

    /// The file of a name.
    ///
    /// # Errors
    /// When it is not there, or is not what its name says.
    fn get(&self, name: &str) -> Result<Vec<u8>, QueueError>;

    /// Removes a file that no job names any more.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&self, name: &str) -> Result<(), QueueError>;
}

/// A finished job, by the number it was submitted with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished<T> {
    /// The number.
    pub number: u64,
    /// The result, or why the job was set aside.
    pub result: Result<T, String>,
}

/// How a running job says that it makes progress.
#[derive(Clone, Debug, Default)]
pub struct Beat(Arc<AtomicU64>);

impl Beat {
    /// The job made progress.
    pub fn progress(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it did.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A value as JSON, for kinds whose input or output is a wire type.
#[must_use]
pub fn write_json(value: &impl Serialize) -> Vec<u8> {
    // Only maps with keys that are no text fail, and wire types have none.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Reads a value from JSON.
///
/// # Errors
/// In words, when the bytes are not JSON of that form.
pub fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}
