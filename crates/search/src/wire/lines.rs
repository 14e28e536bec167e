//! Lines of a saved tree.

use super::{SavedMove, SavedProof, SavedTree};

/// A root move with the line that follows from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Moves as text.
    pub moves: Vec<String>,
    /// Visits of the first.
    pub visits: u32,
    /// Value of the first for the player who makes it; the evaluator's own before the first visit.
    pub value: f32,
}

impl SavedTree {
    /// The `n` best root moves with their lines, the best first.
    #[must_use]
    pub fn top_lines(&self, n: usize) -> Vec<Line> {
        let Some(root) = self.nodes.first() else { return Vec::new() };
        let mut moves: Vec<&SavedMove> = root.moves.iter().collect();
        moves.sort_by(|a, b| b.rank().partial_cmp(&a.rank()).unwrap_or(std::cmp::Ordering::Equal));
        let line = |first: &SavedMove| Line {
            moves: self.line(first),
            visits: first.visits,
            value: first.value.unwrap_or(first.model_value),
        };
        moves.into_iter().take(n).map(line).collect()
    }

    /// The best line from the root.
    #[must_use]
    pub fn principal_variation(&self) -> Vec<String> {
        self.top_lines(1).pop().map(|line| line.moves).unwrap_or_default()
    }

    fn line(&self, first: &SavedMove) -> Vec<String> {
        let mut line = vec![first.text.clone()];
        let mut next = first.child;
        while let Some(node) = next.and_then(|child| self.nodes.get(child as usize)) {
            let best = node.best().filter(|best| best.visits > 0 || best.proof.is_some());
            let Some(best) = best else { break };
            line.push(best.text.clone());
            next = best.child;
        }
        line
    }
}

impl super::SavedNode {
    /// The best move: a proven win, else the most visits, ties by value.
    #[must_use]
    pub fn best(&self) -> Option<&SavedMove> {
        // Reversed, as `max_by` keeps the last of equals.
        let order = |a: &&SavedMove, b: &&SavedMove| {
            a.rank().partial_cmp(&b.rank()).unwrap_or(std::cmp::Ordering::Equal)
        };
        self.moves.iter().rev().max_by(order)
    }
}

impl SavedMove {
    /// What moves are ordered by: what is proven and how soon it comes, visits, value.
    fn rank(&self) -> (i8, i16, u32, f32) {
        let plies = i16::from(self.plies.unwrap_or(0));
        let (class, soon) = match self.proof {
            Some(SavedProof::Win) => (2, plies.saturating_neg()),
            None | Some(SavedProof::Draw) => (1, 0),
            Some(SavedProof::Loss) => (0, plies),
            Some(SavedProof::Dead) => (-1, 0),
        };
        (class, soon, self.visits, self.value.unwrap_or(self.model_value))
    }
}
