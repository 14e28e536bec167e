//! Bit arithmetic of the 7x6 board: where a stone wins, where it may fall, how to mirror.

/// Columns.
pub(crate) const WIDTH: u32 = 7;
/// Rows.
pub(crate) const HEIGHT: u32 = 6;
/// Cells of the board, also the greatest number of plies.
pub(crate) const CELLS: u32 = WIDTH * HEIGHT;
/// Bits a column takes: its cells and one that stays empty, so that shifts never join columns.
const STRIDE: u32 = HEIGHT + 1;
/// The lowest cell of every column.
pub(crate) const BOTTOM: u64 = 0x0408_1020_4081;
/// Every cell.
pub(crate) const BOARD: u64 = BOTTOM * ((1 << HEIGHT) - 1);

/// The cells of one column.
pub(crate) const fn column_mask(column: u32) -> u64 {
    ((1 << HEIGHT) - 1) << (column * STRIDE)
}

/// Stones as the solver sees them: those of the side to move, and all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Board {
    /// Stones of the side to move.
    pub(crate) own: u64,
    /// Stones of both.
    pub(crate) all: u64,
}

impl Board {
    /// Stones on the board.
    pub(crate) fn n_stones(self) -> u32 {
        self.all.count_ones()
    }

    /// The cells a stone can fall on, one a column at most.
    pub(crate) fn open(self) -> u64 {
        (self.all + BOTTOM) & BOARD
    }

    /// The board after the side to move takes `cell`, seen by the other side.
    pub(crate) fn after(self, cell: u64) -> Self {
        Self { own: self.own ^ self.all, all: self.all | cell }
    }

    /// A number that names the position, below 2^49.
    pub(crate) fn code(self) -> u64 {
        self.own + self.all
    }

    /// The smaller of the codes of the position and of its mirror image.
    pub(crate) fn canonical_code(self) -> u64 {
        self.code().min(self.mirrored().code())
    }

    /// Left and right exchanged.
    pub(crate) fn mirrored(self) -> Self {
        Self { own: mirror(self.own), all: mirror(self.all) }
    }
}

/// Empty cells on which a stone completes a line of four for the owner of `stones`, reachable now or later.
pub(crate) fn winning_cells(stones: u64, all: u64) -> u64 {
    // Three below in the same column.
    let mut cells = (stones << 1) & (stones << 2) & (stones << 3);
    for shift in [STRIDE - 1, STRIDE, STRIDE + 1] {
        // Two on one side, then the third on the far end of the line or on the other side of the gap.
        let before = (stones << shift) & (stones << (2 * shift));
        let behind = (stones >> shift) & (stones >> (2 * shift));
        cells |= before & ((stones << (3 * shift)) | (stones >> shift));
        cells |= behind & ((stones >> (3 * shift)) | (stones << shift));
    }
    cells & (BOARD ^ all)
}

/// Whether `cells` contain four in a line.
pub(crate) fn has_line(cells: u64) -> bool {
    [1, STRIDE - 1, STRIDE, STRIDE + 1].into_iter().any(|shift| {
        let pairs = cells & (cells >> shift);
        pairs & (pairs >> (2 * shift)) != 0
    })
}

fn mirror(cells: u64) -> u64 {
    (0..WIDTH).fold(0, |mirrored, column| {
        mirrored | ((cells >> (column * STRIDE)) & ((1 << STRIDE) - 1)) << ((WIDTH - 1 - column) * STRIDE)
    })
}
