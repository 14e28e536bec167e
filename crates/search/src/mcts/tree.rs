//! The tree: expanded nodes in one arena, their moves side by side in another.
//!
//! A node takes 24 bytes and a move 28. What selection reads of a move ([`Stat`]) lies apart from the rest ([`Link`]),
//! so that one look at a Connect Four node touches two cache lines. Paths are kept by the simulation that walks them;
//! the tree has no links upward.

use super::{
    VirtualValue,
    proof::{Fate, Proof},
};
use mavis_game::Move;
use std::{cell::Cell, mem::take};

/// A place among the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NodeIdx(pub(crate) u32);

impl NodeIdx {
    /// The root.
    pub(crate) const ROOT: Self = Self(0);
    /// No node.
    pub(crate) const NONE: Self = Self(u32::MAX);

    fn at(self) -> usize {
        self.0 as usize
    }
}

/// A place among the moves of all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct EdgeIdx(pub(crate) u32);

impl EdgeIdx {
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// One step of a simulation: a node and the move taken from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) node: NodeIdx,
    pub(crate) edge: EdgeIdx,
}

/// An expanded node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Sum of the values backed up through the move that leads here, for the player who makes it. Here rather than at
    /// the move, because only visited moves need it, and in double precision, so that millions of visits add up.
    pub(crate) sum: f64,
    /// The first of its moves.
    pub(crate) first_edge: u32,
    /// Visits of all its moves.
    pub(crate) visits: u32,
    /// Virtual visits of all its moves.
    pub(crate) virtual_visits: u32,
    /// How many moves it has.
    pub(crate) n_edges: u16,
    /// What is known for certain, for the side to move here.
    pub(crate) proof: Proof,
}

/// What selection reads of a move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stat {
    /// Prior probability.
    pub(crate) prior: f32,
    /// Mean value for the player who makes the move, before the first visit what the settings say, minus infinity while
    /// the move is not to be chosen: dead, proven lost, or its first evaluation under way and not waited for.
    pub(crate) score: f32,
    /// Simulations that went through and came back.
    pub(crate) visits: u32,
    /// Virtual visits of simulations under way.
    pub(crate) virtual_visits: u32,
}

impl Stat {
    /// One more than the visits, virtual ones among them: the divisor of PUCT.
    #[inline]
    pub(crate) fn counts(&self) -> u32 {
        self.visits + self.virtual_visits + 1
    }

    /// The score with the virtual visits weighed in.
    #[inline]
    pub(crate) fn lowered_score(&self, rule: VirtualValue) -> f32 {
        // What is not to be chosen stays so: its infinity must not meet a factor of 0.
        if rule == VirtualValue::None || self.virtual_visits == 0 || self.score == f32::NEG_INFINITY {
            return self.score;
        }
        let (visits, in_flight) = (self.visits as f32, self.virtual_visits as f32);
        let lost = if rule == VirtualValue::Loss { in_flight } else { 0.0 };
        (self.score * visits - lost) / (visits + in_flight)
    }
}

/// The rest of a move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Link {
    /// The node behind it, once expanded.
    pub(crate) child: NodeIdx,
    /// The evaluator's own value of the move, -1 to 1 for the player who makes it.
    pub(crate) value: f32,
    /// The move.
    pub(crate) mv: Move,
    /// What has become of it.
    pub(crate) fate: Fate,
}

/// A move with its value and prior, as a node is expanded with it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct NewEdge {
    pub(crate) mv: Move,
    pub(crate) value: f32,
    pub(crate) prior: f32,
    /// What selection sees of it before the first visit.
    pub(crate) score: f32,
}

/// The arenas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) stats: Vec<Stat>,
    pub(crate) links: Vec<Link>,
}

/// The three arenas of a tree.
type Arenas = (Vec<Node>, Vec<Stat>, Vec<Link>);

/// The most that a thread keeps of a tree that is gone.
const SPARE_BYTES: usize = 8 << 20;

thread_local! {
    /// Memory for the next tree of this thread. Fresh memory has to come from the system page by page, which takes a third of the
    /// time of a search whose evaluator is free.
    static SPARE: Cell<Arenas> = const { Cell::new((Vec::new(), Vec::new(), Vec::new())) };
}

impl Drop for Tree {
    fn drop(&mut self) {
        let bytes = |nodes: usize, edges: usize| nodes * Self::NODE_BYTES + edges * Self::EDGE_BYTES;
        let ours = bytes(self.nodes.capacity(), self.stats.capacity().max(self.links.capacity()));
        if ours > SPARE_BYTES {
            return;
        }
        // A thread that ends keeps nothing.
        let _ = SPARE.try_with(|spare| {
            let kept = spare.take();
            if bytes(kept.0.capacity(), kept.1.capacity()) >= ours {
                return spare.set(kept);
            }
            self.nodes.clear();
            self.stats.clear();
            self.links.clear();
            spare.set((take(&mut self.nodes), take(&mut self.stats), take(&mut self.links)));
        });
    }
}

impl Tree {
    /// Bytes of one node and of one move.
    pub(crate) const NODE_BYTES: usize = size_of::<Node>();
    pub(crate) const EDGE_BYTES: usize = size_of::<Stat>() + size_of::<Link>();

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Makes room in an empty tree for nodes with so many moves each, so that it is not copied as it grows: in memory that a tree of
    /// this thread had before, if there is some. A search of a moment may be allowed billions, so it is a few megabytes at most.
    pub(crate) fn reserve(&mut self, n_nodes: u32, n_edges: usize) {
        if self.nodes.capacity() == 0 {
            (self.nodes, self.stats, self.links) = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        let bytes_each = Self::NODE_BYTES + n_edges * Self::EDGE_BYTES;
        let n_nodes = (n_nodes as usize).min(SPARE_BYTES / bytes_each);
        self.nodes.reserve(n_nodes);
        self.stats.reserve(n_nodes * n_edges);
        self.links.reserve(n_nodes * n_edges);
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.len() * Self::NODE_BYTES + self.stats.len() * Self::EDGE_BYTES
    }

    pub(crate) fn node(&self, node: NodeIdx) -> &Node {
        &self.nodes[node.at()]
    }

    pub(crate) fn node_mut(&mut self, node: NodeIdx) -> &mut Node {
        &mut self.nodes[node.at()]
    }

    pub(crate) fn stat(&self, edge: EdgeIdx) -> &Stat {
        &self.stats[edge.at()]
    }

    pub(crate) fn stat_mut(&mut self, edge: EdgeIdx) -> &mut Stat {
        &mut self.stats[edge.at()]
    }

    pub(crate) fn link(&self, edge: EdgeIdx) -> &Link {
        &self.links[edge.at()]
    }

    pub(crate) fn link_mut(&mut self, edge: EdgeIdx) -> &mut Link {
        &mut self.links[edge.at()]
    }

    /// The moves of a node.
    pub(crate) fn edges(
        &self,
        node: NodeIdx,
    ) -> impl ExactSizeIterator<Item = EdgeIdx> + DoubleEndedIterator + use<> {
        let Node { first_edge, n_edges, .. } = *self.node(node);
        (0..n_edges).map(move |offset| EdgeIdx(first_edge + u32::from(offset)))
    }

    /// Appends a node with its moves (algorithm 2).
    pub(crate) fn add_node(&mut self, edges: impl ExactSizeIterator<Item = NewEdge> + Clone) -> NodeIdx {
        let node = NodeIdx(self.nodes.len() as u32);
        self.nodes.push(Node {
            sum: 0.0,
            first_edge: self.stats.len() as u32,
            visits: 0,
            virtual_visits: 0,
            n_edges: edges.len() as u16,
            proof: Proof::Unknown,
        });
        let stat = |NewEdge { prior, score, .. }| Stat { prior, score, visits: 0, virtual_visits: 0 };
        self.stats.extend(edges.clone().map(stat));
        let link = |NewEdge { mv, value, .. }| Link { child: NodeIdx::NONE, value, mv, fate: Fate::Open };
        self.links.extend(edges.map(link));
        node
    }

    /// The mean value of a move for the player who makes it; `None` before the first visit.
    pub(crate) fn mean(&self, edge: EdgeIdx) -> Option<f32> {
        let link = self.link(edge);
        let visits = self.stat(edge).visits;
        match link.fate {
            Fate::Proven(proof, _) => proof.value(),
            Fate::Ended(proof) if visits > 0 => proof.value(),
            _ if visits == 0 || link.child == NodeIdx::NONE => None,
            _ => Some((self.node(link.child).sum / f64::from(visits)) as f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(n_nodes: u32, n_edges: usize) -> Tree {
        let mut tree = Tree::default();
        tree.reserve(n_nodes, n_edges);
        let edge = NewEdge { mv: Move(0), value: 0.0, prior: 0.0, score: 0.0 };
        (0..n_nodes).for_each(|_| _ = tree.add_node(std::iter::repeat_n(edge, n_edges)));
        tree
    }

    #[test]
    fn the_next_tree_of_a_thread_gets_the_memory_of_the_last() {
        let first = grown(1_000, 7);
        let place = first.stats.as_ptr();
        drop(first);
        let second = grown(500, 7);
        assert_eq!(second.stats.as_ptr(), place);
        assert_eq!((second.nodes.len(), second.stats.len(), second.links.len()), (500, 3_500, 3_500));
        // While it is in use the next one has its own, and the larger one stays.
        let third = grown(10, 7);
        assert_ne!(third.stats.as_ptr(), place);
        drop((second, third));
        assert_eq!(grown(1, 1).stats.as_ptr(), place);
    }

    #[test]
    fn a_thread_keeps_no_large_tree() {
        drop(grown(100_000, 7));
        assert!(SPARE.take().0.capacity() < 100_000);
    }

    #[test]
    fn a_node_and_a_move_stay_small() {
        assert_eq!((Tree::NODE_BYTES, Tree::EDGE_BYTES), (24, 28));
    }
}
