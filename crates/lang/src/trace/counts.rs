//! What is right in a trace, part by part, finished or not.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::{LiveNode, TraceProgress, checker::expansion_fault};
use crate::{progress::Step, state::same_state};
use mavis_game::{Game, Move};

/// A share: how many of how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// Those that are right.
    pub right: usize,
    /// All of them.
    pub all: usize,
}

impl Share {
    fn add(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }
}

/// Counts over the nodes of one trace. States and lists are compared with the rules, expansions and decisions with the values that
/// stand in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceCounts {
    /// States of all nodes but the root.
    pub states: Share,
    /// Listed moves that are legal in the state that stands above them.
    pub moves: Share,
    /// Lists that hold exactly as many legal moves as asked for, and ends of games called by their outcome.
    pub lists: Share,
    /// Expansions of the best moves in the order of their values, and leaves that are left alone.
    pub expansions: Share,
    /// Decisions that follow from the values.
    pub decisions: Share,
    /// Whether the trace came to its end, all its decisions follow, and the last line plays the root's.
    pub faithful: bool,
}

impl TraceProgress {
    /// What is right in the trace so far.
    #[must_use]
    pub fn counts(&self) -> TraceCounts {
        let mut counts = TraceCounts::default();
        let nodes = self.nodes();
        for (idx, node) in nodes.iter().enumerate() {
            let Some(position) = &node.position else { continue };
            if let Some((parent, mv)) =
                node.parent.and_then(|parent| nodes.get(parent)?.position.as_ref()).zip(node.mv)
            {
                let mut after = parent.clone();
                counts.states.add(after.play(mv).is_ok() && same_state(&after, position));
            }
            for (mv, _) in &node.moves {
                counts.moves.add(position.is_legal(*mv));
            }
            // A list that is complete is followed by a best action; an end has none.
            if node.best.is_some() || node.outcome.is_some() {
                let due = self.shape().top.n_listed(position.n_legal_moves());
                let is_exact =
                    node.moves.len() == due && node.moves.iter().all(|(mv, _)| position.is_legal(*mv));
                counts.lists.add(match node.outcome {
                    Some(outcome) => position.outcome() == Some(outcome),
                    None => is_exact && due > 0,
                });
            }
            if let Some(decision) = &node.decision {
                counts.expansions.add(self.is_expanded_right(idx, node));
                counts.decisions.add(self.due_decision(node).as_ref() == Some(decision));
            }
        }
        let root =
            nodes.first().and_then(|root| root.decision.as_ref()).and_then(|decision| decision.selected);
        counts.faithful = self.step() == Step::Done
            && counts.decisions.right == counts.decisions.all
            && self.played() == root;
        counts
    }

    fn is_expanded_right(&self, idx: usize, node: &LiveNode) -> bool {
        let mut ply = 0;
        let above = |idx: usize| self.nodes().get(idx).and_then(|node| node.parent);
        let mut parent = above(idx);
        while let Some(idx) = parent {
            ply += 1;
            parent = above(idx);
        }
        let children: Vec<Move> = node.children.iter().map(|(mv, _)| *mv).collect();
        let breadth =
            if node.outcome.is_some() || ply >= self.shape().depth { 0 } else { self.shape().breadth };
        expansion_fault(&node.moves, &children, usize::from(breadth)).is_none()
    }
}
