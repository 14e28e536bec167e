//! How long a trace gets, before it is written.

use super::Shape;
use crate::{
    command::{Commands, Top},
    request::{Input, write_prompt},
    state::state_len,
};
use mavis_game::{Game as _, Position, Rules};

/// The tokens of a trace whose nodes have `n_legal` legal moves each, its prompt included. Games that end within the tree make it
/// shorter.
#[must_use]
pub fn trace_len(shape: &Shape, n_legal: usize) -> usize {
    let listed = shape.top.n_listed(n_legal);
    let children = usize::from(shape.breadth).min(listed);
    let start = Position::start(shape.rules);
    let mut tokens = Vec::new();
    super::writer::write_preamble(shape, &mut tokens);
    // "Playing", the move, the end of the line.
    let mut total = tokens.len() + 3;
    let mut n_nodes = 1_usize;
    for ply in 0..=usize::from(shape.depth) {
        let line = 1 + ply + 1;
        let evaluation = line + prompt_len(shape, ply == 0, &start) + answer_len(shape, ply == 0, listed);
        // What is selected, its value, and the words around them.
        let decision = line + 4;
        let inner = if ply < usize::from(shape.depth) && children > 0 {
            line + children * (line + 1) + 2 * children + 1
        } else {
            0
        };
        total = total.saturating_add(n_nodes.saturating_mul(evaluation + decision + inner));
        n_nodes = n_nodes.saturating_mul(children);
    }
    total
}

/// The most legal moves a position of the game can have.
#[must_use]
pub fn most_moves(rules: Rules) -> usize {
    match rules {
        Rules::Chess | Rules::Chess960 => 218,
        Rules::Connect4 => 7,
        Rules::Hex { size, swap } => usize::from(size) * usize::from(size) + usize::from(swap),
        Rules::Othello => 33,
        Rules::Togyz => 9,
    }
}

/// About as many legal moves as positions of real games have; three in four have fewer.
#[must_use]
pub fn usual_moves(rules: Rules) -> usize {
    match rules {
        Rules::Chess | Rules::Chess960 => 40,
        Rules::Othello => 12,
        Rules::Connect4 | Rules::Hex { .. } | Rules::Togyz => most_moves(rules),
    }
}

/// Header and input lines of a node.
fn prompt_len(shape: &Shape, is_root: bool, start: &Position) -> usize {
    let mut tokens = Vec::new();
    let input = match start.legal_moves().first() {
        Some(&mv) if !is_root => Input::After(start, mv),
        _ => Input::At(start),
    };
    write_prompt(&shape.commands(is_root), input, &mut tokens);
    tokens.len()
}

/// The state with its brackets, the list and the best action with theirs.
fn answer_len(shape: &Shape, is_root: bool, listed: usize) -> usize {
    let state = if is_root { 0 } else { 2 + state_len(shape.rules) };
    let mut opening = Vec::new();
    let top = Some(if shape.top == Top::Best(0) { Top::All } else { shape.top });
    Commands { top, ..Commands::top_all(shape.rules) }.write_list_opening(&mut opening);
    state + opening.len() + 2 * listed + 1 + 3
}
