//! Virtual connections of one side: pairs of places it can join even if the other side moves first.
//!
//! Built bottom up (H-search): two connections that share a stone of ours make a longer one; two that share an empty
//! cell make a *semi-connection*, which needs one move more; semi-connections of the same pair that have no cell in
//! common make a connection, since the other side cannot stop them all at once.

use super::board::{Board, Cells, Geometry, bits};
use mavis_game::Side;

/// Connections kept for a pair; the smallest ones, which combine best.
const KEPT: usize = 12;
/// Semi-connections kept for a pair.
const KEPT_SEMI: usize = 30;
/// Semi-connections kept between the edges: their common cells are what the other side must play on.
const KEPT_WINNING: usize = 64;
/// Semi-connections combined into one connection at most.
const COMBINED: usize = 4;

/// The connections of a side.
pub(crate) struct Connections {
    n_places: usize,
    /// Carriers by pair of places: the empty cells a connection needs, its ends not counted.
    full: Vec<Vec<Cells>>,
    semi: Vec<Vec<Cells>>,
}

/// A connection to be combined with those known.
struct Fresh {
    ends: [usize; 2],
    carrier: Cells,
}

impl Connections {
    /// Finds the connections of `side`, as far as the rules above lead.
    pub(crate) fn of(geometry: &Geometry, board: &Board, side: Side) -> Self {
        let n_cells = geometry.size * geometry.size;
        let n_places = n_cells + 2;
        let own = board.stones[side.index()];
        let empty = geometry.all & !board.occupied();
        let edges = geometry.edges[side.index()];
        // Groups, those at an edge under the edge's number.
        let mut groups = Vec::new();
        let mut left = own;
        for (idx, edge) in edges.into_iter().enumerate() {
            let group = geometry.flood(edge, own);
            left &= !group;
            groups.push((n_cells + idx, group));
        }
        while left != 0 {
            let group = geometry.flood(1 << left.trailing_zeros(), own);
            groups.push((left.trailing_zeros() as usize, group));
            left &= !group;
        }
        let mut found = Self {
            n_places,
            full: vec![Vec::new(); n_places * n_places],
            semi: vec![Vec::new(); n_places * n_places],
        };
        let mut queue = Vec::new();
        for cell in bits(empty) {
            for neighbor in bits(geometry.neighbors[cell] & empty).filter(|&neighbor| neighbor > cell) {
                found.add_full([cell, neighbor], 0, &mut queue);
            }
        }
        for &(id, group) in &groups {
            let mut beside = geometry.grown(group);
            if id >= n_cells {
                beside |= edges[id - n_cells];
            }
            for cell in bits(beside & empty) {
                found.add_full([cell, id], 0, &mut queue);
            }
        }
        found.close(n_cells, empty, &mut queue);
        found
    }

    /// The carriers of connections between the edges: with one of them the side has won.
    pub(crate) fn winning(&self) -> &[Cells] {
        &self.full[self.pair([self.n_places - 2, self.n_places - 1])]
    }

    /// The carriers of semi-connections between the edges: with one of them the side wins if it is to move.
    pub(crate) fn almost_winning(&self) -> &[Cells] {
        &self.semi[self.pair([self.n_places - 2, self.n_places - 1])]
    }

    fn pair(&self, [a, b]: [usize; 2]) -> usize {
        a.min(b) * self.n_places + a.max(b)
    }

    /// Combines fresh connections until none is left or the edges are joined.
    fn close(&mut self, n_cells: usize, empty: Cells, queue: &mut Vec<Fresh>) {
        // Short carriers first: they make the strongest connections and spare longer ones.
        let mut at = 0;
        while at < queue.len() {
            let Fresh { ends, carrier } = queue[at];
            at += 1;
            if !self.full[self.pair(ends)].contains(&carrier) {
                continue;
            }
            for (middle, end) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                // Nothing leads on across an edge that the edge itself does not give.
                if middle >= n_cells {
                    continue;
                }
                let middle_is_empty = empty >> middle & 1 != 0;
                for other in 0..self.n_places {
                    if other == end || other == middle {
                        continue;
                    }
                    let partners = self.pair([middle, other]);
                    // Additions below go to another pair, so the list stays as it is.
                    for idx in 0..self.full[partners].len() {
                        let partner = self.full[partners][idx];
                        let blocked = cell_bit(other, empty) & carrier
                            | cell_bit(end, empty) & partner
                            | carrier & partner;
                        if blocked != 0 {
                            continue;
                        }
                        let joined = carrier | partner;
                        if middle_is_empty {
                            self.add_semi([end, other], joined | 1 << middle, queue);
                        } else {
                            self.add_full([end, other], joined, queue);
                        }
                    }
                }
            }
            if !self.winning().is_empty() {
                return;
            }
        }
    }

    fn add_full(&mut self, ends: [usize; 2], carrier: Cells, queue: &mut Vec<Fresh>) {
        let at = self.pair(ends);
        if insert(&mut self.full[at], carrier, KEPT) {
            // What a full connection does, a semi-connection of the same or more cells need not.
            self.semi[at].retain(|semi| carrier & !semi != 0);
            queue.push(Fresh { ends, carrier });
        }
    }

    fn add_semi(&mut self, ends: [usize; 2], carrier: Cells, queue: &mut Vec<Fresh>) {
        let at = self.pair(ends);
        if self.full[at].iter().any(|full| full & !carrier == 0) {
            return;
        }
        let kept = if ends.into_iter().min() == Some(self.n_places - 2) { KEPT_WINNING } else { KEPT_SEMI };
        if !insert(&mut self.semi[at], carrier, kept) {
            return;
        }
        let others: Vec<Cells> = self.semi[at].iter().copied().filter(|&other| other != carrier).collect();
        let mut joined = Vec::new();
        combine(&others, carrier, carrier, COMBINED - 1, &mut joined);
        for carrier in joined {
            self.add_full(ends, carrier, queue);
        }
    }
}

/// Unions of sets that have no cell in common.
fn combine(others: &[Cells], common: Cells, union: Cells, left: usize, found: &mut Vec<Cells>) {
    for (idx, other) in others.iter().enumerate() {
        let rest = common & other;
        if rest == common {
            continue;
        }
        if rest == 0 {
            found.push(union | other);
        } else if left > 1 {
            combine(&others[idx + 1..], rest, union | other, left - 1, found);
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

fn cell_bit(place: usize, empty: Cells) -> Cells {
    if place < 128 { (1 << place) & empty } else { 0 }
}
