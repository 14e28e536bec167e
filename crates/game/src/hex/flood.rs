//! Whether stones join two edges.

use super::MAX_SIZE;
use crate::Side;

/// The stones of one side, a word per row.
pub(super) type Rows = [u32; MAX_SIZE];

/// Whether a stone just placed can have completed a connection: it must link two groups, or a group with an edge.
///
/// The six neighbors form a ring in which consecutive cells touch, so own stones in one unbroken arc belong to one
/// group already. This spares nearly all floods.
#[inline]
pub(super) fn may_complete(stones: &Rows, size: usize, side: Side, row: usize, column: usize) -> bool {
    // Shifted so that bits 0, 1 and 2 are the columns before, at and after the stone.
    let around = |cells: u32| cells << 1 >> column;
    let above = if row == 0 { 0 } else { around(stones[row - 1]) };
    let below = if row + 1 == size { 0 } else { around(stones[row + 1]) };
    let beside = around(stones[row]);
    let ring = (above >> 1 & 0b11)
        | (beside >> 2 & 1) << 2
        | (below >> 1 & 1) << 3
        | (below & 1) << 4
        | (beside & 1) << 5;
    let arc_starts = ring & !(ring << 1 | ring >> 5);
    let line = if side == Side::First { row } else { column };
    let on_edge = line == 0 || line + 1 == size;
    arc_starts.count_ones() >= if on_edge { 1 } else { 2 }
}

/// Whether the group of the stone at `row`, `column` joins the edges of `side`.
pub(super) fn joins_through(stones: &Rows, size: usize, side: Side, row: usize, column: usize) -> bool {
    let mut reached = [0; MAX_SIZE];
    reached[row] = 1 << column;
    spread(stones, size, &mut reached);
    match side {
        Side::First => reached[0] != 0 && reached[size - 1] != 0,
        Side::Second => {
            let columns = reached.iter().fold(0, |all, cells| all | cells);
            columns & 1 != 0 && columns >> (size - 1) & 1 != 0
        }
    }
}

/// Whether any group of `side` joins its edges.
pub(super) fn joins(stones: &Rows, size: usize, side: Side) -> bool {
    let mut reached = [0; MAX_SIZE];
    match side {
        Side::First => {
            reached[0] = stones[0];
            spread(stones, size, &mut reached);
            reached[size - 1] != 0
        }
        Side::Second => {
            for (reached, cells) in reached.iter_mut().zip(stones) {
                *reached = cells & 1;
            }
            spread(stones, size, &mut reached);
            reached.iter().any(|cells| cells >> (size - 1) & 1 != 0)
        }
    }
}

/// Grows `reached` to whole groups of `stones`, in sweeps down and up the board until nothing is new.
fn spread(stones: &Rows, size: usize, reached: &mut Rows) {
    let (stones, reached) = (&stones[..size], &mut reached[..size]);
    for (reached, &cells) in reached.iter_mut().zip(stones) {
        *reached = along(*reached, cells);
    }
    loop {
        let mut grown = 0;
        let mut above = reached[0];
        for (reached, &cells) in reached.iter_mut().zip(stones).skip(1) {
            let new = cells & (above | above >> 1) & !*reached;
            if new != 0 {
                *reached |= along(new, cells);
                grown |= new;
            }
            above = *reached;
        }
        let mut below = reached[size - 1];
        for (reached, &cells) in reached.iter_mut().zip(stones).rev().skip(1) {
            let new = cells & (below | below << 1) & !*reached;
            if new != 0 {
                *reached |= along(new, cells);
                grown |= new;
            }
            below = *reached;
        }
        if grown == 0 {
            return;
        }
    }
}

/// The runs of `cells` that hold a bit of `seeds`, which is a part of `cells`.
#[inline]
fn along(seeds: u32, cells: u32) -> u32 {
    // Adding carries from the lowest seed of a run to its end.
    let upward = cells & (!(cells + seeds) | seeds);
    // Downward by doubling: runs are shorter than 32.
    let mut filled = upward;
    let mut open = cells;
    for shift in [1, 2, 4, 8, 16] {
        filled |= open & (filled >> shift);
        open &= open >> shift;
    }
    filled
}
