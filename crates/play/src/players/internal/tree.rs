//! The tree of a trace, as data that can be drawn.

use mavis_game::{Game as _, Move, Outcome, Position, Side};
use mavis_lang::trace::{LiveNode, TraceProgress};
use mavis_search::wire::{SavedMove, SavedNode, SavedProof, SavedTree, VERSION};
use mavis_value::Bucket;

/// The tree so far. A move's visits are the nodes behind it; its value is what they come to, from -1 to 1 as in any saved tree.
#[must_use]
pub fn saved_tree(progress: &TraceProgress, position: &Position, evaluator: &str) -> SavedTree {
    let nodes = progress.nodes();
    // Only nodes with moves are nodes of a saved tree; ends of games are marks on moves.
    let mut places = vec![None; nodes.len()];
    let mut n_saved = 0;
    for (place, node) in places.iter_mut().zip(nodes) {
        if !node.moves.is_empty() {
            *place = Some(n_saved);
            n_saved += 1;
        }
    }
    let shape = progress.shape();
    let with_moves = (0..nodes.len()).filter(|&idx| places[idx].is_some());
    SavedTree {
        version: VERSION,
        game: position.rules().to_string(),
        position: position.to_string(),
        settings: format!("breadth={},depth={}", shape.breadth, shape.depth),
        evaluator: evaluator.to_owned(),
        nodes: with_moves.map(|idx| saved_node(progress, idx, &places)).collect(),
    }
}

fn saved_node(progress: &TraceProgress, idx: usize, places: &[Option<u32>]) -> SavedNode {
    let node = &progress.nodes()[idx];
    let listed = node.moves.iter().map(|&(mv, value)| (mv, Some(value)));
    // A child that is not listed is drawn all the same.
    let is_listed = |mv: Move| node.moves.iter().any(|(other, _)| *other == mv);
    let unlisted = node.children.iter().filter(|(mv, _)| !is_listed(*mv)).map(|&(mv, _)| (mv, None));
    let mut moves: Vec<SavedMove> = Vec::new();
    for (mv, value) in listed.chain(unlisted) {
        if !moves.iter().any(|entry| entry.code == mv.0) {
            moves.push(saved_move(progress, idx, mv, value, places));
        }
    }
    let value = node.decision.as_ref().map_or(0.0, |decision| -signed(decision.value.win_probability()));
    SavedNode {
        state: (idx > 0).then(|| node.position.as_ref().map(ToString::to_string)).flatten(),
        sum: f64::from(value) * n_nodes(progress, idx) as f64,
        proof: None,
        moves,
    }
}

fn saved_move(
    progress: &TraceProgress,
    parent: usize,
    mv: Move,
    listed: Option<Bucket>,
    places: &[Option<u32>],
) -> SavedMove {
    let node = &progress.nodes()[parent];
    let legal = node.position.as_ref().filter(|position| position.is_legal(mv));
    let child = child(node, mv);
    let mover = node.position.as_ref().map(Position::side_to_move);
    let outcome = child.and_then(|child| progress.nodes()[child].outcome);
    let ended = outcome.zip(mover).map(|(outcome, mover)| ended(outcome, mover));
    let model_value = listed.map_or(0.0, |value| signed(value.win_probability()));
    SavedMove {
        text: legal.map_or_else(|| format!("#{}", mv.0), |position| position.move_text(mv)),
        code: mv.0,
        visits: child.map_or(0, |child| u32::try_from(n_nodes(progress, child)).unwrap_or(u32::MAX / 4)),
        value: searched(progress, parent, mv).map(signed),
        model_value,
        prior: 0.0,
        proof: None,
        plies: None,
        ended,
        child: child.filter(|_| ended.is_none()).and_then(|child| places[child]),
    }
}

fn ended(outcome: Outcome, mover: Side) -> SavedProof {
    match outcome.winner() {
        None => SavedProof::Draw,
        Some(winner) if winner == mover => SavedProof::Win,
        Some(_) => SavedProof::Loss,
    }
}

/// A win probability on the scale of trees, -1 to 1.
fn signed(probability: f32) -> f32 {
    2.0 * probability - 1.0
}

/// The node behind a move, once it has begun.
pub(super) fn child(node: &LiveNode, mv: Move) -> Option<usize> {
    node.children.iter().find(|(other, _)| *other == mv).and_then(|(_, child)| *child)
}

/// What a move of a node comes to by search, for the player who makes it, once its child is decided.
pub(super) fn searched(progress: &TraceProgress, parent: usize, mv: Move) -> Option<f32> {
    let child = child(&progress.nodes()[parent], mv)?;
    let decision = progress.nodes()[child].decision.as_ref()?;
    Some(decision.value.flipped().win_probability())
}

/// Nodes at and below a node.
pub(super) fn n_nodes(progress: &TraceProgress, idx: usize) -> usize {
    let children = progress.nodes()[idx].children.iter().filter_map(|(_, child)| *child);
    1 + children.map(|child| n_nodes(progress, child)).sum::<usize>()
}

/// A move of the root and what is selected after it.
pub(super) fn line(progress: &TraceProgress, mv: Move) -> Vec<Move> {
    let mut line = vec![mv];
    let mut next = child(&progress.nodes()[0], mv);
    while let Some(node) = next.map(|idx| &progress.nodes()[idx]) {
        let selected = node.decision.as_ref().map_or(node.best, |decision| decision.selected);
        line.extend(selected);
        next = selected.and_then(|selected| child(node, selected));
    }
    line
}
