//! The players of this crate: those that need nothing but the rules, those over evaluators, oracles and engines, and those made
//! of other players.

mod fresh;
mod greedy;
mod gtp;
mod human;
mod internal;
mod lookahead;
mod mpc;
mod oracle;
mod player_oracle;
mod predicted;
mod predictor;
mod random;
mod rollout;
mod search;
mod staged;
mod uci;

pub use fresh::Fresh;
pub use greedy::{GreedyPlayer, GreedyPlayerSettings, GreedyScoring};
pub use gtp::{GtpPlayer, GtpSettings, POSITION_COMMAND};
pub use human::Human;
pub use internal::{
    Chosen, Ending, InternalEvaluator, InternalPlayer, InternalPlayerSettings, Source, choose, saved_tree,
};
pub use lookahead::Lookahead;
pub use mpc::{Maker, MpcPlayer, MpcSettings, Steps};
pub use oracle::{EngineSpec, GameOracle, OraclePlayer};
pub use player_oracle::PlayerOracle;
pub use predicted::Predicted;
pub use predictor::{Finisher, PolicyChoice, PredictorPlayer, PredictorPolicy};
pub use random::RandomPlayer;
pub use rollout::RolloutPlayer;
pub use search::SearchPlayer;
pub use staged::Staged;
pub use uci::{UciLimits, UciPlayer, UciSettings};
