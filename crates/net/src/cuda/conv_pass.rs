//! The passes of a small net as lists of operations, and the memory they run on.

use super::gpu::Gpu;
use super::memory::Buffer;
use super::op::Argument::{Address, Float, Int};
use super::op::Op;
use crate::conv_net::{ConvLayer, ConvLoss, ConvNetConfig, PlacedLayer};
use crate::error::NetError;

/// Most values of one layer's outputs that are held at once: 256 MB.
pub(super) const MAX_VALUES: usize = 64 << 20;

/// Rows and outputs of a block of `conv_fwd` and `conv_dgrad`; `BM` and `BN` in `conv.cu`.
const BLOCK_ROWS: usize = 128;
const BLOCK_OUTPUTS: usize = 64;
/// Side of a block of `conv_wgrad`.
const TILE: usize = 64;
/// Blocks of a weight gradient that fill a GPU: four for each of an H200's 132 multiprocessors.
const FILL: usize = 528;
/// Fewest rows of a part of a weight gradient.
const MIN_PART: usize = 256;

/// A net's layers, ready to become operations.
pub(super) struct ConvOps {
    layers: Vec<PlacedLayer>,
    n_inputs: usize,
    n_outputs: usize,
    /// Which neighbors of each cell lie on the board, as bits; convolutions all see the input's board.
    around: Buffer,
    /// The same for the one cell of a dense layer.
    alone: Buffer,
}

/// Memory of a batch. It grows with the largest one.
#[derive(Default)]
pub(super) struct ConvBuffers {
    n_boards: usize,
    /// Input of the net, then the output of every layer.
    activations: Vec<Buffer>,
    /// Gradients of an output and of an input, in turn.
    gradients: Vec<Buffer>,
    /// Targets, their weights, and losses of boards.
    loss: Vec<Buffer>,
    /// Parts of a weight gradient.
    parts: Option<Buffer>,
}

/// A layer with parameters as the kernels see it.
#[derive(Clone, Copy)]
struct Product {
    cells: usize,
    width: usize,
    slots: usize,
    channels: usize,
    outputs: usize,
    around: u64,
}

impl ConvOps {
    pub(super) fn new(
        device: &Gpu,
        config: &ConvNetConfig,
        layers: Vec<PlacedLayer>,
    ) -> Result<Self, NetError> {
        let [height, width, _] = config.input;
        let around: Vec<u32> = (0..height * width).map(|cell| neighbors(cell, height, width)).collect();
        Ok(Self {
            n_inputs: config.n_inputs(),
            n_outputs: config.n_outputs()?,
            layers,
            around: device.upload(&around)?,
            alone: device.upload(&[1u32])?,
        })
    }

    /// Outputs of the `n` boards at hand.
    pub(super) fn forward(&self, buffers: &ConvBuffers, parameters: u64, n: usize) -> Vec<Op> {
        self.layers
            .iter()
            .enumerate()
            .map(|(i, placed)| self.layer(buffers, i, placed, parameters, n))
            .collect()
    }

    fn layer(&self, buffers: &ConvBuffers, i: usize, placed: &PlacedLayer, parameters: u64, n: usize) -> Op {
        let (x, y) = (Address(buffers.activations[i].address), Address(buffers.activations[i + 1].address));
        let Some(product) = self.product(placed) else {
            let (kind, slope) = activation(placed.layer);
            let len = n * placed.output.iter().product::<usize>();
            return Op::kernel("conv_act", len, 256, 256, vec![y, x, Int(len as i32), kind, slope]);
        };
        let at = |offset: usize| Address(parameters + 4 * offset as u64);
        let rows = n * product.cells;
        Op::Kernel {
            name: "conv_fwd",
            grid: (rows.div_ceil(BLOCK_ROWS) as u32, product.outputs.div_ceil(BLOCK_OUTPUTS) as u32),
            block: 256,
            shared: 0,
            arguments: vec![
                y,
                x,
                at(placed.weight),
                at(placed.bias),
                Address(product.around),
                Int(rows as i32),
                Int(product.channels as i32),
                Int(product.outputs as i32),
                Int(product.cells as i32),
                Int(product.width as i32),
                Int(product.slots as i32),
            ],
        }
    }

    /// Losses of the boards at hand, and the gradient of their sum times `factor`.
    pub(super) fn loss(&self, buffers: &ConvBuffers, loss: ConvLoss, n: usize, factor: f32) -> Op {
        let name = match loss {
            ConvLoss::MeanSquared => "conv_mse",
            ConvLoss::CrossEntropy => "conv_ce",
        };
        let arguments = vec![
            Address(buffers.gradients[0].address),
            Address(buffers.losses().address),
            Address(buffers.output().address),
            Address(buffers.targets().address),
            Address(buffers.weights().address),
            Int(n as i32),
            Int(self.n_outputs as i32),
            Float(factor),
        ];
        // A warp takes a board.
        Op::kernel(name, n, 8, 256, arguments)
    }

    /// From the gradient of the outputs to that of all parameters, which lies at the second of the addresses.
    pub(super) fn backward(
        &self,
        buffers: &ConvBuffers,
        (parameters, gradient): (u64, u64),
        n: usize,
        accumulate: bool,
    ) -> Vec<Op> {
        let mut ops = Vec::new();
        let [mut d_out, mut d_in] = [buffers.gradients[0].address, buffers.gradients[1].address];
        for (i, placed) in self.layers.iter().enumerate().rev() {
            let Some(product) = self.product(placed) else {
                let (kind, slope) = activation(placed.layer);
                let len = n * placed.output.iter().product::<usize>();
                let y = Address(buffers.activations[i + 1].address);
                let arguments = vec![Address(d_out), y, Int(len as i32), kind, slope];
                ops.push(Op::kernel("conv_act_bwd", len, 256, 256, arguments));
                continue;
            };
            let at = |base: u64, offset: usize| Address(base + 4 * offset as u64);
            let rows = n * product.cells;
            let split = Split::new(&product, rows);
            let [cells, width, slots] = [product.cells, product.width, product.slots].map(|x| Int(x as i32));
            let [channels, outputs] = [product.channels, product.outputs].map(|x| Int(x as i32));
            let parts = Address(buffers.parts.as_ref().map_or(0, |parts| parts.address));
            let (x, around) = (Address(buffers.activations[i].address), Address(product.around));
            ops.push(Op::Kernel {
                name: "conv_wgrad",
                grid: (split.tiles as u32, split.parts as u32),
                block: 256,
                shared: 0,
                arguments: vec![
                    parts,
                    Address(d_out),
                    x,
                    around,
                    Int(rows as i32),
                    channels,
                    outputs,
                    cells,
                    width,
                    slots,
                    Int(split.n_rows as i32),
                ],
            });
            ops.push(Op::kernel(
                "conv_reduce",
                split.values,
                256,
                256,
                vec![
                    at(gradient, placed.weight),
                    at(gradient, placed.bias),
                    parts,
                    outputs,
                    Int(product.depth() as i32),
                    Int(split.parts as i32),
                    Int(i32::from(accumulate)),
                ],
            ));
            // Nobody asks for the gradient of the board itself.
            if i == 0 {
                break;
            }
            let weight = at(parameters, placed.weight);
            ops.push(Op::Kernel {
                name: "conv_dgrad",
                grid: (rows.div_ceil(BLOCK_ROWS) as u32, product.channels.div_ceil(BLOCK_OUTPUTS) as u32),
                block: 256,
                shared: 0,
                arguments: vec![
                    Address(d_in),
                    Address(d_out),
                    weight,
                    around,
                    Int(rows as i32),
                    outputs,
                    channels,
                    cells,
                    width,
                    slots,
                ],
            });
            std::mem::swap(&mut d_out, &mut d_in);
        }
        ops
    }

    fn product(&self, placed: &PlacedLayer) -> Option<Product> {
        let [height, width, channels] = placed.input;
        let outputs = placed.output[2];
        match placed.layer {
            ConvLayer::Conv3x3 { .. } => Some(Product {
                cells: height * width,
                width,
                slots: 9,
                channels,
                outputs,
                around: self.around.address,
            }),
            ConvLayer::Dense { .. } => Some(Product {
                cells: 1,
                width: 1,
                slots: 1,
                channels: height * width * channels,
                outputs,
                around: self.alone.address,
            }),
            _ => None,
        }
    }
}

impl Product {
    fn depth(&self) -> usize {
        self.slots * self.channels
    }
}

/// How the rows of a weight gradient are shared among blocks.
struct Split {
    tiles: usize,
    parts: usize,
    n_rows: usize,
    /// Values of a part: weights and biases.
    values: usize,
}

impl Split {
    fn new(product: &Product, rows: usize) -> Self {
        let tiles = (product.depth() + 1).div_ceil(TILE) * product.outputs.div_ceil(TILE);
        let parts = (FILL.div_ceil(tiles)).min(rows.div_ceil(MIN_PART)).max(1);
        let n_rows = rows.div_ceil(parts);
        let values = (product.depth() + 1) * product.outputs;
        Self { tiles, parts: rows.div_ceil(n_rows).max(1), n_rows, values }
    }
}

impl ConvBuffers {
    /// Makes room for `n` boards.
    pub(super) fn reserve(&mut self, device: &Gpu, ops: &ConvOps, n: usize) -> Result<(), NetError> {
        if n <= self.n_boards {
            return Ok(());
        }
        // The old memory goes first, and nothing may be using it.
        device.synchronize()?;
        *self = Self::default();
        let outputs = ops.layers.iter().map(|placed| placed.output.iter().product::<usize>());
        let sizes: Vec<usize> = std::iter::once(ops.n_inputs).chain(outputs).collect();
        let largest = sizes.iter().copied().max().unwrap_or(1);
        let parts = ops.layers.iter().filter_map(|placed| ops.product(placed));
        // Room for the most parts a layer may have, since their number does not grow evenly with the batch.
        let parts = parts.map(|product| {
            let split = Split::new(&product, usize::MAX >> 8);
            split.parts * split.values
        });
        let values = |count: usize| device.zeroed(count * 4);
        self.activations = sizes.iter().map(|size| values(n * size)).collect::<Result<_, _>>()?;
        self.gradients = (0..2).map(|_| values(n * largest)).collect::<Result<_, _>>()?;
        let sizes = [ops.n_outputs, ops.n_outputs, 1];
        self.loss = sizes.iter().map(|size| values(n * size)).collect::<Result<_, _>>()?;
        self.parts = Some(values(parts.max().unwrap_or(1))?);
        self.n_boards = n;
        Ok(())
    }

    // These are there once room has been reserved.
    pub(super) fn input(&self) -> &Buffer {
        &self.activations[0]
    }

    pub(super) fn output(&self) -> &Buffer {
        &self.activations[self.activations.len() - 1]
    }

    pub(super) fn targets(&self) -> &Buffer {
        &self.loss[0]
    }

    pub(super) fn weights(&self) -> &Buffer {
        &self.loss[1]
    }

    pub(super) fn losses(&self) -> &Buffer {
        &self.loss[2]
    }
}

/// The neighbors of a cell that are on its board, as nine bits.
fn neighbors(cell: usize, height: usize, width: usize) -> u32 {
    let (y, x) = (cell / width, cell % width);
    let inside =
        |slot: usize| (1..=height).contains(&(y + slot / 3)) && (1..=width).contains(&(x + slot % 3));
    (0..9).filter(|slot| inside(*slot)).map(|slot| 1 << slot).sum()
}

/// Kind and slope as `conv_act` takes them.
fn activation(layer: ConvLayer) -> (super::op::Argument, super::op::Argument) {
    match layer {
        ConvLayer::LeakyRelu { slope } => (Int(0), Float(slope)),
        ConvLayer::Tanh => (Int(1), Float(0.0)),
        _ => (Int(2), Float(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_end_at_the_border() {
        // A board of two rows and three columns: the corner sees its row and the one below.
        assert_eq!(neighbors(0, 2, 3), 0b110_110_000);
        assert_eq!(neighbors(4, 2, 3), 0b000_111_111);
        assert_eq!(neighbors(0, 1, 1), 0b000_010_000);
    }

    #[test]
    fn parts_of_a_weight_gradient_cover_all_rows() {
        let product =
            |channels, outputs, slots| Product { cells: 42, width: 7, slots, channels, outputs, around: 0 };
        for (product, rows) in [
            (product(64, 64, 9), 4096 * 42),
            (product(3, 16, 9), 42),
            (product(2688, 64, 1), 4096),
            (product(1, 1, 1), 1),
        ] {
            let split = Split::new(&product, rows);
            assert!(split.parts * split.n_rows >= rows && (split.parts - 1) * split.n_rows < rows);
        }
    }
}
