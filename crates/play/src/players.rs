//! The players of this crate: those that need nothing but the rules, and those over evaluators, oracles and engines.

mod greedy;
mod lookahead;
mod oracle;
mod random;
mod rollout;
mod search;
mod uci;

pub use greedy::{GreedyPlayer, GreedyScoring, GreedySettings};
pub use lookahead::Lookahead;
pub use oracle::{EngineSpec, GameOracle, OraclePlayer};
pub use random::RandomPlayer;
pub use rollout::RolloutPlayer;
pub use search::SearchPlayer;
pub use uci::{UciLimits, UciPlayer, UciSettings};
