//! Predictions of a small net with boards side by side in the lanes of vectors.
//!
//! A value of a layer is an array with one lane a board. A weight is then one number for all lanes, nothing is gathered, cells
//! outside the board cost nothing, and layers of a few channels run as fast as wide ones. What a board gets does not depend on
//! the boards beside it. A few boards go through [`conv_board`](super::conv_board) one after the other instead.

use super::activation;
use super::scalar::fma;
use crate::conv_net::{ConvLayer, PlacedLayer};

/// Boards that go together: two vectors of AVX2 for every weight that is loaded.
pub(crate) const LANES: usize = 16;
/// Outputs computed at once: with two vectors each they fill 12 of the 16 registers.
const BLOCK: usize = 6;

/// Memory of one thread: what a layer reads and writes.
pub(crate) type LaneMemory = [Vec<[f32; LANES]>; 2];

/// Outputs `[n, outputs]` of inputs `[n, inputs]`.
pub(crate) fn predict(
    layers: &[PlacedLayer],
    parameters: &[f32],
    inputs: &[f32],
    outputs: &mut [f32],
    memory: &mut LaneMemory,
) {
    let (Some(first), Some(last)) = (layers.first(), layers.last()) else { return };
    let (n_inputs, n_outputs) =
        (first.input.iter().product::<usize>(), last.output.iter().product::<usize>());
    let boards = inputs.chunks(n_inputs * LANES).zip(outputs.chunks_mut(n_outputs * LANES));
    for (inputs, outputs) in boards {
        pass(layers, parameters, (inputs, n_inputs), (outputs, n_outputs), memory);
    }
}

/// Up to [`LANES`] boards through all layers.
fn pass(
    layers: &[PlacedLayer],
    parameters: &[f32],
    (inputs, n_inputs): (&[f32], usize),
    (outputs, n_outputs): (&mut [f32], usize),
    [x, y]: &mut LaneMemory,
) {
    x.clear();
    x.resize(n_inputs, [0.0; LANES]);
    for (lane, board) in inputs.chunks_exact(n_inputs).enumerate() {
        x.iter_mut().zip(board).for_each(|(x, value)| x[lane] = *value);
    }
    for placed in layers {
        let n = placed.output.iter().product();
        match placed.layer {
            ConvLayer::Conv3x3 { .. } => {
                y.resize(n, [0.0; LANES]);
                convolve(y, x, placed, parameters);
                std::mem::swap(x, y);
            }
            ConvLayer::Dense { .. } => {
                y.resize(n, [0.0; LANES]);
                let rows = Rows { parameters, placed, n_inputs: x.len() };
                rows.outputs(y, [(0, &x[..])].into_iter());
                std::mem::swap(x, y);
            }
            layer => activation::forward(layer, x[..n].as_flattened_mut()),
        }
    }
    for (lane, board) in outputs.chunks_exact_mut(n_outputs).enumerate() {
        board.iter_mut().zip(x.iter()).for_each(|(value, x)| *value = x[lane]);
    }
}

fn convolve(y: &mut [[f32; LANES]], x: &[[f32; LANES]], placed: &PlacedLayer, parameters: &[f32]) {
    let [height, width, inputs] = placed.input;
    let rows = Rows { parameters, placed, n_inputs: 9 * inputs };
    for (cell, y) in y.chunks_exact_mut(placed.output[2]).take(height * width).enumerate() {
        let (row, column) = (cell / width, cell % width);
        let neighbors = (0..9).filter_map(|slot| {
            let (dy, dx) = (slot / 3, slot % 3);
            let inside = (1..=height).contains(&(row + dy)) && (1..=width).contains(&(column + dx));
            let from = inside.then(|| (cell + dy * width + dx - width - 1) * inputs)?;
            Some((slot * inputs, &x[from..from + inputs]))
        });
        rows.outputs(y, neighbors);
    }
}

/// The weights of a layer, one row an output.
#[derive(Clone, Copy)]
struct Rows<'a> {
    parameters: &'a [f32],
    placed: &'a PlacedLayer,
    n_inputs: usize,
}

impl Rows<'_> {
    /// Outputs from pieces of the input, each with the place of its weights in a row.
    #[inline]
    fn outputs<'x>(
        self,
        y: &mut [[f32; LANES]],
        pieces: impl Iterator<Item = (usize, &'x [[f32; LANES]])> + Clone,
    ) {
        for (block, y) in y[..self.placed.output[2]].chunks_mut(BLOCK).enumerate() {
            let first = block * BLOCK;
            match y.len() {
                6 => self.block::<6>(y, first, pieces.clone()),
                5 => self.block::<5>(y, first, pieces.clone()),
                4 => self.block::<4>(y, first, pieces.clone()),
                3 => self.block::<3>(y, first, pieces.clone()),
                2 => self.block::<2>(y, first, pieces.clone()),
                _ => self.block::<1>(y, first, pieces.clone()),
            }
        }
    }

    #[inline(always)]
    fn block<'x, const O: usize>(
        self,
        y: &mut [[f32; LANES]],
        first: usize,
        pieces: impl Iterator<Item = (usize, &'x [[f32; LANES]])>,
    ) {
        let bias = &self.parameters[self.placed.bias + first..][..O];
        let mut sums: [[f32; LANES]; O] = std::array::from_fn(|o| [bias[o]; LANES]);
        let row =
            |o: usize| &self.parameters[self.placed.weight + (first + o) * self.n_inputs..][..self.n_inputs];
        let rows: [&[f32]; O] = std::array::from_fn(row);
        for (at, x) in pieces {
            let weights: [&[f32]; O] = std::array::from_fn(|o| &rows[o][at..at + x.len()]);
            for (i, x) in x.iter().enumerate() {
                for o in 0..O {
                    let weight = weights[o][i];
                    for lane in 0..LANES {
                        sums[o][lane] = fma(weight, x[lane], sums[o][lane]);
                    }
                }
            }
        }
        y[..O].copy_from_slice(&sums);
    }
}
