//! What differs between two trees of the same position.

use super::{SavedMove, SavedTree};

/// Two trees side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeDiff {
    /// Nodes reached by the same moves in both.
    pub common_nodes: usize,
    /// Nodes only in the first.
    pub only_first: usize,
    /// Nodes only in the second.
    pub only_second: usize,
    /// Common nodes with another best move.
    pub other_best: usize,
    /// Moves that differ, those with the most visits first.
    pub differences: Vec<Difference>,
}

/// A move that differs.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The moves from the root, the differing one last.
    pub line: Vec<String>,
    /// Visits in each tree; `None` where the move is not listed.
    pub visits: [Option<u32>; 2],
    /// Values in each tree.
    pub values: [Option<f32>; 2],
}

impl TreeDiff {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty() && [self.only_first, self.only_second, self.other_best] == [0; 3]
    }
}

impl SavedTree {
    /// Compares with another tree of the same position; values closer than `tolerance` count as equal.
    #[must_use]
    pub fn diff(&self, other: &Self, tolerance: f32) -> TreeDiff {
        let mut diff = TreeDiff {
            common_nodes: 0,
            only_first: self.nodes.len(),
            only_second: other.nodes.len(),
            other_best: 0,
            differences: Vec::new(),
        };
        let mut stack = Vec::new();
        if !self.nodes.is_empty() && !other.nodes.is_empty() {
            stack.push((0, 0, Vec::new()));
        }
        while let Some((first, second, line)) = stack.pop() {
            let (Some(one), Some(two)) = (self.nodes.get(first), other.nodes.get(second)) else { continue };
            diff.common_nodes = diff.common_nodes.saturating_add(1);
            diff.only_first = diff.only_first.saturating_sub(1);
            diff.only_second = diff.only_second.saturating_sub(1);
            if one.best().map(|best| best.code) != two.best().map(|best| best.code) {
                diff.other_best = diff.other_best.saturating_add(1);
            }
            let twin = |entry: &SavedMove, among: &[SavedMove]| {
                among.iter().find(|candidate| candidate.code == entry.code).cloned()
            };
            for entry in &one.moves {
                let line: Vec<String> = line.iter().chain([&entry.text]).cloned().collect();
                let mate = twin(entry, &two.moves);
                if mate.as_ref().is_none_or(|mate| differ(entry, mate, tolerance)) {
                    diff.differences.push(difference(line.clone(), Some(entry), mate.as_ref()));
                }
                if let (Some(child), Some(mate)) = (entry.child, mate.and_then(|mate| mate.child)) {
                    stack.push((child as usize, mate as usize, line));
                }
            }
            for entry in two.moves.iter().filter(|entry| twin(entry, &one.moves).is_none()) {
                let line = line.iter().chain([&entry.text]).cloned().collect();
                diff.differences.push(difference(line, None, Some(entry)));
            }
        }
        diff.differences
            .sort_by_key(|difference| std::cmp::Reverse(difference.visits.into_iter().flatten().max()));
        diff
    }
}

fn differ(one: &SavedMove, other: &SavedMove, tolerance: f32) -> bool {
    let apart = |one: f32, other: f32| (one - other).abs() > tolerance;
    let values = match (one.value, other.value) {
        (Some(one), Some(other)) => apart(one, other),
        (one, other) => one.is_some() != other.is_some(),
    };
    values
        || one.visits != other.visits
        || one.proof != other.proof
        || one.plies != other.plies
        || one.ended != other.ended
        || apart(one.prior, other.prior)
        || apart(one.model_value, other.model_value)
}

fn difference(line: Vec<String>, first: Option<&SavedMove>, second: Option<&SavedMove>) -> Difference {
    let both = [first, second];
    Difference {
        line,
        visits: both.map(|entry| entry.map(|entry| entry.visits)),
        values: both.map(|entry| entry.and_then(|entry| entry.value)),
    }
}
