//! Models behind OpenAI-compatible completion servers (vLLM, llama.cpp and others).
//!
//! [`Remote`] implements the trait of every evaluator. A position is asked for in the text of the MAV language (or its tokens), the
//! completion is read back strictly, and log-probabilities, where the server gives them, become distributions
//! over values. Requests go to the least busy of several servers over connections that are kept open. A server that fails
//! is left alone for a while that doubles with every failure; its requests go to another one, or wait until it may be tried
//! again. Dropping an answer closes its request.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod answer;
mod connections;
mod evaluator;
mod servers;
mod wire;

pub use evaluator::{Asking, PromptForm, Remote, RemoteSettings};
pub use servers::{RemoteError, ServerSettings};
