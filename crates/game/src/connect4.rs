//! Connect Four on a 7x6 board, as two bitboards.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{EndReason, Game, Move, MoveError, Moves, Outcome, PositionError, Rules, Side, game::pick};
use std::fmt;

const WIDTH: u32 = 7;
const HEIGHT: u32 = 6;
/// Bits a column takes: its cells and one that stays empty, so that shifts never join columns.
const STRIDE: u32 = HEIGHT + 1;
const BOTTOM: u64 = 0x0408_1020_4081;
const BOARD: u64 = BOTTOM * ((1 << HEIGHT) - 1);

/// A Connect Four position. The move code is the column, 0 to 6; its text is `1` to `7` from the left.
///
/// Bit `column * 7 + row` is a cell, row 0 at the bottom. Position text: six rows from the top joined by `/`
/// (`x` first player, `o` second, `.` empty), a space, and the side to move (`x` or `o`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Connect4 {
    /// Stones of the side to move.
    own: u64,
    /// Stones of both.
    all: u64,
}

impl Connect4 {
    /// Stones of the side to move.
    #[must_use]
    pub fn own(self) -> u64 {
        self.own
    }

    /// Stones of both sides.
    #[must_use]
    pub fn occupied(self) -> u64 {
        self.all
    }

    /// Reads a position text.
    ///
    /// # Errors
    /// When the board is malformed, a stone floats, the counts do not fit the side to move, or both sides have won.
    pub fn parse(text: &str) -> Result<Self, PositionError> {
        let bad = |reason: String| PositionError::new("connect4", reason);
        let (board, side) =
            text.trim().split_once(' ').ok_or_else(|| bad("expected 'ROWS SIDE'".to_owned()))?;
        let rows: Vec<&str> = board.split('/').collect();
        if rows.len() != HEIGHT as usize {
            return Err(bad(format!("expected 6 rows, got {}", rows.len())));
        }
        let mut stones = [0_u64; 2];
        for (from_top, row) in rows.iter().enumerate() {
            if row.chars().count() != WIDTH as usize {
                return Err(bad(format!("row '{row}' does not have 7 cells")));
            }
            for (column, cell) in row.chars().enumerate() {
                let bit = 1 << (column as u32 * STRIDE + (HEIGHT - 1 - from_top as u32));
                match cell {
                    'x' => stones[0] |= bit,
                    'o' => stones[1] |= bit,
                    '.' => {}
                    other => return Err(bad(format!("unknown cell '{other}'"))),
                }
            }
        }
        let [first, second] = stones;
        let all = first | second;
        if all & !BOTTOM & !(all << 1) != 0 {
            return Err(bad("a stone floats".to_owned()));
        }
        let own = match (side, first.count_ones().wrapping_sub(second.count_ones())) {
            ("x", 0) => first,
            ("o", 1) => second,
            ("x" | "o", _) => return Err(bad(format!("stone counts do not fit side to move '{side}'"))),
            _ => return Err(bad(format!("unknown side '{side}'"))),
        };
        if has_four(own) {
            return Err(bad("the side to move has already won".to_owned()));
        }
        Ok(Self { own, all })
    }

    /// The cell each column takes next, a bit for every column that is not full.
    fn open(self) -> u64 {
        (self.all + BOTTOM) & BOARD
    }

    fn is_full(self) -> bool {
        self.all == BOARD
    }
}

/// Whether `stones` hold four in a line.
fn has_four(stones: u64) -> bool {
    [1, STRIDE - 1, STRIDE, STRIDE + 1].into_iter().any(|shift| {
        let pairs = stones & (stones >> shift);
        pairs & (pairs >> (2 * shift)) != 0
    })
}

impl Game for Connect4 {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        Rules::Connect4
    }

    fn side_to_move(&self) -> Side {
        if self.all.count_ones().is_multiple_of(2) { Side::First } else { Side::Second }
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        if has_four(self.own ^ self.all) {
            return;
        }
        let mut open = self.open();
        while open != 0 {
            moves.push(Move((open.trailing_zeros() / STRIDE) as u16));
            open &= open - 1;
        }
    }

    fn n_legal_moves(&self) -> usize {
        if has_four(self.own ^ self.all) { 0 } else { self.open().count_ones() as usize }
    }

    fn random_move(&self, random: u32) -> Option<Move> {
        let mut open = self.open();
        if open == 0 || has_four(self.own ^ self.all) {
            return None;
        }
        for _ in 0..pick(random, open.count_ones() as usize) {
            open &= open - 1;
        }
        Some(Move((open.trailing_zeros() / STRIDE) as u16))
    }

    fn winning_move(&self) -> Option<Move> {
        if has_four(self.own ^ self.all) {
            return None;
        }
        let mut open = self.open();
        while open != 0 {
            let cell = open & open.wrapping_neg();
            if has_four(self.own | cell) {
                return Some(Move((cell.trailing_zeros() / STRIDE) as u16));
            }
            open ^= cell;
        }
        None
    }

    fn is_legal(&self, mv: Move) -> bool {
        u32::from(mv.0) < WIDTH
            && self.all >> (u32::from(mv.0) * STRIDE + HEIGHT - 1) & 1 == 0
            && !has_four(self.own ^ self.all)
    }

    fn play_unchecked(&mut self, mv: Move) {
        let column = ((1 << HEIGHT) - 1) << (u32::from(mv.0) * STRIDE);
        self.own ^= self.all;
        self.all |= (self.all + BOTTOM) & column;
    }

    fn outcome(&self) -> Option<Outcome> {
        if has_four(self.own ^ self.all) {
            Some(Outcome::Win(self.side_to_move().other()))
        } else {
            self.is_full().then_some(Outcome::Draw)
        }
    }

    fn end_reason(&self) -> Option<EndReason> {
        self.outcome().map(|outcome| match outcome {
            Outcome::Win(_) => EndReason::Connection,
            Outcome::Draw => EndReason::BoardFull,
        })
    }

    fn key(&self) -> u64 {
        // `own + all + BOTTOM` is a unique encoding; the multiplication spreads it over all bits and is a bijection.
        (self.own + self.all + BOTTOM).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn ply(&self) -> u32 {
        self.all.count_ones()
    }

    fn move_text(&self, mv: Move) -> String {
        (mv.0 + 1).to_string()
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        let mv = match text.as_bytes() {
            [digit @ b'1'..=b'7'] => Move(u16::from(digit - b'1')),
            _ => {
                return Err(MoveError::Syntax {
                    text: text.to_owned(),
                    game: "connect4",
                    expected: "a column, 1 to 7",
                });
            }
        };
        if self.is_legal(mv) { Ok(mv) } else { Err(MoveError::Illegal { text: text.to_owned() }) }
    }

    fn n_symmetries(&self) -> usize {
        2
    }

    fn transformed(&self, symmetry: usize) -> Self {
        if symmetry == 0 {
            return *self;
        }
        let mirror = |stones: u64| {
            (0..WIDTH).fold(0, |mirrored, column| {
                let cells = stones >> (column * STRIDE) & ((1 << STRIDE) - 1);
                mirrored | cells << ((WIDTH - 1 - column) * STRIDE)
            })
        };
        Self { own: mirror(self.own), all: mirror(self.all) }
    }

    fn transformed_move(&self, symmetry: usize, mv: Move) -> Move {
        if symmetry == 0 { mv } else { Move(WIDTH as u16 - 1 - mv.0) }
    }

    fn random_predecessor(&self, mut random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        // The top stones of the player who has just moved.
        let mut tops = (self.all & !((self.all & (BOARD ^ BOTTOM)) >> 1)) & (self.own ^ self.all);
        while tops != 0 {
            let mut left = tops;
            for _ in 0..pick(random(), tops.count_ones() as usize) {
                left &= left - 1;
            }
            let stone = left & left.wrapping_neg();
            let before = Self { own: (self.own ^ self.all) & !stone, all: self.all & !stone };
            // A game that had ended before goes no further, whoever had won it.
            if !has_four(before.own) && before.outcome().is_none() {
                return Some((before, Move((stone.trailing_zeros() / STRIDE) as u16)));
            }
            tops &= !stone;
        }
        None
    }

    fn drawing(&self) -> String {
        let text = self.to_string();
        let board = text.split(' ').next().unwrap_or_default();
        let mut drawing = String::new();
        for row in board.split('/') {
            for cell in row.chars() {
                drawing.push(' ');
                drawing.push(cell);
            }
            drawing.push('\n');
        }
        drawing.push_str(" 1 2 3 4 5 6 7\n");
        drawing
    }
}

impl fmt::Display for Connect4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = match self.side_to_move() {
            Side::First => self.own,
            Side::Second => self.own ^ self.all,
        };
        for row in (0..HEIGHT).rev() {
            for column in 0..WIDTH {
                let bit = 1 << (column * STRIDE + row);
                f.write_str(match (self.all & bit != 0, first & bit != 0) {
                    (false, _) => ".",
                    (true, true) => "x",
                    (true, false) => "o",
                })?;
            }
            if row > 0 {
                f.write_str("/")?;
            }
        }
        f.write_str(if self.side_to_move() == Side::First { " x" } else { " o" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_text_is_inverse_and_floating_stones_are_refused() {
        let mut position = Connect4::default();
        for column in [3, 3, 2, 4, 6, 0] {
            position.play(Move(column)).unwrap();
            assert_eq!(Connect4::parse(&position.to_string()), Ok(position));
        }
        assert!(Connect4::parse("......./......./......./...x.../......./....... o").is_err());
    }

    #[test]
    fn four_in_a_column_wins() {
        let mut position = Connect4::default();
        for column in [3, 2, 3, 2, 3, 2, 3] {
            position.play(Move(column)).unwrap();
        }
        assert_eq!(position.outcome(), Some(Outcome::Win(Side::First)));
        assert!(!position.is_legal(Move(0)));
    }
}
