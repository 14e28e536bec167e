//! The exact end of the game.

use super::board::Board;

/// From this many empty squares on, moves are ordered and positions remembered.
const ORDERED_FROM: u32 = 6;
const CORNERS: u64 = 0x8100_0000_0000_0081;
/// The quarters of the board, which stand for the regions that fill up separately.
const QUARTERS: [u64; 4] = [0x0F0F_0F0F, 0xF0F0_F0F0, 0x0F0F_0F0F << 32, 0xF0F0_F0F0 << 32];
const WORST: i32 = -65;

/// A remembered position with its bounds.
#[derive(Clone, Copy)]
struct Entry {
    own: u64,
    other: u64,
    lower: i8,
    upper: i8,
    /// Square of the best move found.
    best: u8,
}

const EMPTY: Entry = Entry { own: !0, other: !0, lower: 0, upper: 0, best: 64 };

/// Solves ends of games by counting discs to the last.
pub(crate) struct Endgame {
    table: Vec<Entry>,
    pub(crate) n_nodes: u64,
}

impl Endgame {
    /// A solver that remembers `n_entries` positions (a power of two).
    pub(crate) fn new(n_entries: usize) -> Self {
        Self { table: vec![EMPTY; n_entries.next_power_of_two()], n_nodes: 0 }
    }

    /// The exact difference of discs for the side to move.
    pub(crate) fn score(&mut self, board: Board) -> i32 {
        self.search(board, -64, 64)
    }

    /// Whether the side to move gets no more than `limit`, at the price of one null window.
    pub(crate) fn is_at_most(&mut self, board: Board, limit: i32) -> bool {
        self.search(board, limit, limit + 1) <= limit
    }

    /// Principal variation search, fail-soft; passes are handled inside.
    fn search(&mut self, board: Board, mut alpha: i32, beta: i32) -> i32 {
        let n_empty = board.empty().count_ones();
        if n_empty < ORDERED_FROM {
            return self.shallow(board, alpha, beta, n_empty);
        }
        self.n_nodes += 1;
        let placements = board.placements();
        if placements == 0 {
            let other = board.passed();
            return if other.placements() == 0 {
                board.final_score()
            } else {
                -self.search(other, -beta, -alpha)
            };
        }
        let at = self.slot(board);
        let entry = self.table[at];
        let known = entry.own == board.own && entry.other == board.other;
        let (mut lower, mut upper) = (-64, 64);
        if known {
            (lower, upper) = (i32::from(entry.lower), i32::from(entry.upper));
            if lower >= beta || lower == upper {
                return lower;
            }
            if upper <= alpha {
                return upper;
            }
            alpha = alpha.max(lower);
        }
        let original = alpha;
        let (moves, n_moves) = order(board, placements, if known { entry.best } else { 64 }, n_empty);
        let (mut best, mut best_square) = (WORST, 0);
        for (idx, candidate) in moves[..n_moves].iter().enumerate() {
            let mut score = WORST;
            if idx > 0 {
                score = -self.search(candidate.after, -alpha - 1, -alpha);
            }
            if idx == 0 || (score > alpha && score < beta) {
                score = -self.search(candidate.after, -beta, -alpha);
            }
            if score > best {
                (best, best_square) = (score, candidate.square);
            }
            alpha = alpha.max(score);
            if alpha >= beta {
                break;
            }
        }
        if best > original {
            lower = lower.max(best);
        }
        if best < beta {
            upper = upper.min(best);
        }
        self.table[at] = Entry {
            own: board.own,
            other: board.other,
            lower: lower as i8,
            upper: upper as i8,
            best: best_square,
        };
        best
    }

    fn slot(&self, board: Board) -> usize {
        let mixed = (board.own ^ board.other.rotate_left(29).wrapping_mul(0xD6E8_FEB8_6659_FD93))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 24) as usize & (self.table.len() - 1)
    }

    /// The last few squares, without memory or ordering but for the parity of the quarters.
    fn shallow(&mut self, board: Board, mut alpha: i32, beta: i32, n_empty: u32) -> i32 {
        self.n_nodes += 1;
        if n_empty == 0 {
            return board.final_score();
        }
        let mut best = WORST;
        let empty = board.empty();
        let odd = if n_empty > 2 { odd_quarters(empty) } else { !0 };
        for half in [empty & odd, empty & !odd] {
            let mut squares = half;
            while squares != 0 {
                let square = squares & squares.wrapping_neg();
                squares ^= square;
                let flips = board.flips(square);
                if flips == 0 {
                    continue;
                }
                let score = -self.shallow(board.after(square, flips), -beta, -alpha, n_empty - 1);
                best = best.max(score);
                alpha = alpha.max(score);
                if alpha >= beta {
                    return best;
                }
            }
        }
        if best == WORST {
            let other = board.passed();
            return if other.placements() == 0 {
                board.final_score()
            } else {
                -self.shallow(other, -beta, -alpha, n_empty)
            };
        }
        best
    }
}

/// A move in the order of search.
#[derive(Clone, Copy)]
struct Candidate {
    after: Board,
    square: u8,
    rank: i32,
}

/// Moves that leave the other side the fewest replies first: their trees are small and they tend to be good.
fn order(board: Board, placements: u64, hint: u8, n_empty: u32) -> ([Candidate; 34], usize) {
    let mut moves = [Candidate { after: board, square: 0, rank: 0 }; 34];
    let mut n = 0;
    let odd = odd_quarters(board.empty());
    let mut squares = placements;
    while squares != 0 && n < moves.len() {
        let square = squares & squares.wrapping_neg();
        squares ^= square;
        let after = board.after(square, board.flips(square));
        let replies = after.placements();
        let mut rank = -16 * (replies.count_ones() + (replies & CORNERS).count_ones()) as i32;
        rank += if square & CORNERS != 0 { 24 } else { 0 };
        // The last stone of a region is worth having, the more so the nearer the end.
        rank += if square & odd != 0 { if n_empty < 13 { 16 } else { 4 } } else { 0 };
        let code = square.trailing_zeros() as u8;
        rank += if code == hint { 10_000 } else { 0 };
        let mut at = n;
        while at > 0 && moves[at - 1].rank < rank {
            moves[at] = moves[at - 1];
            at -= 1;
        }
        moves[at] = Candidate { after, square: code, rank };
        n += 1;
    }
    (moves, n)
}

fn odd_quarters(empty: u64) -> u64 {
    QUARTERS
        .into_iter()
        .filter(|quarter| (empty & quarter).count_ones() % 2 == 1)
        .fold(0, |odd, quarter| odd | quarter)
}
