//! Bit arithmetic of the 8x8 board.

/// Discs as the search sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Board {
    /// Discs of the side to move.
    pub(crate) own: u64,
    /// Discs of the other.
    pub(crate) other: u64,
}

/// Cells a step to the left or right may start from without leaving the board.
const INNER: u64 = 0x7E7E_7E7E_7E7E_7E7E;
/// Shifts of the four pairs of directions, and which discs of the other side may lie between on the way.
const LINES: [(u32, u64); 4] = [(1, INNER), (8, !0), (7, INNER), (9, INNER)];

impl Board {
    pub(crate) fn empty(self) -> u64 {
        !(self.own | self.other)
    }

    /// Squares where the side to move may place a disc.
    pub(crate) fn placements(self) -> u64 {
        let mut reached = 0;
        for (shift, inner) in LINES {
            let between = self.other & inner;
            let (mut up, mut down) = (between & (self.own << shift), between & (self.own >> shift));
            // At most six discs lie between; doubling covers them in three steps.
            up |= between & (up << shift);
            down |= between & (down >> shift);
            let (pairs_up, pairs_down) = (between & (between << shift), between & (between >> shift));
            up |= pairs_up & (up << (2 * shift));
            down |= pairs_down & (down >> (2 * shift));
            up |= pairs_up & (up << (2 * shift));
            down |= pairs_down & (down >> (2 * shift));
            reached |= up << shift | down >> shift;
        }
        reached & self.empty()
    }

    /// Discs that turn if the side to move places one on the single bit `square`.
    pub(crate) fn flips(self, square: u64) -> u64 {
        let mut flips = 0;
        for (shift, inner) in LINES {
            let between = self.other & inner;
            let (pairs_up, pairs_down) = (between & (between << shift), between & (between >> shift));
            let (mut up, mut down) = (between & (square << shift), between & (square >> shift));
            up |= between & (up << shift);
            down |= between & (down >> shift);
            up |= pairs_up & (up << (2 * shift));
            down |= pairs_down & (down >> (2 * shift));
            up |= pairs_up & (up << (2 * shift));
            down |= pairs_down & (down >> (2 * shift));
            // A row turns only if a disc of ours ends it.
            if (up << shift) & self.own != 0 {
                flips |= up;
            }
            if (down >> shift) & self.own != 0 {
                flips |= down;
            }
        }
        flips
    }

    /// The board after a placement that turns `flips`, seen by the other side.
    pub(crate) fn after(self, square: u64, flips: u64) -> Self {
        Self { own: self.other ^ flips, other: self.own | flips | square }
    }

    /// The same board with the other side to move.
    pub(crate) fn passed(self) -> Self {
        Self { own: self.other, other: self.own }
    }

    /// The result of a finished game for the side to move; empty squares go to the winner.
    pub(crate) fn final_score(self) -> i32 {
        let difference = self.own.count_ones() as i32 - self.other.count_ones() as i32;
        difference + difference.signum() * self.empty().count_ones() as i32
    }
}
