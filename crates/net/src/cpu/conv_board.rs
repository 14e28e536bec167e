//! Predictions of a small net one board after the other, with the outputs of a layer side by side in the lanes of vectors.
//!
//! A pass of [`conv_lanes`](super::conv_lanes) takes as long for one board as for sixteen; here a board takes its own time, which is what a
//! search wants that asks for one leaf at a time. Sums go through the same products in the same order, so both give the same numbers.

use super::activation;
use super::conv_lanes;
use super::scalar::fma;
use crate::conv_net::{ConvLayer, PlacedLayer};

/// Outputs side by side: two vectors of AVX2.
const LANES: usize = 16;
/// Cells at once: with two vectors each they fill 12 of the 16 registers.
const CELLS: usize = 6;
/// What a board takes here beside its share of a full pass of `conv_lanes`, padding not counted: 0.9 to 1.4 on a Zen 4, most with 64 channels
/// on 11x11.
const OVERHEAD: f64 = 1.4;

/// Weights of a net, the outputs of a block side by side.
pub(crate) struct PackedNet {
    /// One entry a layer; activations have none.
    layers: Vec<Vec<Block>>,
}

/// The weights of up to sixteen outputs; those that are missing are zero.
struct Block {
    bias: [f32; LANES],
    /// One entry an input of the layer.
    weights: Vec<[f32; LANES]>,
}

/// Memory of one thread: a layer's input and output, and its input with a border of zeros.
#[derive(Default)]
pub(crate) struct BoardMemory {
    x: Vec<f32>,
    y: Vec<f32>,
    bordered: Vec<f32>,
}

/// How much of the work here is on outputs that are missing in a block, as a factor of what a net needs.
pub(crate) fn padding(layers: &[PlacedLayer]) -> f64 {
    let products = |outputs: fn(usize) -> usize| -> usize {
        let of_layer = |placed: &PlacedLayer| {
            let [height, width, channels] = placed.output;
            n_inputs(placed) * height * width * outputs(channels)
        };
        layers.iter().map(of_layer).sum()
    };
    products(|outputs| outputs.next_multiple_of(LANES)) as f64 / products(|outputs| outputs).max(1) as f64
}

/// Whether so many boards take less time here than a pass of `conv_lanes`.
pub(crate) fn is_faster(n_boards: usize, padding: f64) -> bool {
    n_boards as f64 * padding * OVERHEAD < conv_lanes::LANES as f64
}

impl PackedNet {
    pub(crate) fn new(layers: &[PlacedLayer], parameters: &[f32]) -> Self {
        let pack = |placed: &PlacedLayer| {
            let n = n_inputs(placed);
            let n_outputs = if n == 0 { 0 } else { placed.output[2] };
            let block = |first: usize| {
                let outputs = first..n_outputs.min(first + LANES);
                let mut block = Block { bias: [0.0; LANES], weights: vec![[0.0; LANES]; n] };
                for (lane, output) in outputs.enumerate() {
                    block.bias[lane] = parameters[placed.bias + output];
                    let row = &parameters[placed.weight + output * n..][..n];
                    block.weights.iter_mut().zip(row).for_each(|(to, weight)| to[lane] = *weight);
                }
                block
            };
            (0..n_outputs).step_by(LANES).map(block).collect()
        };
        Self { layers: layers.iter().map(pack).collect() }
    }

    /// Outputs `[n, outputs]` of inputs `[n, inputs]`.
    pub(crate) fn predict(
        &self,
        layers: &[PlacedLayer],
        inputs: &[f32],
        outputs: &mut [f32],
        memory: &mut BoardMemory,
    ) {
        let (Some(first), Some(last)) = (layers.first(), layers.last()) else { return };
        let (n_inputs, n_outputs) =
            (first.input.iter().product::<usize>(), last.output.iter().product::<usize>());
        for (board, out) in inputs.chunks_exact(n_inputs).zip(outputs.chunks_exact_mut(n_outputs)) {
            memory.x.clear();
            memory.x.extend_from_slice(board);
            for (placed, blocks) in layers.iter().zip(&self.layers) {
                layer(placed, blocks, memory);
            }
            out.copy_from_slice(&memory.x);
        }
    }
}

/// Inputs of an output; none in an activation.
fn n_inputs(placed: &PlacedLayer) -> usize {
    match placed.layer {
        ConvLayer::Conv3x3 { .. } => 9 * placed.input[2],
        ConvLayer::Dense { .. } => placed.input.iter().product(),
        _ => 0,
    }
}

/// One layer, from `x` back to `x`.
fn layer(placed: &PlacedLayer, blocks: &[Block], memory: &mut BoardMemory) {
    let BoardMemory { x, y, bordered } = memory;
    match placed.layer {
        ConvLayer::Conv3x3 { .. } => {
            add_border(bordered, x, placed.input);
            y.resize(placed.output.iter().product(), 0.0);
            for (number, block) in blocks.iter().enumerate() {
                convolve(y, bordered, placed, (number * LANES, block));
            }
            std::mem::swap(x, y);
        }
        ConvLayer::Dense { .. } => {
            y.clear();
            for block in blocks {
                y.extend(cells::<1>(block, std::iter::once((0, 0)), x, x.len())[0]);
            }
            y.truncate(placed.output.iter().product());
            std::mem::swap(x, y);
        }
        activated => activation::forward(activated, x),
    }
}

/// A board with a row and a column of zeros on each side.
fn add_border(bordered: &mut Vec<f32>, x: &[f32], [height, width, channels]: [usize; 3]) {
    let row = (width + 2) * channels;
    bordered.clear();
    bordered.resize((height + 2) * row, 0.0);
    for (y, cells) in x.chunks_exact(width * channels).enumerate() {
        bordered[(y + 1) * row + channels..][..cells.len()].copy_from_slice(cells);
    }
}

/// The outputs of a block in every cell.
fn convolve(y: &mut [f32], bordered: &[f32], placed: &PlacedLayer, (first, block): (usize, &Block)) {
    let [height, width, inputs] = placed.input;
    let channels = placed.output[2];
    let n = (channels - first).min(LANES);
    for row in 0..height {
        for column in (0..width).step_by(CELLS) {
            // Where the nine neighbors of the first cell are, and their weights.
            let neighbors = (0..9).map(|slot| {
                let place = (row + slot / 3) * (width + 2) + column + slot % 3;
                (slot * inputs, place * inputs)
            });
            let mut write = |sums: &[[f32; LANES]]| {
                for (cell, sums) in (row * width + column..).zip(sums) {
                    y[cell * channels + first..][..n].copy_from_slice(&sums[..n]);
                }
            };
            match width - column {
                1 => write(&cells::<1>(block, neighbors, bordered, inputs)),
                2 => write(&cells::<2>(block, neighbors, bordered, inputs)),
                3 => write(&cells::<3>(block, neighbors, bordered, inputs)),
                4 => write(&cells::<4>(block, neighbors, bordered, inputs)),
                5 => write(&cells::<5>(block, neighbors, bordered, inputs)),
                _ => write(&cells::<CELLS>(block, neighbors, bordered, inputs)),
            }
        }
    }
}

/// The outputs of a block in cells side by side. Each piece has the place of its weights and that of the first cell's inputs; the next cell's
/// lie `inputs` further.
#[inline(always)]
fn cells<const C: usize>(
    block: &Block,
    pieces: impl Iterator<Item = (usize, usize)>,
    x: &[f32],
    inputs: usize,
) -> [[f32; LANES]; C] {
    let mut sums = [block.bias; C];
    for (weight, place) in pieces {
        let weights = &block.weights[weight..weight + inputs];
        let x: [&[f32]; C] = std::array::from_fn(|cell| &x[place + cell * inputs..][..inputs]);
        for (i, weights) in weights.iter().enumerate() {
            for cell in 0..C {
                let value = x[cell][i];
                for lane in 0..LANES {
                    sums[cell][lane] = fma(weights[lane], value, sums[cell][lane]);
                }
            }
        }
    }
    sums
}
