//! Wrappers that implement the trait of what they wrap.

mod cache;
mod recorder;
mod views;

pub use cache::{Cache, CacheCounts};
pub use recorder::{Record, Recorder};
pub use views::Views;
