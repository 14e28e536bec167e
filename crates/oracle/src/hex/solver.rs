//! The exact Hex solver: proof-number search cut by virtual connections and inferior cells.

mod claim;
mod claims;
mod examine;
mod search;

use super::board::{Board, Cells, Geometry, bits};
use super::connections::Kept;
use crate::OracleError;
use mavis_game::{Game, Hex, Move};
use search::{OutOfNodes, Search};
use std::time::Instant;

/// Solves Hex positions on boards of up to 11x11, as far as a limit of nodes reaches.
pub struct HexSolver {
    node_limit: u64,
    deadline: Option<Instant>,
    n_nodes: u64,
}

/// What a limited search can say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Solved<T> {
    /// The answer.
    Yes(T),
    /// The node limit or the deadline was reached first.
    OutOfReach,
}

impl HexSolver {
    /// A solver that gives up after it has looked at `node_limit` positions.
    #[must_use]
    pub fn new(node_limit: u64) -> Self {
        Self { node_limit, deadline: None, n_nodes: 0 }
    }

    /// Gives up at this moment as well, if there is one; the answer then depends on the machine.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// Positions looked at for the last answer.
    #[must_use]
    pub fn n_nodes(&self) -> u64 {
        self.n_nodes
    }

    /// Whether the side to move wins.
    ///
    /// # Errors
    /// When the board is larger than 11x11, the game is over, or the second player may still swap.
    pub fn wins(&mut self, position: &Hex) -> Result<Solved<bool>, OracleError> {
        let (geometry, board) = begin(position)?;
        let mut search = Search::new(&geometry, self.node_limit, Kept::default()).until(self.deadline);
        let proof = search.solve(&board);
        self.n_nodes = search.n_looks();
        Ok(proof.map_or(Solved::OutOfReach, |proof| Solved::Yes(proof.mover_wins)))
    }

    /// Every winning move, in the order of the board.
    ///
    /// # Errors
    /// As for [`HexSolver::wins`].
    pub fn winning_moves(&mut self, position: &Hex) -> Result<Solved<Vec<Move>>, OracleError> {
        let (geometry, board) = begin(position)?;
        let mut search = Search::new(&geometry, self.node_limit, Kept::default()).until(self.deadline);
        let found = winning_cells(&mut search, &geometry, &board);
        self.n_nodes = search.n_looks();
        Ok(match found {
            Ok(cells) => Solved::Yes(bits(cells).map(|cell| Move(cell as u16)).collect()),
            Err(OutOfNodes) => Solved::OutOfReach,
        })
    }
}

fn begin(position: &Hex) -> Result<(Geometry, Board), OracleError> {
    crate::oracle::refuse_finished(position)?;
    let rules = position.rules();
    let wrong = || OracleError::WrongGame { oracle: "hex-solver".to_owned(), rules };
    if position.may_swap() {
        return Err(wrong());
    }
    let board = Board::new(position, position.side_to_move()).ok_or_else(wrong)?;
    Ok((Geometry::new(position.size()), board))
}

/// Every winning cell. The board is not filled first: all moves count here, inferior ones too.
fn winning_cells(search: &mut Search<'_>, geometry: &Geometry, board: &Board) -> Result<Cells, OutOfNodes> {
    let (mut open, mut winning) = (geometry.empty(board), 0);
    // Cells the winner most needs first: their refutations rule out the most.
    for cell in search.must_play(board)? {
        if open >> cell & 1 == 0 {
            continue;
        }
        let next = board.after(cell);
        if geometry.joins(board.side, next.stones[board.side.index()]) {
            winning |= 1 << cell;
            continue;
        }
        let proof = search.solve(&next)?;
        if proof.mover_wins {
            // The other side does not need the cells outside its carrier, so moves there lose as well.
            open &= proof.carrier & !(1 << cell);
        } else {
            winning |= 1 << cell;
        }
    }
    Ok(winning)
}
