//! The exact Connect Four solver.
//!
//! Alpha-beta over bitboards: a search with a null window decides whether the score is above a number, and the window
//! closes in on the score. A table keeps proven bounds; moves that make most winning cells go first; moves that lose
//! at once are never tried; a double threat ends a branch without search. Positions of up to four plies are in a
//! book that the same code built.

mod board;
mod book;
mod search;
mod table;

use crate::oracle::{refuse_finished, refuse_other};
use crate::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use board::{Board, CELLS};
pub use book::{BOOK_PLIES, Book, BookError, BookProgress, build_book};
use mavis_game::{Connect4, Game, Move, Position, Rules};
use search::{COLUMNS, Search};
use table::Table;

/// The default memory of a solver, in bytes.
pub const DEFAULT_MEMORY: usize = 64 << 20;

/// Solves Connect Four positions exactly; its memory makes related positions cheaper.
pub struct Connect4Solver {
    search: Search,
    book: Book,
}

impl Default for Connect4Solver {
    fn default() -> Self {
        Self::new(DEFAULT_MEMORY, Book::shipped())
    }
}

impl Connect4Solver {
    /// A solver that remembers up to about `bytes` bytes of positions and knows the openings of `book`.
    #[must_use]
    pub fn new(bytes: usize, book: Book) -> Self {
        Self { search: Search { table: Table::new(bytes), n_nodes: 0 }, book }
    }

    /// Positions searched since the solver was made.
    #[must_use]
    pub fn n_nodes(&self) -> u64 {
        self.search.n_nodes
    }

    /// The exact score for the side to move: 0 for a draw, one plus the stones the winner has left when the line of
    /// four falls, negative for a loss. A finished game counts the same way.
    pub fn score(&mut self, position: Connect4) -> i32 {
        if let Some(outcome) = position.outcome() {
            let n_stones = position.ply() as i32;
            return if outcome.winner().is_some() { -(CELLS as i32 + 2 - n_stones) / 2 } else { 0 };
        }
        self.book
            .score(position)
            .unwrap_or_else(|| self.search.score(Board { own: position.own(), all: position.occupied() }))
    }

    /// Who wins, without how soon: 1 for the side to move, 0 for nobody, -1 for the other. Many times cheaper than the score.
    pub fn winner(&mut self, position: Connect4) -> i32 {
        if position.outcome().is_some() {
            return self.score(position).signum();
        }
        let known = self.book.score(position).map(i32::signum);
        known.unwrap_or_else(|| self.search.sign(Board { own: position.own(), all: position.occupied() }))
    }

    /// The score of every legal move for the player who makes it, best first, then center first.
    pub fn score_moves(&mut self, position: Connect4) -> Vec<(Move, i32)> {
        let mut scores: Vec<_> = COLUMNS
            .into_iter()
            .map(|column| Move(column as u16))
            .filter(|&mv| position.is_legal(mv))
            .map(|mv| {
                let mut next = position;
                next.play_unchecked(mv);
                (mv, -self.score(next))
            })
            .collect();
        scores.sort_by_key(|&(_, score)| -score);
        scores
    }
}

/// Plies from a position with `n_stones` stones to the end of the game, if its side to move has this score and both
/// play their best.
#[must_use]
pub fn plies_to_end(n_stones: u32, score: i32) -> u32 {
    // The winner places as many stones as leave him the score's rest of his 22 turns (21 and one).
    let winner_stones = (CELLS / 2 + 1).saturating_sub(score.unsigned_abs());
    match score.signum() {
        0 => CELLS - n_stones,
        1 => (2 * winner_stones.saturating_sub(n_stones / 2)).saturating_sub(1),
        _ => 2 * winner_stones.saturating_sub(n_stones.div_ceil(2)),
    }
}

impl Oracle for Connect4Solver {
    fn identity(&self) -> Identity {
        Identity::ours("connect4-solver", String::new())
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, rules == Rules::Connect4)
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let &Position::Connect4(position) = position else {
            return Err(OracleError::WrongGame { oracle: self.identity().name, rules: position.rules() });
        };
        refuse_finished(&position)?;
        let moves = self.score_moves(position);
        let moves = moves.into_iter().map(|(mv, score)| {
            let plies = plies_to_end(position.ply(), score);
            RankedMove::new(Rules::Connect4, mv, Score::Solved(score), Some(plies))
        });
        Ok(Ranking { moves: moves.collect() })
    }
}
