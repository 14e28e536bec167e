//! A player without memory.

use crate::{Analysis, Choice, Player, PlayerError, Thought, Turn};
use mavis_game::{Game as _, Rules};

/// Makes its player forget everything before each move.
///
/// Paper 003 matches engines without stored hash tables; this is how any player becomes one.
pub struct Fresh {
    own: Box<dyn Player>,
    seed: u64,
}

impl Fresh {
    /// `own` without memory; its randomness follows from the seed and the number of the move.
    #[must_use]
    pub fn new(own: Box<dyn Player>, seed: u64) -> Self {
        Self { own, seed }
    }

    fn forget(&mut self, turn: &Turn<'_>) {
        self.own.reseed(self.seed.wrapping_add(turn.moves.len() as u64));
        self.own.new_game(turn.position.rules());
    }
}

impl Player for Fresh {
    fn name(&self) -> String {
        format!("fresh:{}", self.own.name())
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        self.own.ready_for(rules)
    }

    fn new_game(&mut self, rules: Rules) {
        self.own.new_game(rules);
    }

    fn reseed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn evaluates(&self) -> bool {
        self.own.evaluates()
    }

    fn overhear(&mut self, thought: &Thought) {
        self.own.overhear(thought);
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.forget(turn);
        self.own.choose(turn)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        self.forget(turn);
        self.own.analyze(turn)
    }
}
