//! A Hex board as two bit sets, for the exact solver on boards of up to 11x11.

use mavis_game::{Hex, Side};

/// The largest board whose cells, with two bits to spare for the edges, fit a set of bits.
pub(crate) const MAX_SIZE: usize = 11;

/// A set of cells; bit `row * size + column`.
pub(crate) type Cells = u128;

/// Neighbors and edges of the cells of one board size.
pub(crate) struct Geometry {
    /// Every cell.
    pub(crate) all: Cells,
    /// The neighbors of each cell.
    pub(crate) neighbors: Vec<Cells>,
    /// The cells along each side's two edges: top and bottom for the first player, left and right for the second.
    pub(crate) edges: [[Cells; 2]; 2],
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
        let neighbors = (0..n * n).map(|cell| {
            let steps = [(-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1)];
            steps.iter().fold(0, |cells, (down, right)| {
                let (row, column) = (cell / n + down, cell % n + right);
                let inside = (0..n).contains(&row) && (0..n).contains(&column);
                if inside { cells | 1 << (row * n + column) } else { cells }
            })
        });
        let neighbors = neighbors.collect();
        let top = (1 << size) - 1;
        let left = (0..size).fold(0, |cells, row| cells | 1 << (row * size));
        let edges = [[top, top << (size * (size - 1))], [left, left << (size - 1)]];
        Self { all: (1 << (size * size)) - 1, neighbors, edges }
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

    /// The empty cells of a board.
    pub(crate) fn empty(&self, board: &Board) -> Cells {
        self.all & !board.occupied()
    }

    /// The chains of a side's stones: those that touch its two edges first (they may be empty), then the others.
    pub(crate) fn chains(&self, side: Side, stones: Cells) -> Vec<Cells> {
        let mut chains: Vec<Cells> =
            self.edges[side.index()].iter().map(|&edge| self.flood(edge, stones)).collect();
        let mut left = stones & !chains[0] & !chains[1];
        while left != 0 {
            let chain = self.flood(1 << left.trailing_zeros(), stones);
            chains.push(chain);
            left &= !chain;
        }
        chains
    }
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
