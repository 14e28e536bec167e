//! Players, the line that names one, and the referee of one game.
//!
//! A [`Player`] answers a [`Turn`] (game so far, limit, cancel token) with a [`Choice`]. It is plain blocking code: a
//! game runs on its own thread, and players that share a model meet in the evaluator's batches. A player is written
//! on one line, `mcts:sims=100`, read as a [`PlayerSpec`] and built by a [`Registry`] which the binary fills, so that
//! this crate knows none of the heavier players by name.
//! The [`referee`] plays one game between two of them: it keeps the clock, refuses illegal moves, takes claimable
//! draws, and always returns a [`GameRecord`], whatever a player does.
//!
//! ```
//! use mavis_game::{Position, Rules};
//! use mavis_play::{Referee, Registry};
//!
//! let registry = Registry::basic();
//! let mut first = registry.build(&"lookahead:2".parse()?, 1)?;
//! let mut second = registry.build(&"random".parse()?, 2)?;
//! let record = Referee::default().play(&Position::start(Rules::Connect4), [&mut *first, &mut *second]);
//! assert!(record.verdict.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analysis;
mod clock;
mod kinds;
mod player;
mod players;
pub mod referee;
mod registry;
pub mod remote;
mod shared;
mod spec;

pub use analysis::{Analysis, MoveAnalysis};
pub use clock::{Clock, TimeControl};
pub use kinds::{
    DefaultModel, add_engines, add_models, add_mpc, add_oracles, add_predictors, add_scripted, add_servers,
};
pub use player::{Choice, Limit, Player, PlayerError, Thought, Turn};
pub use players::{
    Chosen, Ending, EngineSpec, Finisher, Fresh, GameOracle, GreedyPlayer, GreedyPlayerSettings,
    GreedyScoring, GtpPlayer, GtpSettings, Human, InternalEvaluator, InternalPlayer, InternalPlayerSettings,
    Lookahead, Maker, MpcPlayer, MpcSettings, OraclePlayer, POSITION_COMMAND, PlayerOracle, PolicyChoice,
    Predicted, PredictorPlayer, PredictorPolicy, RandomPlayer, RolloutPlayer, SearchPlayer, Source, Staged,
    Steps, UciLimits, UciPlayer, UciSettings, choose, saved_tree,
};
pub use referee::{GameRecord, MoveRecord, Referee, Termination, Verdict};
pub use registry::{Build, BuildError, Key, Kind, Registry};
pub use shared::{Shared, SharedEvaluators, runtime};
pub use spec::{Options, PlayerSpec, SpecError};
