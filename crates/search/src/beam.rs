//! The beam search of PROBS (paper 004, algorithm 1), one question at a time.
//!
//! The tree grows by expanding the `expansions` nodes of highest priority, at most `depth` plies deep. The root goes
//! first, then its children, then whatever `Q` of the parent values highest. Leaves are valued by `V`, finished games
//! by the rules, and values go up by negamax. The result is a q-value for every root move.
//!
//! A [`Beam`] does not call networks: it says what it needs ([`Beam::ask`]) and is fed ([`Beam::feed_q`],
//! [`Beam::feed_v`]), so that one batch can serve many searches.
//!
//! ```
//! use mavis_game::{Connect4, Game, Move};
//! use mavis_search::beam::{Ask, Beam, BeamSettings};
//!
//! let mut beam = Beam::new(Connect4::default(), &BeamSettings { expansions: 20, depth: 3 });
//! let q_values = loop {
//!     match beam.ask() {
//!         Ask::Q(states) => {
//!             let answers = states.iter().map(|_| (0..7).map(|column| (Move(column), 0.0)).collect()).collect();
//!             beam.feed_q(answers);
//!         }
//!         Ask::V(states) => {
//!             let answers = vec![0.0; states.len()];
//!             beam.feed_v(&answers);
//!         }
//!         Ask::Done(q_values) => break q_values,
//!     }
//! };
//! assert_eq!(q_values.len(), 7);
//! ```

use crate::tunable::tunables;
use mavis_game::{Game, Move, Moves, Outcome};
use std::{cmp::Ordering, collections::BinaryHeap};

tunables! {
    /// Settings of the beam search.
    pub struct BeamSettings {
        expansions "expansions": u32 = 40, Integer(1, 10_000_000), "Nodes to expand, the root included (E in paper 004).";
        depth "depth": u32 = 10, Integer(1, 1000), "Deepest node that may be expanded; its children are leaves (M in paper 004).";
    }
}

/// What a beam search needs next.
#[derive(Debug)]
pub enum Ask<'a, G> {
    /// The q-values of these states, for [`Beam::feed_q`].
    Q(Vec<&'a G>),
    /// The values of these leaves for their side to move, for [`Beam::feed_v`].
    V(Vec<&'a G>),
    /// Nothing: the q-value of every root move, for the side to move at the root, in the order of the rules.
    Done(Vec<(Move, f32)>),
}

/// A beam search under way.
#[derive(Clone, Debug)]
pub struct Beam<G> {
    nodes: Vec<BeamNode<G>>,
    queue: BinaryHeap<Entry>,
    /// Taken from the queue, not yet expanded: they wait for q-values.
    waiting: Vec<Entry>,
    expansions_left: u32,
    depth: u32,
    /// Leaves that wait for values; `None` until the tree is grown.
    leaves: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct BeamNode<G> {
    state: G,
    /// For the side to move here, -1 to 1.
    value: Option<f32>,
    /// Its children are adjacent.
    first_child: usize,
    n_children: usize,
    /// The move that leads here.
    mv: Move,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Entry {
    priority: f32,
    node: usize,
    depth: u32,
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The greatest goes first: by priority, then the older node.
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority.total_cmp(&other.priority).then(other.node.cmp(&self.node))
    }
}

impl<G: Game> Beam<G> {
    /// A search of a position; nothing is expanded yet.
    #[must_use]
    pub fn new(root: G, settings: &BeamSettings) -> Self {
        let value = end_value(&root);
        let root = BeamNode { state: root, value, first_child: 0, n_children: 0, mv: Move(u16::MAX) };
        let mut queue = BinaryHeap::new();
        if value.is_none() {
            queue.push(Entry { priority: f32::INFINITY, node: 0, depth: 0 });
        }
        let (expansions_left, depth) = (settings.expansions, settings.depth);
        Self { nodes: vec![root], queue, waiting: Vec::new(), expansions_left, depth, leaves: None }
    }

    /// Grows the tree as far as it can and says what is missing. Asked again without being fed, it says the same.
    pub fn ask(&mut self) -> Ask<'_, G> {
        if self.waiting.is_empty() && self.leaves.is_none() {
            self.take();
        }
        if !self.waiting.is_empty() {
            return Ask::Q(self.waiting.iter().map(|entry| &self.nodes[entry.node].state).collect());
        }
        if self.leaves.is_none() {
            let is_leaf = |node: &BeamNode<G>| node.value.is_none() && node.n_children == 0;
            let leaves: Vec<usize> =
                (0..self.nodes.len()).filter(|&index| is_leaf(&self.nodes[index])).collect();
            // Where every line ends nobody has to be asked, but the ends still have to reach the root.
            if leaves.is_empty() {
                self.back_up();
            }
            self.leaves = Some(leaves);
        }
        match &self.leaves {
            Some(leaves) if !leaves.is_empty() => {
                Ask::V(leaves.iter().map(|&leaf| &self.nodes[leaf].state).collect())
            }
            _ => Ask::Done(self.q_values()),
        }
    }

    /// Answers [`Ask::Q`]: for each state its moves with their q-values. A legal move that is missing counts as -1.
    pub fn feed_q(&mut self, answers: Vec<Vec<(Move, f32)>>) {
        let waiting = std::mem::take(&mut self.waiting);
        let none = std::iter::repeat_with(Vec::new);
        for (entry, q_values) in waiting.into_iter().zip(answers.into_iter().chain(none)) {
            self.expand(entry, |mv| {
                q_values.iter().find(|(other, _)| *other == mv).map_or(-1.0, |(_, q)| *q)
            });
        }
    }

    /// Answers [`Ask::V`]: the values of the leaves for their side to move, -1 to 1; 0 for those that are missing.
    pub fn feed_v(&mut self, values: &[f32]) {
        let leaves = std::mem::take(self.leaves.get_or_insert_default());
        for (leaf, value) in leaves.into_iter().zip(values.iter().copied().chain(std::iter::repeat(0.0))) {
            self.nodes[leaf].value = Some(value);
        }
        self.back_up();
    }

    /// Negamax from the leaves to the root: children follow their parent.
    fn back_up(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let BeamNode { first_child, n_children, .. } = self.nodes[index];
            if self.nodes[index].value.is_none() {
                let children = &self.nodes[first_child..first_child + n_children];
                let values = children.iter().filter_map(|child| child.value);
                self.nodes[index].value = values.map(|value| -value).reduce(f32::max);
            }
        }
    }

    /// Nodes in the tree so far.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Takes nodes from the queue until one needs q-values. Those of infinite priority are certain to be expanded, so
    /// they are asked for together; otherwise the answer for one decides which comes next.
    fn take(&mut self) {
        while self.expansions_left > 0 {
            let Some(&next) = self.queue.peek() else { return };
            if !self.waiting.is_empty() && next.priority < f32::INFINITY {
                return;
            }
            self.queue.pop();
            self.expansions_left -= 1;
            // Priorities below the root are infinite, and below the deepest node there are none: no question is needed.
            if next.depth == 0 || next.depth >= self.depth {
                self.expand(next, |_| f32::INFINITY);
            } else {
                self.waiting.push(next);
                if next.priority < f32::INFINITY {
                    return;
                }
            }
        }
    }

    fn expand(&mut self, entry: Entry, priority: impl Fn(Move) -> f32) {
        let mut moves = Moves::new();
        self.nodes[entry.node].state.legal_moves_into(&mut moves);
        let first_child = self.nodes.len();
        self.nodes[entry.node].first_child = first_child;
        self.nodes[entry.node].n_children = moves.len();
        for &mv in &moves {
            let mut state = self.nodes[entry.node].state.clone();
            state.play_unchecked(mv);
            let value = end_value(&state);
            if value.is_none() && entry.depth < self.depth {
                let node = self.nodes.len();
                self.queue.push(Entry { priority: priority(mv), node, depth: entry.depth + 1 });
            }
            self.nodes.push(BeamNode { state, value, first_child: 0, n_children: 0, mv });
        }
    }

    fn q_values(&self) -> Vec<(Move, f32)> {
        let BeamNode { first_child, n_children, .. } = self.nodes[0];
        let children = &self.nodes[first_child..first_child + n_children];
        // The minus of a drawn 0 is taken away: -0 would print oddly.
        children.iter().map(|child| (child.mv, 0.0 - child.value.unwrap_or(0.0))).collect()
    }
}

/// What a finished game is worth to the side to move; a draw that can be claimed is one.
fn end_value<G: Game>(state: &G) -> Option<f32> {
    match state.outcome() {
        Some(Outcome::Draw) => Some(0.0),
        Some(Outcome::Win(winner)) => Some(if winner == state.side_to_move() { 1.0 } else { -1.0 }),
        None => state.claimable_draw().then_some(0.0),
    }
}

#[cfg(test)]
mod tests;
