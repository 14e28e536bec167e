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
    /// Tried on six puzzles of 7x7: with 6 and 15 of them a quarter more positions, with 20 and 50 hardly fewer.
    fn default() -> Self {
        Self { full: 10, semi: 25, winning: 60 }
    }
}

/// Semi-connections combined into one connection at most.
const COMBINED: usize = 4;
/// Combinations taken from one new semi-connection at most.
///
/// Tried on seven puzzles of 7x7: with 3, 10 and 30 they took 17, 14 and 13 thousand positions.
const TAKEN: usize = 30;
/// The places of the two edges.
pub(super) const EDGES: usize = 2;

/// A set of places, one bit each.
type Places = u128;

/// The connections of a side. One value serves many boards, so that its lists are allocated once.
#[derive(Default)]
pub(super) struct Connections {
    kept: Kept,
    n_places: usize,
    /// Where the empty cells begin among the places.
    n_chains: usize,
    /// The cells of the empty places, in their order.
    cells: Vec<u8>,
    /// Carriers by pair of places, smallest first: the empty places a connection needs, its ends not counted.
    full: Vec<Vec<Places>>,
    semi: Vec<Vec<Places>>,
    /// What each place is connected to.
    linked: Vec<Places>,
    /// What each place is next to: nothing can better that.
    next_to: Vec<Places>,
    /// Connections to be combined with those known, by the size of their carriers: short ones make the strongest.
    fresh: Vec<Vec<Fresh>>,
    combiner: Combiner,
}

/// A connection to be combined.
#[derive(Clone, Copy)]
struct Fresh {
    ends: [usize; 2],
    carrier: Places,
}

impl Connections {
    /// Room for connections, of which so many are kept.
    pub(super) fn new(kept: Kept) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Finds the connections of `side`, as far as the rules above lead. With `hasty` it ends as soon as the side is known to
    /// win when it is to move, else as soon as it wins in any case.
    pub(super) fn find(&mut self, geometry: &Geometry, board: &Board, side: Side, hasty: bool) {
        let empty = geometry.empty(board);
        let chains = geometry.chains(side, board.stones[side.index()]);
        self.clear(chains.len(), empty);
        let mut place_of = [0; 128];
        for (idx, &cell) in self.cells.iter().enumerate() {
            place_of[usize::from(cell)] = self.n_chains + idx;
        }
        for (idx, &chain) in chains.iter().enumerate() {
            let mut around = geometry.grown(chain);
            if idx < EDGES {
                around |= geometry.edges[side.index()][idx];
            }
            for cell in bits(around & empty) {
                self.add_full([idx, place_of[cell]], 0);
            }
        }
        for cell in bits(empty) {
            for neighbor in bits(geometry.neighbors[cell] & empty & (!0 << cell)) {
                self.add_full([place_of[cell], place_of[neighbor]], 0);
            }
        }
        if chains[0] & geometry.edges[side.index()][1] != 0 {
            // The stones join the edges already.
            self.add_full([0, 1], 0);
        }
        self.close(hasty);
    }

    /// Whether the edges are connected: the side has won.
    pub(super) fn wins(&self) -> bool {
        self.linked[0] & 1 << 1 != 0
    }

    /// The carriers of connections between the edges, smallest first: with one of them the side has won.
    pub(super) fn winning(&self) -> impl Iterator<Item = Cells> {
        self.full[self.pair([0, 1])].iter().map(|&carrier| self.cells_of(carrier))
    }

    /// The carriers of semi-connections between the edges, smallest first: with one of them the side wins if it is to move.
    pub(super) fn almost_winning(&self) -> impl Iterator<Item = Cells> {
        self.semi[self.pair([0, 1])].iter().map(|&carrier| self.cells_of(carrier))
    }

    /// Edges, other chains and empty cells.
    pub(super) fn n_places(&self) -> usize {
        self.n_places
    }

    /// The cell of a place that is empty.
    pub(super) fn cell(&self, place: usize) -> Option<usize> {
        place.checked_sub(self.n_chains).map(|idx| usize::from(self.cells[idx]))
    }

    /// The places a place is connected to, a bit each.
    pub(super) fn linked(&self, place: usize) -> u128 {
        self.linked[place]
    }

    /// Every connection found, as its ends, its carrier, and whether it holds even if the other side moves first.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<([usize; 2], Cells, bool)> {
        let mut all = Vec::new();
        for a in 0..self.n_places {
            for b in a + 1..self.n_places {
                let at = self.pair([a, b]);
                all.extend(self.full[at].iter().map(|&carrier| ([a, b], self.cells_of(carrier), true)));
                all.extend(self.semi[at].iter().map(|&carrier| ([a, b], self.cells_of(carrier), false)));
            }
        }
        all
    }

    /// Makes room for the places of a board, with no connection known.
    fn clear(&mut self, n_chains: usize, empty: Cells) {
        self.n_chains = n_chains;
        self.cells.clear();
        self.cells.extend(bits(empty).map(|cell| cell as u8));
        self.n_places = n_chains + self.cells.len();
        for lists in [&mut self.full, &mut self.semi] {
            lists.iter_mut().for_each(Vec::clear);
            lists.resize_with(lists.len().max(self.n_places * self.n_places), Vec::new);
        }
        for sets in [&mut self.linked, &mut self.next_to] {
            sets.clear();
            sets.resize(self.n_places, 0);
        }
        self.fresh.iter_mut().for_each(Vec::clear);
    }

    fn cells_of(&self, places: Places) -> Cells {
        bits(places).fold(0, |cells, place| cells | 1 << self.cells[place - self.n_chains])
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
            if self.wins() || hasty && !self.semi[self.pair([0, 1])].is_empty() {
                return;
            }
        }
    }

    /// Leads a connection of `end` on across `middle`.
    fn extend(&mut self, end: usize, middle: usize, carrier: Places) {
        // Connections across an edge are sound too; they saved a third of the positions and took ten times as long.
        if middle < EDGES {
            return;
        }
        let shut = carrier | 1 << end;
        let middle_bit = if middle < self.n_chains { 0 } else { 1 << middle };
        for other in bits(self.linked[middle] & !shut & !self.next_to[end]) {
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

    fn add_full(&mut self, ends: [usize; 2], carrier: Places) {
        let at = self.pair(ends);
        if insert(&mut self.full[at], carrier, self.kept.full) {
            // What a full connection does, a semi-connection of the same or more cells need not.
            self.semi[at].retain(|semi| carrier & !semi != 0);
            let size = carrier.count_ones() as usize;
            if self.fresh.len() <= size {
                self.fresh.resize_with(size + 1, Vec::new);
            }
            self.fresh[size].push(Fresh { ends, carrier });
            for [a, b] in [ends, [ends[1], ends[0]]] {
                self.linked[a] |= 1 << b;
                self.next_to[a] |= if carrier == 0 { 1 << b } else { 0 };
            }
        }
    }

    fn add_semi(&mut self, ends: [usize; 2], carrier: Places) {
        let at = self.pair(ends);
        if self.full[at].iter().any(|full| full & !carrier == 0) {
            return;
        }
        let between_edges = ends[0] < EDGES && ends[1] < EDGES;
        let kept = if between_edges { self.kept.winning } else { self.kept.semi };
        if !insert(&mut self.semi[at], carrier, kept) {
            return;
        }
        let mut combiner = std::mem::take(&mut self.combiner);
        combiner.combine(carrier, &self.semi[at]);
        for &carrier in &combiner.joined {
            self.add_full(ends, carrier);
        }
        self.combiner = combiner;
    }
}

/// Finds sets that have no place in common.
#[derive(Default)]
struct Combiner {
    others: Vec<Places>,
    /// The places common to all of `others` from an index on: no combination of those can do without.
    shared: Vec<Places>,
    /// The unions of the sets found.
    joined: Vec<Places>,
}

impl Combiner {
    /// Combines a set with others of a list.
    fn combine(&mut self, carrier: Places, all: &[Places]) {
        self.joined.clear();
        if all.iter().fold(!0, |common, other| common & other) != 0 {
            return;
        }
        self.others.clear();
        self.others.extend(all.iter().copied().filter(|&other| other != carrier));
        self.shared.clear();
        self.shared.resize(self.others.len() + 1, !0);
        for idx in (0..self.others.len()).rev() {
            self.shared[idx] = self.shared[idx + 1] & self.others[idx];
        }
        self.run(0, carrier, carrier, COMBINED - 1);
    }

    /// Adds up to `left` of the sets from an index on to those with a `union` and places in `common`.
    fn run(&mut self, from: usize, common: Places, union: Places, left: usize) {
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
fn insert(known: &mut Vec<Places>, carrier: Places, kept: usize) -> bool {
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
