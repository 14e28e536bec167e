//! Trees of evaluated positions, grown level by level, and the traces of the shapes they hold.

use super::{Decision, Shape, Trace, TraceNode};
use crate::{answer::Listing, state::without_history};
use mavis_game::{Game, Move, Position};
use mavis_value::Bucket;
use rand::{Rng, seq::SliceRandom};
use std::ops::Range;

/// What an oracle says of a position that is not over.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// Every legal move with its win probability for the player who makes it. Among equals the earlier ones are expanded first.
    pub moves: Vec<(Move, f32)>,
    /// The oracle's own choice, which goes before its equals.
    pub best: Option<Move>,
}

impl Evaluation {
    /// The win probability of a move.
    #[must_use]
    pub fn value(&self, mv: Move) -> Option<f32> {
        self.moves.iter().find(|(other, _)| *other == mv).map(|(_, value)| *value)
    }

    /// The oracle's choice if it is listed, otherwise the highest of the listed moves.
    pub(super) fn best_of(&self, listed: &[(Move, Bucket)]) -> Option<Move> {
        self.best.filter(|best| listed.iter().any(|(mv, _)| mv == best)).or_else(|| {
            let value = |mv| self.value(mv).unwrap_or(0.0);
            listed
                .iter()
                .map(|(mv, _)| *mv)
                .reduce(|best, mv| if value(mv) > value(best) { mv } else { best })
        })
    }

    /// Puts the moves into the order in which they are listed and expanded: the highest first.
    fn rank(&mut self) {
        let best = self.best;
        self.moves.sort_by(|one, other| {
            other.1.total_cmp(&one.1).then_with(|| (best == Some(other.0)).cmp(&(best == Some(one.0))))
        });
    }
}

/// A tree that waits for the evaluations of its last level.
///
/// Whoever evaluates takes the open positions of any number of trees as one batch. The tree holds what the wanted sizes need and no
/// more; a trace of every one of them can be cut out of it, and one position has one evaluation in all of them.
#[derive(Clone, Debug)]
pub struct SearchTree {
    /// Breadth and depth of the traces it is grown for.
    sizes: Vec<(u16, u16)>,
    nodes: Vec<TreeNode>,
    /// The last level.
    level: Range<usize>,
    /// Its depth.
    depth: u16,
}

#[derive(Clone, Debug)]
struct TreeNode {
    position: Position,
    /// `None` where the game is over, or as long as the evaluation is awaited.
    evaluation: Option<Evaluation>,
    /// The smallest breadth that reaches it from the root.
    breadth: u16,
    /// Nodes of the expanded moves, in the order of the evaluation.
    children: Range<usize>,
}

impl SearchTree {
    /// A tree of the root alone, to be grown for traces of these sizes, each as breadth and depth.
    #[must_use]
    pub fn new(root: &Position, sizes: &[(u16, u16)]) -> Self {
        let root = TreeNode::new(without_history(root), 0);
        Self { sizes: sizes.to_vec(), nodes: vec![root], level: 0..1, depth: 0 }
    }

    /// The positions that wait for an evaluation; none once the tree is grown.
    pub fn open(&self) -> impl Iterator<Item = &Position> {
        let level = self.nodes.get(self.level.clone()).unwrap_or_default();
        level.iter().map(|node| &node.position).filter(|p| p.outcome().is_none())
    }

    /// Takes the evaluations of the open positions, in their order, and opens the best moves of each as far as a size needs them.
    pub fn grow(&mut self, evaluations: impl IntoIterator<Item = Evaluation>) {
        let mut evaluations = evaluations.into_iter();
        let first = self.nodes.len();
        for idx in self.level.clone() {
            let Some(node) = self.nodes.get_mut(idx) else { break };
            if node.position.outcome().is_some() {
                continue;
            }
            let Some(mut evaluation) = evaluations.next() else { continue };
            evaluation.rank();
            let reaches = |&&(breadth, depth): &&(u16, u16)| depth > self.depth && breadth >= node.breadth;
            let most = self.sizes.iter().filter(reaches).map(|(breadth, _)| *breadth).max().unwrap_or(0);
            let expanded: Vec<Move> =
                evaluation.moves.iter().take(usize::from(most)).map(|(mv, _)| *mv).collect();
            let (position, breadth) = (node.position.clone(), node.breadth);
            node.evaluation = Some(evaluation);
            let begin = self.nodes.len();
            for (rank, mv) in (1..).zip(expanded) {
                let mut next = position.clone();
                next.play_unchecked(mv);
                self.nodes.push(TreeNode::new(next, breadth.max(rank)));
            }
            let children = begin..self.nodes.len();
            if let Some(node) = self.nodes.get_mut(idx) {
                node.children = children;
            }
        }
        self.level = first..self.nodes.len();
        self.depth += 1;
    }

    /// The root, without what led to it.
    #[must_use]
    pub fn root(&self) -> &Position {
        &self.nodes[0].position
    }

    /// The trace of a shape; `None` where the tree was not grown that far. The random key orders the lists.
    pub fn trace(&self, shape: Shape, rng: &mut impl Rng) -> Option<Trace> {
        let root = self.node(&shape, 0, shape.depth, rng)?;
        Some(Trace { shape, played: root.decision.selected, root })
    }

    fn node(&self, shape: &Shape, idx: usize, depth: u16, rng: &mut impl Rng) -> Option<TraceNode> {
        let TreeNode { position, evaluation, children, .. } = self.nodes.get(idx)?;
        let mut node = TraceNode {
            position: position.clone(),
            listing: Listing::Moves(Vec::new()),
            best: None,
            children: Vec::new(),
            decision: Decision { compared: Vec::new(), selected: None, value: Bucket::LOST },
        };
        if let Some(outcome) = position.outcome() {
            node.listing = Listing::Over(outcome);
        } else {
            let evaluation = evaluation.as_ref()?;
            let n_listed = shape.top.n_listed(evaluation.moves.len());
            let mut listed: Vec<(Move, Bucket)> = evaluation
                .moves
                .iter()
                .take(n_listed)
                .map(|&(mv, value)| (mv, Bucket::from_win_probability(value)))
                .collect();
            node.best = evaluation.best_of(&listed);
            if depth > 0 {
                let n_expanded = n_listed.min(usize::from(shape.breadth));
                let ranked = listed.iter().map(|(mv, _)| *mv).take(n_expanded);
                for (mv, child) in ranked.zip(children.clone()) {
                    node.children.push((mv, self.node(shape, child, depth - 1, rng)?));
                }
                if node.children.len() < n_expanded {
                    return None;
                }
            }
            listed.shuffle(rng);
            node.listing = Listing::Moves(listed);
        }
        node.decision = node.due_decision(position.side_to_move())?;
        Some(node)
    }
}

impl TreeNode {
    fn new(position: Position, breadth: u16) -> Self {
        Self { position, evaluation: None, breadth, children: 0..0 }
    }
}

/// Grows the tree of one shape from `root`, evaluating every node once, and decides it. The random key orders the lists.
pub fn grow_trace(
    shape: Shape,
    root: &Position,
    evaluate: &mut impl FnMut(&Position) -> Evaluation,
    rng: &mut impl Rng,
) -> Trace {
    let mut tree = SearchTree::new(root, &[(shape.breadth, shape.depth)]);
    while tree.open().next().is_some() {
        let evaluations: Vec<Evaluation> = tree.open().map(&mut *evaluate).collect();
        tree.grow(evaluations);
    }
    tree.trace(shape, rng).expect("the tree was grown for this shape")
}
