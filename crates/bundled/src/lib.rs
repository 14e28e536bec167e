//! What a program built on Mavis starts with: the bundled model, every player and every oracle by name,
//! and the records in which both answer ([`wire`]).
//!
//! The binary and the Python module both use it, so that a player's line means the same in both. It reads no environment: the
//! caller passes the search path of engines and the key for model servers.
//!
//! ```
//! let registry = mavis_bundled::players(&mavis_bundled::Surroundings::default());
//! let player = registry.build(&"mav-mcts:sims=20".parse()?, 1)?;
//! assert_eq!(player.name(), "mav-mcts:sims=20");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod model;
mod nets;
pub mod oracles;
mod players;
pub mod wire;

pub use model::{model, model_bytes};
pub use nets::NETS;
pub use oracles::{OracleMaker, OracleSpecError, oracle_spec};
pub use players::{Surroundings, players};
