//! Othello, as two bitboards.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

#[allow(
    clippy::indexing_slicing,
    reason = "squares are masked to 0..64, and tables are built at compile time"
)]
mod bits;

use crate::key::fold;
use crate::{EndReason, Game, Move, MoveError, Moves, Outcome, PositionError, Rules, Side, game::pick};
use std::{cmp::Ordering, fmt};

const N_SQUARES: u32 = 64;
/// Draws of the discs that a move turned, for each square it may have been played on.
const UNFLIP_DRAWS: usize = 4;
const CENTER: u64 = 0x0000_0018_1800_0000;

/// An Othello position. The move code is `row * 8 + column` from a1 at the top left (text `d3`: column, then row),
/// or [`Othello::PASS`] (text `pass`).
///
/// A pass is a ply; it is legal only for a side that cannot place a disc while its opponent can. The game ends when
/// neither can, and most discs win. The first player is Black and moves to d3, c4, f5 or e6.
///
/// Position text: the 64 squares from a1 row by row (`X` Black, `O` White, `-` empty), a space, and the side to move
/// (`X` or `O`), as in the problem files of other programs. Passes leave no trace in a position, so [`Game::ply`]
/// counts placed discs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Othello {
    /// Discs of the side to move.
    own: u64,
    /// Discs of the other side.
    opponent: u64,
    /// After a pass the discs alone do not show it.
    side: Side,
}

impl Default for Othello {
    fn default() -> Self {
        Self { own: 1 << 28 | 1 << 35, opponent: 1 << 27 | 1 << 36, side: Side::First }
    }
}

impl Othello {
    /// The move of a side that cannot place a disc.
    pub const PASS: Move = Move(64);

    /// Discs of the side to move, bit `row * 8 + column`.
    #[must_use]
    pub fn own(self) -> u64 {
        self.own
    }

    /// Discs of the other side.
    #[must_use]
    pub fn opponent(self) -> u64 {
        self.opponent
    }

    /// Squares where the side to move may place a disc; empty when it has to pass and when the game is over.
    #[must_use]
    pub fn placements(self) -> u64 {
        bits::placements(self.own, self.opponent)
    }

    /// Discs that change color if the side to move plays on `square` (0 to 63); none if that is not a legal place.
    #[must_use]
    pub fn flips(self, square: u32) -> u64 {
        if square >= N_SQUARES || (self.own | self.opponent) >> square & 1 != 0 {
            return 0;
        }
        bits::flips(self.own, self.opponent, square)
    }

    /// The discs `side` has on the board.
    #[must_use]
    pub fn discs(self, side: Side) -> u32 {
        self.board(side).count_ones()
    }

    /// The first player's discs minus the second's with the empty squares given to the leader: the result of a
    /// finished game as tournaments count it, -64 to 64.
    #[must_use]
    pub fn final_score(self) -> i32 {
        let (first, second) = (self.discs(Side::First) as i32, self.discs(Side::Second) as i32);
        let empty = N_SQUARES as i32 - first - second;
        first - second + (first - second).signum() * empty
    }

    /// Reads a position text.
    ///
    /// # Errors
    /// When the board does not have 64 known squares, one of the four center squares is empty, or the side is unknown.
    pub fn parse(text: &str) -> Result<Self, PositionError> {
        let bad = |reason: String| PositionError::new("othello", reason);
        let (board, side) =
            text.trim().split_once(' ').ok_or_else(|| bad("expected 'SQUARES SIDE'".to_owned()))?;
        let n_squares = board.chars().count();
        if n_squares != N_SQUARES as usize {
            return Err(bad(format!("expected 64 squares, got {n_squares}")));
        }
        let (mut first, mut second) = (0_u64, 0_u64);
        for (square, cell) in board.chars().enumerate() {
            match cell {
                'X' => first |= 1 << square,
                'O' => second |= 1 << square,
                '-' => {}
                other => return Err(bad(format!("unknown square '{other}'"))),
            }
        }
        if (first | second) & CENTER != CENTER {
            return Err(bad("the four center squares are never empty".to_owned()));
        }
        match side {
            "X" => Ok(Self { own: first, opponent: second, side: Side::First }),
            "O" => Ok(Self { own: second, opponent: first, side: Side::Second }),
            _ => Err(bad(format!("unknown side '{side}'"))),
        }
    }

    fn board(self, side: Side) -> u64 {
        if side == self.side { self.own } else { self.opponent }
    }

    fn opponent_can_place(self) -> bool {
        bits::placements(self.opponent, self.own) != 0
    }
}

impl Game for Othello {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        Rules::Othello
    }

    fn side_to_move(&self) -> Side {
        self.side
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        let mut squares = self.placements();
        if squares == 0 && self.opponent_can_place() {
            moves.push(Self::PASS);
        }
        while squares != 0 {
            moves.push(Move(squares.trailing_zeros() as u16));
            squares &= squares - 1;
        }
    }

    fn n_legal_moves(&self) -> usize {
        match self.placements().count_ones() {
            0 => usize::from(self.opponent_can_place()),
            n_squares => n_squares as usize,
        }
    }

    fn random_move(&self, random: u32) -> Option<Move> {
        let mut squares = self.placements();
        if squares == 0 {
            return self.opponent_can_place().then_some(Self::PASS);
        }
        for _ in 0..pick(random, squares.count_ones() as usize) {
            squares &= squares - 1;
        }
        Some(Move(squares.trailing_zeros() as u16))
    }

    fn is_legal(&self, mv: Move) -> bool {
        if mv == Self::PASS {
            return self.placements() == 0 && self.opponent_can_place();
        }
        self.flips(u32::from(mv.0)) != 0
    }

    fn play_unchecked(&mut self, mv: Move) {
        if mv != Self::PASS {
            let square = u32::from(mv.0) % N_SQUARES;
            let flipped = bits::flips(self.own, self.opponent, square);
            self.own |= flipped | 1 << square;
            self.opponent &= !flipped;
        }
        std::mem::swap(&mut self.own, &mut self.opponent);
        self.side = self.side.other();
    }

    fn outcome(&self) -> Option<Outcome> {
        if self.placements() != 0 || self.opponent_can_place() {
            return None;
        }
        Some(match self.own.count_ones().cmp(&self.opponent.count_ones()) {
            Ordering::Greater => Outcome::Win(self.side),
            Ordering::Less => Outcome::Win(self.side.other()),
            Ordering::Equal => Outcome::Draw,
        })
    }

    fn end_reason(&self) -> Option<EndReason> {
        let full = self.own | self.opponent == u64::MAX;
        self.outcome().map(|_| if full { EndReason::BoardFull } else { EndReason::NoMoves })
    }

    fn key(&self) -> u64 {
        // Two rounds of multiply and fold, so that each disc reaches every bit of the key.
        let side = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(1 + self.side.index() as u64);
        let mixed = fold(self.own ^ 0xA076_1D64_78BD_642F, self.opponent ^ 0xE703_7ED1_A0B4_28DB);
        fold(mixed ^ self.own ^ side, 0x8EBC_6AF0_9C88_C6E3 ^ self.opponent.rotate_left(32))
    }

    fn ply(&self) -> u32 {
        (self.own | self.opponent).count_ones().saturating_sub(CENTER.count_ones())
    }

    fn move_text(&self, mv: Move) -> String {
        if mv == Self::PASS {
            return "pass".to_owned();
        }
        let column = char::from(b'a' + (mv.0 % 8) as u8);
        format!("{column}{}", mv.0 / 8 % 8 + 1)
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        // Records write squares in capitals as often as not.
        let mv = match text.as_bytes() {
            _ if text.eq_ignore_ascii_case("pass") => Self::PASS,
            [column @ (b'a'..=b'h' | b'A'..=b'H'), row @ b'1'..=b'8'] => {
                Move(u16::from(row - b'1') * 8 + u16::from(column.to_ascii_lowercase() - b'a'))
            }
            _ => {
                return Err(MoveError::Syntax {
                    text: text.to_owned(),
                    game: "othello",
                    expected: "a square, a1 to h8, or pass",
                });
            }
        };
        if self.is_legal(mv) { Ok(mv) } else { Err(MoveError::Illegal { text: text.to_owned() }) }
    }

    fn n_symmetries(&self) -> usize {
        8
    }

    fn transformed(&self, symmetry: usize) -> Self {
        Self {
            own: bits::transformed(self.own, symmetry),
            opponent: bits::transformed(self.opponent, symmetry),
            side: self.side,
        }
    }

    fn transformed_move(&self, symmetry: usize, mv: Move) -> Move {
        if mv == Self::PASS {
            return mv;
        }
        Move(bits::transformed_square(u32::from(mv.0) % N_SQUARES, symmetry) as u16)
    }

    /// As published tables count: a game that ended early stays one sequence at every greater depth.
    fn perft(&self, depth: u32) -> u64 {
        if depth <= 1 {
            return if depth == 0 { 1 } else { self.n_legal_moves().max(1) as u64 };
        }
        let mut moves = Moves::new();
        self.legal_moves_into(&mut moves);
        let after = |mv: Move| {
            let mut after = *self;
            after.play_unchecked(mv);
            after.perft(depth - 1)
        };
        if moves.is_empty() { 1 } else { moves.into_iter().map(after).sum() }
    }

    fn random_predecessor(&self, mut random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        let passed = Self { own: self.opponent, opponent: self.own, side: self.side.other() };
        if passed.is_legal(Self::PASS) && pick(random(), 8) == 0 {
            return Some((passed, Self::PASS));
        }
        let mut discs = self.opponent & !CENTER;
        while discs != 0 {
            let left =
                (0..pick(random(), discs.count_ones() as usize)).fold(discs, |left, _| left & (left - 1));
            let square = left.trailing_zeros();
            for _ in 0..UNFLIP_DRAWS {
                let flipped = bits::random_unflips(self.opponent, square, &mut random);
                let before = Self {
                    own: self.opponent & !flipped & !(1 << square),
                    opponent: self.own | flipped,
                    side: self.side.other(),
                };
                // Discs left standing between this one and another of the mover would have been turned too.
                if flipped != 0 && before.flips(square) == flipped {
                    return Some((before, Move(square as u16)));
                }
            }
            discs &= !(1 << square);
        }
        passed.is_legal(Self::PASS).then_some((passed, Self::PASS))
    }

    fn drawing(&self) -> String {
        let placements = self.placements();
        let mut drawing = String::from("   a b c d e f g h\n");
        for row in 0..8 {
            drawing.push_str(&format!(" {}", row + 1));
            for square in row * 8..row * 8 + 8 {
                drawing.push(' ');
                drawing.push(match self.square(square) {
                    '-' if placements >> square & 1 != 0 => '*',
                    '-' => '.',
                    disc => disc,
                });
            }
            drawing.push('\n');
        }
        let (first, second) = (self.discs(Side::First), self.discs(Side::Second));
        drawing.push_str(&format!("   X {first}  O {second}\n"));
        drawing
    }
}

impl Othello {
    fn square(self, square: u32) -> char {
        match (self.board(Side::First) >> square & 1, self.board(Side::Second) >> square & 1) {
            (1, _) => 'X',
            (_, 1) => 'O',
            _ => '-',
        }
    }
}

impl fmt::Display for Othello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        (0..N_SQUARES).try_for_each(|square| f.write_char(self.square(square)))?;
        f.write_str(if self.side == Side::First { " X" } else { " O" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first column of the public table: a pass is a ply, and a game that ended early (228 of them after nine
    /// plies) stays one leaf at every greater depth.
    #[test]
    fn perft_from_the_start() {
        let table = [4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288, 24_571_284, 212_258_800];
        for (depth, nodes) in (1..).zip(table) {
            assert_eq!(Othello::default().perft(depth), nodes, "depth {depth}");
        }
    }

    #[test]
    fn start_position_and_its_moves() {
        let start = Othello::default();
        let text = "---------------------------OX------XO--------------------------- X";
        assert_eq!(start.to_string(), text);
        assert_eq!(Othello::parse(text), Ok(start));
        let mut moves = Moves::new();
        start.legal_moves_into(&mut moves);
        let moves: Vec<String> = moves.iter().map(|&mv| start.move_text(mv)).collect();
        assert_eq!(moves, ["d3", "c4", "f5", "e6"]);
        for text in ["D3", "C4", "F5", "E6"] {
            assert_eq!(start.parse_move(text), start.parse_move(&text.to_lowercase()));
        }
        assert_eq!(start.parse_move("PASS"), Err(MoveError::Illegal { text: "PASS".to_owned() }));
    }

    #[test]
    fn fast_flips_and_placements_agree_with_a_walk_along_each_direction() {
        fn walk(own: u64, opponent: u64, square: i32) -> u64 {
            let mut flipped = 0;
            for (down, right) in [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)] {
                let (mut row, mut column, mut run) = (square / 8 + down, square % 8 + right, 0);
                while (0..8).contains(&row) && (0..8).contains(&column) {
                    let bit = 1 << (row * 8 + column);
                    if opponent & bit == 0 {
                        flipped |= if own & bit != 0 { run } else { 0 };
                        break;
                    }
                    run |= bit;
                    row += down;
                    column += right;
                }
            }
            flipped
        }
        let mut random = 0x1234_5678_9ABC_DEF1_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for _ in 0..20_000 {
            let occupied = next() | next();
            let own = occupied & next();
            let position = Othello { own, opponent: occupied ^ own, side: Side::First };
            for square in 0..64 {
                let expected =
                    if occupied >> square & 1 != 0 { 0 } else { walk(own, occupied ^ own, square) };
                assert_eq!(position.flips(square as u32), expected);
                assert_eq!(position.placements() >> square & 1 != 0, expected != 0);
            }
        }
    }

    #[test]
    fn a_side_without_a_place_passes_and_the_game_ends_when_both_are_stuck() {
        // White has nowhere to go, Black still takes h1.
        let mut position =
            Othello::parse("XXXXXXO-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX O").unwrap();
        assert_eq!(position.parse_move("pass"), Ok(Othello::PASS));
        assert!(!position.is_legal(Move(7)));
        let key = position.key();
        position.play(Othello::PASS).unwrap();
        assert_ne!(position.key(), key, "the side to move is part of the key");
        assert!(!position.is_legal(Othello::PASS));
        position.play(Move(7)).unwrap();
        assert_eq!(position.outcome(), Some(Outcome::Win(Side::First)));
        assert_eq!(position.end_reason(), Some(EndReason::BoardFull));
        assert_eq!(position.final_score(), 64);
        assert!(!position.is_legal(Othello::PASS));
    }

    #[test]
    fn empty_squares_go_to_the_winner() {
        // The fastest wipe-out: Black takes every disc in nine plies.
        let mut position = Othello::default();
        for text in ["e6", "f4", "e3", "f6", "g5", "d6", "e7", "f5", "c5"] {
            let mv = position.parse_move(text).unwrap();
            position.play(mv).unwrap();
        }
        assert_eq!(position.outcome(), Some(Outcome::Win(Side::First)));
        assert_eq!(position.end_reason(), Some(EndReason::NoMoves));
        assert_eq!((position.discs(Side::First), position.final_score()), (13, 64));
    }

    #[test]
    fn symmetries_move_boards_and_squares_alike() {
        for symmetry in 0..8 {
            for square in 0..64 {
                let moved = bits::transformed_square(square, symmetry);
                assert_eq!(bits::transformed(1 << square, symmetry), 1 << moved);
            }
        }
    }

    #[test]
    fn bad_text_is_refused() {
        let board = &Othello::default().to_string()[..64];
        for text in ["", "X", &format!("{board} x"), &format!("{board}- X"), &format!("{} X", "-".repeat(64))]
        {
            assert!(Othello::parse(text).is_err(), "{text}");
        }
        for text in ["i1", "a9", "d3x", "passes", "", "é"] {
            assert!(matches!(Othello::default().parse_move(text), Err(MoveError::Syntax { .. })), "{text}");
        }
        for text in ["a1", "A1", "Pass"] {
            assert!(matches!(Othello::default().parse_move(text), Err(MoveError::Illegal { .. })), "{text}");
        }
    }
}
