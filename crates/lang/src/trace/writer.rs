//! From a trace to tokens.

use super::{
    Decision, Order, Shape, Trace, TraceNode,
    parts::{Part, parts},
};
use crate::{
    answer::AnswerSpans,
    command::write_number,
    example::Example,
    moves,
    request::{Input, write_prompt},
    value::quoted_token,
    vocab::{self, Token},
};
use mavis_game::{Move, Position, Rules};

/// The tokens of a trace.
#[must_use]
pub fn write_trace(trace: &Trace) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(1_024);
    write_preamble(&trace.shape, &mut tokens);
    for Part { node, parent, path, decides } in parts(trace) {
        if decides {
            write_decision(trace.shape.rules, &node.decision, &path, &mut tokens);
        } else {
            write_evaluation(&trace.shape, node, parent, &path, &mut tokens);
            write_expansion(&trace.shape, node, &path, &mut tokens);
        }
    }
    write_play(trace.shape.rules, trace.played, &mut tokens);
    tokens
}

/// What a model is given to search a position: everything up to the first evaluation.
#[must_use]
pub fn trace_prompt(shape: &Shape, position: &Position) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(192);
    write_preamble(shape, &mut tokens);
    write_line(vocab::EVALUATE, shape.rules, &[], vocab::NODE_END, &mut tokens);
    write_prompt(&shape.commands(true), Input::At(position), &mut tokens);
    tokens
}

/// A trace as an example for training; its lists are many, so none is pointed out.
#[must_use]
pub fn trace_example(trace: &Trace) -> Example {
    let input_len = trace_prompt(&trace.shape, &trace.root.position).len();
    Example { tokens: write_trace(trace), input_len, list: None, best_at: None }
}

/// Tokens of a trace outside its nodes.
pub(super) fn trace_frame(shape: &Shape) -> usize {
    let mut tokens = Vec::new();
    write_preamble(shape, &mut tokens);
    write_play(shape.rules, None, &mut tokens);
    tokens.len()
}

/// Tokens of a node so deep in the tree without those of its children.
pub(super) fn own_tokens(shape: &Shape, node: &TraceNode, depth: usize) -> usize {
    let mut tokens = Vec::new();
    let path = vec![Move(0); depth];
    let parent = (depth > 0).then_some(&node.position);
    write_evaluation(shape, node, parent, &path, &mut tokens);
    write_expansion(shape, node, &path, &mut tokens);
    write_decision(shape.rules, &node.decision, &path, &mut tokens);
    tokens.len()
}

pub(super) fn write_preamble(shape: &Shape, tokens: &mut Vec<Token>) {
    tokens.push(vocab::MINIMAX);
    write_number(shape.breadth, tokens);
    tokens.push(vocab::DEPTH);
    write_number(shape.depth, tokens);
    if shape.compact {
        tokens.push(vocab::COMPACT);
    }
    if shape.order == Order::BreadthFirst {
        tokens.push(vocab::BREADTH_FIRST);
    }
    tokens.push(vocab::BREAK);
}

/// Appends path, header, inputs and answer; returns where the answer begins and its parts within it.
pub(super) fn write_evaluation(
    shape: &Shape,
    node: &TraceNode,
    parent: Option<&Position>,
    path: &[Move],
    tokens: &mut Vec<Token>,
) -> (usize, AnswerSpans) {
    write_line(vocab::EVALUATE, shape.rules, path, vocab::NODE_END, tokens);
    let commands = shape.commands(parent.is_none());
    let input = match (parent, path.last()) {
        (Some(parent), Some(&action)) => Input::After(parent, action),
        _ => Input::At(&node.position),
    };
    write_prompt(&commands, input, tokens);
    let origin = tokens.len();
    (origin, node.answer(parent.is_none()).write(&commands, tokens))
}

/// Appends the children's paths, if there are children.
pub(super) fn write_expansion(shape: &Shape, node: &TraceNode, path: &[Move], tokens: &mut Vec<Token>) {
    if node.children.is_empty() {
        return;
    }
    write_line(vocab::EXPAND, shape.rules, path, vocab::NODE_LIST, tokens);
    for (mv, _) in &node.children {
        write_line(vocab::NODE, shape.rules, &[path, &[*mv]].concat(), vocab::NODE_END, tokens);
    }
}

pub(super) fn write_decision(rules: Rules, decision: &Decision, path: &[Move], tokens: &mut Vec<Token>) {
    if decision.compared.is_empty() {
        write_line(vocab::DECIDE, rules, path, vocab::NODE_END, tokens);
    } else {
        write_line(vocab::DECIDE, rules, path, vocab::COMPARE, tokens);
        for &(mv, value) in &decision.compared {
            tokens.extend([move_token(rules, Some(mv)), quoted_token(value)]);
        }
        tokens.push(vocab::BREAK);
    }
    tokens.extend([
        vocab::SELECT,
        move_token(rules, decision.selected),
        quoted_token(decision.value),
        vocab::BREAK,
    ]);
}

pub(super) fn write_play(rules: Rules, played: Option<Move>, tokens: &mut Vec<Token>) {
    tokens.extend([vocab::PLAY, move_token(rules, played), vocab::PLAY_END]);
}

fn write_line(opening: Token, rules: Rules, path: &[Move], closing: Token, tokens: &mut Vec<Token>) {
    tokens.push(opening);
    tokens.extend(path.iter().map(|&mv| move_token(rules, Some(mv))));
    tokens.push(closing);
}

pub(super) fn move_token(rules: Rules, mv: Option<Move>) -> Token {
    match mv {
        None => vocab::INVALID,
        Some(mv) => moves::token_of(rules, mv).unwrap_or(vocab::UNK),
    }
}
