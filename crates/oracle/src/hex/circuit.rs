//! Which moves matter most to both sides, by electric currents.
//!
//! A side's graph is a circuit between its edges; cells through which much current flows lie on many short paths. A cell that
//! matters to both sides is tried first (an idea of Shannon's, used by Hex programs since Queenbee and Hexy).

use super::board::{Cells, bits};
use super::graph::{EDGES, Graph};

/// The share of the whole current that flows through each cell, indexed like the board.
pub(super) fn currents(graph: &Graph, empty: Cells) -> Vec<f32> {
    let cells: Vec<usize> = bits(empty).collect();
    let mut place_of = vec![usize::MAX; graph.next_to.len()];
    for (idx, &cell) in cells.iter().enumerate() {
        place_of[cell] = idx;
    }
    let potentials = potentials(graph, empty, &cells, &place_of);
    let mut currents = vec![0.0; graph.next_to.len()];
    let mut total = 0.0;
    for (idx, &cell) in cells.iter().enumerate() {
        let here = potentials[idx];
        let around = graph.next_to[cell];
        let mut flow: f32 =
            bits(around & empty).map(|other| (here - potentials[place_of[other]]).abs()).sum();
        if around >> EDGES[0] & 1 != 0 {
            flow += EDGE_CONDUCTANCE * (1.0 - here).abs();
            total += EDGE_CONDUCTANCE * (1.0 - here).abs();
        }
        if around >> EDGES[1] & 1 != 0 {
            flow += EDGE_CONDUCTANCE * here.abs();
        }
        currents[cell] = flow / 2.0;
    }
    if total > 0.0 {
        currents.iter_mut().for_each(|current| *current /= total);
    }
    currents
}

/// A link between two empty cells resists twice as much as one to an edge, which costs a single stone.
const EDGE_CONDUCTANCE: f32 = 2.0;
/// Keeps cells without any link from dividing by zero.
const LEAK: f32 = 1e-5;

/// The potential of each cell with the edges held at 1 and 0: Kirchhoff's equations by elimination.
fn potentials(graph: &Graph, empty: Cells, cells: &[usize], place_of: &[usize]) -> Vec<f32> {
    let n = cells.len();
    // One row a cell, the right side last.
    let width = n + 1;
    let mut rows = vec![0.0_f32; n * width];
    for (idx, &cell) in cells.iter().enumerate() {
        let around = graph.next_to[cell];
        let row = &mut rows[idx * width..(idx + 1) * width];
        for other in bits(around & empty) {
            row[place_of[other]] = -1.0;
            row[idx] += 1.0;
        }
        for (edge, potential) in EDGES.into_iter().zip([1.0, 0.0]) {
            if around >> edge & 1 != 0 {
                row[idx] += EDGE_CONDUCTANCE;
                row[n] += EDGE_CONDUCTANCE * potential;
            }
        }
        row[idx] += LEAK;
    }
    for pivot in 0..n {
        let (above, below) = rows.split_at_mut((pivot + 1) * width);
        let pivot_row = &above[pivot * width..];
        for row in below.chunks_exact_mut(width) {
            let factor = row[pivot] / pivot_row[pivot];
            if factor != 0.0 {
                for (value, base) in row[pivot..].iter_mut().zip(&pivot_row[pivot..]) {
                    *value -= factor * base;
                }
            }
        }
    }
    let mut potentials = vec![0.0; n];
    for idx in (0..n).rev() {
        let row = &rows[idx * width..(idx + 1) * width];
        let known: f32 = (idx + 1..n).map(|other| row[other] * potentials[other]).sum();
        potentials[idx] = (row[n] - known) / row[idx];
    }
    potentials
}
