//! Jobs that are independent of each other, in this process or on many machines.
//!
//! A [`JobKind`] says what goes into a job and what comes out, and how both are written as bytes. A [`Runner`] does jobs of one
//! kind; it is the same code in a thread here and in `mavis worker` on another machine. A [`Queue`] takes jobs and hands their
//! results back in order: [`Local`] runs them on threads without writing a byte, `Cluster` (feature `cluster`) puts them on a
//! NATS JetStream work queue. Results depend on the job alone, so both give the same tables.
//!
//! Jobs name engines and models and say which versions they need ([`Needs`]); they never carry a command line or code. A worker
//! declares what it has ([`Offer`]) and takes only what it can run.
//!
//! ```
//! use mavis_queue::{Beat, JobKind, Local, Queue, QueueError, Runner};
//!
//! struct Square;
//! impl JobKind for Square {
//!     const NAME: &'static str = "square";
//!     type Input = u64;
//!     type Output = u64;
//!     fn write_input(input: &u64) -> Vec<u8> { input.to_string().into_bytes() }
//!     fn read_input(bytes: &[u8]) -> Result<u64, String> { mavis_queue::read_json(bytes) }
//!     fn write_output(output: &u64) -> Vec<u8> { output.to_string().into_bytes() }
//!     fn read_output(bytes: &[u8]) -> Result<u64, String> { mavis_queue::read_json(bytes) }
//! }
//! struct Multiplier;
//! impl Runner<Square> for Multiplier {
//!     fn run(&mut self, input: u64, _: &Beat) -> Result<u64, String> { Ok(input * input) }
//! }
//!
//! let mut sum = 0;
//! let jobs = (0..10_u64).map(|number| Ok(((), number)));
//! let mut queue = Local::new(vec![Multiplier, Multiplier]);
//! Queue::<Square>::run(&mut queue, jobs, |(), square| { sum += square; Ok::<(), QueueError>(()) })?;
//! assert_eq!(sum, 285);
//! # Ok::<(), QueueError>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

#[cfg(feature = "cluster")]
pub mod cluster;
mod error;
mod hash;
mod kind;
mod local;
mod needs;
mod station;

#[cfg(feature = "cluster")]
pub use cluster::Cluster;
pub use error::QueueError;
pub use hash::{JobId, content_hash};
pub use kind::{Beat, Files, Finished, JobKind, Queue, Runner, Submitter, read_json, write_json};
pub use local::{Local, ordered};
pub use needs::{Needs, Offer, PROTOCOL};
pub use station::{Station, Stations};
