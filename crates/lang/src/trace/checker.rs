//! Whether a trace is true: to the rules, to itself and, where given, to known evaluations.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::{
    Decision, Evaluation, Shape, Trace, TraceNode,
    parts::{Part, parts},
    writer::{write_decision, write_evaluation, write_expansion, write_preamble},
};
use crate::{
    answer::{AnswerSpans, Listing},
    check::check_answer,
    hallucination::Hallucination,
    request::{Request, Start},
    vocab::Token,
};
use mavis_game::{Game, Move, Position};
use mavis_value::{Bucket, Mistake};

/// Known evaluations to compare with; `None` where a position is not known.
pub type Reference<'a> = dyn Fn(&Position) -> Option<Evaluation> + 'a;

/// Checks a trace: states, moves and ends by the rules; expansions, decisions and the played move by the values that
/// stand in it; and those values and best actions by `reference`, if there is one.
///
/// # Errors
/// With the first mistake; its place counts from the first token of the trace.
pub fn check_trace(trace: &Trace, reference: Option<&Reference<'_>>) -> Result<(), Hallucination> {
    let mut tokens = Vec::new();
    write_preamble(&trace.shape, &mut tokens);
    let mut checker = Checker { shape: trace.shape, reference, path: Vec::new(), tokens };
    for part in parts(trace) {
        checker.check_part(part)?;
    }
    if trace.played != trace.root.decision.selected {
        return Err(checker.mistake(1, Mistake::WrongDecision, "the played move is not the selected one"));
    }
    Ok(())
}

struct Checker<'a> {
    shape: Shape,
    reference: Option<&'a Reference<'a>>,
    /// Moves from the root to the node in hand.
    path: Vec<Move>,
    /// The trace so far, so that every mistake knows its place.
    tokens: Vec<Token>,
}

impl Checker<'_> {
    /// A mistake `offset` tokens after what has been written so far.
    fn mistake(&self, offset: usize, kind: Mistake, reason: impl Into<String>) -> Hallucination {
        Hallucination::new(self.tokens.len() + offset, kind, reason)
    }

    fn check_part(&mut self, part: Part<'_>) -> Result<(), Hallucination> {
        let Part { node, parent, path, decides } = part;
        self.path = path;
        if decides {
            self.check_decision(node)?;
            write_decision(self.shape.rules, &node.decision, &self.path, &mut self.tokens);
            return Ok(());
        }
        let (origin, spans) = write_evaluation(&self.shape, node, parent, &self.path, &mut self.tokens);
        self.check_by_rules(node, parent, origin)?;
        self.check_by_reference(node, origin, spans)?;
        self.check_expansion(node)?;
        write_expansion(&self.shape, node, &self.path, &mut self.tokens);
        Ok(())
    }

    fn check_by_rules(
        &self,
        node: &TraceNode,
        parent: Option<&Position>,
        origin: usize,
    ) -> Result<(), Hallucination> {
        let start = match (parent, self.path.last()) {
            (Some(parent), Some(&action)) => Start::After { previous: parent.clone(), action },
            _ => Start::At(node.position.clone()),
        };
        let request = Request { commands: self.shape.commands(parent.is_none()), start };
        match check_answer(&request, &node.answer(parent.is_none())).mistakes.into_iter().next() {
            Some(mistake) => Err(Hallucination { at: origin + mistake.at, ..mistake }),
            None => Ok(()),
        }
    }

    fn check_by_reference(
        &self,
        node: &TraceNode,
        origin: usize,
        spans: AnswerSpans,
    ) -> Result<(), Hallucination> {
        let Listing::Moves(listed) = &node.listing else { return Ok(()) };
        let Some(known) = self.reference.and_then(|reference| reference(&node.position)) else {
            return Ok(());
        };
        for (idx, &(mv, value)) in listed.iter().enumerate() {
            let expected = known.value(mv).map(Bucket::from_win_probability);
            if expected.is_some_and(|expected| expected != value) {
                let at = origin + spans.list + 2 * idx + 1;
                return Err(Hallucination::new(at, Mistake::WrongValue, "not the known value"));
            }
        }
        let lowest = listed.iter().filter_map(|(mv, _)| known.value(*mv)).fold(f32::INFINITY, f32::min);
        let is_listed = |mv: &Move| listed.iter().any(|(other, _)| other == mv);
        if known.moves.iter().any(|(mv, value)| *value > lowest && !is_listed(mv)) {
            let reason = "a better move is not listed";
            return Err(Hallucination::new(origin + spans.list_end, Mistake::MissingMove, reason));
        }
        if node.best != known.best_of(listed) {
            let reason = "not the known best action";
            return Err(Hallucination::new(origin + spans.best, Mistake::WrongDecision, reason));
        }
        Ok(())
    }

    fn check_expansion(&self, node: &TraceNode) -> Result<(), Hallucination> {
        let (listed, breadth) = match &node.listing {
            Listing::Moves(listed) if self.path.len() < usize::from(self.shape.depth) => {
                (listed.as_slice(), usize::from(self.shape.breadth))
            }
            _ => (&[][..], 0),
        };
        let children: Vec<Move> = node.children.iter().map(|(mv, _)| *mv).collect();
        match expansion_fault(listed, &children, breadth) {
            Some(reason) => Err(self.mistake(0, Mistake::WrongExpansion, reason)),
            None => Ok(()),
        }
    }

    fn check_decision(&self, node: &TraceNode) -> Result<(), Hallucination> {
        let due = node.due_decision(node.position.side_to_move());
        let Some(due) = due else {
            return Err(self.mistake(0, Mistake::WrongDecision, "the best action is not listed"));
        };
        let Decision { compared, selected, value } = &node.decision;
        // The opening of the line and its path come first.
        let first = 1 + self.path.len() + 1;
        let reason = "this does not follow from the values";
        if *compared != due.compared {
            let same = compared.iter().zip(&due.compared).take_while(|(one, other)| one == other).count();
            return Err(self.mistake(first + 2 * same, Mistake::WrongDecision, reason));
        }
        if (*selected, *value) != (due.selected, due.value) {
            let line = if compared.is_empty() { first } else { first + 2 * compared.len() + 1 };
            let at = line + 1 + usize::from(*selected == due.selected);
            return Err(self.mistake(at, Mistake::WrongDecision, reason));
        }
        Ok(())
    }
}

/// What is wrong with the children of a node: the `breadth` best of the listed moves, in the order of their values, are right; no breadth means a
/// leaf.
pub(super) fn expansion_fault(
    listed: &[(Move, Bucket)],
    children: &[Move],
    breadth: usize,
) -> Option<&'static str> {
    if breadth == 0 {
        return (!children.is_empty()).then_some("this node is a leaf");
    }
    if children.len() != listed.len().min(breadth) {
        return Some("not as many children as the breadth says");
    }
    let mut rest = listed.to_vec();
    let mut before = Bucket::WON;
    for mv in children {
        let Some(idx) = rest.iter().position(|(other, _)| other == mv) else {
            return Some("a child is not listed, or is there twice");
        };
        let (_, value) = rest.swap_remove(idx);
        if value > before {
            return Some("the children are not in the order of their values");
        }
        before = value;
    }
    rest.iter().any(|(_, value)| *value > before).then_some("a better move is not expanded")
}
