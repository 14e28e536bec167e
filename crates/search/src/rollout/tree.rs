//! The arena of the rollout search: 16 bytes per node, children side by side.

use super::{MoveReport, points};
use crate::random::Random;
use mavis_game::{Move, Side};

/// A place in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeIdx(u32);

pub(super) const ROOT: NodeIdx = NodeIdx(0);

#[derive(Clone, Copy, Debug)]
struct RolloutNode {
    visits: u32,
    /// Wins minus losses of the player who moved here.
    points: i32,
    /// Where the children start; 0 (the root is nobody's child) while there are none.
    first_child: u32,
    n_children: u16,
    /// The move that leads here.
    mv: Move,
}

impl RolloutNode {
    fn new(mv: Move) -> Self {
        Self { visits: 0, points: 0, first_child: 0, n_children: 0, mv }
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<RolloutNode>,
    /// The nodes of the running simulation below the root; kept here so that its memory is reused.
    pub(super) path: Vec<NodeIdx>,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { nodes: vec![RolloutNode::new(Move(u16::MAX))], path: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn visits(&self, node: NodeIdx) -> u32 {
        self.nodes[node.0 as usize].visits
    }

    pub(super) fn mv(&self, node: NodeIdx) -> Move {
        self.nodes[node.0 as usize].mv
    }

    pub(super) fn has_children(&self, node: NodeIdx) -> bool {
        self.nodes[node.0 as usize].n_children > 0
    }

    pub(super) fn expand(&mut self, node: NodeIdx, moves: &[Move]) {
        let first_child = self.nodes.len() as u32;
        self.nodes.extend(moves.iter().map(|&mv| RolloutNode::new(mv)));
        let parent = &mut self.nodes[node.0 as usize];
        parent.first_child = first_child;
        parent.n_children = moves.len() as u16;
    }

    /// The child to visit next: each once in random order, then the highest upper bound (UCT).
    pub(super) fn select(&mut self, node: NodeIdx, c: f32, random: &mut Random) -> NodeIdx {
        let RolloutNode { visits, first_child, n_children, .. } = self.nodes[node.0 as usize];
        let start = first_child as usize;
        let children = &mut self.nodes[start..start + usize::from(n_children)];
        // A node spends its first visit on itself, the root none, and every visited child had one before any had two:
        // the next unvisited child follows from the count. Swapping the moves is a shuffle done one step at a time.
        let n_seen = (if node == ROOT { visits } else { visits - 1 }) as usize;
        if n_seen < children.len() {
            let chosen = n_seen + random.below(children.len() - n_seen);
            let mv = children[chosen].mv;
            children[chosen].mv = children[n_seen].mv;
            children[n_seen].mv = mv;
            return NodeIdx((start + n_seen) as u32);
        }
        let scale = c * (visits as f32).ln().sqrt();
        let mut best = (f32::NEG_INFINITY, 0);
        for (index, child) in children.iter().enumerate() {
            let spread = 1.0 / (child.visits as f32).sqrt();
            let score = spread * (child.points as f32 * spread + scale);
            if score > best.0 {
                best = (score, index);
            }
        }
        NodeIdx((start + best.1) as u32)
    }

    /// Adds one result to the root and to every node of the path.
    pub(super) fn back_up(&mut self, root_side: Side, winner: Option<Side>) {
        self.nodes[0].visits += 1;
        let mut mover = root_side;
        for node in &self.path {
            let node = &mut self.nodes[node.0 as usize];
            node.visits += 1;
            node.points += points(mover, winner);
            mover = mover.other();
        }
    }

    pub(super) fn children(&self, node: NodeIdx) -> impl Iterator<Item = MoveReport> + '_ {
        let RolloutNode { first_child, n_children, .. } = self.nodes[node.0 as usize];
        let start = first_child as usize;
        self.nodes[start..start + usize::from(n_children)].iter().map(|child| MoveReport {
            mv: child.mv,
            visits: child.visits,
            value: if child.visits == 0 { 0.0 } else { child.points as f32 / child.visits as f32 },
        })
    }
}
