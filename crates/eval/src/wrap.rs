//! Wrappers that implement the trait of what they wrap.

mod batcher;
mod cache;
mod recorder;

pub use batcher::{BatchLimits, Batcher, BatcherActor, batcher};
pub use cache::{Cache, CacheCounts};
pub use recorder::{Record, Recorder};
