//! UCI text in both directions: what a GUI says to an engine ([`Command`]) and what an engine answers ([`EngineMessage`]).
//!
//! Every type here reads itself with `parse` and writes itself with `Display`; `parse` of what `Display` wrote gives the
//! same value. Reading never fails and never panics: what is not understood comes back as a variant of its own, and
//! unknown words are skipped, as the protocol asks.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod command;
mod info;
mod message;
mod option;

pub use command::{Command, Go, Start};
pub use info::{Bound, Info, LineReport, UciScore};
pub use message::EngineMessage;
pub use option::{OptionKind, UciOption, option_names};
