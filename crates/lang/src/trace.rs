//! Traces of internal search: a minimax tree written out, in depth-first order as in figure 6 of paper 001, or level by level.
//!
//! [`write_trace`], [`read_trace`] and [`check_trace`] are three functions on one grammar:
//!
//! ```text
//! trace    = "Minimax breadth=" B " depth=" D [" compact"] [" b"] LF tree "Playing" move "!" LF
//! tree     = node                          depth first
//!          | (evaluate ...) (decision ...) breadth first, after " b"
//! node     = evaluate [node ...] decision
//! evaluate = "Evaluation for node: " path LF header inputs answer [expand]
//! expand   = "Expand from node " path ":" LF (path LF) ...
//! decision = "Decision for node: " path (move " : " value) ... LF "Selecting:" move " : " value LF
//! path     = "<root" move ... ">"
//! ```
//!
//! A leaf selects its best action with its value. An inner node compares its children by what each decided, seen from
//! the other side, and selects the first of the highest. Where the game is over, `invalid` replaces the move. The
//! compact variant leaves out `%prev_state`, since the parent's state is already in the trace. Breadth first, all nodes are evaluated
//! level by level, and then decide, those of the deepest level first.

mod checker;
mod counts;
mod length;
mod parts;
mod progress;
mod reader;
mod spans;
mod tree;
mod writer;

pub use checker::{Reference, check_trace};
pub use counts::{Share, TraceCounts};
pub use length::{most_moves, trace_len, usual_moves};
pub use progress::{Due, LiveNode, TraceProgress};
pub use reader::{played_move, read_trace, read_trace_text};
pub use spans::{TraceSpans, trace_spans};
pub use tree::{Evaluation, SearchTree, grow_trace};
pub use writer::{trace_example, trace_prompt, write_trace};

use crate::{
    answer::{Answer, Listing},
    command::{Commands, Forms, Given, Top},
};
use mavis_game::{Game, Move, Outcome, Position, Rules, Side};
use mavis_value::{Bucket, Score};
use std::{fmt, str::FromStr};

/// The deepest tree a trace may announce; readers recurse, and no context holds a deeper one.
pub const MAX_DEPTH: u16 = 64;

/// In which order a trace visits its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// A child is evaluated with everything below it before the next one, and decides at once: figure 6.
    #[default]
    DepthFirst,
    /// Level by level; decisions come after all evaluations.
    BreadthFirst,
}

impl Order {
    /// The words of the options.
    pub const WORDS: &'static [&'static str] = &["depth", "breadth"];
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DepthFirst => "depth",
            Self::BreadthFirst => "breadth",
        })
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "depth" => Ok(Self::DepthFirst),
            "breadth" => Ok(Self::BreadthFirst),
            _ => Err(()),
        }
    }
}

/// What a trace announces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// The game.
    pub rules: Rules,
    /// Children of an expanded node.
    pub breadth: u16,
    /// Plies from the root to the leaves.
    pub depth: u16,
    /// Whether `%prev_state` is left out.
    pub compact: bool,
    /// How many moves each evaluation lists; figure 6 lists all.
    pub top: Top,
    /// The order of its nodes.
    pub order: Order,
}

impl Shape {
    /// The commands of a node's header.
    #[must_use]
    pub const fn commands(&self, is_root: bool) -> Commands {
        let given = if is_root {
            Given::Current(Forms::State)
        } else {
            let forms = if self.compact { None } else { Some(Forms::State) };
            Given::Previous { forms, tracked: Forms::State }
        };
        Commands { rules: self.rules, given, top: Some(self.top), best: true, next: None }
    }

    /// Tokens of a trace whose every node lists `n_listed` moves and none of whose games end: the most there can be where that is
    /// the K of `%top_K`.
    #[must_use]
    pub fn n_tokens(&self, n_listed: usize) -> usize {
        let position = Position::start(self.rules);
        let mv = Move(0);
        let listing = Listing::Moves(vec![(mv, Bucket::LOST); n_listed]);
        let decision = Decision { compared: Vec::new(), selected: Some(mv), value: Bucket::LOST };
        let mut node = TraceNode { position, listing, best: Some(mv), children: Vec::new(), decision };
        let n_expanded = n_listed.min(usize::from(self.breadth));
        let mut n_nodes = 1_usize;
        let mut n_tokens = writer::trace_frame(self);
        for depth in 0..=self.depth {
            if depth < self.depth {
                node.children = vec![(mv, node.leaf()); n_expanded];
                node.decision.compared = vec![(mv, Bucket::LOST); n_expanded];
            } else {
                node = node.leaf();
            }
            let each = writer::own_tokens(self, &node, usize::from(depth));
            n_tokens = n_tokens.saturating_add(n_nodes.saturating_mul(each));
            n_nodes = n_nodes.saturating_mul(n_expanded);
        }
        n_tokens
    }
}

/// A trace with its meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What it announces.
    pub shape: Shape,
    /// The tree.
    pub root: TraceNode,
    /// The move it plays at the end; `None` once the game is over.
    pub played: Option<Move>,
}

/// An evaluated node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceNode {
    /// The position as it is in the text.
    pub position: Position,
    /// Its moves or the outcome.
    pub listing: Listing,
    /// The best action; `None` once the game is over.
    pub best: Option<Move>,
    /// The expanded moves and what they lead to; none at a leaf.
    pub children: Vec<(Move, TraceNode)>,
    /// What the node comes to.
    pub decision: Decision,
}

/// The last lines of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The children with their values for the side to move at this node; empty at a leaf.
    pub compared: Vec<(Move, Bucket)>,
    /// The selected move; `None` once the game is over.
    pub selected: Option<Move>,
    /// Its value for the side to move at this node.
    pub value: Bucket,
}

impl TraceNode {
    /// The node's part as the answer to its header.
    #[must_use]
    fn answer(&self, is_root: bool) -> Answer {
        Answer {
            tracked: (!is_root).then(|| self.position.clone()),
            listing: Some(self.listing.clone()),
            best: self.best,
            next: None,
        }
    }

    /// The same without children.
    fn leaf(&self) -> Self {
        let decision = Decision { compared: Vec::new(), ..self.decision };
        Self {
            children: Vec::new(),
            decision,
            listing: self.listing.clone(),
            position: self.position.clone(),
            best: self.best,
        }
    }

    /// The number of evaluated nodes, this one included.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        1 + self.children.iter().map(|(_, child)| child.n_nodes()).sum::<usize>()
    }

    /// The decision that follows from listing, best action and children; `None` if the best action is not listed.
    pub(crate) fn due_decision(&self, side: Side) -> Option<Decision> {
        let compared =
            self.children.iter().map(|(mv, child)| (*mv, child.decision.value.flipped())).collect();
        match &self.listing {
            Listing::Over(outcome) => Some(end_decision(self.position.rules(), *outcome, side)),
            Listing::Moves(moves) => due_decision(moves, self.best, compared),
        }
    }
}

/// The decision that follows from listed moves, the best action and the values of the children; `None` if there are no
/// children and the best action is not listed.
fn due_decision(
    listed: &[(Move, Bucket)],
    best: Option<Move>,
    compared: Vec<(Move, Bucket)>,
) -> Option<Decision> {
    let Some(first) = compared.first() else {
        let &(best, value) = listed.iter().find(|(mv, _)| Some(*mv) == best)?;
        return Some(Decision { compared, selected: Some(best), value });
    };
    let (selected, value) =
        compared.iter().fold(*first, |best, next| if next.1 > best.1 { *next } else { best });
    Some(Decision { compared, selected: Some(selected), value })
}

/// The decision of a game that is over.
fn end_decision(rules: Rules, outcome: Outcome, side: Side) -> Decision {
    Decision { compared: Vec::new(), selected: None, value: end_value(rules, outcome, side) }
}

/// What the end of a game is worth to `side`.
fn end_value(rules: Rules, outcome: Outcome, side: Side) -> Bucket {
    Bucket::from_win_probability(Score::of_outcome(outcome, side).win_probability(rules))
}
