//! A Hex board as two bit sets, for boards of up to 11x11.

use mavis_game::{Hex, Side};

/// The largest board that fits a set of bits.
pub(crate) const MAX_SIZE: usize = 11;

/// A set of cells; bit `row * size + column`.
pub(crate) type Cells = u128;

/// Neighbors and edges of the cells of one board size.
pub(crate) struct Geometry {
    /// Rows and columns.
    pub(crate) size: usize,
    /// Every cell.
    pub(crate) all: Cells,
    /// The neighbors of each cell.
    pub(crate) neighbors: Vec<Cells>,
    /// The cells along each side's two edges: top and bottom for the first player, left and right for the second.
    pub(crate) edges: [[Cells; 2]; 2],
    /// The six places around a cell in circular order: a cell, or the side whose edge lies there, or neither beyond an
    /// acute corner.
    rings: Vec<[Place; 6]>,
}

#[derive(Clone, Copy)]
enum Place {
    Cell(u8),
    Edge(Side),
    Corner,
}

/// Stones and the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Board {
    /// Stones by side.
    pub(crate) stones: [Cells; 2],
    /// Whose turn it is.
    pub(crate) side: Side,
}

impl Geometry {
    /// The geometry of a board of 3x3 to 11x11.
    pub(crate) fn new(size: usize) -> Self {
        let n = size as i32;
        let place = |row: i32, column: i32| {
            let (row_out, column_out) = (row < 0 || row >= n, column < 0 || column >= n);
            match (row_out, column_out) {
                (false, false) => Place::Cell((row * n + column) as u8),
                (true, false) => Place::Edge(Side::First),
                (false, true) => Place::Edge(Side::Second),
                (true, true) => Place::Corner,
            }
        };
        let mut rings = Vec::new();
        let mut neighbors = Vec::new();
        for cell in 0..n * n {
            let (row, column) = (cell / n, cell % n);
            let steps = [(-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1)];
            let ring = steps.map(|(down, right)| place(row + down, column + right));
            neighbors.push(ring.iter().fold(0, |cells, place| match place {
                Place::Cell(cell) => cells | 1 << cell,
                Place::Edge(_) | Place::Corner => cells,
            }));
            rings.push(ring);
        }
        let top = (1 << size) - 1;
        let left = (0..size).fold(0, |cells, row| cells | 1 << (row * size));
        let edges = [[top, top << (size * (size - 1))], [left, left << (size - 1)]];
        let all = if size * size == 128 { !0 } else { (1 << (size * size)) - 1 };
        Self { size, all, neighbors, edges, rings }
    }

    /// The cells next to any of `cells`.
    pub(crate) fn grown(&self, cells: Cells) -> Cells {
        bits(cells).fold(0, |grown, cell| grown | self.neighbors[cell])
    }

    /// The part of `within` that hangs together with `start`.
    pub(crate) fn flood(&self, start: Cells, within: Cells) -> Cells {
        let (mut reached, mut fresh) = (start & within, start & within);
        while fresh != 0 {
            fresh = self.grown(fresh) & within & !reached;
            reached |= fresh;
        }
        reached
    }

    /// Whether `stones` join the edges of `side`.
    pub(crate) fn joins(&self, side: Side, stones: Cells) -> bool {
        let [from, to] = self.edges[side.index()];
        self.flood(from, stones) & to != 0
    }

    /// Whether no path of either side can need this empty cell, going by its six neighbors alone.
    pub(crate) fn is_dead(&self, board: &Board, cell: usize) -> bool {
        // A path comes from one place around the cell and leaves by another. It is not needed if the two touch or have
        // a stone of ours between them. If that holds for all pairs of places open to one side, its stone there never
        // matters, and then neither does the other's.
        [Side::First, Side::Second].into_iter().any(|side| {
            let kind = self.rings[cell].map(|place| match place {
                Place::Cell(cell) if board.stones[side.index()] >> cell & 1 != 0 => Ring::Own,
                Place::Cell(cell) if board.stones[side.other().index()] >> cell & 1 != 0 => Ring::Closed,
                Place::Cell(_) | Place::Corner => Ring::Open,
                Place::Edge(owner) if owner == side => Ring::Own,
                Place::Edge(_) => Ring::Closed,
            });
            let meets = |a: usize, b: usize| {
                let between = |from: usize, to: usize| {
                    // All places strictly between are our stones.
                    (from + 1..to).all(|at| kind[at % 6] == Ring::Own)
                };
                between(a, b) || between(b, a + 6)
            };
            (0..6).all(|a| {
                (a + 1..6).all(|b| kind[a] == Ring::Closed || kind[b] == Ring::Closed || meets(a, b))
            })
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ring {
    Own,
    Open,
    Closed,
}

impl Board {
    /// The board of a position, if it is small enough.
    pub(crate) fn new(position: &Hex, side: Side) -> Option<Self> {
        let size = position.size();
        (size <= MAX_SIZE).then_some(())?;
        let stones = [Side::First, Side::Second].map(|side| {
            let rows = position.stones(side).iter().enumerate();
            rows.fold(0, |cells, (row, &bits)| cells | Cells::from(bits) << (row * size))
        });
        Some(Self { stones, side })
    }

    pub(crate) fn occupied(&self) -> Cells {
        self.stones[0] | self.stones[1]
    }

    /// The board after the side to move takes `cell`.
    pub(crate) fn after(&self, cell: usize) -> Self {
        let mut next = *self;
        next.stones[self.side.index()] |= 1 << cell;
        next.side = self.side.other();
        next
    }
}

/// The indices of the bits that are set, lowest first.
pub(crate) fn bits(mut cells: Cells) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (cells != 0).then(|| {
            let cell = cells.trailing_zeros() as usize;
            cells &= cells - 1;
            cell
        })
    })
}
