//! Hex on boards of 3x3 to 19x19, as one bit row per board row and side.

mod flood;
mod playout;
mod text;
mod zobrist;

use crate::{EndReason, Game, Move, MoveError, Moves, Outcome, PositionError, Rules, Side, game::pick};
use flood::Rows;
use std::fmt;

/// The largest board side.
const MAX_SIZE: usize = 19;

/// A Hex position. The move code is `row * size + column` from a1 at the top left (text `c2`: the letter is the
/// column, the number the row), or [`Hex::SWAP`] (text `swap`).
///
/// Each row of the board stands half a cell to the right of the one above, so b2 touches b1, c1, a2, c2, a3 and b3.
/// The first player ("black", `x`) joins top and bottom, the second ("white", `o`) left and right; there are no draws.
///
/// Under the swap rule the second player's first move may be `swap`: he takes over the opening stone. Both keep their
/// edges, so the stone changes color and is mirrored on the long diagonal (b4 becomes d2), and the first player
/// moves again.
///
/// Position text: the rows from the top joined by `/` (`x` first player, `o` second, `.` empty), a space, and the side
/// to move (`x` or `o`). The size is that of the text. Any number of stones is accepted, as in puzzles and handicap
/// games. Swapping is open when the rules have it, the second player is to move and a single `x` stands on the board.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hex {
    /// Stones by side; bit `column` of a row.
    stones: [Rows; 2],
    /// Zobrist key, kept up to date by every move: hashing the board each time would cost more than playing.
    key: u64,
    n_stones: [u16; 2],
    size: u8,
    swap_rule: bool,
    side: Side,
    /// Found when the connecting stone is placed.
    winner: Option<Side>,
}

impl Default for Hex {
    /// The empty 11x11 board without the swap rule.
    fn default() -> Self {
        Self::new(11, false)
    }
}

impl Hex {
    /// The second player takes over the opening stone.
    pub const SWAP: Move = Move(0xFFF);

    /// The empty board.
    ///
    /// # Panics
    /// When `size` is not within 3 to 19; the reader of [`Rules`] lets no other size through.
    #[must_use]
    pub fn new(size: u8, swap_rule: bool) -> Self {
        assert!(
            (3..=MAX_SIZE).contains(&usize::from(size)),
            "Hex boards are 3x3 to 19x19, not {size}x{size}"
        );
        Self {
            stones: [[0; MAX_SIZE]; 2],
            key: zobrist::start(size, swap_rule),
            n_stones: [0; 2],
            size,
            swap_rule,
            side: Side::First,
            winner: None,
        }
    }

    /// Reads a position text of a board of the given size.
    ///
    /// # Errors
    /// When the text is malformed, has another size, or the side to move has already won.
    pub fn parse(size: u8, swap_rule: bool, text: &str) -> Result<Self, PositionError> {
        text::parse(size, swap_rule, text)
    }

    /// The number of rows and columns.
    #[must_use]
    pub fn size(&self) -> usize {
        usize::from(self.size)
    }

    /// The stones of `side`, one word per row from the top, bit 0 for column a.
    #[must_use]
    pub fn stones(&self, side: Side) -> &[u32] {
        &self.stones[side.index()][..self.size()]
    }

    /// Whose stone lies on a cell, if any; rows and columns count from 0.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<Side> {
        let on = |side: Side| self.stones(side).get(row).is_some_and(|cells| cells >> column & 1 != 0);
        [Side::First, Side::Second].into_iter().find(|&side| on(side))
    }

    /// The move that places a stone on a cell of this board, rows and columns counted from 0.
    #[must_use]
    pub fn placement(&self, row: usize, column: usize) -> Move {
        Move((row * self.size() + column) as u16)
    }

    /// Row and column of a move that places a stone; `None` for `swap` and codes beyond the board.
    #[must_use]
    pub fn row_and_column(&self, mv: Move) -> Option<(usize, usize)> {
        let code = usize::from(mv.0);
        (code < self.size() * self.size()).then(|| (code / self.size(), code % self.size()))
    }

    /// Whether the side to move may play [`Hex::SWAP`].
    #[must_use]
    pub fn may_swap(&self) -> bool {
        self.swap_rule && self.n_stones == [1, 0] && self.side == Side::Second
    }

    /// The empty cells of a row.
    fn empty(&self, row: usize) -> u32 {
        !(self.stones[0][row] | self.stones[1][row]) & ((1 << self.size) - 1)
    }

    fn n_empty(&self) -> usize {
        self.size() * self.size() - usize::from(self.n_stones[0]) - usize::from(self.n_stones[1])
    }

    /// Sets a stone and keeps the counts and the key, but not the winner nor the side to move.
    #[inline]
    fn place(&mut self, side: Side, row: usize, column: usize) {
        self.stones[side.index()][row] |= 1 << column;
        self.n_stones[side.index()] += 1;
        self.key ^= zobrist::stone(side, row, column);
    }

    #[inline]
    fn pass_turn(&mut self) {
        self.side = self.side.other();
        self.key ^= zobrist::SIDE;
    }

    /// Whether the stone of the side to move at a cell of `stones`, its own, completes a connection.
    #[inline]
    fn completes(&self, stones: &Rows, row: usize, column: usize) -> bool {
        flood::may_complete(stones, self.size(), self.side, row, column)
            && flood::joins_through(stones, self.size(), self.side, row, column)
    }

    /// The position before a stone of `side`, who then has the move, was placed.
    fn without(&self, side: Side, row: usize, column: usize) -> Self {
        let mut before = *self;
        before.stones[side.index()][row] &= !(1 << column);
        before.n_stones[side.index()] -= 1;
        before.key ^= zobrist::stone(side, row, column);
        before.winner = self.winner.filter(|_| flood::joins(&before.stones[side.index()], self.size(), side));
        before.pass_turn();
        before
    }

    /// The position before the opening stone changed hands.
    fn before_swap(&self) -> Option<(Self, Move)> {
        let (row, column) = self.nth_stone(Side::Second, 0)?;
        let mut before = Self::new(self.size, self.swap_rule);
        before.place(Side::First, column, row);
        before.pass_turn();
        Some((before, Self::SWAP))
    }

    /// Row and column of a stone, counted from the top.
    fn nth_stone(&self, side: Side, n: usize) -> Option<(usize, usize)> {
        let mut left = n;
        for (row, &cells) in self.stones(side).iter().enumerate() {
            let n_cells = cells.count_ones() as usize;
            if left < n_cells {
                let cells = (0..left).fold(cells, |cells, _| cells & (cells - 1));
                return Some((row, cells.trailing_zeros() as usize));
            }
            left -= n_cells;
        }
        None
    }

    /// The opening stone changes hands, mirrored so that it is worth to the second player what it was to the first.
    fn swap(&mut self) {
        let Some(row) = self.stones[0].iter().position(|&cells| cells != 0) else { return };
        let column = self.stones[0][row].trailing_zeros() as usize;
        self.stones[0][row] = 0;
        self.n_stones[0] = 0;
        self.key ^= zobrist::stone(Side::First, row, column);
        self.place(Side::Second, column, row);
    }
}

impl Game for Hex {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        Rules::Hex { size: self.size, swap: self.swap_rule }
    }

    fn side_to_move(&self) -> Side {
        self.side
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        if self.winner.is_some() {
            return;
        }
        for row in 0..self.size() {
            let mut cells = self.empty(row);
            while cells != 0 {
                moves.push(self.placement(row, cells.trailing_zeros() as usize));
                cells &= cells - 1;
            }
        }
        if self.may_swap() {
            moves.push(Self::SWAP);
        }
    }

    fn n_legal_moves(&self) -> usize {
        if self.winner.is_some() { 0 } else { self.n_empty() + usize::from(self.may_swap()) }
    }

    fn random_move(&self, random: u32) -> Option<Move> {
        let mut index = pick(random, self.n_legal_moves());
        if self.winner.is_some() {
            return None;
        }
        for row in 0..self.size() {
            let mut cells = self.empty(row);
            let n_cells = cells.count_ones() as usize;
            if index < n_cells {
                for _ in 0..index {
                    cells &= cells - 1;
                }
                return Some(self.placement(row, cells.trailing_zeros() as usize));
            }
            index -= n_cells;
        }
        // Beyond the last empty cell only the swap is left.
        self.may_swap().then_some(Self::SWAP)
    }

    fn is_legal(&self, mv: Move) -> bool {
        match self.row_and_column(mv) {
            Some((row, column)) => self.winner.is_none() && self.empty(row) >> column & 1 != 0,
            None => mv == Self::SWAP && self.may_swap(),
        }
    }

    fn winning_move(&self) -> Option<Move> {
        // A connection takes as many stones as there are rows.
        if self.winner.is_some() || usize::from(self.n_stones[self.side.index()]) + 1 < self.size() {
            return None;
        }
        let mut stones = self.stones[self.side.index()];
        for row in 0..self.size() {
            let mut cells = self.empty(row);
            while cells != 0 {
                let column = cells.trailing_zeros() as usize;
                stones[row] |= 1 << column;
                if self.completes(&stones, row, column) {
                    return Some(self.placement(row, column));
                }
                stones[row] ^= 1 << column;
                cells &= cells - 1;
            }
        }
        None
    }

    fn play_unchecked(&mut self, mv: Move) {
        match self.row_and_column(mv) {
            Some((row, column)) => {
                self.place(self.side, row, column);
                let own = self.side.index();
                if usize::from(self.n_stones[own]) >= self.size()
                    && self.completes(&self.stones[own], row, column)
                {
                    self.winner = Some(self.side);
                }
            }
            None => self.swap(),
        }
        self.pass_turn();
    }

    fn outcome(&self) -> Option<Outcome> {
        self.winner.map(Outcome::Win)
    }

    fn end_reason(&self) -> Option<EndReason> {
        self.winner.map(|_| EndReason::Connection)
    }

    fn key(&self) -> u64 {
        self.key
    }

    /// The stones on the board, and one more when a swap is the only way to this side to move.
    fn ply(&self) -> u32 {
        let n_stones = u32::from(self.n_stones[0]) + u32::from(self.n_stones[1]);
        n_stones + (n_stones + self.side.index() as u32) % 2
    }

    fn move_text(&self, mv: Move) -> String {
        match self.row_and_column(mv) {
            Some((row, column)) => format!("{}{}", text::column_letter(column), row + 1),
            None => "swap".to_owned(),
        }
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        let mv = text::parse_move(self, text)?;
        if self.is_legal(mv) { Ok(mv) } else { Err(MoveError::Illegal { text: text.to_owned() }) }
    }

    fn n_symmetries(&self) -> usize {
        2
    }

    /// Symmetry 1 turns the board by 180 degrees.
    fn transformed(&self, symmetry: usize) -> Self {
        if symmetry == 0 {
            return *self;
        }
        let mut turned =
            Self { side: self.side, winner: self.winner, ..Self::new(self.size, self.swap_rule) };
        turned.key ^= if self.side == Side::Second { zobrist::SIDE } else { 0 };
        for row in 0..self.size() {
            for column in 0..self.size() {
                if let Some(side) = self.cell(row, column) {
                    turned.place(side, self.size() - 1 - row, self.size() - 1 - column);
                }
            }
        }
        turned
    }

    fn transformed_move(&self, symmetry: usize, mv: Move) -> Move {
        match self.row_and_column(mv) {
            Some((row, column)) if symmetry != 0 => {
                self.placement(self.size() - 1 - row, self.size() - 1 - column)
            }
            _ => mv,
        }
    }

    fn random_predecessor(&self, mut random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        let mover = self.side.other();
        if self.swap_rule && self.n_stones == [0, 1] && mover == Side::Second {
            return self.before_swap();
        }
        let n_stones = usize::from(self.n_stones[mover.index()]);
        let first = pick(random(), n_stones);
        // Only a stone whose removal opens the winner's chain can have been the last.
        (0..n_stones).find_map(|step| {
            let (row, column) = self.nth_stone(mover, (first + step) % n_stones)?;
            let before = self.without(mover, row, column);
            before.winner.is_none().then(|| (before, self.placement(row, column)))
        })
    }

    fn drawing(&self) -> String {
        text::drawing(self)
    }

    fn playout(&mut self, max_plies: u32, random: impl FnMut() -> u32) -> Option<Outcome> {
        playout::playout(self, max_plies, random)
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

#[cfg(test)]
mod tests;
