//! A Hex board as an array with a border, for playouts on boards of any size.

use mavis_game::{Hex, Side};

/// What is on a place of the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A cell nobody has taken.
    Empty,
    /// A stone, or the edge of its side.
    Stone(Side),
    /// Beyond an acute corner, where the edges of both sides meet.
    Corner,
}

/// A board with one place around it on every side, so that neighbors need no test for the edge.
#[derive(Clone, Debug)]
pub(super) struct Field {
    places: Vec<Place>,
    /// Rows and columns.
    size: usize,
    /// Steps to the six neighbors, in circular order.
    steps: [isize; 6],
    pub(super) side: Side,
}

impl Field {
    /// The board of a position, with `side` to move.
    pub(super) fn new(position: &Hex, side: Side) -> Self {
        let size = position.size();
        let width = size + 2;
        let mut places = vec![Place::Corner; width * width];
        for at in 1..=size {
            places[at] = Place::Stone(Side::First);
            places[(size + 1) * width + at] = Place::Stone(Side::First);
            places[at * width] = Place::Stone(Side::Second);
            places[at * width + size + 1] = Place::Stone(Side::Second);
        }
        for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
            places[(row + 1) * width + column + 1] =
                position.cell(row, column).map_or(Place::Empty, Place::Stone);
        }
        let wide = width as isize;
        Self { places, size, steps: [-wide, 1 - wide, 1, wide, wide - 1, -1], side }
    }

    /// What is on a place.
    pub(super) fn at(&self, place: usize) -> Place {
        self.places[place]
    }

    /// The places of the empty cells, in the order of the board.
    pub(super) fn empty(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.places.len()).filter(|&place| self.places[place] == Place::Empty)
    }

    /// The cell of a place, counted along the rows.
    pub(super) fn cell(&self, place: usize) -> usize {
        let width = self.size + 2;
        (place / width - 1) * self.size + place % width - 1
    }

    /// The six places around a cell, in circular order.
    pub(super) fn ring(&self, place: usize) -> [usize; 6] {
        self.steps.map(|step| place.wrapping_add_signed(step))
    }

    /// The side to move takes a place.
    pub(super) fn play(&mut self, place: usize) {
        self.places[place] = Place::Stone(self.side);
        self.side = self.side.other();
    }

    /// Whether the chain of the stone on a place joins its side's edges. `seen` is room to work in.
    pub(super) fn joins(&self, place: usize, seen: &mut Vec<bool>) -> bool {
        let stone = self.places[place];
        let last = self.size + 1;
        seen.clear();
        seen.resize(self.places.len(), false);
        seen[place] = true;
        let (mut stack, mut edges) = (vec![place], [false; 2]);
        while let Some(place) = stack.pop() {
            for next in self.ring(place) {
                if seen[next] || self.places[next] != stone {
                    continue;
                }
                seen[next] = true;
                let (row, column) = (next / (self.size + 2), next % (self.size + 2));
                if row == 0 || column == 0 {
                    edges[0] = true;
                } else if row == last || column == last {
                    edges[1] = true;
                } else {
                    stack.push(next);
                }
                if edges == [true; 2] {
                    return true;
                }
            }
        }
        false
    }

    /// The winner of a full board.
    pub(super) fn winner(&self, seen: &mut Vec<bool>) -> Side {
        let width = self.size + 2;
        let first = Place::Stone(Side::First);
        let joined = (width + 1..width + 1 + self.size)
            .any(|place| self.places[place] == first && self.joins(place, seen));
        if joined { Side::First } else { Side::Second }
    }

    /// Whether no path of either side can need this empty cell, going by its six neighbors alone.
    pub(super) fn is_dead(&self, place: usize) -> bool {
        // A path comes from one place around the cell and leaves by another. It is not needed if the two touch or have
        // a stone of ours between them. If that holds for all pairs of places open to one side, its stone there never
        // matters, and then neither does the other's.
        let ring = self.ring(place).map(|place| self.places[place]);
        [Side::First, Side::Second].into_iter().any(|side| {
            let closed = |idx: usize| ring[idx] == Place::Stone(side.other());
            let meets = |a: usize, b: usize| {
                let between =
                    |from: usize, to: usize| (from + 1..to).all(|at| ring[at % 6] == Place::Stone(side));
                between(a, b) || between(b, a + 6)
            };
            (0..6).all(|a| (a + 1..6).all(|b| closed(a) || closed(b) || meets(a, b)))
        })
    }
}
