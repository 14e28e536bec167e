//! What is left of the board for one side: empty cells and its two edges, joined where it needs no further stone.
//!
//! A side's chains are drawn together: all cells around a chain are next to each other, for the chain joins them. In this
//! graph the side wants a path between its edges, and the other side removes cells.

use super::board::{Board, Cells, Geometry, bits};
use mavis_game::Side;

/// The bits of a side's two edges, beyond all cells.
pub(super) const EDGES: [usize; 2] = [126, 127];

/// The graph of one side.
pub(super) struct Graph {
    /// For each empty cell what it is next to, edges included; nothing for stones.
    pub(super) next_to: Vec<Cells>,
    /// The same for the two edges.
    pub(super) next_to_edge: [Cells; 2],
}

impl Graph {
    pub(super) fn new(geometry: &Geometry, board: &Board, side: Side) -> Self {
        let empty = geometry.empty(board);
        let mut next_to: Vec<Cells> = geometry.neighbors.iter().map(|cells| cells & empty).collect();
        let mut next_to_edge = [0; 2];
        for (idx, chain) in geometry.chains(side, board.stones[side.index()]).into_iter().enumerate() {
            let mut around = geometry.grown(chain) & empty;
            if let Some(edge) = next_to_edge.get_mut(idx) {
                around |= geometry.edges[side.index()][idx] & empty;
                *edge = around;
                around |= 1 << EDGES[idx];
            }
            for cell in bits(around & empty) {
                next_to[cell] |= around & !(1 << cell);
            }
        }
        for cell in bits(geometry.all & !empty) {
            next_to[cell] = 0;
        }
        Self { next_to, next_to_edge }
    }

    /// What a cell or an edge is next to, itself included.
    fn reach(&self, place: usize) -> Cells {
        let own = 1 << place;
        match EDGES.iter().position(|&edge| edge == place) {
            Some(idx) => self.next_to_edge[idx] | own,
            None => self.next_to[place] | own,
        }
    }

    /// Whether no path needs a cell: everything next to it is next to each other.
    pub(super) fn is_needless(&self, cell: usize) -> bool {
        let around = self.next_to[cell];
        bits(around).all(|place| around & !self.reach(place) == 0)
    }

    /// Whether no path needs a cell once the other side has taken `removed`.
    pub(super) fn is_needless_without(&self, cell: usize, removed: usize) -> bool {
        let around = self.next_to[cell] & !(1 << removed);
        bits(around).all(|place| around & !self.reach(place) == 0)
    }

    /// Whether no path needs a cell once this side has taken `taken`.
    pub(super) fn is_needless_with(&self, cell: usize, taken: usize) -> bool {
        let beside_taken = self.next_to[taken];
        let both = 1 << cell | 1 << taken;
        let mut around = self.next_to[cell];
        if beside_taken >> cell & 1 != 0 {
            around |= beside_taken;
        }
        around &= !both;
        bits(around).all(|place| {
            let mut reach = self.reach(place);
            if beside_taken >> place & 1 != 0 {
                reach |= beside_taken;
            }
            around & !reach == 0
        })
    }
}
