//! Decoding by a small network that was trained on a few positions of Connect Four: enough to speak the language.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

mod drafts;
mod evaluator;
mod lists;
mod text;
mod traces;
mod trained;
