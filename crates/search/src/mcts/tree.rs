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

impl Tree {
    /// Bytes of one node and of one move.
    pub(crate) const NODE_BYTES: usize = size_of::<Node>();
    pub(crate) const EDGE_BYTES: usize = size_of::<Stat>() + size_of::<Link>();

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Makes room for nodes with so many moves each, so that a large tree is not copied as it grows. Small ones grow in memory
    /// that was used before, which is quicker; and a search of a moment may be allowed billions, so it is a few megabytes at most.
    pub(crate) fn reserve(&mut self, n_nodes: u32, n_edges: usize) {
        const LEAST_BYTES: usize = 1 << 20;
        const MOST_BYTES: usize = 8 << 20;
        let bytes_each = Self::NODE_BYTES + n_edges * Self::EDGE_BYTES;
        let n_nodes = (n_nodes as usize).min(MOST_BYTES / bytes_each);
        if n_nodes * bytes_each >= LEAST_BYTES {
            self.nodes.reserve(n_nodes);
            self.stats.reserve(n_nodes * n_edges);
            self.links.reserve(n_nodes * n_edges);
        }
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

    #[test]
    fn a_node_and_a_move_stay_small() {
        assert_eq!((Tree::NODE_BYTES, Tree::EDGE_BYTES), (24, 28));
    }
}
