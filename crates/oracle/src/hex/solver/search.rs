//! Depth-first proof-number search over filled boards.
//!
//! Positions are kept in one list and linked by their moves, so that positions reached in several ways are looked at once.
//! Of a position's moves only the most promising ones count at first; when one of them is refuted the next takes its place
//! (*focused* search, after Henderson's solver).

use super::claim::Claim;
use super::claims::{Claims, Word};
use super::examine::{Examiner, Look, Outcome};
use crate::hex::board::{Board, Cells, Geometry};
use crate::hex::connections::Kept;
use crate::hex::inferior::filled;
use std::collections::HashMap;
use std::time::Instant;

/// How many positions, at least, have to be decided to prove that the side to move wins, or loses.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    win: u32,
    loss: u32,
}

const INFINITE: u32 = 1 << 30;
/// Of a position's open moves the first one and one in so many of the others are searched.
///
/// Tried on seven puzzles of 7x7, where 2, 3, 5 and 8 took 32, 35, 40 and 48 thousand positions in all, and on eleven of
/// 8x8 to 11x11, where 2 and 3 took 55 and 46.
const NARROW: usize = 3;

/// A position that was reached.
struct SolverNode {
    /// The board with all that can be filled.
    board: Board,
    /// The stones that were played, not filled, on the way it was first reached.
    played: [Cells; 2],
    state: State,
}

enum State {
    Decided(Claim),
    Open(Open),
}

/// A position that is not decided.
struct Open {
    numbers: Numbers,
    /// Moves that may win, the most promising first, each with its node once it was reached.
    moves: Vec<(u8, Option<u32>)>,
    /// The cells the other side needs to refute all other moves.
    carrier: Cells,
    /// How many of the claims were asked about this position.
    n_asked: usize,
}

/// The node limit or the deadline was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OutOfNodes;

/// A search with its memory, for one board size.
pub(super) struct Search<'a> {
    geometry: &'a Geometry,
    node_limit: u64,
    deadline: Option<Instant>,
    n_looks: u64,
    nodes: Vec<SolverNode>,
    known: HashMap<Board, u32>,
    claims: Claims,
    examiner: Examiner,
}

impl<'a> Search<'a> {
    /// A search that looks at so many positions at most and keeps so many connections of each.
    pub(super) fn new(geometry: &'a Geometry, node_limit: u64, kept: Kept) -> Self {
        Self {
            geometry,
            node_limit,
            deadline: None,
            n_looks: 0,
            nodes: Vec::new(),
            known: HashMap::new(),
            claims: Claims::default(),
            examiner: Examiner::new(kept),
        }
    }

    /// Ends the search at this moment as well.
    pub(super) fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// Positions looked at so far.
    pub(super) fn n_looks(&self) -> u64 {
        self.n_looks
    }

    /// The claims of all decided positions.
    #[cfg(test)]
    pub(super) fn decided(&self) -> impl Iterator<Item = &Claim> {
        self.nodes.iter().filter_map(|node| match &node.state {
            State::Decided(claim) => Some(claim),
            State::Open(_) => None,
        })
    }

    /// Who wins a position that is not over, with the cells the winner needs on the board as given.
    pub(super) fn solve(&mut self, board: &Board) -> Result<Outcome, OutOfNodes> {
        let root = self.reach(board, board.stones)?;
        self.deepen(root, Numbers { win: INFINITE, loss: INFINITE })?;
        match self.nodes[root as usize].state {
            State::Decided(claim) => Ok(self.outcome_before(board, 0, root, &claim)),
            State::Open(_) => Err(OutOfNodes),
        }
    }

    /// Where the side to move has to play on a board as it is, the most promising first.
    pub(super) fn must_play(&mut self, board: &Board) -> Result<Vec<usize>, OutOfNodes> {
        if self.node_limit == 0 {
            return Err(OutOfNodes);
        }
        Ok(self.examiner.must_play(self.geometry, board))
    }

    /// The node of a board, which is filled and looked at when it is new.
    fn reach(&mut self, board: &Board, played: [Cells; 2]) -> Result<u32, OutOfNodes> {
        let (board, inferior) = filled(self.geometry, board);
        if let Some(&idx) = self.known.get(&board) {
            return Ok(idx);
        }
        let state = match self.claims.ask(&board, 0, self.geometry.empty(&board)) {
            Word::Decided(claim) => State::Decided(claim),
            Word::Open { .. } => {
                let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if self.n_looks >= self.node_limit || is_late {
                    return Err(OutOfNodes);
                }
                self.n_looks += 1;
                match self.examiner.look(self.geometry, &board, &inferior) {
                    Look::Decided(outcome) => State::Decided(self.claim(&board, played, outcome)),
                    Look::Open { moves, carrier } => {
                        let moves: Vec<_> = moves.into_iter().map(|cell| (cell as u8, None)).collect();
                        let numbers = Numbers { win: 1, loss: n_searched(moves.len()) as u32 };
                        State::Open(Open { numbers, moves, carrier, n_asked: 0 })
                    }
                }
            }
        };
        let idx = self.nodes.len() as u32;
        self.nodes.push(SolverNode { board, played, state });
        self.known.insert(board, idx);
        self.consult(idx);
        Ok(idx)
    }

    /// What the outcome of a filled board says of others.
    fn claim(&self, board: &Board, played: [Cells; 2], outcome: Outcome) -> Claim {
        let winner = if outcome.mover_wins { board.side } else { board.side.other() };
        let stones = played[winner.index()];
        let carrier = outcome.carrier | board.stones[winner.index()] & !stones;
        Claim { winner, to_move: outcome.mover_wins, stones, carrier }.shrunk(self.geometry)
    }

    /// Decides a node.
    fn decide(&mut self, idx: u32, outcome: Outcome) {
        let node = &self.nodes[idx as usize];
        let claim = self.claim(&node.board, node.played, outcome);
        self.claims.add(claim);
        self.nodes[idx as usize].state = State::Decided(claim);
    }

    /// A node's claim as one of a board that becomes it when `cell` is played, if any, and all is filled.
    fn outcome_before(&self, before: &Board, cell: Cells, node: u32, claim: &Claim) -> Outcome {
        let after = &self.nodes[node as usize].board;
        let own = claim.winner.index();
        let mut carrier = claim.stones | claim.carrier;
        let played = if before.side == claim.winner { cell } else { 0 };
        // A stone that was filled stands for all the cells that captured it.
        if claim.stones & !before.stones[own] & !played != 0 {
            carrier |= after.stones[own];
        }
        Outcome { mover_wins: claim.winner == after.side, carrier: carrier & self.geometry.empty(before) }
    }

    /// Asks the claims proved since the last visit.
    fn consult(&mut self, idx: u32) {
        let n_claims = self.claims.len();
        let node = &mut self.nodes[idx as usize];
        let State::Open(open) = &mut node.state else { return };
        let cells = open.moves.iter().fold(0, |cells, &(cell, _)| cells | 1 << cell);
        match self.claims.ask(&node.board, open.n_asked, cells) {
            Word::Decided(claim) => node.state = State::Decided(claim),
            Word::Open { cells, carrier } => {
                open.n_asked = n_claims;
                open.carrier |= carrier;
                open.moves.retain(|&(cell, _)| cells >> cell & 1 != 0);
                if open.moves.is_empty() {
                    let outcome = Outcome { mover_wins: false, carrier: open.carrier };
                    self.decide(idx, outcome);
                }
            }
        }
    }

    /// Works below a node until it is decided or its numbers reach the limit.
    fn deepen(&mut self, idx: u32, limit: Numbers) -> Result<(), OutOfNodes> {
        loop {
            self.consult(idx);
            self.sift(idx);
            let SolverNode { board, mut played, .. } = self.nodes[idx as usize];
            let State::Open(open) = &self.nodes[idx as usize].state else { return Ok(()) };
            let choice = self.choose(open);
            let below = Numbers {
                win: limit.loss.saturating_sub(choice.n_others),
                // A little beyond the second best, so that the search does not go to and fro.
                loss: limit.win.min(choice.second.saturating_add(1 + choice.second / 8)),
            };
            let stop = choice.numbers.loss >= limit.win || choice.loss >= limit.loss;
            let numbers = Numbers { win: choice.numbers.loss, loss: choice.loss };
            let (place, (cell, child)) = (choice.place, open.moves[choice.place]);
            let State::Open(open) = &mut self.nodes[idx as usize].state else { return Ok(()) };
            open.numbers = numbers;
            if stop {
                return Ok(());
            }
            let child = match child {
                Some(child) => child,
                None => {
                    played[board.side.index()] |= 1 << cell;
                    let child = self.reach(&board.after(usize::from(cell)), played)?;
                    let gained = self.nodes[child as usize].board.stones[board.side.index()] & !(1 << cell);
                    if let State::Open(open) = &mut self.nodes[idx as usize].state {
                        open.moves[place].1 = Some(child);
                        // The move takes these cells as well, so it is at least as good as any of them.
                        open.moves.retain(|&(other, _)| gained >> other & 1 == 0);
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
                open.moves.iter().find_map(|&(cell, child)| match &self.nodes[child? as usize].state {
                    State::Decided(claim) => {
                        Some((cell, self.outcome_before(&node.board, 1 << cell, child?, claim)))
                    }
                    State::Open(_) => None,
                });
            let Some((cell, reply)) = decided else { return };
            let State::Open(open) = &mut self.nodes[idx as usize].state else { return };
            if reply.mover_wins {
                open.carrier |= reply.carrier;
                open.moves.retain(|&(other, _)| other != cell && reply.carrier >> other & 1 != 0);
                if open.moves.is_empty() {
                    let outcome = Outcome { mover_wins: false, carrier: open.carrier };
                    self.decide(idx, outcome);
                }
            } else {
                self.decide(idx, Outcome { mover_wins: true, carrier: reply.carrier });
            }
        }
    }

    /// The move to work on: the one that is easiest to prove a win.
    fn choose(&self, open: &Open) -> Choice {
        let searched = &open.moves[..n_searched(open.moves.len())];
        let n_others = searched.len() as u32 - 1;
        let (numbers, second) = (Numbers { win: 0, loss: INFINITE }, INFINITE);
        let mut choice = Choice { place: 0, numbers, second, n_others, loss: 0 };
        for (place, &(_, child)) in searched.iter().enumerate() {
            let numbers = match child.map(|child| &self.nodes[child as usize].state) {
                Some(State::Open(child)) => child.numbers,
                _ => Numbers { win: 1, loss: 1 },
            };
            choice.loss = choice.loss.max(numbers.win + n_others);
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

/// The move a search continues with.
struct Choice {
    /// Its place in the list.
    place: usize,
    numbers: Numbers,
    /// The least number of another move.
    second: u32,
    /// How many moves are searched beside it.
    n_others: u32,
    /// How hard it is to refute all moves searched: as hard as the hardest, and one for each other. Sums would count what
    /// moves have in common many times (*weak* proof numbers, after Ueda and others).
    loss: u32,
}

fn n_searched(n_moves: usize) -> usize {
    1 + n_moves.saturating_sub(1).div_ceil(NARROW)
}
