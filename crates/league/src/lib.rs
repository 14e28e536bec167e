//! Leagues: every claim measured, every game kept.
//!
//! A league is one [`wire::LeagueConfig`]: players, who meets whom ([`Schedule`]), where games start ([`Openings`]), limits
//! and adjudication. [`run`] plays what is not on disk yet, over worker threads, and puts each game into the folder's log
//! when it ends; kill it at any moment and run it again. Everything else is a pure function of that log: [`rate`] gives
//! ratings with intervals that hold, [`sprt`] tests two players, [`standings`] gathers what the [`report`]s show. So
//! claims can be checked by simulation and recomputed at any time.
//!
//! Players come from `play` (one line each, built by its registry); this crate knows none by name. [`metrics`] measures
//! single answers instead of games.
//!
//! ```
//! use mavis_game::{Outcome, Side};
//! use mavis_league::{GameResult, RatingConfig, Results, rate};
//!
//! let game = |pair, first, second, outcome| GameResult { first, second, outcome, pair };
//! let results = Results {
//!     players: vec!["strong".into(), "weak".into()],
//!     games: vec![
//!         game(0, 0, 1, Outcome::Win(Side::First)),
//!         game(0, 1, 0, Outcome::Draw),
//!         game(1, 0, 1, Outcome::Win(Side::First)),
//!         game(1, 1, 0, Outcome::Win(Side::First)),
//!     ],
//! };
//! let ratings = rate(&results, &RatingConfig::default())?;
//! assert!(ratings.players[0].elo.value > ratings.players[1].elo.value);
//! # Ok::<(), mavis_league::RatingError>(())
//! ```

mod adjudication;
pub mod metrics;
pub mod numeric;
mod openings;
mod pairing;
mod ratings;
pub mod report;
mod results;
mod runner;
mod seeds;
mod sprt;
mod standings;
pub mod wire;

pub use adjudication::{ExactJudge, Judges, SolverJudge, SyzygyJudge, centipawns, standard_judges};
pub use openings::{Book, BookError, BookFormat, Opening, Openings};
pub use pairing::{GamePlan, PairPlan, Schedule};
pub use ratings::{
    Anchor, Calibration, CalibrationError, DrawModel, ELO_PER_LOGIT, Intervals, Note, Rating, RatingConfig,
    RatingError, Ratings, Zero, elo_of_score, expected_score, rate,
};
pub use results::{GameResult, Results, Tally};
pub use runner::{
    Event, GameInput, GameJob, GameRunner, LeaguePlace, RunError, RunOptions, Stop, Summary, openings, run,
    run_on,
};
pub use sprt::{EloScale, Pentanomial, Sprt, SprtConfig, SprtDecision, SprtError, sprt};
pub use standings::{Standings, StandingsError, TestHistory, standings};
