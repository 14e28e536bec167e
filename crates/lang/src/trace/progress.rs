//! A trace while it is written, token by token: the tree so far, and what may come next ([`Due`] says what should).
//!
//! [`TraceProgress`] accepts what [`read_trace`](super::read_trace) accepts, and breaks at the first token that it refuses.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod due;

pub use due::Due;

use super::{Decision, Order, Shape, reader::read_trace, trace_prompt, writer::move_token};
use crate::{
    answer::Listing,
    hallucination::Hallucination,
    moves,
    parser::{Cursor, read_answer},
    progress::{AnswerProgress, Step},
    request::{Input, write_prompt},
    state::{read_state, state_len, without_history, write_state},
    trace::Trace,
    value::{bucket_of, quoted_bucket_of},
    vocab::{self, LINE_END, Token, vocabulary},
};
use mavis_game::{Game, Move, Outcome, Position};
use mavis_value::{Bucket, Mistake};

/// A node of a tree that is still being written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LiveNode {
    /// The node above it; `None` at the root.
    pub parent: Option<usize>,
    /// The move that leads here.
    pub mv: Option<Move>,
    /// The position in the text, once it is there.
    pub position: Option<Position>,
    /// The moves listed so far, with their values for the side to move.
    pub moves: Vec<(Move, Bucket)>,
    /// The outcome, where the text says that the game is over.
    pub outcome: Option<Outcome>,
    /// The best action, once it is written.
    pub best: Option<Move>,
    /// The moves announced as children, and their nodes once they have begun.
    pub children: Vec<(Move, Option<usize>)>,
    /// What the node comes to, once that is written.
    pub decision: Option<Decision>,
}

/// Stands in for a node that is not there. The root always is, so nobody sees this one.
static NO_NODE: LiveNode = LiveNode {
    parent: None,
    mv: None,
    position: None,
    moves: Vec::new(),
    outcome: None,
    best: None,
    children: Vec::new(),
    decision: None,
};

/// Follows a trace while it is written.
#[derive(Clone, Debug)]
pub struct TraceProgress {
    shape: Shape,
    tokens: Vec<Token>,
    prompt_len: usize,
    nodes: Vec<LiveNode>,
    /// The nodes from the root to the one in hand, and the moves between them.
    open: Vec<usize>,
    path: Vec<Move>,
    /// Tokens that the grammar demands next, the next one last.
    demanded: Vec<Token>,
    /// What comes after those.
    want: Want,
    /// Breadth first: the node whose children are evaluated next; all before it have theirs.
    expanding: usize,
    /// Breadth first: the nodes still to decide, the next one last; known once the last one is evaluated.
    undecided: Vec<usize>,
    /// The decision in hand.
    decision: Decision,
    played: Option<Move>,
    step: Step,
}

#[derive(Clone, Debug)]
enum Want {
    Answer(Box<Answering>),
    /// What follows an answer: an expansion, and where there is none the next node, which breadth first may be an evaluation.
    ExpansionOrNext,
    ChildOrEvaluation,
    ChildMove,
    /// The closing of a decision's path, which says whether children are compared.
    Comparison,
    Compared,
    ComparedValue(Move),
    Selected,
    SelectedValue,
    Played,
    End,
}

/// The answer of one node under way.
#[derive(Clone, Debug)]
struct Answering {
    progress: AnswerProgress,
    /// Where it begins among the tokens.
    start: usize,
    /// The line of the state by the rules; empty at the root and behind an illegal move.
    state: Vec<Token>,
    /// Legal moves of the position that the text gives.
    legal: Vec<Move>,
}

impl TraceProgress {
    /// Before the first token of the response: the prompt of a position has been read.
    #[must_use]
    pub fn new(shape: Shape, position: &Position) -> Self {
        let position = without_history(position);
        let tokens = trace_prompt(&shape, &position);
        let answering = Answering {
            progress: AnswerProgress::new(&shape.commands(true)),
            start: tokens.len(),
            state: Vec::new(),
            legal: position.legal_moves().into_iter().collect(),
        };
        Self {
            shape,
            prompt_len: tokens.len(),
            tokens,
            nodes: vec![LiveNode { position: Some(position), ..LiveNode::default() }],
            open: vec![0],
            path: Vec::new(),
            demanded: Vec::new(),
            want: Want::Answer(Box::new(answering)),
            expanding: 0,
            undecided: Vec::new(),
            decision: Decision { compared: Vec::new(), selected: None, value: Bucket::LOST },
            played: None,
            step: Step::More,
        }
    }

    /// Takes the next token. Nothing changes once the trace is done or broken.
    pub fn push(&mut self, token: Token) -> Step {
        if self.step != Step::More {
            return self.step;
        }
        self.tokens.push(token);
        let fits = match self.demanded.pop() {
            Some(due) => due == token,
            None => self.take(token),
        };
        if !fits {
            self.step = Step::Broken;
        } else if self.demanded.is_empty() && matches!(self.want, Want::End) {
            self.step = Step::Done;
        }
        self.step
    }

    /// How far the trace is.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    /// What it announces.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// All tokens, the prompt included.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Tokens of the prompt.
    #[must_use]
    pub fn prompt_len(&self) -> usize {
        self.prompt_len
    }

    /// The tree so far, the root first, every node after its parent.
    #[must_use]
    pub fn nodes(&self) -> &[LiveNode] {
        &self.nodes
    }

    /// The node in hand.
    #[must_use]
    pub fn current(&self) -> &LiveNode {
        self.nodes.get(self.node_idx()).unwrap_or(&NO_NODE)
    }

    /// The move of the last line, once it is written.
    #[must_use]
    pub fn played(&self) -> Option<Move> {
        self.played
    }

    /// Legal moves at the node in hand that its list does not have yet.
    pub fn unlisted(&self) -> impl Iterator<Item = Move> {
        let (legal, listed): (&[Move], &[Move]) = match &self.want {
            Want::Answer(answering) => (&answering.legal, answering.progress.listed()),
            _ => (&[], &[]),
        };
        legal.iter().copied().filter(move |mv| !listed.contains(mv))
    }

    /// The moves that the list in hand has already, where the next token is a further one or the end of the list.
    #[must_use]
    pub fn listed(&self) -> Option<&[Move]> {
        match &self.want {
            Want::Answer(answering) if self.demanded.is_empty() && answering.progress.awaits_listed() => {
                Some(answering.progress.listed())
            }
            _ => None,
        }
    }

    /// Whether the next token is the first of a list.
    #[must_use]
    pub fn opens_list(&self) -> bool {
        self.demanded.is_empty()
            && matches!(&self.want, Want::Answer(answering) if answering.progress.opens_list())
    }

    /// The whole trace, or the first thing in it that is not of the grammar.
    ///
    /// # Errors
    /// As [`read_trace`]; a trace that is not finished ends too early.
    pub fn trace(&self) -> Result<Trace, Hallucination> {
        read_trace(&self.tokens).map_err(|mistake| {
            // Fields of a state are read together, so the reader waits for more where the last token cannot be right.
            if self.step == Step::Broken && mistake.at >= self.tokens.len() {
                let last = self.tokens.last().and_then(|&token| vocabulary().string(token)).unwrap_or("");
                let at = self.tokens.len().saturating_sub(1);
                return Hallucination::new(at, Mistake::Malformed, format!("{last:?} is out of place"));
            }
            mistake
        })
    }

    fn node_idx(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    /// Demands tokens in the order they are to be written.
    fn demand(&mut self, write: impl FnOnce(&mut Vec<Token>)) {
        let mut tokens = Vec::new();
        write(&mut tokens);
        tokens.reverse();
        self.demanded = tokens;
    }

    /// Takes a token that the grammar leaves open; whether it fits.
    fn take(&mut self, token: Token) -> bool {
        let rules = self.shape.rules;
        let path = self.path.clone();
        let moves: Vec<Token> = path.iter().map(|&mv| move_token(rules, Some(mv))).collect();
        match &self.want {
            Want::Answer(_) => return self.take_answer(token),
            Want::ExpansionOrNext if token == vocab::EXPAND => {
                self.demand(|tokens| tokens.extend(moves.into_iter().chain([vocab::NODE_LIST])));
                self.want = Want::ChildOrEvaluation;
            }
            Want::ExpansionOrNext if token == vocab::DECIDE => return self.begin_decisions(),
            Want::ExpansionOrNext if token == vocab::EVALUATE && self.shape.order == Order::BreadthFirst => {
                return self.begin_evaluation();
            }
            Want::ChildOrEvaluation if token == vocab::NODE => {
                self.demand(|tokens| tokens.extend(moves));
                self.want = Want::ChildMove;
            }
            // An expansion names at least one child; breadth first, other nodes may wait for theirs.
            Want::ChildOrEvaluation if token == vocab::EVALUATE && !self.current().children.is_empty() => {
                return self.begin_evaluation();
            }
            Want::ChildMove => {
                let Some(mv) = moves::move_of(rules, token) else { return false };
                let node_idx = self.node_idx();
                let Some(node) = self.nodes.get_mut(node_idx) else { return false };
                node.children.push((mv, None));
                self.demand(|tokens| tokens.push(vocab::NODE_END));
                self.want = Want::ChildOrEvaluation;
            }
            Want::Comparison if matches!(token, vocab::NODE_END | vocab::COMPARE) => {
                self.decision.compared.clear();
                if token == vocab::NODE_END {
                    self.demand(|tokens| tokens.push(vocab::SELECT));
                    self.want = Want::Selected;
                } else {
                    self.want = Want::Compared;
                }
            }
            Want::Compared if token == vocab::BREAK && !self.decision.compared.is_empty() => {
                self.demand(|tokens| tokens.push(vocab::SELECT));
                self.want = Want::Selected;
            }
            Want::Compared => {
                let Some(mv) = moves::move_of(rules, token) else { return false };
                self.want = Want::ComparedValue(mv);
            }
            &Want::ComparedValue(mv) => {
                let Some(value) = quoted_bucket_of(token) else { return false };
                self.decision.compared.push((mv, value));
                self.want = Want::Compared;
            }
            Want::Selected => {
                self.decision.selected = moves::move_of(rules, token);
                self.want = Want::SelectedValue;
                return self.decision.selected.is_some() || token == vocab::INVALID;
            }
            Want::SelectedValue => {
                let Some(value) = quoted_bucket_of(token) else { return false };
                self.decision.value = value;
                self.close_node();
            }
            Want::Played => {
                self.played = moves::move_of(rules, token);
                self.demand(|tokens| tokens.push(vocab::PLAY_END));
                self.want = Want::End;
                return self.played.is_some() || token == vocab::INVALID;
            }
            Want::ExpansionOrNext | Want::ChildOrEvaluation | Want::Comparison | Want::End => {
                return false;
            }
        }
        true
    }

    /// A token of an evaluation's answer.
    fn take_answer(&mut self, token: Token) -> bool {
        let rules = self.shape.rules;
        let node_idx = self.node_idx();
        let Want::Answer(answering) = &mut self.want else { return false };
        let Some(node) = self.nodes.get_mut(node_idx) else { return false };
        let valued = answering.progress.awaits_value().zip(bucket_of(token));
        let step = answering.progress.push(token);
        if step == Step::Broken {
            return false;
        }
        node.moves.extend(valued);
        node.best = answering.progress.best();
        // The state is known with its last field, and refused there, as by the reader.
        let first = answering.start.saturating_add(1);
        let fields = self.tokens.get(first..).filter(|fields| fields.len() == state_len(rules));
        if let Some(fields) = fields.filter(|_| node.position.is_none()) {
            let Ok(position) = read_state(rules, fields) else { return false };
            answering.legal = position.legal_moves().into_iter().collect();
            node.position = Some(position);
        }
        if step == Step::More {
            return true;
        }
        // The strict parser has the last word.
        let commands = self.shape.commands(self.path.is_empty());
        let written = self.tokens.get(answering.start..).unwrap_or_default();
        match read_answer(&commands, &mut Cursor::new(written)) {
            Ok(answer) => {
                if let Some(Listing::Over(outcome)) = answer.listing {
                    node.outcome = Some(outcome);
                }
                self.want = Want::ExpansionOrNext;
                true
            }
            Err(_) => false,
        }
    }

    /// Takes a node in hand.
    fn turn_to(&mut self, node_idx: usize) {
        (self.open, self.path) = (Vec::new(), Vec::new());
        let mut above = Some(node_idx);
        while let Some((idx, node)) = above.and_then(|idx| Some((idx, self.nodes.get(idx)?))) {
            self.open.push(idx);
            self.path.extend(node.mv);
            above = node.parent;
        }
        self.open.reverse();
        self.path.reverse();
    }

    /// Breadth first: the first node with a child that is not evaluated.
    fn first_unfinished(&self) -> Option<usize> {
        let is_unfinished = |node: &LiveNode| node.children.iter().any(|(_, place)| place.is_none());
        let rest = self.nodes.get(self.expanding..).unwrap_or_default();
        rest.iter().position(is_unfinished).and_then(|ahead| self.expanding.checked_add(ahead))
    }

    /// The opening of an evaluation was taken: goes to the node that it must be of.
    fn begin_evaluation(&mut self) -> bool {
        if self.shape.order == Order::BreadthFirst {
            let Some(parent_idx) = self.first_unfinished() else { return false };
            self.expanding = parent_idx;
            self.turn_to(parent_idx);
        }
        self.begin_child(&[])
    }

    /// The opening of a decision was taken where an answer ended: goes to the node that it must be of.
    fn begin_decisions(&mut self) -> bool {
        if self.shape.order == Order::BreadthFirst {
            if self.first_unfinished().is_some() {
                return false;
            }
            // Every node stands after those above it; the deepest decide first, each level from its first node on.
            let mut depths: Vec<(usize, usize)> = Vec::with_capacity(self.nodes.len());
            for (idx, node) in self.nodes.iter().enumerate() {
                let above = node.parent.and_then(|parent| depths.get(parent));
                depths.push((above.map_or(0, |(depth, _)| depth.saturating_add(1)), idx));
            }
            depths.sort_by_key(|&(depth, idx)| (depth, std::cmp::Reverse(idx)));
            self.undecided = depths.into_iter().map(|(_, idx)| idx).collect();
            let Some(first) = self.undecided.pop() else { return false };
            self.turn_to(first);
        }
        self.demand_decision(&[]);
        true
    }

    /// Demands `before` and the path of the node in hand, which decides next.
    fn demand_decision(&mut self, before: &[Token]) {
        let (rules, path) = (self.shape.rules, self.path.clone());
        self.demand(|tokens| {
            tokens.extend(before);
            tokens.extend(path.iter().map(|&mv| move_token(rules, Some(mv))));
        });
        self.want = Want::Comparison;
    }

    /// Begins the next child of the node in hand: `before`, its path, header and inputs are demanded.
    fn begin_child(&mut self, before: &[Token]) -> bool {
        let parent_idx = self.node_idx();
        let child_idx = self.nodes.len();
        let Some(parent) = self.nodes.get_mut(parent_idx) else { return false };
        let Some((mv, place)) = parent.children.iter_mut().find(|(_, place)| place.is_none()) else {
            return false;
        };
        *place = Some(child_idx);
        let mv = *mv;
        let Some(position) = parent.position.clone() else { return false };
        self.nodes.push(LiveNode { parent: Some(parent_idx), mv: Some(mv), ..LiveNode::default() });
        self.open.push(child_idx);
        self.path.push(mv);
        let (shape, path) = (self.shape, self.path.clone());
        let commands = shape.commands(false);
        self.demand(|tokens| {
            tokens.extend(before);
            tokens.extend(path.iter().map(|&mv| move_token(shape.rules, Some(mv))));
            tokens.push(vocab::NODE_END);
            write_prompt(&commands, Input::After(&position, mv), tokens);
        });
        let mut state = Vec::new();
        if position.is_legal(mv) {
            let mut after = position;
            after.play_unchecked(mv);
            state.push(vocab::OPEN_STATE);
            write_state(&after, &mut state);
            state.push(LINE_END);
        }
        self.want = Want::Answer(Box::new(Answering {
            progress: AnswerProgress::new(&commands),
            start: self.tokens.len().saturating_add(self.demanded.len()),
            state,
            legal: Vec::new(),
        }));
        true
    }

    /// Stores the decision of the node in hand and goes to what follows it.
    fn close_node(&mut self) {
        let node_idx = self.node_idx();
        if let Some(node) = self.nodes.get_mut(node_idx) {
            node.decision = Some(self.decision.clone());
        }
        if self.open.len() < 2 {
            self.demand(|tokens| tokens.extend([vocab::BREAK, vocab::PLAY]));
            self.want = Want::Played;
            return;
        }
        match self.undecided.pop() {
            Some(next) => self.turn_to(next),
            None => {
                self.open.pop();
                self.path.pop();
                if self.begin_child(&[vocab::BREAK, vocab::EVALUATE]) {
                    return;
                }
            }
        }
        self.demand_decision(&[vocab::BREAK, vocab::DECIDE]);
    }
}
