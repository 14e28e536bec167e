//! Wrappers that implement the trait of what they wrap.

mod cache;
mod recorder;

pub use cache::{Cache, CacheCounts};
pub use recorder::{Record, Recorder};
