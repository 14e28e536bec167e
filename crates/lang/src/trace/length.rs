//! How long a trace gets, before it is written.

use super::Shape;
use mavis_game::Rules;

/// The tokens of a trace whose nodes have `n_legal` legal moves each, its prompt included. Games that end within the tree make it
/// shorter.
#[must_use]
pub fn trace_len(shape: &Shape, n_legal: usize) -> usize {
    shape.n_tokens(shape.top.n_listed(n_legal))
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
