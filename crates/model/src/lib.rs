//! The MAV decoder: a small transformer that is world model, value function and policy at once.
//!
//! [`mixture`] turns annotated positions into examples and batches, [`pack`] lays them out (chain or star), [`loader`]
//! builds them ahead on threads, [`validation`] measures a network, [`fan_out`] asks it for all moves of a position at once,
//! behind [`decode::MavDecoder`] or a network in training.
//!
//! [`decode`] answers requests through KV caches: greedily, all moves at once, and with drafts of states that are checked instead of written.
//! [`evaluator`] puts a model on its own thread behind the trait that every search uses, [`internal`] has it search by itself. [`interchange`] takes models to other programs and
//! back. [`measure`] says how fast all this is and how far its ways agree.
//! [`predictor`] holds the searchless predictors of paper 002, which train by the same loop ([`train::learn`]).
//! Networks come from `mavis-net`, text and tokens from `mavis-lang`, positions from `mavis-data`.
//!
//! ```
//! use mavis_model::Preset;
//!
//! let shape = "test".parse::<Preset>()?.shape(mavis_lang::vocabulary().len(), 1);
//! assert_eq!(shape.vocab % 64, 0);
//! # Ok::<(), String>(())
//! ```

pub mod deck;
pub mod decode;
mod ended;
mod error;
pub mod evaluator;
pub mod fan_out;
pub mod forward;
pub mod interchange;
pub mod internal;
mod labels;
mod learning_rate;
pub mod loader;
mod mav;
pub mod measure;
pub mod mixture;
pub mod pack;
mod permutation;
pub mod predictor;
mod preset;
mod reading;
pub mod symmetry;
pub mod train;
pub mod validation;

pub use error::ModelError;
pub use labels::ModelLabels;
pub use learning_rate::{LearningRateSchedule, Shape};
pub use mav::MavModel;
pub use preset::Preset;
pub use reading::InputAttention;
