//! The claims a search has proved so far, asked by subset: a claim decides many positions it was not found in.

use super::claim::Claim;
use crate::hex::board::{Board, Cells};

/// Claims, in the order they were proved.
#[derive(Default)]
pub(super) struct Claims {
    all: Vec<Claim>,
}

/// What claims say about a position.
pub(super) enum Word {
    /// It is decided.
    Decided(Claim),
    /// The side to move has to play in `cells`; `carrier` is what the other side needs to refute the rest.
    Open { cells: Cells, carrier: Cells },
}

impl Claims {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a claim, unless one known says as much.
    pub(super) fn add(&mut self, claim: Claim) {
        let theirs = !claim.stones & !claim.carrier;
        let said = |known: &Claim| {
            known.winner == claim.winner
                && (claim.to_move || !known.to_move)
                && known.holds(claim.stones, theirs)
        };
        if !self.all.iter().any(said) {
            self.all.push(claim);
        }
    }

    /// Asks the claims from an index on about a board, of which moves in `cells` are open.
    pub(super) fn ask(&self, board: &Board, from: usize, mut cells: Cells) -> Word {
        let mut carrier = 0;
        for claim in &self.all[from..] {
            let own = claim.winner.index();
            if !claim.holds(board.stones[own], board.stones[1 - own]) {
                continue;
            }
            if claim.winner == board.side || !claim.to_move {
                return Word::Decided(*claim);
            }
            if cells & !claim.carrier != 0 {
                cells &= claim.carrier;
                carrier |= claim.carrier & !board.stones[own];
            }
        }
        Word::Open { cells, carrier }
    }
}
