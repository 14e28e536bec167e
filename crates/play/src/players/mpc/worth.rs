//! What a line is worth to the player who looks ahead.

use crate::Thought;
use mavis_game::{Outcome, Side};
use std::cmp::Ordering;

/// The value of a line from the point of view of the player at the root.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Worth {
    /// Win probability, 0 to 1.
    probability: f32,
    /// Centipawns, where the evaluator thinks in them.
    centipawns: Option<i32>,
    /// A certain end, where one is known.
    end: Option<End>,
}

/// A certain end, in plies from the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Win(u32),
    Loss(u32),
}

/// Where a line ends, and who looks at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The player at the root.
    pub(super) root: Side,
    /// Who is to move at the end of the line.
    pub(super) to_move: Side,
    /// Plies from the root to the end of the line.
    pub(super) plies: u32,
}

impl Worth {
    /// A line that ends the game.
    pub(super) fn exact(outcome: Outcome, view: View) -> Self {
        let (probability, end) = match outcome {
            Outcome::Draw => (0.5, None),
            Outcome::Win(side) if side == view.root => (1.0, Some(End::Win(view.plies))),
            Outcome::Win(_) => (0.0, Some(End::Loss(view.plies))),
        };
        Self { probability, centipawns: None, end }
    }

    /// What a player thinks of the position at the end of the line, in which it is to move; `None` without a value.
    pub(super) fn of(thought: &Thought, view: View) -> Option<Self> {
        let by_mate = thought.mate.map(|moves| if moves > 0 { 1.0 } else { 0.0 });
        let probability = thought.value.or(by_mate)?;
        // The mover's n-th own move wins at ply 2n - 1; it loses to the n-th move of the other one at ply 2n.
        let moves = thought.mate.filter(|&moves| moves != 0);
        let distance = |moves: i32| 2 * moves.unsigned_abs() - u32::from(moves > 0) + view.plies;
        let own = view.to_move == view.root;
        let end = moves.map(|moves| {
            if (moves > 0) == own { End::Win(distance(moves)) } else { End::Loss(distance(moves)) }
        });
        Some(if own {
            Self { probability, centipawns: thought.centipawns, end }
        } else {
            Self { probability: 1.0 - probability, centipawns: thought.centipawns.map(|score| -score), end }
        })
    }

    pub(super) fn probability(&self) -> f32 {
        self.probability
    }

    pub(super) fn centipawns(&self) -> Option<i32> {
        self.centipawns
    }

    /// Moves to a certain end as chess players count: above 0 the root wins, below it loses.
    pub(super) fn mate(&self) -> Option<i32> {
        let count = |plies: u32| i32::try_from(plies).unwrap_or(i32::MAX);
        self.end.map(|end| match end {
            End::Win(plies) => (count(plies) + 1) / 2,
            End::Loss(plies) => -(count(plies) / 2).max(1),
        })
    }

    /// Orders by what is better for the root: a certain win, the sooner the better, then by probability, then a certain
    /// loss, the later the better. Centipawns decide where probabilities no longer differ.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let class = |worth: &Self| match worth.end {
            Some(End::Win(plies)) => (1, -i64::from(plies)),
            Some(End::Loss(plies)) => (-1, i64::from(plies)),
            None => (0, 0),
        };
        let points = |worth: &Self| worth.centipawns.unwrap_or(0);
        class(self)
            .cmp(&class(other))
            .then(self.probability.total_cmp(&other.probability))
            .then(points(self).cmp(&points(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Side = Side::First;

    fn worth(to_move: Side, plies: u32, value: f32, mate: Option<i32>) -> Worth {
        let thought = Thought { value: Some(value), mate, ..Thought::default() };
        Worth::of(&thought, View { root: ROOT, to_move, plies }).unwrap()
    }

    #[test]
    fn points_of_view_and_distances() {
        let (own, other) = (Side::First, Side::Second);
        assert!((worth(other, 1, 0.3, None).probability() - 0.7).abs() < 1e-6);
        // One ply on, the opponent is mated in two: we mate in three. It mates in two: that is our second move's reply.
        assert_eq!(worth(other, 1, 0.0, Some(-2)).mate(), Some(3));
        assert_eq!(worth(other, 1, 1.0, Some(2)).mate(), Some(-2));
        assert_eq!(worth(own, 2, 1.0, Some(1)).mate(), Some(2));
        assert_eq!(worth(own, 2, 0.0, Some(-1)).mate(), Some(-2));
        let over = View { root: ROOT, to_move: other, plies: 1 };
        assert_eq!(Worth::exact(Outcome::Win(own), over).mate(), Some(1));
        assert!(Worth::of(&Thought::default(), over).is_none());
    }

    #[test]
    fn certain_ends_frame_everything_else() {
        let mut list = vec![
            worth(Side::First, 2, 0.0, Some(-1)),
            worth(Side::First, 2, 0.0, Some(-4)),
            worth(Side::First, 2, 0.0, None),
            worth(Side::First, 2, 0.6, None),
            worth(Side::First, 2, 1.0, Some(5)),
            worth(Side::First, 2, 1.0, Some(2)),
        ];
        let sorted = list.clone();
        list.reverse();
        list.sort_by(Worth::compare);
        assert_eq!(list, sorted);
    }
}
