//! Alpha-beta on the bitboards of one position.
//!
//! Scores follow the convention of the public test sets: 0 is a draw; a win counts one plus the stones the winner has
//! left when the line of four falls, a loss the same negative. The faster a win, the greater its score.

use super::board::{BOARD, BOTTOM, Board, CELLS, column_mask, has_line, winning_cells};
use super::table::{Bounds, Table};

/// Columns from the center outwards: a center stone lies on more lines.
pub(crate) const COLUMNS: [u32; 7] = [3, 2, 4, 1, 5, 0, 6];

/// Below this many empty cells a subtree is cheaper to search again than to look up.
const TABLE_FROM_EMPTY: u32 = 6;
/// From this many empty cells on, the replies are looked up before the first is searched.
const PEEK_FROM_EMPTY: u32 = 14;
/// Up to this many stones a position and its mirror image share one entry.
const MIRROR_UP_TO: u32 = 14;

/// The first, third and fifth row.
const ODD_ROWS: u64 = BOTTOM * 0b01_0101;
/// The others.
const EVEN_ROWS: u64 = BOTTOM * 0b10_1010;

/// The search with its memory.
pub(crate) struct Search {
    pub(crate) table: Table,
    /// Positions entered since the last reset.
    pub(crate) n_nodes: u64,
}

/// A move that does not lose at once, with what ordering needs.
#[derive(Clone, Copy)]
struct Candidate {
    cell: u64,
    rank: u32,
}

impl Search {
    /// The exact score for the side to move; the game must not be over.
    pub(crate) fn score(&mut self, board: Board) -> i32 {
        let n_stones = board.n_stones();
        if winning_cells(board.own, board.all) & board.open() != 0 {
            return (CELLS as i32 + 1 - n_stones as i32) / 2;
        }
        self.fit_table(board);
        let mut lower = -(CELLS as i32 - n_stones as i32) / 2;
        let mut upper = (CELLS as i32 - 1 - n_stones as i32) / 2;
        // Narrowing by halves, but first towards zero: short wins are cheap to refute, and most scores are small.
        while lower < upper {
            let mut middle = lower + (upper - lower) / 2;
            if middle <= 0 && lower / 2 < middle {
                middle = lower / 2;
            } else if middle >= 0 && upper / 2 > middle {
                middle = upper / 2;
            }
            let score = self.negamax(board, middle, middle + 1);
            if score <= middle {
                upper = score;
            } else {
                lower = score;
            }
        }
        lower
    }

    /// The sign of the score; the game must not be over.
    pub(crate) fn sign(&mut self, board: Board) -> i32 {
        if winning_cells(board.own, board.all) & board.open() != 0 {
            return 1;
        }
        self.fit_table(board);
        // One window around the draw would be wider than two that only ask a question each.
        match self.negamax(board, 0, 1) {
            1.. => 1,
            score if score < 0 => -1,
            _ => self.negamax(board, -1, 0).signum().min(0),
        }
    }

    /// Late positions have small trees: a table that fits the cache serves them faster than one that does not.
    fn fit_table(&mut self, board: Board) {
        let empty = CELLS - board.n_stones();
        self.table.narrow(1 << (empty.saturating_sub(11)).max(8));
    }

    /// Fail-soft negamax. The side to move has no immediate win.
    fn negamax(&mut self, board: Board, mut alpha: i32, mut beta: i32) -> i32 {
        self.n_nodes += 1;
        let n_stones = board.n_stones() as i32;
        let other = board.own ^ board.all;
        let threats = winning_cells(other, board.all);
        let mut cells = board.open();
        let forced = cells & threats;
        let lost = -(CELLS as i32 - n_stones) / 2;
        if forced != 0 {
            if forced & (forced - 1) != 0 {
                return lost;
            }
            cells = forced;
        }
        // Never below a cell that wins for the other side.
        cells &= !(threats >> 1);
        if cells == 0 {
            return lost;
        }
        if n_stones >= CELLS as i32 - 2 {
            return 0;
        }

        let best_win = (CELLS as i32 - 1 - n_stones) / 2;
        let Bounds { mut lower, mut upper } = static_bounds(board, cells);
        alpha = alpha.max(lower);
        beta = beta.min(upper);
        if alpha >= beta {
            return if lower >= beta { lower } else { upper };
        }

        let n_empty = (CELLS as i32 - n_stones) as u32;
        let code = (n_empty >= TABLE_FROM_EMPTY).then(|| table_code(board, n_stones as u32));
        if let Some(known) = code.and_then(|code| self.table.probe(code)) {
            lower = lower.max(known.lower);
            upper = upper.min(known.upper);
            if lower >= beta || lower == upper {
                return lower;
            }
            if upper <= alpha {
                return upper;
            }
            alpha = alpha.max(lower);
            beta = beta.min(upper);
        }

        let (candidates, n_candidates) = match order(board, cells) {
            Order::Wins => return best_win,
            Order::Moves(candidates, n) => (candidates, n),
        };
        let candidates = &candidates[..n_candidates];
        if n_empty >= PEEK_FROM_EMPTY {
            for candidate in candidates {
                let after = board.after(candidate.cell);
                match self.table.probe(table_code(after, n_stones as u32 + 1)) {
                    Some(known) if -known.upper >= beta => return -known.upper,
                    _ => {}
                }
            }
        }

        let before = self.n_nodes;
        let mut best = lost;
        for candidate in candidates {
            let score = -self.negamax(board.after(candidate.cell), -beta, -alpha.max(best));
            best = best.max(score);
            if best >= beta {
                break;
            }
        }
        if let Some(code) = code {
            let bounds = if best >= beta {
                Bounds { lower: best.max(lower), upper }
            } else if best <= alpha {
                Bounds { lower, upper: best.min(upper) }
            } else {
                Bounds { lower: best, upper: best }
            };
            self.table.store(code, bounds, self.n_nodes - before);
        }
        best
    }
}

/// What the board alone says of the score, if `cells` are the moves that do not lose at once.
fn static_bounds(board: Board, cells: u64) -> Bounds {
    let n_stones = board.n_stones() as i32;
    let other = board.own ^ board.all;
    let empty = BOARD ^ board.all;
    // Neither side wins with its next stone.
    let mut lower = -(CELLS as i32 - 2 - n_stones) / 2;
    let mut upper = (CELLS as i32 - 1 - n_stones) / 2;
    // A side without a line left to fill does not win; early on every side has one.
    if n_stones >= 18 {
        if !has_line(board.own | empty) {
            upper = 0;
        }
        if !has_line(other | empty) {
            lower = 0;
        }
    }
    // The second player may answer every stone with one on top of it while all columns are even: then the first gets
    // only the odd rows that are left, and without a line there he cannot win.
    let odd_columns = (board.all + BOTTOM) & EVEN_ROWS;
    if n_stones & 1 == 0 {
        if odd_columns == 0 && !has_line(board.own | (empty & ODD_ROWS)) {
            upper = upper.min(0);
        }
    } else {
        let follows = odd_columns & odd_columns.wrapping_sub(1) == 0 && odd_columns & cells != 0;
        if follows && !has_line(other | (empty & ODD_ROWS)) {
            lower = lower.max(0);
        }
    }
    Bounds { lower, upper }
}

fn table_code(board: Board, n_stones: u32) -> u64 {
    if n_stones <= MIRROR_UP_TO { board.canonical_code() } else { board.code() }
}

/// What a look at the candidate moves gives.
enum Order {
    /// One of them makes two threats at once (or two on top of each other): won with the next stone but one.
    Wins,
    /// Best first.
    Moves([Candidate; 7], usize),
}

/// Sorts `cells` by the winning cells each one creates.
fn order(board: Board, cells: u64) -> Order {
    let mut candidates = [Candidate { cell: 0, rank: 0 }; 7];
    let mut n = 0;
    for column in COLUMNS {
        let cell = cells & column_mask(column);
        if cell == 0 {
            continue;
        }
        let all = board.all | cell;
        let wins = winning_cells(board.own | cell, all);
        let open = Board { own: 0, all }.open();
        let now = wins & open;
        // Two at once cannot both be stopped; nor can one with another on top of the stone that stops it.
        if now & now.wrapping_sub(1) != 0 || (now << 1) & wins != 0 {
            return Order::Wins;
        }
        let rank = wins.count_ones();
        let mut at = n;
        while at > 0 && candidates[at - 1].rank < rank {
            candidates[at] = candidates[at - 1];
            at -= 1;
        }
        candidates[at] = Candidate { cell, rank };
        n += 1;
    }
    Order::Moves(candidates, n)
}
