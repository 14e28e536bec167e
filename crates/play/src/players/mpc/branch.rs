//! One line under consideration: own move, reply, value.

use super::{
    pool::Role,
    worth::{View, Worth},
};
use crate::{Choice, Thought};
use mavis_game::{Game as _, Move, Outcome, Position, Side};

/// A line from the root, and how far its evaluation is.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    /// Moves from the root.
    pub(super) moves: Vec<Move>,
    /// Where they lead.
    pub(super) position: Position,
    /// What it is worth: exact at the end of the game, the evaluator's word, or for want of it the opponent's.
    pub(super) worth: Option<Worth>,
    /// What the player who judged it expects next.
    pub(super) expected: Vec<Move>,
    /// How deep that player looked.
    pub(super) depth: u32,
    /// What is to be asked next.
    pub(super) next: Option<Role>,
    /// Whether a player is thinking about it.
    pub(super) in_flight: bool,
    /// Failed calls so far.
    pub(super) n_failures: u32,
}

impl Branch {
    /// The root itself, for the evaluator.
    pub(super) fn root(position: Position) -> Self {
        Self {
            moves: Vec::new(),
            position,
            worth: None,
            expected: Vec::new(),
            depth: 0,
            next: Some(Role::Evaluator),
            in_flight: false,
            n_failures: 0,
        }
    }

    /// This line and one more own move, to which the opponent replies if `replies`.
    pub(super) fn child(&self, mv: Move, root: Side, replies: bool) -> Self {
        let mut branch = Self::root(self.position.clone());
        branch.moves = self.moves.clone();
        branch.play(mv, root);
        // A side that moves twice in a row gets no reply in between.
        if replies && branch.next.is_some() && branch.position.side_to_move() != root {
            branch.next = Some(Role::Opponent);
        }
        branch
    }

    /// Takes the answer to what was asked; `false` when an evaluator gave no value.
    pub(super) fn settle(&mut self, choice: &Choice, root: Side) -> bool {
        let view = self.view(root);
        let worth = Worth::of(&choice.thought, view);
        let role = self.next.take();
        if worth.is_some() {
            self.worth = worth;
            self.depth = choice.thought.depth;
        }
        if role == Some(Role::Opponent) {
            self.next = Some(Role::Evaluator);
            self.play(choice.mv, root);
            return true;
        }
        self.expected = expected(&choice.thought, choice.mv);
        worth.is_some()
    }

    fn play(&mut self, mv: Move, root: Side) {
        self.position.play_unchecked(mv);
        self.moves.push(mv);
        // A draw that may be claimed is one: referees and opponents take it.
        let claimed = || self.position.claimable_draw().then_some(Outcome::Draw);
        if let Some(outcome) = self.position.outcome().or_else(claimed) {
            self.worth = Some(Worth::exact(outcome, self.view(root)));
            self.next = None;
        }
    }

    fn view(&self, root: Side) -> View {
        View { root, to_move: self.position.side_to_move(), plies: self.moves.len() as u32 }
    }

    /// Calls this line still needs.
    pub(super) fn n_calls(&self) -> usize {
        match self.next {
            Some(Role::Opponent) => 2,
            Some(Role::Evaluator) => 1,
            None => 0,
        }
    }

    /// Whether the game is over at its end.
    pub(super) fn is_over(&self) -> bool {
        self.position.outcome().is_some() || self.position.claimable_draw()
    }

    /// The whole expected line.
    pub(super) fn line(&self) -> Vec<Move> {
        self.moves.iter().chain(&self.expected).copied().collect()
    }
}

/// The line a player expects, which begins with its choice.
fn expected(thought: &Thought, mv: Move) -> Vec<Move> {
    if thought.line.first() == Some(&mv) { thought.line.clone() } else { vec![mv] }
}
