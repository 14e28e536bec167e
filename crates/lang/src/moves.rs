//! Every move of every game is one token; these tables lead both ways without a position.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::vocab::{self, CELLS, CHESS_MOVES, COUNTS, Token};
use mavis_game::{Hex, Move, Othello, Rules};
use std::{ops::Range, sync::LazyLock};

/// The token of a move, or `None` for a code that is no move of the game.
///
/// Castling is spelled as the king taking its rook (`e1h1`), in chess as in Chess960: it is the one spelling that
/// needs no position to be understood.
#[must_use]
pub fn token_of(rules: Rules, mv: Move) -> Option<Token> {
    let code = mv.0;
    match rules {
        Rules::Chess | Rules::Chess960 => {
            CHESS.tokens.get(usize::from(code)).copied().filter(|&token| token != vocab::UNK)
        }
        Rules::Connect4 => (code < 7).then(|| COUNTS.start + 1 + code),
        Rules::Hex { size, swap } => {
            let size = u16::from(size);
            if code < size * size {
                Some(cell(code, size))
            } else {
                (swap && mv == Hex::SWAP).then_some(vocab::SWAP)
            }
        }
        Rules::Othello if mv == Othello::PASS => Some(vocab::PASS),
        Rules::Othello => (code < 64).then(|| cell(code, 8)),
        Rules::Togyz => (code < 9).then(|| COUNTS.start + 1 + code),
    }
}

/// The move a token means, or `None` if it is no move of the game.
#[must_use]
pub fn move_of(rules: Rules, token: Token) -> Option<Move> {
    match rules {
        Rules::Chess | Rules::Chess960 => {
            CHESS_MOVES.place(token).and_then(|place| CHESS.moves.get(usize::from(place)).copied())
        }
        Rules::Connect4 => number(token, 7),
        Rules::Hex { swap, .. } if token == vocab::SWAP => swap.then_some(Hex::SWAP),
        Rules::Hex { size, .. } => code_of_cell(token, u16::from(size)),
        Rules::Othello if token == vocab::PASS => Some(Othello::PASS),
        Rules::Othello => code_of_cell(token, 8),
        Rules::Togyz => number(token, 9),
    }
}

/// Every token that is a move of the game, in the order of ids; for masks over the vocabulary.
pub fn move_tokens(rules: Rules) -> impl Iterator<Item = Token> {
    move_ranges(rules).flatten()
}

/// The same as ranges of ids: few, so that logits can be read many at a time.
pub fn move_ranges(rules: Rules) -> impl Iterator<Item = Range<Token>> {
    let numbers = |most: Token| (None, COUNTS.start + 1, 1, most);
    // A word, and rows of cells, which lie 19 apart on any board.
    let (word, start, n_rows, n_columns) = match rules {
        Rules::Chess | Rules::Chess960 => (None, CHESS_MOVES.start, 1, CHESS_MOVES.len),
        Rules::Connect4 => numbers(7),
        Rules::Hex { size, swap } => {
            (swap.then_some(vocab::SWAP), CELLS.start, u16::from(size), u16::from(size))
        }
        Rules::Othello => (Some(vocab::PASS), CELLS.start, 8, 8),
        Rules::Togyz => numbers(9),
    };
    let rows = (0..n_rows).map(move |row| start + 19 * row..start + 19 * row + n_columns);
    word.map(|word| word..word + 1).into_iter().chain(rows)
}

/// The text of a move as the language spells it, without its leading space.
#[must_use]
pub fn move_text(rules: Rules, mv: Move) -> Option<&'static str> {
    token_of(rules, mv).and_then(|token| vocab::vocabulary().string(token)).map(str::trim_start)
}

/// Chess codes and tokens, one to one.
struct ChessMoves {
    /// `[code]`, [`vocab::UNK`] where no move has the code.
    tokens: Vec<Token>,
    /// `[place in the block]`.
    moves: Vec<Move>,
}

static CHESS: LazyLock<ChessMoves> = LazyLock::new(|| {
    let mut chess = ChessMoves { tokens: vec![vocab::UNK; 1 << 15], moves: Vec::new() };
    for ((_, from, to, promotion), token) in vocab::chess_moves().zip(CHESS_MOVES.start..) {
        let promotion = match promotion {
            None => 0,
            Some('n') => 1,
            Some('b') => 2,
            Some('r') => 3,
            Some(_) => 4,
        };
        let code = u16::from(from) | u16::from(to) << 6 | promotion << 12;
        if let Some(place) = chess.tokens.get_mut(usize::from(code)) {
            *place = token;
        }
        chess.moves.push(Move(code));
    }
    chess
});

fn cell(code: u16, size: u16) -> Token {
    CELLS.start + code / size * 19 + code % size
}

fn code_of_cell(token: Token, size: u16) -> Option<Move> {
    let place = CELLS.place(token)?;
    let (row, column) = (place / 19, place % 19);
    (row < size && column < size).then_some(Move(row * size + column))
}

fn number(token: Token, most: u16) -> Option<Move> {
    COUNTS.place(token).filter(|count| (1..=most).contains(count)).map(|count| Move(count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_inverse_for_every_code() {
        let hex = |size, swap| Rules::Hex { size, swap };
        for (rules, n_moves) in [
            (Rules::Chess, 1_968),
            (Rules::Chess960, 1_968),
            (Rules::Connect4, 7),
            (hex(3, false), 9),
            (hex(11, true), 122),
            (hex(19, false), 361),
            (Rules::Othello, 65),
            (Rules::Togyz, 9),
        ] {
            let coded: Vec<Move> =
                (0..=u16::MAX).map(Move).filter(|&mv| token_of(rules, mv).is_some()).collect();
            assert_eq!(coded.len(), n_moves, "{rules}");
            assert_eq!(move_tokens(rules).count(), n_moves, "{rules}");
            assert!(move_tokens(rules).is_sorted(), "{rules}");
            assert!(move_tokens(rules).all(|token| move_of(rules, token).is_some()), "{rules}");
            for mv in coded {
                assert_eq!(move_of(rules, token_of(rules, mv).unwrap()), Some(mv));
            }
        }
    }
}
