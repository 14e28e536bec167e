//! MCTS over any evaluator, as in paper 001 (algorithms 1 to 8), with or without the rules.
//!
//! [`Search`] owns a tree and an evaluator and keeps `batch` evaluations in flight; it can be run again after moves
//! were played and then continues with the part of the tree below them. [`search_game`] is the same search for code that
//! finds values at once, without futures. `docs/search.md` explains every option; the table of them is
//! [`MctsSettings::tunables`].

mod choice;
mod drive;
mod pace;
mod plain;
pub mod prior;
pub mod proof;
mod report;
mod reuse;
mod rules_check;
mod schedule;
mod search;
mod select;
mod settings;
mod simulator;
pub(crate) mod tree;
pub mod virtual_count;
mod world;

#[cfg(test)]
mod tests;

pub use plain::search_game;
pub use proof::Proof;
pub use report::{Counts, MoveReport, Report, Stopped};
pub use rules_check::RulesCheck;
pub use schedule::Schedule;
pub use search::{Search, SearchError};
pub use settings::{Collision, FinalMove, MctsSettings, Order, Unvisited, VirtualCounts, VirtualValue};
