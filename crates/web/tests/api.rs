//! The interface without a socket: the real rules, players and model behind the real router.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

#[path = "api/completions.rs"]
mod completions;
#[path = "api/games.rs"]
mod games;
#[path = "api/guards.rs"]
mod guards;
#[path = "api/support.rs"]
mod support;
#[path = "api/thoughts.rs"]
mod thoughts;
