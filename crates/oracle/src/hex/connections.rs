//! Virtual connections of one side: pairs of places it can join even if the other side moves first.
//!
//! Built bottom up (H-search, after Anshelevich). Places are the side's edges with the stones that touch them, its other
//! chains, and the empty cells. Two connections that meet in a chain make a longer one; two that meet in an empty cell make
//! a *semi-connection*, which needs one move more; semi-connections of the same pair that have no cell in common make a
//! connection, since the other side cannot stop them all at once.

use super::board::{Board, Cells, Geometry, bits};
use mavis_game::Side;

/// How many connections are kept, the smallest ones, which combine best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// For a pair of places.
    pub(super) full: usize,
    /// Semi-connections for a pair.
    pub(super) semi: usize,
    /// Semi-connections between the edges: their common cells are what the other side must play on.
    pub(super) winning: usize,
}

impl Default for Kept {
    /// Tried on eleven puzzles of 6x6 and 7x7: 6 and 15 took an eighth more positions, 20 and 50 as many.
    fn default() -> Self {
        Self { full: 10, semi: 25, winning: 60 }
    }
}

/// Semi-connections combined into one connection at most.
const COMBINED: usize = 4;
/// Combinations taken from one new semi-connection at most.
const TAKEN: usize = 3;
/// The places of the two edges.
pub(super) const EDGES: usize = 2;

/// The connections of a side.
pub(super) struct Connections {
    n_places: usize,
    /// The bit of the cell for places that are empty, else nothing.
    own_bit: Vec<Cells>,
    kept: Kept,
    /// Carriers by pair of places, smallest first: the empty cells a connection needs, its ends not counted.
    full: Vec<Vec<Cells>>,
    semi: Vec<Vec<Cells>>,
    /// Connections to be combined with those known, by the size of their carriers: short ones make the strongest.
    fresh: Vec<Vec<Fresh>>,
}

/// A connection to be combined.
#[derive(Clone, Copy)]
struct Fresh {
    ends: [usize; 2],
    carrier: Cells,
}

impl Connections {
    /// Finds the connections of `side`, as far as the rules above lead. With `hasty` it ends as soon as the side is known to
    /// win when it is to move, else as soon as it wins in any case.
    pub(super) fn of(geometry: &Geometry, board: &Board, side: Side, kept: Kept, hasty: bool) -> Self {
        let empty = geometry.empty(board);
        let chains = geometry.chains(side, board.stones[side.index()]);
        let n_chains = chains.len();
        let mut own_bit = vec![0; n_chains];
        own_bit.extend(bits(empty).map(|cell| 1 << cell));
        let n_places = own_bit.len();
        let mut found = Self {
            n_places,
            own_bit,
            kept,
            full: vec![Vec::new(); n_places * n_places],
            semi: vec![Vec::new(); n_places * n_places],
            fresh: Vec::new(),
        };
        let mut place_of = vec![usize::MAX; geometry.size * geometry.size];
        for (idx, cell) in bits(empty).enumerate() {
            place_of[cell] = n_chains + idx;
        }
        for (idx, &chain) in chains.iter().enumerate() {
            let mut around = geometry.grown(chain);
            if idx < EDGES {
                around |= geometry.edges[side.index()][idx];
            }
            for cell in bits(around & empty) {
                found.add_full([idx, place_of[cell]], 0);
            }
        }
        for cell in bits(empty) {
            for neighbor in bits(geometry.neighbors[cell] & empty & (!0 << cell)) {
                found.add_full([place_of[cell], place_of[neighbor]], 0);
            }
        }
        if chains[0] & geometry.edges[side.index()][1] != 0 {
            // The stones join the edges already.
            found.add_full([0, 1], 0);
        }
        found.close(hasty);
        found
    }

    /// The carriers of connections between the edges: with one of them the side has won.
    pub(super) fn winning(&self) -> &[Cells] {
        &self.full[self.pair([0, 1])]
    }

    /// The carriers of semi-connections between the edges: with one of them the side wins if it is to move.
    pub(super) fn almost_winning(&self) -> &[Cells] {
        &self.semi[self.pair([0, 1])]
    }

    /// Edges, other chains and empty cells.
    pub(super) fn n_places(&self) -> usize {
        self.n_places
    }

    /// The cell of a place that is empty.
    pub(super) fn cell(&self, place: usize) -> Option<usize> {
        let bit = self.own_bit[place];
        (bit != 0).then(|| bit.trailing_zeros() as usize)
    }

    /// Whether two places are connected.
    pub(super) fn is_linked(&self, ends: [usize; 2]) -> bool {
        !self.full[self.pair(ends)].is_empty()
    }

    /// Every connection found, as the cells of its ends (nothing for an edge or a chain), its carrier, and whether it holds
    /// even if the other side moves first.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<([usize; 2], Cells, bool)> {
        let mut all = Vec::new();
        for a in 0..self.n_places {
            for b in a + 1..self.n_places {
                let at = self.pair([a, b]);
                all.extend(self.full[at].iter().map(|&carrier| ([a, b], carrier, true)));
                all.extend(self.semi[at].iter().map(|&carrier| ([a, b], carrier, false)));
            }
        }
        all
    }

    fn pair(&self, [a, b]: [usize; 2]) -> usize {
        a.min(b) * self.n_places + a.max(b)
    }

    /// Combines fresh connections until none is left or the edges are joined.
    fn close(&mut self, hasty: bool) {
        let mut size = 0;
        while size < self.fresh.len() {
            let Some(fresh) = self.fresh[size].pop() else {
                size += 1;
                continue;
            };
            if !self.full[self.pair(fresh.ends)].contains(&fresh.carrier) {
                continue;
            }
            let [a, b] = fresh.ends;
            self.extend(a, b, fresh.carrier);
            self.extend(b, a, fresh.carrier);
            if !self.winning().is_empty() || hasty && !self.almost_winning().is_empty() {
                return;
            }
        }
    }

    /// Leads a connection of `end` on across `middle`.
    fn extend(&mut self, end: usize, middle: usize, carrier: Cells) {
        // Connections across an edge are sound too; they save four positions in ten and cost several times as much.
        if middle < EDGES {
            return;
        }
        let (end_bit, middle_bit) = (self.own_bit[end], self.own_bit[middle]);
        let shut = carrier | end_bit;
        for other in 0..self.n_places {
            if other == end || other == middle || self.own_bit[other] & carrier != 0 {
                continue;
            }
            let partners = self.pair([middle, other]);
            // Additions below go to another pair, so the list stays as it is.
            for idx in 0..self.full[partners].len() {
                let partner = self.full[partners][idx];
                if partner & shut != 0 {
                    continue;
                }
                if middle_bit != 0 {
                    self.add_semi([end, other], carrier | partner | middle_bit);
                } else {
                    self.add_full([end, other], carrier | partner);
                }
            }
        }
    }

    fn add_full(&mut self, ends: [usize; 2], carrier: Cells) {
        let at = self.pair(ends);
        if insert(&mut self.full[at], carrier, self.kept.full) {
            // What a full connection does, a semi-connection of the same or more cells need not.
            self.semi[at].retain(|semi| carrier & !semi != 0);
            let size = carrier.count_ones() as usize;
            if self.fresh.len() <= size {
                self.fresh.resize_with(size + 1, Vec::new);
            }
            self.fresh[size].push(Fresh { ends, carrier });
        }
    }

    fn add_semi(&mut self, ends: [usize; 2], carrier: Cells) {
        let at = self.pair(ends);
        if self.full[at].iter().any(|full| full & !carrier == 0) {
            return;
        }
        let between_edges = ends[0] < EDGES && ends[1] < EDGES;
        let kept = if between_edges { self.kept.winning } else { self.kept.semi };
        if !insert(&mut self.semi[at], carrier, kept) {
            return;
        }
        let others: Vec<Cells> = self.semi[at].iter().copied().filter(|&other| other != carrier).collect();
        // What all of them share no combination can do without.
        let mut shared = vec![!0; others.len() + 1];
        for idx in (0..others.len()).rev() {
            shared[idx] = shared[idx + 1] & others[idx];
        }
        let mut joined = Vec::new();
        Combiner { others: &others, shared: &shared, joined: &mut joined }.run(
            0,
            carrier,
            carrier,
            COMBINED - 1,
        );
        for carrier in joined {
            self.add_full(ends, carrier);
        }
    }
}

/// Finds sets that have no cell in common.
struct Combiner<'a> {
    others: &'a [Cells],
    /// The cells common to all of `others` from an index on.
    shared: &'a [Cells],
    joined: &'a mut Vec<Cells>,
}

impl Combiner<'_> {
    /// Adds up to `left` of the sets from an index on to those with a `union` and cells in `common`.
    fn run(&mut self, from: usize, common: Cells, union: Cells, left: usize) {
        for idx in from..self.others.len() {
            if self.joined.len() >= TAKEN || common & self.shared[idx] != 0 {
                return;
            }
            let other = self.others[idx];
            let rest = common & other;
            if rest == 0 {
                self.joined.push(union | other);
            } else if rest != common && left > 1 {
                self.run(idx + 1, rest, union | other, left - 1);
            }
        }
    }
}

/// Keeps a carrier if no known one is part of it; larger ones it makes needless go.
fn insert(known: &mut Vec<Cells>, carrier: Cells, kept: usize) -> bool {
    if known.iter().any(|other| other & !carrier == 0) {
        return false;
    }
    known.retain(|other| carrier & !other != 0);
    let at = known.partition_point(|other| other.count_ones() <= carrier.count_ones());
    if at >= kept {
        return false;
    }
    known.insert(at, carrier);
    known.truncate(kept);
    true
}

#[cfg(test)]
mod tests;
