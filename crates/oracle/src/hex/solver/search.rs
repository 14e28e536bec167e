//! Depth-first proof-number search over filled boards.
//!
//! Positions are kept in one list and linked by their moves, so that positions reached in several ways are looked at once.
//! Of a position's moves only the most promising ones count at first; when one of them is refuted the next takes its place
//! (*focused* search, after Henderson's solver).

use super::Proof;
use super::examine::{Look, examine, must_play, ordered};
use crate::hex::board::{Board, Cells, Geometry};
use crate::hex::inferior::{Inferior, filled};
use std::collections::HashMap;

/// How many positions, at least, have to be decided to prove that the side to move wins, or loses.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    win: u32,
    loss: u32,
}

const INFINITE: u32 = 1 << 30;
/// Of a position's open moves the first one and one in so many of the others are searched.
///
/// Tried on 17 puzzles of 6x6 and 7x7 with 8,000 positions each: 2, 3, 4, 6 and 10 took 40, 39, 43, 49 and more than 73
/// thousand positions in all.
const NARROW: usize = 3;

/// A position that was reached.
struct Node {
    board: Board,
    state: State,
}

enum State {
    Decided(Proof),
    Open(Open),
}

/// A position that is not decided.
struct Open {
    numbers: Numbers,
    /// Moves that may win, the most promising first, each with its node once it was reached.
    moves: Vec<(u8, Option<u32>)>,
    /// The cells the other side needs to refute all other moves.
    carrier: Cells,
}

/// The node limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OutOfNodes;

/// A search with its memory, for one board size.
pub(super) struct Search<'a> {
    geometry: &'a Geometry,
    node_limit: u64,
    nodes: Vec<Node>,
    known: HashMap<Board, u32>,
}

impl<'a> Search<'a> {
    pub(super) fn new(geometry: &'a Geometry, node_limit: u64) -> Self {
        Self { geometry, node_limit, nodes: Vec::new(), known: HashMap::new() }
    }

    /// Positions looked at so far.
    pub(super) fn n_nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Who wins a position that is not over, with the cells the winner needs on the board as given.
    pub(super) fn solve(&mut self, board: &Board) -> Result<Proof, OutOfNodes> {
        let root = self.reach(board)?;
        self.deepen(root, Numbers { win: INFINITE, loss: INFINITE })?;
        match self.nodes[root as usize].state {
            State::Decided(proof) => Ok(self.proof_before(board, root, proof)),
            State::Open(_) => Err(OutOfNodes),
        }
    }

    /// Where the side to move has to play on a board as it is.
    pub(super) fn must_play(&self, board: &Board) -> Result<Cells, OutOfNodes> {
        if self.node_limit == 0 {
            return Err(OutOfNodes);
        }
        Ok(must_play(self.geometry, board).map_or(0, |must_play| must_play.cells))
    }

    /// Cells in the order in which they should be tried.
    pub(super) fn order(&self, board: &Board, cells: Cells) -> Vec<usize> {
        ordered(self.geometry, board, &Inferior::new(self.geometry, board), cells)
    }

    /// The node of a board, which is filled and looked at when it is new.
    fn reach(&mut self, board: &Board) -> Result<u32, OutOfNodes> {
        let (board, inferior) = filled(self.geometry, board);
        if let Some(&idx) = self.known.get(&board) {
            return Ok(idx);
        }
        if self.n_nodes() >= self.node_limit {
            return Err(OutOfNodes);
        }
        let state = match examine(self.geometry, &board, &inferior) {
            Look::Decided(proof) => State::Decided(proof),
            Look::Open { moves, carrier } => {
                let moves: Vec<_> = moves.into_iter().map(|cell| (cell as u8, None)).collect();
                let numbers = Numbers { win: 1, loss: n_searched(moves.len()) as u32 };
                State::Open(Open { numbers, moves, carrier })
            }
        };
        let idx = self.nodes.len() as u32;
        self.nodes.push(Node { board, state });
        self.known.insert(board, idx);
        Ok(idx)
    }

    /// A node's proof as one of the board before it: cells that became the winner's since then are needed too.
    fn proof_before(&self, before: &Board, node: u32, proof: Proof) -> Proof {
        let after = &self.nodes[node as usize].board;
        let winner = if proof.mover_wins { after.side } else { after.side.other() };
        let taken = after.stones[winner.index()] & !before.stones[winner.index()];
        Proof { carrier: proof.carrier | taken, ..proof }
    }

    /// Works below a node until it is decided or its numbers reach the limit.
    fn deepen(&mut self, idx: u32, limit: Numbers) -> Result<(), OutOfNodes> {
        loop {
            self.sift(idx);
            let board = self.nodes[idx as usize].board;
            let State::Open(open) = &self.nodes[idx as usize].state else { return Ok(()) };
            let choice = self.choose(open);
            let below = Numbers {
                win: limit.loss.saturating_sub(choice.sum).saturating_add(choice.numbers.win).min(INFINITE),
                // A little beyond the second best, so that the search does not go to and fro.
                loss: limit.win.min(choice.second.saturating_add(1 + choice.second / 8)),
            };
            let stop = choice.numbers.loss >= limit.win || choice.sum >= limit.loss;
            let numbers = Numbers { win: choice.numbers.loss, loss: choice.sum };
            let (place, (cell, child)) = (choice.place, open.moves[choice.place]);
            let State::Open(open) = &mut self.nodes[idx as usize].state else { return Ok(()) };
            open.numbers = numbers;
            if stop {
                return Ok(());
            }
            let child = match child {
                Some(child) => child,
                None => {
                    let child = self.reach(&board.after(usize::from(cell)))?;
                    if let State::Open(open) = &mut self.nodes[idx as usize].state {
                        open.moves[place].1 = Some(child);
                    }
                    child
                }
            };
            self.deepen(child, below)?;
        }
    }

    /// Takes over what the replies have come to: a refuted move goes, with all that its refutation rules out.
    fn sift(&mut self, idx: u32) {
        loop {
            let node = &self.nodes[idx as usize];
            let State::Open(open) = &node.state else { return };
            let decided =
                open.moves.iter().find_map(|&(cell, child)| match self.nodes[child? as usize].state {
                    State::Decided(proof) => Some((cell, self.proof_before(&node.board, child?, proof))),
                    State::Open(_) => None,
                });
            let Some((cell, proof)) = decided else { return };
            let State::Open(open) = &mut self.nodes[idx as usize].state else { return };
            let outcome = if proof.mover_wins {
                open.carrier |= proof.carrier;
                open.moves.retain(|&(other, _)| other != cell && proof.carrier >> other & 1 != 0);
                open.moves.is_empty().then_some(Proof { mover_wins: false, carrier: open.carrier })
            } else {
                Some(Proof { mover_wins: true, carrier: proof.carrier })
            };
            if let Some(proof) = outcome {
                self.nodes[idx as usize].state = State::Decided(proof);
                return;
            }
        }
    }

    /// The move to work on: the one that is easiest to prove a win.
    fn choose(&self, open: &Open) -> Choice {
        let mut choice =
            Choice { place: 0, numbers: Numbers { win: 0, loss: INFINITE }, second: INFINITE, sum: 0 };
        for (place, &(_, child)) in open.moves.iter().take(n_searched(open.moves.len())).enumerate() {
            let numbers = match child.map(|child| &self.nodes[child as usize].state) {
                Some(State::Open(child)) => child.numbers,
                _ => Numbers { win: 1, loss: 1 },
            };
            choice.sum = (choice.sum + numbers.win).min(INFINITE - 1);
            if numbers.loss < choice.numbers.loss {
                choice.second = choice.numbers.loss;
                (choice.place, choice.numbers) = (place, numbers);
            } else {
                choice.second = choice.second.min(numbers.loss);
            }
        }
        choice
    }
}

/// The move a search goes on with.
struct Choice {
    /// Its place in the list.
    place: usize,
    numbers: Numbers,
    /// The least number of another move.
    second: u32,
    /// The sum over all moves searched.
    sum: u32,
}

fn n_searched(n_moves: usize) -> usize {
    1 + n_moves.saturating_sub(1).div_ceil(NARROW)
}
