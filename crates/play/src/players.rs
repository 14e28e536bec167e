//! Players that need nothing but the rules.

mod lookahead;
mod random;
mod rollout;

pub use lookahead::Lookahead;
pub use random::RandomPlayer;
pub use rollout::RolloutPlayer;
