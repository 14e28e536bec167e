//! The tree of a search that a model wrote, for people.

use mavis_play::Thought;
use mavis_search::wire::{SavedProof, SavedTree};

/// One line for each move that was searched, replies below their moves; nothing for players without such a tree.
pub(super) fn tree_text(thought: &Thought) -> String {
    let Some(tree) = &thought.tree else { return String::new() };
    let count = |n: Option<u64>| n.unwrap_or(0);
    let mut text = format!(
        "tree of {} nodes: {} tokens in {} passes\n",
        thought.nodes,
        count(thought.tokens),
        count(thought.passes)
    );
    branch(tree, 0, 1, &mut text);
    text
}

fn branch(tree: &SavedTree, node: usize, ply: usize, text: &mut String) {
    let Some(saved) = tree.nodes.get(node) else { return };
    let percent = |value: f32| format!("{:.1} %", 50.0 + 50.0 * value);
    let mut searched: Vec<_> = saved.moves.iter().filter(|entry| entry.visits > 0).collect();
    searched.sort_by(|one, other| {
        other.value.unwrap_or(f32::NEG_INFINITY).total_cmp(&one.value.unwrap_or(f32::NEG_INFINITY))
    });
    for entry in searched {
        let found = match (entry.ended, entry.value) {
            (Some(SavedProof::Win), _) => "won".to_owned(),
            (Some(SavedProof::Loss), _) => "lost".to_owned(),
            (Some(_), _) => "drawn".to_owned(),
            (None, Some(value)) => percent(value),
            (None, None) => "not decided".to_owned(),
        };
        let indent = "  ".repeat(ply);
        text.push_str(&format!(
            "{indent}{:<6} listed {:>7}, searched {found}\n",
            entry.text,
            percent(entry.model_value)
        ));
        if let Some(child) = entry.child {
            branch(tree, child as usize, ply + 1, text);
        }
    }
}
