//! What a league puts on disk: its configuration, the game log, PGN.
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

mod config;
mod difference;
mod game;
mod job;
mod limits;
mod metrics;
mod pgn;
mod sections;
mod standings;
mod store;
mod tables;

pub use config::{ConfigError, LeagueConfig, toml_fault};
pub use difference::{Difference, differences};
pub use game::{StoredEnd, StoredGame, StoredMove, StoredResult};
pub(crate) use job::GameInputWire;
pub use limits::LimitsConfig;
pub use mavis_data::wire::EndKind;
pub use metrics::{BandJson, MetricJson};
pub use pgn::pgn;
pub use sections::{
    AdjudicationConfig, DrawRule, EarlyRule, ExactRule, OpeningsConfig, PlayerConfig, RatingsConfig,
    ResignRule, ScheduleConfig, ScheduleKind, SprtSection, ZeroConfig,
};
pub use standings::{EstimateJson, FaultJson, PlayerJson, SprtJson, StandingsJson};
pub use store::{LeagueSession, LeagueStore, StoreError, results_of};
pub use tables::import_league;
