//! From tokens to a trace: strict and total, like the parser it builds on.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use super::{Decision, MAX_DEPTH, Order, Shape, Trace, TraceNode};
use crate::{
    command::{Commands, Given, Top},
    hallucination::Hallucination,
    moves,
    parser::{
        Cursor, encode, open_previous, read_answer, read_commands, read_forms, read_number,
        read_previous_action,
    },
    request::open_token,
    state::same_state,
    value::quoted_bucket_of,
    vocab::{self, Token},
};
use mavis_game::{Move, Position, Rules};
use mavis_value::{Bucket, Mistake};

/// Reads a trace. Paths, previous states and previous actions must fit the tree; whether the rest is true is the
/// checker's business.
///
/// # Errors
/// With the first thing that is not of the grammar.
pub fn read_trace(tokens: &[Token]) -> Result<Trace, Hallucination> {
    let mut cursor = Cursor::new(tokens);
    let Preamble { breadth, depth, compact, order } = read_preamble(&mut cursor)?;
    // The rest of the shape stands in the header of the root.
    let begin = cursor.at();
    cursor.take(vocab::EVALUATE)?;
    cursor.take(vocab::NODE_END)?;
    let at = cursor.at();
    let commands = read_commands(&mut cursor)?;
    let top = commands.top.unwrap_or(Top::All);
    let shape = Shape { rules: commands.rules, breadth, depth, compact, top, order };
    if commands != shape.commands(true) {
        return Err(Hallucination::new(at, Mistake::Malformed, "the header is not that of a root"));
    }
    cursor.back_to(begin);
    let mut reader = Reader { shape, path: Vec::new(), cursor };
    let root = match order {
        Order::DepthFirst => reader.read_node(None)?,
        Order::BreadthFirst => reader.read_levels()?,
    };
    let mut cursor = reader.cursor;
    cursor.take(vocab::PLAY)?;
    let played = read_choice(shape.rules, &mut cursor)?;
    cursor.take(vocab::PLAY_END)?;
    cursor.end()?;
    Ok(Trace { shape, root, played })
}

/// Reads a trace from text.
///
/// # Errors
/// With the first thing that is not of the grammar.
pub fn read_trace_text(text: &str) -> Result<Trace, Hallucination> {
    read_trace(&encode(text)?)
}

/// The move a trace plays at its very end, whatever came before; for players that trust the model.
#[must_use]
pub fn played_move(rules: Rules, tokens: &[Token]) -> Option<Move> {
    match tokens {
        [.., vocab::PLAY, mv, vocab::PLAY_END] => moves::move_of(rules, *mv),
        _ => None,
    }
}

/// The first line.
struct Preamble {
    breadth: u16,
    depth: u16,
    compact: bool,
    order: Order,
}

fn read_preamble(cursor: &mut Cursor<'_>) -> Result<Preamble, Hallucination> {
    cursor.take(vocab::MINIMAX)?;
    let breadth = read_number(cursor)?;
    cursor.take(vocab::DEPTH)?;
    let at = cursor.at();
    let depth = read_number(cursor)?;
    if depth > MAX_DEPTH {
        return Err(Hallucination::new(at, Mistake::Malformed, format!("depth is at most {MAX_DEPTH}")));
    }
    let compact = cursor.skip(vocab::COMPACT);
    let order = if cursor.skip(vocab::BREADTH_FIRST) { Order::BreadthFirst } else { Order::DepthFirst };
    cursor.take(vocab::BREAK)?;
    Ok(Preamble { breadth, depth, compact, order })
}

/// A node of a level that is being read.
struct OfLevel {
    path: Vec<Move>,
    node: TraceNode,
    expanded: Vec<Move>,
}

struct Reader<'a> {
    shape: Shape,
    /// Moves from the root to the node being read.
    path: Vec<Move>,
    cursor: Cursor<'a>,
}

impl Reader<'_> {
    /// A node with everything below it, depth first.
    fn read_node(&mut self, parent: Option<&Position>) -> Result<TraceNode, Hallucination> {
        let mut node = self.read_evaluation(parent)?;
        for mv in self.read_expansion()? {
            self.path.push(mv);
            let child = self.read_node(Some(&node.position))?;
            self.path.pop();
            node.children.push((mv, child));
        }
        node.decision = self.read_decision()?;
        Ok(node)
    }

    /// The whole tree, breadth first.
    fn read_levels(&mut self) -> Result<TraceNode, Hallucination> {
        let root = (self.read_evaluation(None)?, self.read_expansion()?);
        let mut levels = vec![vec![OfLevel { path: Vec::new(), node: root.0, expanded: root.1 }]];
        while let Some(above) = levels.last().filter(|level| level.iter().any(|at| !at.expanded.is_empty())) {
            let mut level = Vec::new();
            for OfLevel { path, node, expanded } in above {
                for &mv in expanded {
                    self.path.clone_from(path);
                    self.path.push(mv);
                    let node = self.read_evaluation(Some(&node.position))?;
                    let expanded = self.read_expansion()?;
                    level.push(OfLevel { path: self.path.clone(), node, expanded });
                }
            }
            levels.push(level);
        }
        // What has decided goes to the node above, in its order.
        let mut below = Vec::new().into_iter();
        for level in levels.into_iter().rev() {
            let mut decided = Vec::with_capacity(level.len());
            for OfLevel { path, mut node, expanded } in level {
                self.path = path;
                node.decision = self.read_decision()?;
                node.children = expanded.into_iter().zip(below.by_ref()).collect();
                decided.push(node);
            }
            below = decided.into_iter();
        }
        below.next().ok_or_else(|| self.cursor.unexpected(self.cursor.at(), "a root"))
    }

    /// A node without what is below it.
    fn read_evaluation(&mut self, parent: Option<&Position>) -> Result<TraceNode, Hallucination> {
        self.read_path(vocab::EVALUATE)?;
        self.cursor.take(vocab::NODE_END)?;
        let commands = self.shape.commands(parent.is_none());
        let at = self.cursor.at();
        if read_commands(&mut self.cursor)? != commands {
            return Err(Hallucination::new(at, Mistake::Malformed, "the header is not that of the trace"));
        }
        let given = self.read_inputs(&commands, parent)?;
        let answer = read_answer(&commands, &mut self.cursor)?;
        let at = self.cursor.at();
        let missing = || Hallucination::new(at, Mistake::Malformed, "the evaluation is not complete");
        Ok(TraceNode {
            position: given.or(answer.tracked).ok_or_else(missing)?,
            listing: answer.listing.ok_or_else(missing)?,
            best: answer.best,
            children: Vec::new(),
            decision: Decision { compared: Vec::new(), selected: None, value: Bucket::LOST },
        })
    }

    /// The input lines: the root's position is returned, the parent's is only compared.
    fn read_inputs(
        &mut self,
        commands: &Commands,
        parent: Option<&Position>,
    ) -> Result<Option<Position>, Hallucination> {
        let (forms, parent) = match (commands.given, parent) {
            (Given::Previous { forms, .. }, Some(parent)) => (forms, parent),
            (Given::Current(forms) | Given::Previous { tracked: forms, .. }, _) => {
                return read_forms(commands, forms, open_token, &mut self.cursor).map(Some);
            }
        };
        if let Some(forms) = forms {
            let at = self.cursor.at();
            let previous = read_forms(commands, forms, open_previous, &mut self.cursor)?;
            if !same_state(&previous, parent) {
                return Err(Hallucination::new(at, Mistake::WrongState, "this is not the parent's state"));
            }
        }
        let at = self.cursor.at();
        let action = read_previous_action(commands, &mut self.cursor)?;
        if self.path.last() != Some(&action) {
            let reason = "this is not the move that leads to the node";
            return Err(Hallucination::new(at.saturating_add(1), Mistake::WrongExpansion, reason));
        }
        Ok(None)
    }

    /// The opening of a line and the path that must stand in it; the closing is left to the caller.
    fn read_path(&mut self, opening: Token) -> Result<(), Hallucination> {
        self.cursor.take(opening)?;
        for &mv in &self.path {
            let at = self.cursor.at();
            if read_choice(self.shape.rules, &mut self.cursor)? != Some(mv) {
                return Err(Hallucination::new(
                    at,
                    Mistake::WrongExpansion,
                    "this is the path of another node",
                ));
            }
        }
        Ok(())
    }

    fn read_expansion(&mut self) -> Result<Vec<Move>, Hallucination> {
        let mut expanded = Vec::new();
        if self.cursor.peek() != Some(vocab::EXPAND) {
            return Ok(expanded);
        }
        self.read_path(vocab::EXPAND)?;
        self.cursor.take(vocab::NODE_LIST)?;
        while self.cursor.peek() == Some(vocab::NODE) {
            self.read_path(vocab::NODE)?;
            let at = self.cursor.at();
            let mv = read_choice(self.shape.rules, &mut self.cursor)?;
            expanded.push(mv.ok_or_else(|| self.cursor.unexpected(at, "a move"))?);
            self.cursor.take(vocab::NODE_END)?;
        }
        if expanded.is_empty() {
            return Err(self.cursor.unexpected(self.cursor.at(), "a child"));
        }
        Ok(expanded)
    }

    fn read_decision(&mut self) -> Result<Decision, Hallucination> {
        self.read_path(vocab::DECIDE)?;
        let mut compared = Vec::new();
        if !self.cursor.skip(vocab::NODE_END) {
            self.cursor.take(vocab::COMPARE)?;
            loop {
                let at = self.cursor.at();
                let (mv, value) = self.read_quoted()?;
                compared.push((mv.ok_or_else(|| self.cursor.unexpected(at, "a move"))?, value));
                if self.cursor.skip(vocab::BREAK) {
                    break;
                }
            }
        }
        self.cursor.take(vocab::SELECT)?;
        let (selected, value) = self.read_quoted()?;
        self.cursor.take(vocab::BREAK)?;
        Ok(Decision { compared, selected, value })
    }

    /// A move with its value in quotes.
    fn read_quoted(&mut self) -> Result<(Option<Move>, Bucket), Hallucination> {
        let mv = read_choice(self.shape.rules, &mut self.cursor)?;
        let at = self.cursor.at();
        let value = self.cursor.next()?;
        let value = quoted_bucket_of(value).ok_or_else(|| self.cursor.unexpected(at, "a quoted value"))?;
        Ok((mv, value))
    }
}

/// A move, or `None` for `invalid`.
fn read_choice(rules: Rules, cursor: &mut Cursor<'_>) -> Result<Option<Move>, Hallucination> {
    let at = cursor.at();
    let token = cursor.next()?;
    if token == vocab::INVALID {
        return Ok(None);
    }
    moves::move_of(rules, token).map(Some).ok_or_else(|| cursor.unexpected(at, "a move"))
}
