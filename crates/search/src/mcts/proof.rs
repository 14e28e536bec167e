//! What is known for certain: proven results and dead moves (MCTS-Solver).

use super::tree::{NodeIdx, Tree};
use mavis_game::{Outcome, Side};

/// A game-theoretic value for one player.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Proof {
    /// Nothing is proven.
    Unknown,
    /// The player loses.
    Loss,
    /// Nobody wins.
    Draw,
    /// The player wins.
    Win,
    /// Every line from here ended in a hallucination, so there is nothing to know.
    Dead,
}

impl Proof {
    /// What an outcome means for a player.
    #[must_use]
    pub fn of(outcome: Outcome, player: Side) -> Self {
        match outcome.winner() {
            None => Self::Draw,
            Some(winner) if winner == player => Self::Win,
            Some(_) => Self::Loss,
        }
    }

    /// The same for the other player.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Win => Self::Loss,
            Self::Loss => Self::Win,
            other => other,
        }
    }

    /// -1, 0 or 1 where something is proven.
    #[must_use]
    pub fn value(self) -> Option<f32> {
        match self {
            Self::Loss => Some(-1.0),
            Self::Draw => Some(0.0),
            Self::Win => Some(1.0),
            Self::Unknown | Self::Dead => None,
        }
    }
}

/// What has become of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It may be chosen.
    Open,
    /// Its first evaluation is under way.
    Pending,
    /// Its evaluation was a hallucination, or every line behind it is dead.
    Dead,
    /// It leads to a certain result for the player who makes it, that many plies from there (at most 255).
    Proven(Proof, u8),
    /// The evaluator calls the game over there, with this result for the player who makes it. Where no rules stand behind
    /// it that is a value like any other: it proves nothing.
    Ended(Proof),
}

impl Tree {
    /// What the moves of a node say about it: a result for its side to move with the distance, or nothing yet.
    ///
    /// A winning move wins; otherwise every move must be settled. Dead moves count as not being there.
    pub(crate) fn settle(&self, node: NodeIdx, solver: bool) -> Option<(Proof, u8)> {
        let mut best: Option<(Proof, u8)> = None;
        let mut all_settled = true;
        for edge in self.edges(node) {
            match self.link(edge).fate {
                Fate::Proven(proof, plies) if solver => {
                    let better = best.is_none_or(|(known, distance)| match proof.cmp(&known) {
                        std::cmp::Ordering::Equal if proof == Proof::Win => plies < distance,
                        std::cmp::Ordering::Equal => plies > distance,
                        order => order.is_gt(),
                    });
                    if better {
                        best = Some((proof, plies));
                    }
                }
                Fate::Dead => {}
                _ => all_settled = false,
            }
        }
        match best {
            Some((Proof::Win, plies)) => Some((Proof::Win, plies.saturating_add(1))),
            Some((proof, plies)) if all_settled => Some((proof, plies.saturating_add(1))),
            None if all_settled => Some((Proof::Dead, 0)),
            _ => None,
        }
    }
}
