//! Alpha-beta to a fixed depth with a value for every move, for games with an estimate of their own.
//!
//! Iterative deepening over principal variation search with a transposition table. The table is cleared before every
//! position and the budget is counted in nodes, so the same position gets the same values whatever came before.

use mavis_game::{Game, Move, Moves};

/// Hundredths of a disc or stone; scores lie far inside `i32`.
pub(crate) const UNIT: i32 = 100;
const INFINITE: i32 = 1 << 20;

/// A game that ends with a margin.
pub(crate) trait Margin: Game {
    /// The margin of a finished game for the side to move, in hundredths.
    fn final_margin(&self) -> i32;

    /// A guess of how good a move is before it is searched; greater goes first.
    fn rank(&self, mv: Move) -> i32;
}

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// The greatest depth in plies.
    pub depth: u32,
    /// No deeper search begins once this many nodes are spent.
    pub nodes: u64,
}

/// The value of a move, in hundredths, for the player who makes it.
pub(crate) type Value = (Move, i32);

/// One remembered position.
#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    lower: i32,
    upper: i32,
    best: u16,
    depth: u8,
}

/// The search with its memory.
pub(crate) struct AlphaBeta {
    table: Vec<Entry>,
    n_nodes: u64,
}

impl AlphaBeta {
    /// A search that remembers `n_entries` positions (a power of two).
    pub(crate) fn new(n_entries: usize) -> Self {
        Self { table: vec![Entry::default(); n_entries.next_power_of_two()], n_nodes: 0 }
    }

    /// Every legal move with its value at the greatest depth the effort allowed, best first. `estimate` gives the margin the
    /// side to move may expect, in hundredths.
    pub(crate) fn values<G: Margin>(
        &mut self,
        position: &G,
        effort: Effort,
        estimate: &impl Fn(&G) -> i32,
    ) -> Vec<Value> {
        self.table.fill(Entry::default());
        self.n_nodes = 0;
        let mut moves = Moves::new();
        position.legal_moves_into(&mut moves);
        let mut values: Vec<Value> = moves.into_iter().map(|mv| (mv, 0)).collect();
        for depth in 1..=effort.depth.max(1) {
            for (mv, value) in &mut values {
                let mut next = position.clone();
                next.play_unchecked(*mv);
                // A full window for each move: the table needs its value, not only that another is better.
                *value = -self.negamax(&next, depth - 1, [-INFINITE, INFINITE], estimate);
            }
            values.sort_by_key(|&(_, value)| -value);
            if self.n_nodes >= effort.nodes {
                break;
            }
        }
        values
    }

    fn negamax<G: Margin>(
        &mut self,
        position: &G,
        depth: u32,
        [mut alpha, beta]: [i32; 2],
        estimate: &impl Fn(&G) -> i32,
    ) -> i32 {
        self.n_nodes += 1;
        if position.outcome().is_some() {
            return position.final_margin();
        }
        if depth == 0 {
            return estimate(position);
        }
        let key = position.key();
        let at = key as usize & (self.table.len() - 1);
        let entry = self.table[at];
        let known = entry.key == key;
        if known && u32::from(entry.depth) == depth {
            if entry.lower >= beta || entry.lower == entry.upper {
                return entry.lower;
            }
            if entry.upper <= alpha {
                return entry.upper;
            }
        }
        let hint = known.then_some(Move(entry.best));
        let original = alpha;
        let (mut best, mut best_move) = (-INFINITE, Move(0));
        for (idx, mv) in ordered(position, hint).into_iter().enumerate() {
            let mut next = position.clone();
            next.play_unchecked(mv);
            let mut score = INFINITE;
            if idx > 0 {
                score = -self.negamax(&next, depth - 1, [-alpha - 1, -alpha], estimate);
            }
            if idx == 0 || (score > alpha && score < beta) {
                score = -self.negamax(&next, depth - 1, [-beta, -alpha], estimate);
            }
            if score > best {
                (best, best_move) = (score, mv);
            }
            alpha = alpha.max(score);
            if alpha >= beta {
                break;
            }
        }
        let lower = if best > original { best } else { -INFINITE };
        let upper = if best < beta { best } else { INFINITE };
        self.table[at] = Entry { key, lower, upper, best: best_move.0, depth: depth as u8 };
        best
    }
}

fn ordered<G: Margin>(position: &G, hint: Option<Move>) -> Moves {
    let mut moves = Moves::new();
    position.legal_moves_into(&mut moves);
    moves.sort_by_cached_key(|&mv| if Some(mv) == hint { i32::MIN } else { -position.rank(mv) });
    moves
}
