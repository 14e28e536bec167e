//! Which moves matter most to both sides, by electric currents.
//!
//! A side's connections are a circuit between its edges; cells through which much current flows lie on many short paths. A
//! cell that matters to both sides is tried first (an idea of Shannon's, used by Hex programs since Queenbee and Hexy).

use super::board::bits;
use super::connections::{Connections, EDGES};

/// The share of the whole current that flows through each cell of a board of `n_cells`.
pub(super) fn currents(connections: &Connections, n_cells: usize) -> Vec<f32> {
    let potentials = potentials(connections);
    let mut currents = vec![0.0; n_cells];
    let mut total = 0.0;
    for (place, &here) in potentials.iter().enumerate() {
        let flow = links(connections, place)
            .fold(0.0, |flow, (other, conductance)| flow + conductance * (here - potentials[other]).abs());
        if place == 0 {
            total = flow;
        }
        if let Some(cell) = connections.cell(place) {
            currents[cell] = flow / 2.0;
        }
    }
    if total > 0.0 {
        currents.iter_mut().for_each(|current| *current /= total);
    }
    currents
}

/// The places a place is connected to, and how well current flows there. An empty cell resists with a half on each side, a
/// chain not at all.
fn links(connections: &Connections, place: usize) -> impl Iterator<Item = (usize, f32)> {
    let conductances = if connections.cell(place).is_some() { [2.0, 1.0] } else { [JOINED, 2.0] };
    bits(connections.linked(place))
        .map(move |other| (other, conductances[usize::from(connections.cell(other).is_some())]))
}

/// The conductance between chains that are connected: many times that of a cell.
const JOINED: f32 = 50.0;
/// Keeps cells without any link from dividing by zero.
const LEAK: f32 = 1e-5;

/// The potential of each place with the edges held at 1 and 0: Kirchhoff's equations by elimination.
fn potentials(connections: &Connections) -> Vec<f32> {
    let n = connections.n_places() - EDGES;
    // One row a place, the right side last.
    let width = n + 1;
    let mut rows = vec![0.0_f32; n * width];
    for (idx, row) in rows.chunks_exact_mut(width).enumerate() {
        row[idx] = LEAK;
        for (other, conductance) in links(connections, idx + EDGES) {
            row[idx] += conductance;
            match other.checked_sub(EDGES) {
                Some(other) => row[other] = -conductance,
                // The first edge stands at 1, the other at 0.
                None => row[n] += if other == 0 { conductance } else { 0.0 },
            }
        }
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
    let mut potentials = vec![0.0; n + EDGES];
    potentials[0] = 1.0;
    for idx in (0..n).rev() {
        let row = &rows[idx * width..(idx + 1) * width];
        let known: f32 = (idx + 1..n).map(|other| row[other] * potentials[other + EDGES]).sum();
        potentials[idx + EDGES] = (row[n] - known) / row[idx];
    }
    potentials
}
