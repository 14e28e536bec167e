//! Every connection found holds when all play is tried.

use super::*;
use proptest::prelude::*;

/// A board of 3x3 or 4x4 with random stones.
fn boards() -> impl Strategy<Value = (usize, Board)> {
    (3..=4_usize, any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(size, a, b, c)| {
        let all = (1 << (size * size)) - 1;
        // About three stones in eight cells.
        let (first, second) = (Cells::from(a & b & !c) & all, Cells::from(a & !b & c) & all);
        (size, Board { stones: [first, second], side: Side::First })
    })
}

/// Whether `side`, to move or not, joins two sets of stones with no more than the cells of a carrier.
fn joins(geometry: &Geometry, [from, to]: [Cells; 2], stones: Cells, carrier: Cells, to_move: bool) -> bool {
    if geometry.flood(from, stones) & to != 0 {
        return true;
    }
    let mut moves = bits(carrier);
    if to_move {
        moves.any(|cell| joins(geometry, [from, to], stones | 1 << cell, carrier & !(1 << cell), false))
    } else {
        carrier != 0 && moves.all(|cell| joins(geometry, [from, to], stones, carrier & !(1 << cell), true))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_connection_holds((size, board) in boards()) {
        let geometry = Geometry::new(size);
        for side in [Side::First, Side::Second] {
            let own = board.stones[side.index()];
            let empty = geometry.empty(&board);
            let chains = geometry.chains(side, own);
            let cells: Vec<usize> = bits(empty).collect();
            let mut found = Connections::default();
            found.find(&geometry, &board, side, false);
            for (ends, carrier, full) in found.all() {
                prop_assert_eq!(carrier & !empty, 0);
                // The stones at an end, and the cells next to it if it is an edge.
                let end = |place: usize| match place.checked_sub(chains.len()) {
                    Some(idx) => (1 << cells[idx], 0),
                    None => (chains[place], geometry.edges[side.index()].get(place).copied().unwrap_or(0)),
                };
                let [a, b] = ends.map(end);
                prop_assert_eq!(carrier & (if ends[0] >= chains.len() { a.0 } else { 0 }), 0);
                prop_assert_eq!(carrier & (if ends[1] >= chains.len() { b.0 } else { 0 }), 0);
                let stones = own | a.0 | b.0;
                prop_assert!(
                    joins(&geometry, [a.0 | a.1, b.0 | b.1], stones, carrier, !full),
                    "{ends:?} by {carrier:b} ({full}) in {board:?}"
                );
            }
        }
    }
}
