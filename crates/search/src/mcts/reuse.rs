//! Keeping the part of the tree below the moves played.

use super::tree::{EdgeIdx, NodeIdx, Tree};
use mavis_game::Move;

impl Tree {
    /// The tree below a root move, and for each of its nodes the node it was; `None` if the move was never expanded.
    ///
    /// Nothing may be in flight. The copy leaves the rest behind, so that memory is what the new tree needs.
    pub(crate) fn below(&self, mv: Move) -> Option<(Self, Vec<NodeIdx>)> {
        if self.is_empty() {
            return None;
        }
        let edge = self.edges(NodeIdx::ROOT).find(|&edge| self.link(edge).mv == mv)?;
        let new_root = self.link(edge).child;
        if new_root == NodeIdx::NONE {
            return None;
        }
        let mut copy = Self::default();
        // `origin[n]` is what node n of the copy was; nodes are copied in the order they are met.
        let mut origin = vec![new_root];
        copy.copy_node(self, new_root);
        let mut next = 0;
        while next < origin.len() {
            for offset in 0..copy.nodes[next].n_edges {
                let edge = EdgeIdx(copy.nodes[next].first_edge + u32::from(offset));
                let child = copy.link(edge).child;
                if child != NodeIdx::NONE {
                    copy.link_mut(edge).child = NodeIdx(origin.len() as u32);
                    origin.push(child);
                    copy.copy_node(self, child);
                }
            }
            next += 1;
        }
        Some((copy, origin))
    }

    /// Appends a node of another tree; its moves still name children of that one.
    fn copy_node(&mut self, from: &Self, node: NodeIdx) {
        let mut copy = *from.node(node);
        let first = copy.first_edge as usize;
        let edges = first..first + usize::from(copy.n_edges);
        copy.first_edge = self.stats.len() as u32;
        self.stats.extend_from_slice(&from.stats[edges.clone()]);
        self.links.extend_from_slice(&from.links[edges]);
        self.nodes.push(copy);
    }
}
