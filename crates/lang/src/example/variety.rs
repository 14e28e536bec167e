//! How much examples differ.

use crate::{
    command::{Commands, Forms, Given, Top},
    state::has_fen,
};
use mavis_game::Rules;
use rand::Rng;

/// Chances, 0 to 1, of what an example's header holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variety {
    /// That the previous position and move are given, where they are known.
    pub tracking: f32,
    /// That every move is listed; otherwise k is drawn evenly from 1 to `beyond` more than there are legal moves.
    pub top_all: f32,
    /// How far k may go beyond the number of legal moves.
    pub beyond: u16,
    /// That the best action is asked for.
    pub best: f32,
    /// That the position after the best action is asked for, where the best action is.
    pub next: f32,
    /// That a position is written as FEN alone, in games that have one.
    pub fen: f32,
    /// That it is written both ways, in either order.
    pub both: f32,
}

impl Default for Variety {
    /// All commands about equally often, as in paper 001, which gives no numbers.
    fn default() -> Self {
        Self { tracking: 0.5, top_all: 0.5, beyond: 8, best: 0.5, next: 0.5, fen: 0.25, both: 0.1 }
    }
}

impl Variety {
    /// The common request only: a state in, all moves and the best action out.
    pub const PLAIN: Self =
        Self { tracking: 0.0, top_all: 1.0, beyond: 0, best: 1.0, next: 0.0, fen: 0.0, both: 0.0 };

    /// Draws the commands of an example of a position with `n_legal` moves.
    pub fn draw(&self, rules: Rules, n_legal: usize, has_previous: bool, rng: &mut impl Rng) -> Commands {
        let given = if has_previous && chance(self.tracking, rng) {
            Given::Previous { forms: Some(self.forms(rules, rng)), tracked: self.forms(rules, rng) }
        } else {
            Given::Current(self.forms(rules, rng))
        };
        let top = if chance(self.top_all, rng) {
            Top::All
        } else {
            let most = u16::try_from(n_legal).unwrap_or(u16::MAX).saturating_add(self.beyond).max(1);
            Top::Best(rng.random_range(1..=most))
        };
        let best = chance(self.best, rng);
        let next = (best && chance(self.next, rng)).then(|| self.forms(rules, rng));
        Commands { rules, given, top: Some(top), best, next }
    }

    fn forms(&self, rules: Rules, rng: &mut impl Rng) -> Forms {
        if !has_fen(rules) {
            return Forms::State;
        }
        let draw: f32 = rng.random();
        if draw < self.fen {
            Forms::Fen
        } else if draw < self.fen + self.both {
            if rng.random() { Forms::StateFen } else { Forms::FenState }
        } else {
            Forms::State
        }
    }
}

fn chance(probability: f32, rng: &mut impl Rng) -> bool {
    rng.random::<f32>() < probability
}
