//! What a faithful trace has in the next place, by the grammar, the rules and the values above it.

use super::{Answering, LiveNode, TraceProgress, Want};
use crate::{
    example::outcome_token,
    progress::Step,
    trace::{Decision, Order, due_decision, end_decision, writer::move_token},
    value::quoted_token,
    vocab::{self, LINE_END, Token},
};
use mavis_game::{Game, Move};
use mavis_value::Bucket;

/// What a faithful trace has in the next place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// This token: the grammar, the rules or the values above leave no other.
    Token(Token),
    /// Another move of the list.
    Listed,
    /// The value of this listed move.
    Value(Move),
    /// The best action.
    Best,
    /// A child to announce.
    Child,
    /// Nothing is known of it.
    Unknown,
}

impl TraceProgress {
    /// The one token that the grammar takes next, by itself and by what the trace has said: `None` where there is a choice, and once the
    /// trace is done or broken. The end of a list of all moves counts as a choice. Neither the rules of the game nor minimax demand
    /// anything, but [`TraceProgress::due`] knows them.
    #[must_use]
    pub fn demanded(&self) -> Option<Token> {
        if self.step != Step::More {
            return None;
        }
        if let Some(&token) = self.demanded.last() {
            return Some(token);
        }
        match &self.want {
            Want::Answer(answering) => answering.progress.forced().first().copied(),
            Want::ChildOrEvaluation if self.current().children.is_empty() => Some(vocab::NODE),
            _ => None,
        }
    }

    /// What a faithful trace has next; `None` once it is done or broken.
    #[must_use]
    pub fn due(&self) -> Option<Due> {
        if self.step != Step::More {
            return None;
        }
        if let Some(token) = self.demanded() {
            return Some(Due::Token(token));
        }
        let rules = self.shape.rules;
        let node = self.current();
        let mv = |mv: Option<Move>| Due::Token(move_token(rules, mv));
        let compared = self.decision.compared.len();
        Some(match &self.want {
            Want::Answer(answering) => answering.due(node, self.tokens.len()),
            Want::ExpansionOrNext if self.n_children(node) > 0 => Due::Token(vocab::EXPAND),
            Want::ExpansionOrNext
                if self.shape.order == Order::BreadthFirst && self.first_unfinished().is_some() =>
            {
                Due::Token(vocab::EVALUATE)
            }
            Want::ExpansionOrNext => Due::Token(vocab::DECIDE),
            Want::ChildOrEvaluation if node.children.len() < self.n_children(node) => Due::Token(vocab::NODE),
            Want::ChildOrEvaluation => Due::Token(vocab::EVALUATE),
            Want::ChildMove => Due::Child,
            Want::Comparison if node.children.is_empty() => Due::Token(vocab::NODE_END),
            Want::Comparison => Due::Token(vocab::COMPARE),
            Want::Compared => match node.children.get(compared) {
                Some((child, _)) => mv(Some(*child)),
                None => Due::Token(vocab::BREAK),
            },
            Want::ComparedValue(_) => match self.compared_values(node).get(compared) {
                Some((_, value)) => Due::Token(quoted_token(*value)),
                None => Due::Unknown,
            },
            Want::Selected => self.due_decision(node).map_or(Due::Unknown, |due| mv(due.selected)),
            Want::SelectedValue => {
                self.due_decision(node).map_or(Due::Unknown, |due| Due::Token(quoted_token(due.value)))
            }
            Want::Played => {
                let decision = self.nodes.first().and_then(|root| root.decision.as_ref());
                mv(decision.and_then(|decision| decision.selected))
            }
            Want::End => return None,
        })
    }

    /// How many children a node should have.
    fn n_children(&self, node: &LiveNode) -> usize {
        if self.path.len() >= usize::from(self.shape.depth) {
            return 0;
        }
        node.moves.len().min(usize::from(self.shape.breadth))
    }

    fn compared_values(&self, node: &LiveNode) -> Vec<(Move, Bucket)> {
        let value = |&(mv, child): &(Move, Option<usize>)| {
            let decision = self.nodes.get(child?)?.decision.as_ref()?;
            Some((mv, decision.value.flipped()))
        };
        node.children.iter().filter_map(value).collect()
    }

    /// The decision that follows from what stands at a node and below it.
    pub(in crate::trace) fn due_decision(&self, node: &LiveNode) -> Option<Decision> {
        match node.outcome {
            Some(outcome) => {
                Some(end_decision(self.shape.rules, outcome, node.position.as_ref()?.side_to_move()))
            }
            None => due_decision(&node.moves, node.best, self.compared_values(node)),
        }
    }
}

impl Answering {
    fn due(&self, node: &LiveNode, n_tokens: usize) -> Due {
        if let Some(&token) = n_tokens.checked_sub(self.start).and_then(|column| self.state.get(column)) {
            return Due::Token(token);
        }
        if let Some(mv) = self.progress.awaits_value() {
            return Due::Value(mv);
        }
        if self.progress.awaits_best() {
            return Due::Best;
        }
        if self.progress.awaits_listed() {
            return match self.progress.listed().len() {
                0 if self.legal.is_empty() => Due::Token(vocab::INVALID),
                n if n >= self.legal.len() => Due::Token(LINE_END),
                _ => Due::Listed,
            };
        }
        let over = node.position.as_ref().and_then(Game::outcome);
        // After "invalid" come the outcome and the end of the line.
        match over {
            Some(outcome) if self.progress.awaits_outcome() => Due::Token(outcome_token(outcome)),
            Some(_) => Due::Token(LINE_END),
            None => Due::Unknown,
        }
    }
}
