//! Decoding by a small network that was trained on a few positions of Connect Four: enough to speak the language.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

#[path = "decoding/drafts.rs"]
mod drafts;
#[path = "decoding/evaluator.rs"]
mod evaluator;
#[path = "decoding/lists.rs"]
mod lists;
#[path = "decoding/text.rs"]
mod text;
#[path = "decoding/traces.rs"]
mod traces;
#[path = "decoding/trained.rs"]
mod trained;
