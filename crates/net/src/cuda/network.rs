//! The transformer on the device: its buffers, and its passes as lists of operations.

use super::blas::{Shape, Tuning};
use super::gpu::Gpu;
use super::memory::Buffer;
use super::op::Argument::{self, Address, Float, Int};
use super::op::{Op, Operands};
use super::pack::{Fields, TILE};
use super::program::Kernels;
use super::spans::{Class, MAX_CLASSES, SPAN};
use crate::config::{ConfigError, NormPlacement, TransformerConfig};
use crate::error::NetError;
use crate::layout::{Layout, TransformerOffsets};

/// Bytes of a bf16 and of an f32.
pub(super) const HALF: usize = 2;
pub(super) const FULL: usize = 4;

/// Rows of the table of rotations: the longest context of any preset.
pub(super) const MAX_POSITIONS: usize = 8192;

/// Slots over which the gradients of query and key gains are spread; `GAIN_SLOTS` in `attention_bwd.cu`.
pub(super) const GAIN_SLOTS: usize = 64;

/// One network on one device.
pub(super) struct Network {
    pub(super) device: Gpu,
    pub(super) config: TransformerConfig,
    pub(super) layout: Layout,
    pub(super) offsets: TransformerOffsets,
    /// Where the arrays of a batch lie in `block`.
    pub(super) fields: Fields,
    /// How short sequences are taken in the backward pass.
    pub(super) classes: Vec<Class>,
    /// The batch at hand.
    pub(super) block: Buffer,
    /// Cosine and sine, `[MAX_POSITIONS, head_dim / 2]`.
    pub(super) rotations: Buffer,
    /// What the backward pass needs of each block; one set for all when there is none.
    pub(super) layers: Vec<LayerBuffers>,
    /// Output of the last feed-forward on its way to the residual stream, `[N, d]`.
    pub(super) branch: Buffer,
    /// Residual stream at the loss rows, its norm and the reciprocal root mean squares: `[R, d]`, `[R, d]`, `[R]`.
    pub(super) last: [Buffer; 3],
    /// `[R, outputs]`: bf16, f32 in inference.
    pub(super) logits: Buffer,
    /// Cross-entropy of each row, `[R]`.
    pub(super) losses: Buffer,
}

/// Activations of one block; `[N, ...]` each.
pub(super) struct LayerBuffers {
    pub(super) x1: Buffer,
    pub(super) normed1: Buffer,
    pub(super) rstd1: Buffer,
    pub(super) qkv: Buffer,
    pub(super) qk: Buffer,
    /// `[heads, N]`.
    pub(super) lse: Buffer,
    pub(super) attended: Buffer,
    pub(super) x2: Buffer,
    pub(super) normed2: Buffer,
    pub(super) rstd2: Buffer,
    pub(super) gate_up: Buffer,
    pub(super) activated: Buffer,
}

/// Parameters to use: f32 (gains are read from it) and bf16 (matrices).
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceWeights {
    pub(super) full: u64,
    pub(super) half: u64,
}

impl DeviceWeights {
    fn gain(&self, offset: usize) -> Argument {
        Address(self.full + (offset * FULL) as u64)
    }

    pub(super) fn matrix(&self, offset: usize) -> u64 {
        self.half + (offset * HALF) as u64
    }
}

/// Sizes a pass runs at: what a batch has, rounded up so that few graphs are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Extent {
    pub(super) n_tokens: usize,
    pub(super) n_tiles: usize,
    pub(super) n_rows: usize,
    /// Tiles of long sequences, for the backward pass.
    pub(super) n_walked: usize,
    /// Short sequences of each class.
    pub(super) n_spans: [usize; MAX_CLASSES],
}

impl Network {
    /// Allocates everything a pass needs; `training` keeps the activations of every block.
    pub(super) fn new(
        ordinal: usize,
        config: &TransformerConfig,
        fields: Fields,
        training: bool,
    ) -> Result<Self, NetError> {
        serves(config)?;
        let layout = Layout::transformer(config)?;
        let offsets = TransformerOffsets::new(config, &layout)?;
        let mut device = Gpu::open(ordinal, &Kernels::transformer(config))?;
        if !training {
            device.blas.tuning = Tuning::QUICK;
        }
        let classes =
            if training { Class::all(config, device.shared_memory(), device.n_sms) } else { Vec::new() };
        for class in &classes {
            device.allow_shared(class.names[0], class.shared_forward(config))?;
            device.allow_shared(class.names[1], class.shared(config))?;
        }
        let (n, r, d, ff) = (fields.max_tokens, fields.max_rows, config.d_model, config.d_ff);
        let half = |columns: usize| device.zeroed(n * columns * HALF);
        let layers = (0..if training { config.n_layers } else { 1 })
            .map(|_| {
                Ok(LayerBuffers {
                    x1: half(d)?,
                    normed1: half(d)?,
                    rstd1: device.zeroed(n * FULL)?,
                    qkv: half(3 * d)?,
                    qk: half(2 * d)?,
                    lse: device.zeroed(n * config.n_heads * FULL)?,
                    attended: half(d)?,
                    x2: half(d)?,
                    normed2: half(d)?,
                    rstd2: device.zeroed(n * FULL)?,
                    gate_up: half(2 * ff)?,
                    activated: half(ff)?,
                })
            })
            .collect::<Result<_, NetError>>()?;
        let rotations = device.upload(&rotation_table(config))?;
        let last = [device.zeroed(r * d * HALF)?, device.zeroed(r * d * HALF)?, device.zeroed(r * FULL)?];
        let logits = device.zeroed(r * config.n_outputs() * if training { HALF } else { FULL })?;
        let (block, branch, losses) = (device.zeroed(fields.words * 4)?, half(d)?, device.zeroed(r * FULL)?);
        let config = config.clone();
        Ok(Self {
            device,
            config,
            layout,
            offsets,
            fields,
            classes,
            block,
            rotations,
            layers,
            branch,
            last,
            logits,
            losses,
        })
    }

    /// Buffers of a block.
    pub(super) fn layer(&self, layer: usize) -> &LayerBuffers {
        &self.layers[layer % self.layers.len()]
    }

    /// An array of the batch at hand.
    pub(super) fn field(&self, at: usize) -> Argument {
        Address(self.block.at(at, 4))
    }

    /// Counts and settings of the batch at hand.
    pub(super) fn counts(&self) -> Argument {
        Address(self.block.address)
    }

    /// Blocks of the kernels that sum gradients of gains.
    pub(super) fn n_parts(&self) -> usize {
        4 * self.device.n_sms
    }

    /// `1 / sqrt(head_dim)`.
    pub(super) fn score_scale(&self) -> Argument {
        Float(1.0 / (self.config.head_dim() as f32).sqrt())
    }

    /// Dynamic shared memory of the attention kernels; `words` more for the one that needs them.
    pub(super) fn attention_shared(&self, words: usize) -> u32 {
        (4 * TILE * (self.config.head_dim() + 8) * HALF + words * 4) as u32
    }

    /// A kernel of one warp a row.
    pub(super) fn rows_kernel(name: &'static str, n: usize, arguments: Vec<Argument>) -> Op {
        Op::kernel(name, n, 8, 256, arguments)
    }

    /// What the residual stream continues from after a norm: its input, or its output.
    fn stream(&self, input: &Buffer, output: &Buffer) -> u64 {
        match self.config.variant.placement {
            NormPlacement::Pre => input.address,
            NormPlacement::Post => output.address,
        }
    }

    /// The first norm, of the embedding.
    fn embed(&self, weights: DeviceWeights, n: usize, outputs: &[Argument]) -> Op {
        let inputs = [
            self.field(self.fields.tokens),
            Address(weights.matrix(self.offsets.embedding)),
            weights.gain(self.offsets.layers[0].attention_norm),
        ];
        let arguments = [&inputs[..], outputs].concat();
        match self.offsets.table.zip(self.fields.picks) {
            None => Self::rows_kernel("embed_norm", n, arguments),
            Some((table, picks)) => {
                let learned = [self.field(picks.rows), Address(weights.matrix(table))];
                Self::rows_kernel("embed_learned_norm", n, [&arguments[..], &learned].concat())
            }
        }
    }

    /// All blocks; afterwards the last residual stream is that of the last norm plus `branch`. `attention` gives the operations between
    /// rotated queries and attended values.
    pub(super) fn forward(
        &mut self,
        weights: DeviceWeights,
        extent: Extent,
        attention: &dyn Fn(&Self, usize) -> Vec<Op>,
    ) -> Result<Vec<Op>, NetError> {
        let (n, d, ff) = (extent.n_tokens, self.config.d_model, self.config.d_ff);
        let (count, eps) = (Int(n as i32), Float(self.config.norm_eps));
        let mut ops = Vec::new();
        for layer in 0..self.config.n_layers {
            let at = self.offsets.layers[layer];
            let forward = |net: &mut Self, name, weight, x: u64, y: u64, input, output| {
                let operands = Operands::plain(weights.matrix(weight), x, y);
                net.device.product(name, Shape::forward(n, input, output), operands)
            };
            // The product with the residual stream added.
            let onto = |net: &mut Self, name, weight, x: u64, [stream, y]: [u64; 2], input| {
                let plain = Operands::plain(weights.matrix(weight), x, y);
                let operands = Operands { c: stream, beta: 1.0, ..plain };
                net.device.product(name, Shape::forward(n, input, d), operands)
            };
            let b = self.layer(layer);
            let (x1, normed1, rstd1) =
                (Address(b.x1.address), Address(b.normed1.address), Address(b.rstd1.address));
            ops.push(if layer == 0 {
                self.embed(weights, n, &[x1, normed1, rstd1, count, eps])
            } else {
                let gain = weights.gain(at.attention_norm);
                Self::rows_kernel("norm_rows", n, vec![x1, gain, normed1, rstd1, count, eps])
            });
            let (x, y) = (b.normed1.address, b.qkv.address);
            ops.push(forward(self, "qkv.fwd", at.qkv, x, y, d, 3 * d)?);
            let b = self.layer(layer);
            let per_head = self.config.head_dim() / 16;
            ops.push(Op::kernel(
                "rotate_qk",
                n * 2 * self.config.n_heads * per_head,
                256,
                256,
                vec![
                    Address(b.qkv.address),
                    Address(self.rotations.address),
                    self.field(self.fields.positions),
                    at.q_norm.map_or(Address(0), |offset| weights.gain(offset)),
                    at.k_norm.map_or(Address(0), |offset| weights.gain(offset)),
                    Address(b.qk.address),
                    count,
                    eps,
                ],
            ));
            ops.extend(attention(self, layer));
            let (x, y) = (b.attended.address, [self.stream(&b.x1, &b.normed1), b.x2.address]);
            ops.push(onto(self, "out.fwd", at.output, x, y, d)?);
            let b = self.layer(layer);
            let arguments = vec![
                Address(b.x2.address),
                weights.gain(at.mlp_norm),
                Address(b.normed2.address),
                Address(b.rstd2.address),
                count,
                eps,
            ];
            ops.push(Self::rows_kernel("norm_rows", n, arguments));
            let (x, y) = (b.normed2.address, b.gate_up.address);
            ops.push(forward(self, "gateup.fwd", at.gate_up, x, y, d, 2 * ff)?);
            let (x, y, vectors) =
                (self.layer(layer).gate_up.address, self.layer(layer).activated.address, n * ff / 8);
            ops.push(Op::kernel(
                "swiglu_fwd",
                vectors,
                256,
                256,
                vec![Address(x), Address(y), Int(vectors as i32)],
            ));
            // The last block's sum is made with the last norm, at the wanted rows only.
            ops.push(if layer + 1 == self.config.n_layers {
                let branch = self.branch.address;
                forward(self, "down.fwd", at.down, y, branch, ff, d)?
            } else {
                let b = self.layer(layer);
                let to = [self.stream(&b.x2, &b.normed2), self.layer(layer + 1).x1.address];
                onto(self, "down.fwd", at.down, y, to, ff)?
            });
        }
        Ok(ops)
    }

    /// Attention of a block over the batch itself: long sequences tile by tile, short ones at once.
    pub(super) fn flat_attention(&self, layer: usize, extent: Extent) -> Vec<Op> {
        let b = self.layer(layer);
        let inputs = [Address(b.qk.address), Address(b.qkv.address)];
        let tiles = [self.field(self.fields.tiles), self.field(self.fields.stats), self.counts()];
        let rest = [
            self.field(self.fields.prefix_end),
            self.field(self.fields.branch_start),
            Address(b.attended.address),
            Address(b.lse.address),
            Int(extent.n_tokens as i32),
            self.score_scale(),
        ];
        let walked = Op::Kernel {
            name: "attention_fwd",
            grid: ((extent.n_walked * self.config.n_heads) as u32, 1),
            block: 128,
            shared: self.attention_shared(0),
            arguments: [&inputs[..], &tiles, &rest].concat(),
        };
        let mut ops: Vec<Op> = (extent.n_walked > 0).then_some(walked).into_iter().collect();
        ops.extend(self.spans(extent).map(|(class, n_spans, spans)| Op::Kernel {
            name: class.names[0],
            grid: ((n_spans * self.config.n_heads) as u32, 1),
            block: class.threads() as u32,
            shared: class.shared_forward(&self.config) as u32,
            arguments: [&inputs[..], &spans, &rest].concat(),
        }));
        ops
    }

    /// The launches over short sequences: how many each has, and their spans and views.
    pub(super) fn spans(&self, extent: Extent) -> impl Iterator<Item = (&Class, usize, [Argument; 2])> {
        let mut first = 0;
        let launches = self.classes.iter().zip(extent.n_spans).map(move |(class, n_spans)| {
            let spans = self.field(self.fields.spans + SPAN * first);
            first += n_spans;
            (class, n_spans, [spans, self.field(self.fields.views)])
        });
        launches.filter(|(_, n_spans, _)| *n_spans > 0)
    }

    /// The last norm at the wanted rows.
    pub(super) fn last_norm(&self, weights: DeviceWeights, extent: Extent) -> Op {
        let [sum, normed, rstd] = &self.last;
        let before = self.layer(self.config.n_layers - 1);
        let arguments = vec![
            Address(self.stream(&before.x2, &before.normed2)),
            Address(self.branch.address),
            weights.gain(self.offsets.norm),
            self.field(self.fields.rows),
            self.counts(),
            Address(sum.address),
            Address(normed.address),
            Address(rstd.address),
            Float(self.config.norm_eps),
        ];
        Self::rows_kernel("gather_norm", extent.n_rows, arguments)
    }

    /// Losses of the logits at hand, which become their gradient where asked.
    pub(super) fn cross_entropy(&self, extent: Extent, gradient: bool) -> Op {
        // Each warp spreads a row's targets over `outputs` floats of shared memory.
        let outputs = self.config.n_outputs();
        let warps = (40 * 1024 / (outputs * FULL)).clamp(1, 4);
        Op::Kernel {
            name: "cross_entropy",
            grid: (extent.n_rows.div_ceil(warps).max(1) as u32, 1),
            block: 32 * warps as u32,
            shared: (warps * outputs * FULL) as u32,
            arguments: vec![
                Address(self.logits.address),
                self.counts(),
                self.field(self.fields.weights),
                self.field(self.fields.target_starts),
                self.field(self.fields.targets),
                Address(self.losses.address),
                Int(extent.n_rows as i32),
                Int(i32::from(gradient)),
            ],
        }
    }
}

/// Shapes the kernels are written for.
fn serves(config: &TransformerConfig) -> Result<(), NetError> {
    config.validate()?;
    let fail = |field, value: usize, requirement: &str| {
        Err(ConfigError { field, value: value.to_string(), requirement: requirement.into() }.into())
    };
    if !config.d_model.is_multiple_of(64) {
        return fail("d_model", config.d_model, "must be a multiple of 64 on the GPU");
    }
    if ![32, 64, 128].contains(&config.head_dim()) {
        return fail("head dimension", config.head_dim(), "must be 32, 64 or 128 on the GPU");
    }
    if config.n_outputs() > 16 * 1024 {
        return fail("outputs (the vocabulary)", config.n_outputs(), "must be at most 16384 on the GPU");
    }
    Ok(())
}

/// Cosine and sine of every position and frequency.
pub(super) fn rotation_table(config: &TransformerConfig) -> Vec<[f32; 2]> {
    let frequencies = config.rotary_frequencies();
    let angles = (0..MAX_POSITIONS).flat_map(|p| frequencies.iter().map(move |f| p as f32 * f));
    angles.map(|angle| [angle.cos(), angle.sin()]).collect()
}
