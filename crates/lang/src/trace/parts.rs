//! The parts of a trace in the order of its text.

use super::{Order, Trace, TraceNode};
use mavis_game::{Move, Position};

/// A node's evaluation with what it expands, or its decision.
pub(super) struct Part<'a> {
    pub node: &'a TraceNode,
    /// The position of the node above; `None` at the root.
    pub parent: Option<&'a Position>,
    /// Moves from the root to the node.
    pub path: Vec<Move>,
    pub decides: bool,
}

/// All parts of a trace.
pub(super) fn parts(trace: &Trace) -> Vec<Part<'_>> {
    let root = Part { node: &trace.root, parent: None, path: Vec::new(), decides: false };
    match trace.shape.order {
        Order::DepthFirst => {
            let mut parts = Vec::new();
            depth_first(root, &mut parts);
            parts
        }
        Order::BreadthFirst => breadth_first(root),
    }
}

impl<'a> Part<'a> {
    fn children(&self) -> Vec<Self> {
        let child = |(mv, node): &'a (Move, TraceNode)| Self {
            node,
            parent: Some(&self.node.position),
            path: [self.path.as_slice(), &[*mv]].concat(),
            decides: false,
        };
        self.node.children.iter().map(child).collect()
    }

    fn decision(&self) -> Self {
        Self { path: self.path.clone(), decides: true, ..*self }
    }
}

fn depth_first<'a>(part: Part<'a>, parts: &mut Vec<Part<'a>>) {
    let (children, decision) = (part.children(), part.decision());
    parts.push(part);
    for child in children {
        depth_first(child, parts);
    }
    parts.push(decision);
}

fn breadth_first(root: Part<'_>) -> Vec<Part<'_>> {
    let mut levels = vec![vec![root]];
    while let Some(last) = levels.last().filter(|level| !level.is_empty()) {
        let next = last.iter().flat_map(Part::children).collect();
        levels.push(next);
    }
    let decisions: Vec<Part<'_>> = levels.iter().rev().flatten().map(Part::decision).collect();
    levels.into_iter().flatten().chain(decisions).collect()
}
