//! The exact Hex solver: depth-first search over positions, cut by virtual connections.

use super::board::{Board, Cells, Geometry, bits};
use super::connections::Connections;
use crate::OracleError;
use mavis_game::{Game, Hex, Move};
use std::collections::HashMap;

/// Who wins, and the empty cells the winner needs for it: stones of the loser elsewhere change nothing.
#[derive(Clone, Copy, Debug)]
struct Proof {
    mover_wins: bool,
    carrier: Cells,
    /// Stones of the loser that the proof leans on (they made cells dead): without them it does not hold.
    leans_on: Cells,
}

/// What is known of a position.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// Who wins.
    Decided(Proof),
    /// Nothing yet.
    Open(Open),
}

/// A position that is not decided.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The moves that are not known to lose.
    must_play: Cells,
    /// The cells the other side needs to refute the rest.
    carrier: Cells,
    /// The stones of the side to move those refutations lean on.
    leans_on: Cells,
    numbers: Numbers,
}

/// How many positions, at least, have to be decided to prove that the side to move wins, or loses.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    win: u32,
    loss: u32,
}

const INFINITE: u32 = 1 << 30;

/// Solves Hex positions on boards of up to 11x11, as far as a limit of nodes reaches.
pub struct HexSolver {
    node_limit: u64,
    n_nodes: u64,
    known: HashMap<Board, Look>,
    size: usize,
}

/// What a limited search can say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Solved<T> {
    /// The answer.
    Yes(T),
    /// The node limit was reached first.
    OutOfReach,
}

impl HexSolver {
    /// A solver that gives up after `node_limit` positions.
    #[must_use]
    pub fn new(node_limit: u64) -> Self {
        Self { node_limit, n_nodes: 0, known: HashMap::new(), size: 0 }
    }

    /// Positions searched for the last answer.
    #[must_use]
    pub fn n_nodes(&self) -> u64 {
        self.n_nodes
    }

    /// Whether the side to move wins.
    ///
    /// # Errors
    /// When the board is larger than 11x11, the game is over, or the second player may still swap.
    pub fn wins(&mut self, position: &Hex) -> Result<Solved<bool>, OracleError> {
        let (geometry, board) = self.begin(position)?;
        let proof = self.search(&geometry, &board);
        Ok(proof.map_or(Solved::OutOfReach, |proof| Solved::Yes(proof.mover_wins)))
    }

    /// Every winning move, in the order of the board.
    ///
    /// # Errors
    /// As for [`HexSolver::wins`].
    pub fn winning_moves(&mut self, position: &Hex) -> Result<Solved<Vec<Move>>, OracleError> {
        let (geometry, board) = self.begin(position)?;
        let mut open = match self.look(&geometry, &board) {
            Some(Look::Open(open)) => open.must_play,
            _ => geometry.all & !board.occupied(),
        };
        let mut winning = Vec::new();
        for cell in bits(open) {
            if open >> cell & 1 == 0 {
                continue;
            }
            let next = board.after(cell);
            if geometry.joins(board.side, next.stones[board.side.index()]) {
                winning.push(Move(cell as u16));
                continue;
            }
            let Some(proof) = self.search(&geometry, &next) else { return Ok(Solved::OutOfReach) };
            if !proof.mover_wins {
                winning.push(Move(cell as u16));
            } else if proof.leans_on >> cell & 1 == 0 {
                // The other side's win does not need the cells outside its carrier, so moves there lose as well.
                open &= proof.carrier;
            }
        }
        // Cells passed before a later proof shut them out were judged on their own, so the list is whole.
        Ok(Solved::Yes(winning))
    }

    fn begin(&mut self, position: &Hex) -> Result<(Geometry, Board), OracleError> {
        crate::oracle::refuse_finished(position)?;
        let rules = position.rules();
        let wrong = || OracleError::WrongGame { oracle: "hex-solver".to_owned(), rules };
        if position.may_swap() {
            return Err(wrong());
        }
        let board = Board::new(position, position.side_to_move()).ok_or_else(wrong)?;
        if self.size != position.size() {
            self.known.clear();
            self.size = position.size();
        }
        self.n_nodes = 0;
        Ok((Geometry::new(position.size()), board))
    }

    /// The proof of who wins; `None` when the limit is reached.
    fn search(&mut self, geometry: &Geometry, board: &Board) -> Option<Proof> {
        loop {
            match self.look(geometry, board)? {
                Look::Decided(proof) => return Some(proof),
                Look::Open(_) => self.deepen(geometry, board, Numbers { win: INFINITE, loss: INFINITE })?,
            }
        }
    }

    /// What the connections of both sides say of a position.
    fn look(&mut self, geometry: &Geometry, board: &Board) -> Option<Look> {
        if let Some(&look) = self.known.get(board) {
            return Some(look);
        }
        if self.n_nodes >= self.node_limit {
            return None;
        }
        self.n_nodes += 1;
        let look = look(geometry, board);
        self.known.insert(*board, look);
        Some(look)
    }

    /// Depth-first proof-number search: works below a position until it is decided or its numbers reach the limit.
    fn deepen(&mut self, geometry: &Geometry, board: &Board, limit: Numbers) -> Option<()> {
        loop {
            let Look::Open(mut open) = self.look(geometry, board)? else { return Some(()) };
            let decided = self.sift(geometry, board, &mut open)?;
            if let Some(proof) = decided {
                self.known.insert(*board, Look::Decided(proof));
                return Some(());
            }
            // The move that is easiest to prove a win goes first.
            let (mut best, mut second) = ((INFINITE, 0, Numbers::default()), INFINITE);
            let mut sum = 0;
            for cell in bits(open.must_play) {
                let Look::Open(child) = self.look(geometry, &board.after(cell))? else { continue };
                let numbers = child.numbers;
                sum = (sum + numbers.win).min(INFINITE - 1);
                if numbers.loss < best.0 {
                    second = best.0;
                    best = (numbers.loss, cell, numbers);
                } else {
                    second = second.min(numbers.loss);
                }
            }
            open.numbers = Numbers { win: best.0, loss: sum };
            self.known.insert(*board, Look::Open(open));
            if open.numbers.win >= limit.win || open.numbers.loss >= limit.loss {
                return Some(());
            }
            let (_, cell, numbers) = best;
            let below = Numbers {
                win: (limit.loss - sum + numbers.win).min(INFINITE),
                loss: limit.win.min(second.saturating_add(1)),
            };
            self.deepen(geometry, &board.after(cell), below)?;
        }
    }

    /// Strikes out the moves that are known to lose, and what they rule out; a proof if nothing is left to search.
    fn sift(&mut self, geometry: &Geometry, board: &Board, open: &mut Open) -> Option<Option<Proof>> {
        for cell in bits(open.must_play) {
            if open.must_play >> cell & 1 == 0 {
                continue;
            }
            if geometry.is_dead(board, cell) && (open.must_play & !(1 << cell) != 0 || open.carrier != 0) {
                // A move there is a pass, which is never better than another move. Without the stones that make
                // the cell dead this does not hold, so the proof leans on those of the loser.
                open.must_play &= !(1 << cell);
                open.leans_on |= geometry.neighbors[cell] & board.stones[board.side.index()];
                continue;
            }
            match self.look(geometry, &board.after(cell))? {
                Look::Decided(proof) if !proof.mover_wins => return Some(Some(proof.won_by(cell))),
                Look::Decided(proof) => proof.refutes(cell, open),
                Look::Open(_) => {}
            }
        }
        let lost = Proof { mover_wins: false, carrier: open.carrier, leans_on: open.leans_on };
        Some((open.must_play == 0).then_some(lost))
    }
}

impl Proof {
    /// The proof before the winner's move on `cell`. The stones it leans on are the other side's, and those stay.
    fn won_by(self, cell: usize) -> Self {
        Self { mover_wins: true, carrier: self.carrier | 1 << cell, leans_on: self.leans_on }
    }

    /// Takes over the refutation of the loser's move on `cell`: moves outside its carrier are refuted as well.
    fn refutes(self, cell: usize, open: &mut Open) {
        open.carrier |= self.carrier;
        open.leans_on |= self.leans_on & !(1 << cell);
        open.must_play &= !(1 << cell);
        if self.leans_on >> cell & 1 == 0 {
            open.must_play &= self.carrier;
        }
    }
}

fn look(geometry: &Geometry, board: &Board) -> Look {
    let decided = |mover_wins, carrier| Look::Decided(Proof { mover_wins, carrier, leans_on: 0 });
    let theirs = Connections::of(geometry, board, board.side.other());
    if let Some(&carrier) = theirs.winning().first() {
        return decided(false, carrier);
    }
    let ours = Connections::of(geometry, board, board.side);
    let wins = ours.winning().iter().chain(ours.almost_winning());
    if let Some(&carrier) = wins.min_by_key(|carrier| carrier.count_ones()) {
        return decided(true, carrier);
    }
    // Whoever moves outside a semi-connection of the other side between its edges has lost.
    let (mut must_play, mut carrier) = (geometry.all & !board.occupied(), 0);
    for semi in theirs.almost_winning() {
        if must_play & !semi != 0 {
            must_play &= semi;
            carrier |= semi;
        }
    }
    // Few replies are quickly refuted.
    let numbers = Numbers { win: 1, loss: must_play.count_ones() };
    Look::Open(Open { must_play, carrier, leans_on: 0, numbers })
}
