//! Players that need nothing but the rules.

mod lookahead;
mod random;

pub use lookahead::Lookahead;
pub use random::RandomPlayer;
