//! The first plies as a drawing.

use super::{SavedMove, SavedProof, SavedTree};
use std::fmt::Write as _;

impl SavedTree {
    /// The tree down to `plies`, the `breadth` most visited moves of each node, in the language of Graphviz.
    ///
    /// Edges are as thick as their share of visits; proven wins are green, losses red, draws blue, dead moves dotted.
    #[must_use]
    pub fn graphviz(&self, plies: usize, breadth: usize) -> String {
        let mut dot =
            String::from("digraph tree {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        let _ = writeln!(dot, "  n0 [label=\"{}\"];", escaped(&self.position));
        // Writing to a string cannot fail, here and below.
        let mut leaves = self.nodes.len()..;
        let mut stack = vec![(0, 0_usize)];
        while let Some((index, depth)) = stack.pop() {
            let Some(node) = self.nodes.get(index).filter(|_| depth < plies) else { continue };
            let total: u64 = node.moves.iter().map(|entry| u64::from(entry.visits)).sum();
            let mut moves: Vec<&SavedMove> =
                node.moves.iter().filter(|entry| entry.visits > 0 || entry.proof.is_some()).collect();
            moves.sort_by_key(|entry| std::cmp::Reverse(entry.visits));
            for entry in moves.into_iter().take(breadth) {
                let Some(target) = entry.child.map(|child| child as usize).or_else(|| leaves.next()) else {
                    break;
                };
                let value = entry.value.unwrap_or(entry.model_value);
                let _ = writeln!(
                    dot,
                    "  n{target} [label=\"{}\\n{} visits\\n{value:+.3}\", {}];",
                    escaped(&entry.text),
                    entry.visits,
                    style(entry.proof)
                );
                let width = 0.5 + 4.0 * f64::from(entry.visits) / total.max(1) as f64;
                let _ = writeln!(dot, "  n{index} -> n{target} [penwidth={width:.2}];");
                if entry.child.is_some() {
                    stack.push((target, depth.saturating_add(1)));
                }
            }
        }
        dot.push_str("}\n");
        dot
    }
}

fn style(proof: Option<SavedProof>) -> &'static str {
    match proof {
        None => "color=black",
        Some(SavedProof::Win) => "color=green",
        Some(SavedProof::Loss) => "color=red",
        Some(SavedProof::Draw) => "color=blue",
        Some(SavedProof::Dead) => "style=dotted",
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
