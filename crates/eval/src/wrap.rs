//! Wrappers with the face of what they wrap.

mod batcher;
mod cache;
mod compare;
mod recorder;

pub use batcher::{BatchLimits, Batcher, BatcherActor, batcher};
pub use cache::{Cache, CacheCounts};
pub use compare::{Agreement, Compare};
pub use recorder::{Record, Recorder};
