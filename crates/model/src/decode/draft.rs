//! Drafts of the state after a move. A draft need not be right: the network checks every token of it in one pass.

use mavis_game::{Game, Hex, Move, Othello, Position, Rules};
use mavis_lang::{
    Token, moves,
    state::{state_len, write_state},
    vocab::{COUNTS, LINE_END, spaced},
};

const EMPTY: Token = spaced(b'.');
const NOTHING: Token = spaced(b'-');
const WHITE: Token = spaced(b'w');
const BLACK: Token = spaced(b'b');
const FIRST: Token = spaced(b'x');
const SECOND: Token = spaced(b'o');

/// Where drafts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Drafting {
    /// Nowhere: every token is written by itself.
    #[default]
    None,
    /// The previous state is copied and the piece put where the move says. No rule is known beyond that: castling, flips, captures by the
    /// way and sown stones are the network's business.
    Copy,
    /// The rules play the move; a move they refuse is drafted by copying.
    Rules,
}

/// Appends the fields of the state after a move, and the end of its line.
pub fn draft_state(drafting: Drafting, before: &Position, mv: Move, tokens: &mut Vec<Token>) {
    // The opening of the next line may follow.
    tokens.reserve(state_len(before.rules()) + 8);
    match drafting {
        Drafting::None => return,
        Drafting::Rules if before.is_legal(mv) => {
            let mut after = before.clone();
            after.play_unchecked(mv);
            write_state(&after, tokens);
        }
        Drafting::Rules | Drafting::Copy => copy(before, mv, tokens),
    }
    tokens.push(LINE_END);
}

/// The state before, with the mover's piece moved or placed and the other side to move.
fn copy(before: &Position, mv: Move, tokens: &mut Vec<Token>) {
    let rules = before.rules();
    let start = tokens.len();
    write_state(before, tokens);
    debug_assert_eq!(tokens.len() - start, state_len(rules));
    let fields = &mut tokens[start..];
    let side = fields[0];
    match before {
        Position::Chess(_) => copy_chess(rules, mv, fields),
        Position::Connect4(_) => {
            // A disc lies on the lowest empty cell of its column.
            let column = usize::from(mv.0);
            let cell = (0..6).map(|row| 1 + 7 * row + column).find(|&cell| fields.get(cell) == Some(&EMPTY));
            place(fields, cell, side);
        }
        Position::Hex(_) if mv == Hex::SWAP => {}
        Position::Othello(_) if mv == Othello::PASS => {}
        Position::Hex(_) | Position::Othello(_) => place(fields, Some(1 + usize::from(mv.0)), side),
        Position::Togyz(_) => copy_togyz(mv, fields),
    }
    fields[0] = match side {
        FIRST => SECOND,
        SECOND => FIRST,
        WHITE => BLACK,
        _ => WHITE,
    };
}

fn place(fields: &mut [Token], cell: Option<usize>, token: Token) {
    if let Some(field) = cell.and_then(|cell| fields.get_mut(cell)) {
        *field = token;
    }
}

/// Side, four rights, 64 squares, en passant in two, halfmoves, three digits of moves.
fn copy_chess(rules: Rules, mv: Move, fields: &mut [Token]) {
    let Some(text) = moves::move_text(rules, mv) else { return };
    let square = |at: usize| {
        let bytes = text.as_bytes().get(at..at + 2)?;
        Some(5 + usize::from(bytes[0] - b'a') + 8 * usize::from(bytes[1] - b'1'))
    };
    let (Some(from), Some(to)) = (square(0), square(2)) else { return };
    let (piece, taken) = (fields[from], fields[to]);
    let promoted = text
        .as_bytes()
        .get(4)
        .map(|&letter| spaced(if fields[0] == WHITE { letter.to_ascii_uppercase() } else { letter }));
    fields[from] = EMPTY;
    fields[to] = promoted.unwrap_or(piece);
    fields[69] = NOTHING;
    fields[70] = NOTHING;
    // The counters run on by themselves: one more without a capture or pawn move, one more after the second player.
    let is_quiet = taken == EMPTY && piece != spaced(b'P') && piece != spaced(b'p');
    fields[71] = match COUNTS.place(fields[71]) {
        Some(count) if is_quiet => COUNTS.start + (count + 1).min(162),
        _ => COUNTS.start,
    };
    if fields[0] == BLACK {
        let digits = fields[72..75].iter().map(|&digit| COUNTS.place(digit).unwrap_or(0));
        let moves = (digits.fold(0, |sum, digit| 10 * sum + digit) + 1).min(999);
        let digits = [moves / 100, moves / 10 % 10, moves % 10];
        fields[72..75].iter_mut().zip(digits).for_each(|(field, digit)| *field = COUNTS.start + digit);
    }
}

/// The stones of the pit go one by one into the next ones; what they capture is not drafted.
fn copy_togyz(mv: Move, fields: &mut [Token]) {
    let count = |token: Token| COUNTS.place(token).unwrap_or(0);
    let offset = if fields[0] == WHITE { 0 } else { 9 };
    let pit = usize::from(mv.0);
    if pit >= 9 {
        return;
    }
    let stones = count(fields[1 + offset + pit]);
    fields[1 + offset + pit] = COUNTS.start;
    // A single stone leaves its pit; of several the first stays.
    let first = usize::from(stones == 1);
    for step in first..first + usize::from(stones) {
        let field = &mut fields[1 + (offset + pit + step) % 18];
        *field = COUNTS.start + (count(*field) + 1).min(162);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// How many fields of the drafts by copying are right, over a random game of each kind.
    fn share_right(rules: Rules) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let (mut n_right, mut n) = (0, 0);
        let mut position = Position::start(rules);
        for _ in 0..400 {
            let legal = position.legal_moves();
            if legal.is_empty() {
                position = Position::start(rules);
                continue;
            }
            let mv = legal[rng.random_range(0..legal.len())];
            let (mut drafted, mut right) = (Vec::new(), Vec::new());
            draft_state(Drafting::Copy, &position, mv, &mut drafted);
            draft_state(Drafting::Rules, &position, mv, &mut right);
            assert_eq!(drafted.len(), state_len(rules) + 1);
            assert_eq!(drafted.len(), right.len());
            n_right += drafted.iter().zip(&right).filter(|(one, other)| one == other).count();
            n += right.len();
            position.play_unchecked(mv);
        }
        n_right as f64 / f64::from(n as u32)
    }

    #[test]
    fn copied_drafts_are_nearly_right_in_every_game() {
        for (rules, floor) in [
            (Rules::Chess, 0.99),
            (Rules::Chess960, 0.99),
            (Rules::Connect4, 1.0),
            (Rules::HEX, 1.0),
            (Rules::Othello, 0.9),
            (Rules::Togyz, 0.9),
        ] {
            let share = share_right(rules);
            assert!(share >= floor, "{rules}: {share}");
        }
    }
}
