//! Learns a game from nothing: PROBS (paper 004), and an AlphaZero-style learner to compare it with.
//!
//! PROBS trains two small nets. `V` predicts the end of a game from a state, `Q` predicts for every move the result of a small beam
//! search ([`mavis_search::beam`]). A round is self-play with the softmax of `Q`, training of `V` on the outcomes, a beam
//! search in every state seen, with leaves valued by `V`, and training of `Q` on its results. The AlphaZero-style learner
//! ([`Algorithm::Azero`]) has the same nets, games and budget, but searches while it plays and learns shares of visits.
//!
//! Positions become [`Planes`]; nets are [`mavis_net::ConvNet`]s, on CPU or a device. All searches of a group run in
//! step, so that a net sees large batches, and groups run in parallel. Every random choice follows from the seed, the
//! round and the number of a game: [`train`] can be killed at any moment and resumes to the same numbers.
//!
//! [`evaluate`] rates the greedy player against random and lookahead agents on the paper's scale; [`elo_curve`] draws its figures;
//! [`add_probs`] makes players out of models, [`add_bundled_probs`] also out of those inside the program. `docs/probs.md` tells the whole story with its results.
//!
//! ```
//! use mavis_game::{Connect4, Rules};
//! use mavis_net::Device;
//! use mavis_probs::{Learner, ProbsSettings, preset};
//!
//! let settings = ProbsSettings { games: 4, expansions: 8, ..preset("small", Rules::Connect4)? };
//! let mut learner = Learner::new(Connect4::default(), settings, Device::Cpu, None)?;
//! let round = learner.round()?;
//! assert_eq!(round.round, 1);
//! assert!(round.mean_plies > 6.0);
//! # Ok::<(), mavis_probs::ProbsError>(())
//! ```

mod azero;
mod batch;
mod beams;
mod curve;
mod elsewhere;
mod episode;
mod error;
mod evaluation;
mod fit;
mod learner;
mod meter;
mod model;
mod nets;
mod oracle;
mod planes;
mod player;
mod preset;
mod puct;
mod rating;
mod run;
mod self_play;
mod settings;
mod size;
pub mod wire;

pub use curve::{Axis, elo_curve};
pub use elsewhere::{Elsewhere, ProbsInput, ProbsJob, ProbsOutput, ProbsRunner};
pub use error::ProbsError;
pub use evaluation::evaluate;
pub use learner::{Learner, Progress};
pub use meter::{Meter, Phase, Stage};
pub use model::{Model, ModelConfig};
pub use nets::{BundledNet, BundledNets};
pub use oracle::NetOracle;
pub use planes::Planes;
pub use player::{Effort, ProbsPlayer, add_bundled_probs, add_probs};
pub use preset::{PRESETS, preset, small_settings};
pub use rating::{AGENTS, rating};
pub use run::{RunOptions, Summary, read_metrics, train, train_game};
pub use settings::{Algorithm, Evaluation, ProbsSettings, Unvisited};
pub use size::{Head, Size};
