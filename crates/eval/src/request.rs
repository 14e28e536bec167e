//! What an evaluator is asked.

use mavis_game::{Game, Move, Position};
use std::sync::Arc;

/// One question: what of this state, or of the state that follows a move?
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request<G = Position> {
    /// Evaluate a state.
    State(Arc<G>),
    /// Find the state after a move, and evaluate it. The move need not be legal: in a search without rules it comes
    /// from an earlier answer.
    Child {
        /// The state before the move.
        parent: Arc<G>,
        /// The move.
        mv: Move,
    },
}

impl<G: Game> Request<G> {
    /// Asks about a state.
    #[must_use]
    pub fn state(position: impl Into<Arc<G>>) -> Self {
        Self::State(position.into())
    }

    /// Asks about the state after a move.
    #[must_use]
    pub fn child(parent: impl Into<Arc<G>>, mv: Move) -> Self {
        Self::Child { parent: parent.into(), mv }
    }

    /// The game it is about.
    #[must_use]
    pub fn rules(&self) -> G::Rules {
        match self {
            Self::State(position) | Self::Child { parent: position, .. } => position.rules(),
        }
    }

    /// The state the rules see in it: the state itself, or the parent after the move; `None` if the move is illegal.
    #[must_use]
    pub fn by_rules(&self) -> Option<Arc<G>> {
        match self {
            Self::State(position) => Some(position.clone()),
            Self::Child { parent, mv } => {
                let mut position = G::clone(parent);
                position.play(*mv).ok()?;
                Some(Arc::new(position))
            }
        }
    }

    /// A key for caches, different for a state and for the question that leads to it.
    #[must_use]
    pub fn key(&self) -> u64 {
        match self {
            Self::State(position) => position.key(),
            // The multiplier spreads move codes over all bits; +1 keeps move 0 from being the state itself.
            Self::Child { parent, mv } => {
                parent.key() ^ (u64::from(mv.0) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93)
            }
        }
    }
}
