//! What an evaluator is asked.

use mavis_game::{Game, Move, Outcome, Position};
use std::sync::Arc;

/// One question: what of this state, or of the state that follows a move?
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request<G = Position> {
    /// Evaluate a state.
    State {
        /// The state.
        position: Arc<G>,
        /// Its legal moves in the order of the rules, where whoever asks has listed them; then the game is not over. `None`
        /// means that the evaluator finds out.
        legal: Option<Arc<[Move]>>,
    },
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
        Self::State { position: position.into(), legal: None }
    }

    /// Asks about a state that is not over, and lists its legal moves for everyone who needs them: this is the one time that a
    /// step of a search does.
    #[must_use]
    pub fn running(position: impl Into<Arc<G>>) -> Self {
        let position = position.into();
        let legal = Some(position.legal_moves().as_slice().into());
        Self::State { position, legal }
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
            Self::State { position, .. } | Self::Child { parent: position, .. } => position.rules(),
        }
    }

    /// The state the rules see in it: the state itself, or the parent after the move; `None` if the move is illegal.
    #[must_use]
    pub fn by_rules(&self) -> Option<Arc<G>> {
        match self {
            Self::State { position, .. } => Some(position.clone()),
            Self::Child { parent, mv } => {
                let mut position = G::clone(parent);
                position.play(*mv).ok()?;
                Some(Arc::new(position))
            }
        }
    }

    /// How the game ended at `state`, which [`Request::by_rules`] gave. Where the request brings moves, it has not.
    #[must_use]
    pub fn end(&self, state: &G) -> Option<Outcome> {
        match self {
            Self::State { legal: Some(_), .. } => None,
            _ => state.outcome(),
        }
    }

    /// The legal moves of `state`, which [`Request::by_rules`] gave. Moves that the request brings are not listed again.
    #[must_use]
    pub fn legal(&self, state: &G) -> Arc<[Move]> {
        match self {
            Self::State { legal: Some(legal), .. } => legal.clone(),
            _ => state.legal_moves().as_slice().into(),
        }
    }

    /// A key for caches, different for a state and for the question that leads to it.
    #[must_use]
    pub fn key(&self) -> u64 {
        match self {
            Self::State { position, .. } => position.key(),
            // The multiplier spreads move codes over all bits; +1 keeps move 0 from being the state itself.
            Self::Child { parent, mv } => {
                parent.key() ^ (u64::from(mv.0) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93)
            }
        }
    }
}
