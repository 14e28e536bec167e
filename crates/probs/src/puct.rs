//! The tree of the AlphaZero-style learner, one simulation at a time.
//!
//! Like the beam search it says which state it wants valued and is fed, so that one batch serves many games; the searches
//! of `mavis-search` await an evaluator instead, which is the wrong shape for a thousand trees in step.

use crate::{
    Planes, Unvisited,
    batch::legal_moves,
    episode::{end, worth},
};
use mavis_game::Move;

/// A search tree that is kept from move to move.
pub(crate) struct Tree<G> {
    nodes: Vec<PuctNode<G>>,
    unvisited: Unvisited,
    root: usize,
    /// Edges from the root to the leaf that waits for its values: node and edge.
    path: Vec<(usize, usize)>,
    /// The leaf at the end of the path.
    leaf: usize,
}

/// A leaf that waits for its values while others are looked for.
pub(crate) struct Pending {
    path: Vec<(usize, usize)>,
    leaf: usize,
}

struct PuctNode<G> {
    state: G,
    /// The end of the game for the side to move.
    end: Option<f32>,
    /// What the value net says of it, for the side to move; 0 until expanded.
    value: f32,
    /// Empty until expanded.
    edges: Vec<Edge>,
}

#[derive(Clone, Copy)]
struct Edge {
    mv: Move,
    prior: f32,
    visits: u32,
    /// Sum of values for the side that makes the move.
    total: f32,
    child: Option<usize>,
}

impl<G: Planes> Tree<G> {
    pub(crate) fn new(state: G, unvisited: Unvisited) -> Self {
        let end = end(&state).map(|outcome| worth(&state, Some(outcome)));
        let root = PuctNode { state, end, value: 0.0, edges: Vec::new() };
        Self { nodes: vec![root], unvisited, root: 0, path: Vec::new(), leaf: 0 }
    }

    /// Simulations through the root.
    pub(crate) fn visits(&self) -> u32 {
        self.nodes[self.root].edges.iter().map(|edge| edge.visits).sum()
    }

    /// The state at the root.
    pub(crate) fn state(&self) -> &G {
        &self.nodes[self.root].state
    }

    /// Moves at the root; none before it is expanded.
    pub(crate) fn n_moves(&self) -> u32 {
        self.nodes[self.root].edges.len() as u32
    }

    /// Whether the root has its priors.
    pub(crate) fn is_expanded(&self) -> bool {
        !self.nodes[self.root].edges.is_empty()
    }

    /// Walks down to a leaf by PUCT. Returns its state if that needs values; the end of a game is backed up at once.
    pub(crate) fn select(&mut self, c_puct: f32) -> Option<&G> {
        self.select_from(None, c_puct)
    }

    /// The same, but with the first move given by its number, counted round and round.
    pub(crate) fn select_from(&mut self, first: Option<u32>, c_puct: f32) -> Option<&G> {
        self.path.clear();
        let mut node = self.root;
        while let Some(best) = self.best_edge(node, c_puct) {
            let edge = match first {
                Some(number) if self.path.is_empty() => (number % self.n_moves()) as usize,
                _ => best,
            };
            self.path.push((node, edge));
            node = match self.nodes[node].edges[edge].child {
                Some(child) => child,
                None => self.add_child(node, edge),
            };
        }
        self.leaf = node;
        if let Some(value) = self.nodes[node].end {
            self.back_up(value);
            return None;
        }
        Some(&self.nodes[node].state)
    }

    /// Different leaves that need values, found by at most `n` simulations. Each counts as a loss until it is fed, so that the
    /// next one looks elsewhere; when one comes to the same leaf all the same, there are no more.
    pub(crate) fn select_many(&mut self, n: u32, c_puct: f32) -> Vec<Pending> {
        let mut pending: Vec<Pending> = Vec::new();
        for _ in 0..n {
            if self.select(c_puct).is_none() {
                continue;
            }
            if pending.iter().any(|other| other.leaf == self.leaf) {
                break;
            }
            for &(node, edge) in &self.path {
                self.nodes[node].edges[edge].count(-1.0);
            }
            pending.push(Pending { path: std::mem::take(&mut self.path), leaf: self.leaf });
        }
        pending
    }

    /// The state of a leaf that waits.
    pub(crate) fn waiting(&self, pending: &Pending) -> &G {
        &self.nodes[pending.leaf].state
    }

    /// As [`Tree::feed`] for a leaf of [`Tree::select_many`].
    pub(crate) fn feed_pending(&mut self, pending: Pending, priors: Vec<(Move, f32)>, value: f32) {
        for &(node, edge) in &pending.path {
            self.nodes[node].edges[edge].uncount(-1.0);
        }
        (self.path, self.leaf) = (pending.path, pending.leaf);
        self.feed(priors, value);
    }

    /// The state that [`Tree::select`] found.
    pub(crate) fn leaf(&self) -> &G {
        &self.nodes[self.leaf].state
    }

    /// Gives the selected leaf its priors, which sum to one, and its value for the side to move.
    pub(crate) fn feed(&mut self, priors: Vec<(Move, f32)>, value: f32) {
        let edge = |(mv, prior)| Edge { mv, prior, visits: 0, total: 0.0, child: None };
        self.nodes[self.leaf].value = value;
        self.nodes[self.leaf].edges = priors.into_iter().map(edge).collect();
        self.back_up(value);
    }

    /// Changes the priors of the root, for noise.
    pub(crate) fn change_priors(&mut self, change: impl FnOnce(&mut [(Move, f32)])) {
        let edges = &mut self.nodes[self.root].edges;
        let mut priors: Vec<(Move, f32)> = edges.iter().map(|edge| (edge.mv, edge.prior)).collect();
        change(&mut priors);
        edges.iter_mut().zip(priors).for_each(|(edge, (_, prior))| edge.prior = prior);
    }

    /// The share of visits of every move at the root; even shares before the first simulation.
    pub(crate) fn shares(&self) -> Vec<(Move, f32)> {
        let edges = &self.nodes[self.root].edges;
        let total = self.visits();
        let share = |edge: &Edge| match total {
            0 => 1.0 / edges.len() as f32,
            total => edge.visits as f32 / total as f32,
        };
        edges.iter().map(|edge| (edge.mv, share(edge))).collect()
    }

    /// Mean value and visits of every move at the root, for the side to move.
    pub(crate) fn means(&self) -> Vec<(Move, f32, u32)> {
        let mean = |edge: &Edge| (edge.mv, edge.total / edge.visits.max(1) as f32, edge.visits);
        self.nodes[self.root].edges.iter().map(mean).collect()
    }

    /// Moves the root; what is known below it stays.
    pub(crate) fn play(&mut self, mv: Move) {
        let edge = self.nodes[self.root].edges.iter().position(|edge| edge.mv == mv);
        self.root = match edge.map(|edge| (edge, self.nodes[self.root].edges[edge].child)) {
            Some((_, Some(child))) => child,
            Some((edge, None)) => self.add_child(self.root, edge),
            None => {
                let mut state = self.state().clone();
                state.play_unchecked(mv);
                *self = Self::new(state, self.unvisited);
                0
            }
        };
    }

    /// What is known of a position one or two moves below the root, as a tree of its own. `None` where it is not in the tree.
    pub(crate) fn below(&self, state: &G) -> Option<Self> {
        let children = |node: usize| self.nodes[node].edges.iter().filter_map(|edge| edge.child);
        let replies = children(self.root).flat_map(children);
        let mut known = children(self.root).chain(replies);
        let from = known.find(|&node| self.nodes[node].state == *state)?;
        let copy = |node: &PuctNode<G>| PuctNode {
            state: node.state.clone(),
            end: node.end,
            value: node.value,
            edges: node.edges.clone(),
        };
        let mut nodes = vec![copy(&self.nodes[from])];
        let mut next = 0;
        // Children still have the numbers of the whole tree; each gets its new one as it is appended.
        while next < nodes.len() {
            for edge in 0..nodes[next].edges.len() {
                if let Some(child) = nodes[next].edges[edge].child {
                    nodes[next].edges[edge].child = Some(nodes.len());
                    nodes.push(copy(&self.nodes[child]));
                }
            }
            next += 1;
        }
        Some(Self { nodes, unvisited: self.unvisited, root: 0, path: Vec::new(), leaf: 0 })
    }

    /// The edge of greatest value plus exploration. `None` at a leaf.
    fn best_edge(&self, node: usize, c_puct: f32) -> Option<usize> {
        let edges = &self.nodes[node].edges;
        let n_visits: u32 = edges.iter().map(|edge| edge.visits).sum();
        let explore = c_puct * (n_visits.max(1) as f32).sqrt();
        let unvisited = match self.unvisited {
            Unvisited::Draw => 0.0,
            Unvisited::Parent => self.nodes[node].value,
        };
        let score = |edge: &Edge| {
            let mean = if edge.visits == 0 { unvisited } else { edge.total / edge.visits as f32 };
            mean + explore * edge.prior / (1 + edge.visits) as f32
        };
        let better = |best: (usize, f32), (index, score)| if score > best.1 { (index, score) } else { best };
        let scores = edges.iter().map(score).enumerate();
        scores.reduce(better).map(|(index, _)| index)
    }

    fn add_child(&mut self, node: usize, edge: usize) -> usize {
        let mut state = self.nodes[node].state.clone();
        state.play_unchecked(self.nodes[node].edges[edge].mv);
        let end = end(&state).map(|outcome| worth(&state, Some(outcome)));
        self.nodes.push(PuctNode { state, end, value: 0.0, edges: Vec::new() });
        let child = self.nodes.len() - 1;
        self.nodes[node].edges[edge].child = Some(child);
        child
    }

    fn back_up(&mut self, mut value: f32) {
        for &(node, edge) in self.path.iter().rev() {
            value = -value;
            self.nodes[node].edges[edge].count(value);
        }
    }
}

impl Edge {
    fn count(&mut self, value: f32) {
        self.visits += 1;
        self.total += value;
    }

    /// Takes back what was counted.
    fn uncount(&mut self, value: f32) {
        self.visits -= 1;
        self.total -= value;
    }
}

/// Logits of all actions as priors of the legal moves.
pub(crate) fn priors<G: Planes>(state: &G, logits: &[f32]) -> Vec<(Move, f32)> {
    let mut moves: Vec<(Move, f32)> =
        legal_moves(state).into_iter().map(|mv| (mv, logits[state.action(mv)])).collect();
    crate::self_play::softmax(&mut moves, 1.0);
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::{Connect4, Game as _};

    fn search(mut state: Connect4, moves: &[u16], n: u32) -> Vec<(Move, f32)> {
        moves.iter().for_each(|column| state.play(Move(*column)).unwrap());
        let mut tree = Tree::new(state, Unvisited::Draw);
        while tree.visits() < n {
            if let Some(leaf) = tree.select(2.0).copied() {
                tree.feed(priors(&leaf, &[0.0; 7]), 0.0);
            }
        }
        tree.shares()
    }

    #[test]
    fn visits_go_to_the_win_and_away_from_the_loss() {
        let winning = search(Connect4::default(), &[3, 0, 3, 0, 3, 0], 200);
        assert!(winning[3].1 > 0.8, "{winning:?}");
        let threatened = search(Connect4::default(), &[3, 0, 3, 0, 3], 400);
        assert!(threatened[3].1 > 0.5, "{threatened:?}");
    }

    #[test]
    fn moves_without_visits_count_as_said() {
        let tried = |unvisited, value| {
            let mut tree = Tree::new(Connect4::default(), unvisited);
            while tree.visits() < 12 {
                if let Some(leaf) = tree.select(0.1).copied() {
                    tree.feed(priors(&leaf, &[0.0; 7]), if leaf.ply() == 0 { value } else { 0.5 });
                }
            }
            tree.means().iter().filter(|(_, _, visits)| *visits > 0).count()
        };
        // Every tried move is worth -0.5: against a draw all the others look better, against the position's own -0.9 none does.
        assert_eq!(tried(Unvisited::Draw, -0.9), 7);
        assert_eq!(tried(Unvisited::Parent, -0.9), 1);
    }

    #[test]
    fn leaves_found_together_are_different_and_leave_no_trace_but_their_values() {
        let mut state = Connect4::default();
        [3, 0, 3, 0, 3].iter().for_each(|column| state.play(Move(*column)).unwrap());
        let mut tree = Tree::new(state, Unvisited::Draw);
        let mut largest = 0;
        while tree.visits() < 400 {
            let before = tree.visits();
            let pending = tree.select_many(8, 2.0);
            let places: std::collections::HashSet<usize> = pending.iter().map(|leaf| leaf.leaf).collect();
            assert_eq!(places.len(), pending.len());
            largest = largest.max(pending.len());
            for leaf in pending {
                let state = *tree.waiting(&leaf);
                tree.feed_pending(leaf, priors(&state, &[0.0; 7]), 0.0);
            }
            assert!(tree.visits() <= before + 8 && (tree.visits() > before || before == 0));
        }
        assert!(largest > 4, "{largest}");
        // Losses that were only lent are gone: every mean is that of ends of games and zeros.
        assert!(tree.means().iter().all(|(_, mean, _)| (-1.0..=1.0).contains(mean)));
        assert!(tree.shares()[3].1 > 0.5, "{:?}", tree.shares());
    }

    #[test]
    fn the_tree_goes_on_from_move_to_move() {
        let mut tree = Tree::new(Connect4::default(), Unvisited::Draw);
        while tree.visits() < 100 {
            if let Some(leaf) = tree.select(2.0).copied() {
                tree.feed(priors(&leaf, &[0.0; 7]), 0.0);
            }
        }
        let kept = tree.means()[2].2 - 1;
        let mut after = Connect4::default();
        after.play(Move(2)).unwrap();
        let below = tree.below(&after).unwrap();
        assert!(tree.below(tree.state()).is_none(), "the root is not below itself");
        tree.play(Move(2));
        assert_eq!(tree.visits(), kept);
        assert_eq!(tree.state().ply(), 1);
        assert_eq!((below.means(), below.state()), (tree.means(), tree.state()));
        assert!(below.nodes.len() < tree.nodes.len());
        after.play(Move(3)).unwrap();
        let further = below.below(&after).unwrap();
        assert_eq!(further.means(), tree.below(&after).unwrap().means());
        let reached = |mv| below.means().iter().any(|(known, _, visits)| *known == mv && *visits > 1);
        assert!(reached(Move(3)) && further.visits() > 0);
    }

    #[test]
    fn a_tree_of_its_own_grows_like_the_whole_one() {
        let grow = |tree: &mut Tree<Connect4>, n| {
            while tree.visits() < n {
                if let Some(leaf) = tree.select(1.5).copied() {
                    let value = (leaf.occupied().count_ones() % 5) as f32 / 5.0 - 0.4;
                    tree.feed(priors(&leaf, &[0.3, 0.1, 0.0, 0.5, 0.2, 0.1, 0.0]), value);
                }
            }
        };
        let mut whole = Tree::new(Connect4::default(), Unvisited::Parent);
        grow(&mut whole, 300);
        let mut after = Connect4::default();
        [3, 2].iter().for_each(|column| after.play(Move(*column)).unwrap());
        let mut part = whole.below(&after).unwrap();
        [3, 2].iter().for_each(|column| whole.play(Move(*column)));
        [&mut whole, &mut part].into_iter().for_each(|tree| grow(tree, 300));
        assert_eq!(whole.means(), part.means());
    }
}
