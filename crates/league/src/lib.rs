//! Leagues: every claim measured, every game kept.
//!
//! Ratings and tests are pure functions of results, so they can be checked by simulation and recomputed from the game
//! log at any time.
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

pub use adjudication::{ExactJudge, Judges, centipawns};
pub use openings::{Book, BookError, BookFormat, Opening, Openings};
pub use pairing::{GamePlan, PairPlan, Schedule};
pub use ratings::{
    Anchor, Calibration, CalibrationError, DrawModel, ELO_PER_LOGIT, Intervals, Note, Rating, RatingConfig,
    RatingError, Ratings, Zero, elo_of_score, expected_score, rate,
};
pub use results::{GameResult, Results, Tally};
pub use runner::{Event, RunError, RunOptions, Stop, Summary, openings, run};
pub use sprt::{EloScale, Pentanomial, Sprt, SprtConfig, SprtError, Verdict, sprt};
pub use standings::{Standings, StandingsError, TestHistory, standings};
