//! The weakest player.

use crate::{Choice, Player, PlayerError, Turn};
use mavis_game::Game;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Plays a random legal move.
pub struct RandomPlayer {
    random: Xoshiro256PlusPlus,
}

impl RandomPlayer {
    /// A player whose moves follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

impl<G: Game> Player<G> for RandomPlayer {
    fn name(&self) -> String {
        "random".to_owned()
    }

    fn evaluates(&self) -> bool {
        false
    }

    fn reseed(&mut self, seed: u64) {
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        let moves = turn.position.legal_moves();
        let mv = moves.get(self.random.random_range(0..moves.len().max(1))).copied();
        mv.map(Choice::plain)
            .ok_or_else(|| PlayerError::Failed(format!("no legal move in {}", turn.position.rules())))
    }
}
