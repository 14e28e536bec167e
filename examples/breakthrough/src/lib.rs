//! Breakthrough: pawns move one step forward, straight or diagonally, and capture diagonally; who reaches the far row wins.
//!
//! This file is all that Mavis needs to play, search and rate the game; `planes.rs` adds what PROBS needs to learn it.
//! `docs/own-game.md` walks through both.

mod planes;

pub use planes::settings;

use mavis_game::{EndReason, FromRules, Game, Move, MoveError, Moves, Outcome, PositionError, Side};
use mavis_stable::seed::mix;
use std::{fmt, str::FromStr};

/// Cells in a row and in a column. The usual board has 8; a smaller one is learned in a minute.
const SIZE: u8 = 6;
/// All cells of the lowest row.
const ROW: u64 = (1 << SIZE) - 1;

/// A position. Copying it is cheap, which makes searches fast.
#[derive(Clone, Copy, Debug)]
pub struct Breakthrough {
    /// Pawns of each side, bit `row * SIZE + column`; the first player starts on rows 0 and 1.
    pawns: [u64; 2],
    /// Whose turn it is follows from it.
    ply: u32,
}

/// The game's name; there are no parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BreakthroughRules;

impl fmt::Display for BreakthroughRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("breakthrough")
    }
}

impl FromStr for BreakthroughRules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "breakthrough" => Ok(Self),
            _ => Err(format!("unknown game '{text}' (expected breakthrough)")),
        }
    }
}

/// Equality sees what the rules of movement see: the board and whose turn it is.
impl PartialEq for Breakthrough {
    fn eq(&self, other: &Self) -> bool {
        (self.pawns, self.side_to_move()) == (other.pawns, other.side_to_move())
    }
}

impl Eq for Breakthrough {}

impl Game for Breakthrough {
    type Rules = BreakthroughRules;

    fn rules(&self) -> BreakthroughRules {
        BreakthroughRules
    }

    fn side_to_move(&self) -> Side {
        if self.ply.is_multiple_of(2) { Side::First } else { Side::Second }
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        if self.outcome().is_some() {
            return;
        }
        let side = self.side_to_move();
        for from in (0..SIZE * SIZE).filter(|&cell| self.has(side, cell)) {
            let (row, column) = (from / SIZE, from % SIZE);
            let row = if side == Side::First { row + 1 } else { row - 1 };
            for to_column in column.saturating_sub(1)..=(column + 1).min(SIZE - 1) {
                let to = row * SIZE + to_column;
                let blocked = to_column == column && self.has(side.other(), to);
                if !self.has(side, to) && !blocked {
                    moves.push(code(from, to));
                }
            }
        }
    }

    fn play_unchecked(&mut self, mv: Move) {
        let (from, to) = cells(mv);
        let side = self.side_to_move();
        self.pawns[side.index()] = self.pawns[side.index()] & !(1 << from) | 1 << to;
        self.pawns[side.other().index()] &= !(1 << to);
        self.ply += 1;
    }

    fn outcome(&self) -> Option<Outcome> {
        let [first, second] = self.pawns;
        if first >> (SIZE * (SIZE - 1)) != 0 || second == 0 {
            Some(Outcome::Win(Side::First))
        } else {
            (second & ROW != 0 || first == 0).then_some(Outcome::Win(Side::Second))
        }
    }

    fn end_reason(&self) -> Option<EndReason> {
        self.outcome().map(|_| EndReason::Other("breakthrough"))
    }

    fn key(&self) -> u64 {
        mix(self.pawns[0] ^ mix(self.pawns[1] ^ mix(u64::from(self.ply % 2))))
    }

    fn ply(&self) -> u32 {
        self.ply
    }

    fn move_text(&self, mv: Move) -> String {
        let (from, to) = cells(mv);
        let text = |cell| format!("{}{}", char::from(b'a' + cell % SIZE), cell / SIZE + 1);
        text(from) + &text(to)
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        let found = self.legal_moves().into_iter().find(|&mv| self.move_text(mv) == text);
        let text = text.to_owned();
        found.ok_or(match text.len() {
            4 => MoveError::Illegal { text },
            _ => MoveError::Syntax { text, game: "breakthrough", expected: "a move such as a2b3" },
        })
    }

    fn drawing(&self) -> String {
        let rows = self.rows().zip((1..=SIZE).rev()).map(|(row, number)| format!("{number} {row}\n"));
        rows.chain(["  abcdef\n".to_owned()]).collect()
    }
}

impl FromRules for Breakthrough {
    fn start(_: BreakthroughRules) -> Self {
        let two_rows = ROW | ROW << SIZE;
        Self { pawns: [two_rows, two_rows << (SIZE * (SIZE - 2))], ply: 0 }
    }

    fn parse(_: BreakthroughRules, text: &str) -> Result<Self, PositionError> {
        let fault = |reason: String| PositionError::new("breakthrough", reason);
        let (board, side) = text.split_once(' ').unwrap_or((text, ""));
        let side = ["x", "o"].iter().position(|letter| *letter == side);
        let ply = side.ok_or_else(|| fault("expected x or o to move after a space".to_owned()))? as u32;
        let rows: Vec<&str> = board.split('/').collect();
        if rows.len() != usize::from(SIZE) || rows.iter().any(|row| row.len() != usize::from(SIZE)) {
            return Err(fault(format!("board '{board}', expected {SIZE} rows of {SIZE} cells")));
        }
        let mut position = Self { pawns: [0; 2], ply };
        for (letter, cell) in rows.iter().rev().flat_map(|row| row.chars()).zip(0..) {
            match letter {
                'x' => position.pawns[0] |= 1 << cell,
                'o' => position.pawns[1] |= 1 << cell,
                '.' => {}
                _ => return Err(fault(format!("cell '{letter}', expected x, o or a dot"))),
            }
        }
        // A game ends with the move that wins it.
        if position.outcome() == Some(Outcome::Win(position.side_to_move())) {
            return Err(fault("the side to move has won already".to_owned()));
        }
        Ok(position)
    }
}

/// Rows from the top and the side to move: `oooooo/oooooo/....../....../xxxxxx/xxxxxx x`.
impl fmt::Display for Breakthrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.side_to_move() == Side::First { 'x' } else { 'o' };
        write!(f, "{} {side}", self.rows().collect::<Vec<_>>().join("/"))
    }
}

impl Breakthrough {
    fn has(&self, side: Side, cell: u8) -> bool {
        self.pawns[side.index()] >> cell & 1 == 1
    }

    /// The rows from the top as text.
    fn rows(&self) -> impl Iterator<Item = String> {
        let letter = |cell| match (self.has(Side::First, cell), self.has(Side::Second, cell)) {
            (true, _) => 'x',
            (_, true) => 'o',
            _ => '.',
        };
        (0..SIZE).rev().map(move |row| (0..SIZE).map(|column| letter(row * SIZE + column)).collect())
    }
}

/// A move as a code: from and to, six bits each.
fn code(from: u8, to: u8) -> Move {
    Move(u16::from(from) << 6 | u16::from(to))
}

fn cells(mv: Move) -> (u8, u8) {
    ((mv.0 >> 6) as u8 & 63, mv.0 as u8 & 63)
}
