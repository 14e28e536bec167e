//! Minimax trees over any evaluation.

use super::{Decision, Node, Shape, Trace};
use crate::{answer::Listing, example::draw_order, state::without_history};
use mavis_game::{Game, Move, Position};
use mavis_value::Bucket;
use rand::Rng;

/// What an oracle says of a position that is not over.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// Every legal move with its win probability for the player who makes it.
    pub moves: Vec<(Move, f32)>,
    /// The oracle's own choice, which breaks ties.
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
}

/// Grows the tree of a shape from `root`, evaluating every node once, and decides it. The random key orders the lists
/// and breaks ties of the k best.
pub fn grow_trace(
    shape: Shape,
    root: &Position,
    evaluate: &mut impl FnMut(&Position) -> Evaluation,
    rng: &mut impl Rng,
) -> Trace {
    let root = grow_node(&shape, without_history(root), shape.depth, evaluate, rng);
    Trace { shape, played: root.decision.selected, root }
}

fn grow_node(
    shape: &Shape,
    position: Position,
    depth: u16,
    evaluate: &mut impl FnMut(&Position) -> Evaluation,
    rng: &mut impl Rng,
) -> Node {
    let pending = Decision { compared: Vec::new(), selected: None, value: Bucket::LOST };
    let side = position.side_to_move();
    let mut node = Node {
        listing: Listing::Moves(Vec::new()),
        best: None,
        children: Vec::new(),
        decision: pending,
        position,
    };
    if let Some(outcome) = node.position.outcome() {
        node.listing = Listing::Over(outcome);
    } else {
        let evaluation = evaluate(&node.position);
        let mut order = Vec::new();
        draw_order(&evaluation.moves, evaluation.best, shape.top, rng, &mut order);
        let mut listed: Vec<(Move, f32)> =
            order.iter().map(|&(_, idx)| evaluation.moves[idx as usize]).collect();
        let buckets: Vec<(Move, Bucket)> =
            listed.iter().map(|&(mv, value)| (mv, Bucket::from_win_probability(value))).collect();
        node.best = evaluation.best_of(&buckets);
        node.listing = Listing::Moves(buckets);
        if depth > 0 {
            // Stable, so that the random order breaks ties; the best action goes before its equals.
            listed.sort_by(|one, other| {
                other
                    .1
                    .total_cmp(&one.1)
                    .then_with(|| (node.best == Some(other.0)).cmp(&(node.best == Some(one.0))))
            });
            listed.truncate(usize::from(shape.breadth));
            for (mv, _) in listed {
                let mut next = node.position.clone();
                next.play_unchecked(mv);
                node.children.push((mv, grow_node(shape, next, depth - 1, evaluate, rng)));
            }
        }
    }
    if let Some(decision) = node.due_decision(side) {
        node.decision = decision;
    }
    node
}
