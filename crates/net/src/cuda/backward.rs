//! The backward pass as a list of operations.

use super::blas::Shape;
use super::memory::Buffer;
use super::network::{DeviceWeights, Extent, FULL, GAIN_SLOTS, HALF, Network};
use super::op::Argument::{self, Address, Int};
use super::op::{Op, Operands, Turn};
use super::pack::TILE;
use crate::error::NetError;

/// Buffers of the backward pass.
pub(super) struct Gradients {
    /// Of all parameters, flat.
    pub(super) flat: Buffer,
    /// Of the residual stream, `[N, d]`.
    residual: Buffer,
    /// Of a norm's output, `[N, d]`.
    normed: Buffer,
    /// Of attended values, `[N, d]`.
    attended: Buffer,
    /// `[N, 3 d]`.
    qkv: Buffer,
    /// `[N, ff]`.
    activated: Buffer,
    /// `[N, 2 ff]`.
    gate_up: Buffer,
    /// Of the last norm's output at the loss rows, `[R, d]`.
    last: Buffer,
    /// Sum of output times its gradient, `[heads, N]`.
    delta: Buffer,
    /// Partial sums of gains (and biases), `[norms, parts, d or 2 d]`, and where each norm lies in the flat buffer.
    gain_parts: Buffer,
    gain_offsets: Buffer,
    /// The same for query and key gains, `[2 layers, slots, head_dim]`.
    head_gain_parts: Buffer,
    head_gain_offsets: Buffer,
}

impl Gradients {
    /// Allocates for a network in training.
    pub(super) fn new(net: &Network) -> Result<Self, NetError> {
        let (n, d, ff, config) = (net.fields.max_tokens, net.config.d_model, net.config.d_ff, &net.config);
        let half = |columns: usize| net.device.zeroed(n * columns * HALF);
        let norms: Vec<i32> = (net.offsets.layers.iter())
            .flat_map(|layer| [layer.attention_norm as i32, layer.mlp_norm as i32])
            .chain([net.offsets.norm as i32])
            .collect();
        let head_norms: Vec<i32> = (net.offsets.layers.iter())
            .flat_map(|layer| [layer.q_norm, layer.k_norm].map(|offset| offset.unwrap_or(0) as i32))
            .collect();
        Ok(Self {
            flat: net.device.zeroed(net.layout.len() * FULL)?,
            residual: half(d)?,
            normed: half(d)?,
            attended: half(d)?,
            qkv: half(3 * d)?,
            activated: half(ff)?,
            gate_up: half(2 * ff)?,
            last: net.device.zeroed(net.fields.max_rows * d * HALF)?,
            delta: net.device.zeroed(n * config.n_heads * FULL)?,
            gain_parts: net.device.zeroed(norms.len() * net.n_parts() * config.norm_len() * FULL)?,
            gain_offsets: net.device.upload(&norms)?,
            head_gain_parts: net.device.zeroed(head_norms.len() * GAIN_SLOTS * config.head_dim() * FULL)?,
            head_gain_offsets: net.device.upload(&head_norms)?,
        })
    }

    fn gradient(&self, offset: usize) -> u64 {
        self.flat.at(offset, FULL)
    }

    /// Everything from the gradient of the logits to that of the embedding. With `accumulate` gradients are added to what is there.
    pub(super) fn backward(
        &self,
        net: &mut Network,
        weights: DeviceWeights,
        extent: Extent,
        accumulate: bool,
    ) -> Result<Vec<Op>, NetError> {
        let (n, d, ff, outputs) =
            (extent.n_tokens, net.config.d_model, net.config.d_ff, net.config.n_outputs());
        let beta = if accumulate { 1.0 } else { 0.0 };
        let data = |net: &mut Network, name, weight, dy: &Buffer, dx: &Buffer, rows, (input, output)| {
            let operands = Operands::plain(weights.matrix(weight), dy.address, dx.address);
            net.device.product(name, Shape::data_gradient(rows, input, output), operands)
        };
        let weight = |net: &mut Network, name, x: u64, dy: &Buffer, offset, rows, (input, output)| {
            let operands = Operands { beta, ..Operands::plain(x, dy.address, self.gradient(offset)) };
            net.device.product(name, Shape::weight_gradient(rows, input, output), operands)
        };
        let mut ops = Vec::new();
        if !accumulate && !net.config.tied {
            let bytes = net.config.vocab * d * FULL;
            ops.push(Op::Clear { address: self.gradient(net.offsets.embedding), bytes });
        }
        let learned = net.offsets.table.zip(net.config.variant.learned_table());
        if let Some((offset, (_, n_rows))) = learned.filter(|_| !accumulate) {
            ops.push(Op::Clear { address: self.gradient(offset), bytes: n_rows * d * FULL });
        }
        if net.config.qk_norm {
            ops.push(Op::Clear { address: self.head_gain_parts.address, bytes: self.head_gain_parts.bytes });
        }
        let (rows, head, normed) = (extent.n_rows, net.offsets.head, net.last[1].address);
        let operands = Operands::plain(weights.matrix(head), net.logits.address, self.last.address);
        ops.push(net.device.product("head.dgrad", Shape::data_gradient(rows, d, outputs), operands)?);
        let operands = Operands { beta, ..Operands::plain(normed, net.logits.address, self.gradient(head)) };
        ops.push(net.device.product("head.wgrad", Shape::weight_gradient(rows, d, outputs), operands)?);
        ops.push(self.scatter(net, weights, n));
        // Gradients of weights go first, so that what a data gradient writes is still in the cache when the next kernel reads it.
        for layer in (0..net.config.n_layers).rev() {
            let at = net.offsets.layers[layer];
            let activated = net.layer(layer).activated.address;
            ops.push(weight(net, "down.wgrad", activated, &self.residual, at.down, n, (ff, d))?);
            ops.push(data(net, "down.dgrad", at.down, &self.residual, &self.activated, n, (ff, d))?);
            let vectors = n * ff / 8;
            let arguments = vec![
                Address(net.layer(layer).gate_up.address),
                Address(self.activated.address),
                Address(self.gate_up.address),
                Int(vectors as i32),
            ];
            ops.push(Op::kernel("swiglu_bwd", vectors, 256, 256, arguments));
            let normed2 = net.layer(layer).normed2.address;
            ops.push(weight(net, "gateup.wgrad", normed2, &self.gate_up, at.gate_up, n, (d, 2 * ff))?);
            ops.push(data(net, "gateup.dgrad", at.gate_up, &self.gate_up, &self.normed, n, (d, 2 * ff))?);
            let b = net.layer(layer);
            ops.push(self.norm(
                net,
                [b.x2.address, weights.full + (at.mlp_norm * FULL) as u64, b.rstd2.address],
                2 * layer + 1,
                n,
            ));
            let attended = b.attended.address;
            ops.push(weight(net, "out.wgrad", attended, &self.residual, at.output, n, (d, d))?);
            ops.push(data(net, "out.dgrad", at.output, &self.residual, &self.attended, n, (d, d))?);
            ops.extend(self.attention(net, weights, layer, extent));
            let normed1 = net.layer(layer).normed1.address;
            ops.push(weight(net, "qkv.wgrad", normed1, &self.qkv, at.qkv, n, (d, 3 * d))?);
            ops.push(data(net, "qkv.dgrad", at.qkv, &self.qkv, &self.normed, n, (d, 3 * d))?);
            let b = net.layer(layer);
            ops.push(self.norm(
                net,
                [b.x1.address, weights.full + (at.attention_norm * FULL) as u64, b.rstd1.address],
                2 * layer,
                n,
            ));
        }
        ops.extend(self.ends(net, n, accumulate));
        Ok(ops)
    }

    /// Gradient of the last norm, spread from the loss rows to all tokens.
    fn scatter(&self, net: &Network, weights: DeviceWeights, n: usize) -> Op {
        let [sum, _, rstd] = &net.last;
        let arguments = vec![
            Address(self.last.address),
            Address(sum.address),
            Address(weights.full + (net.offsets.norm * FULL) as u64),
            Address(rstd.address),
            net.field(net.fields.first_row),
            net.field(net.fields.next_row),
            Address(self.residual.address),
            self.parts(net, 2 * net.config.n_layers),
            Int(n as i32),
        ];
        Op::kernel("scatter_norm_bwd", net.n_parts(), 1, 256, arguments)
    }

    fn parts(&self, net: &Network, norm: usize) -> Argument {
        Address(self.gain_parts.at(norm * net.n_parts() * net.config.norm_len(), FULL))
    }

    /// Gradient of a norm inside a block; `x`, gain and reciprocal root mean squares.
    fn norm(&self, net: &Network, [x, gain, rstd]: [u64; 3], norm: usize, n: usize) -> Op {
        let arguments = vec![
            Address(self.normed.address),
            Address(x),
            Address(gain),
            Address(rstd),
            Address(self.residual.address),
            self.parts(net, norm),
            Int(n as i32),
        ];
        Op::kernel("norm_bwd", net.n_parts(), 1, 256, arguments)
    }

    /// Gradients of attention: those of long sequences tile by tile, of queries, then of keys and values; those of short ones at once.
    fn attention(&self, net: &Network, weights: DeviceWeights, layer: usize, extent: Extent) -> Vec<Op> {
        let (b, at, config) = (net.layer(layer), net.offsets.layers[layer], &net.config);
        let turn = |offset: Option<usize>, slot: usize| {
            Argument::Turn(Turn {
                table: net.rotations.address,
                positions: net.block.at(net.fields.positions, 4),
                gain: offset.map_or(0, |offset| weights.full + (offset * FULL) as u64),
                slots: self.head_gain_parts.at((2 * layer + slot) * GAIN_SLOTS * config.head_dim(), FULL),
                eps: config.norm_eps,
            })
        };
        let inputs = [
            Address(b.qk.address),
            Address(b.qkv.address),
            net.field(net.fields.tiles),
            net.field(net.fields.stats),
            net.counts(),
            net.field(net.fields.prefix_end),
            net.field(net.fields.branch_start),
        ];
        let (out, dout) = (Address(b.attended.address), Address(self.attended.address));
        let (lse, delta, dqkv) =
            (Address(b.lse.address), Address(self.delta.address), Address(self.qkv.address));
        let (n, scale) = (Int(extent.n_tokens as i32), net.score_scale());
        let kernel = |name, words, rest: &[Argument]| Op::Kernel {
            name,
            grid: ((extent.n_walked * config.n_heads) as u32, 1),
            block: 128,
            shared: net.attention_shared(words),
            arguments: [&inputs, rest].concat(),
        };
        let walked = [
            kernel("attention_bwd_q", 0, &[out, dout, lse, delta, dqkv, turn(at.q_norm, 0), n, scale]),
            kernel("attention_bwd_kv", 8 * TILE, &[dout, lse, delta, dqkv, turn(at.k_norm, 1), n, scale]),
        ];
        let mut ops: Vec<Op> = walked.into_iter().filter(|_| extent.n_walked > 0).collect();
        ops.extend(net.spans(extent).map(|(class, n_spans, spans)| {
            let ends =
                [net.field(net.fields.prefix_end), net.field(net.fields.branch_start), out, dout, lse, dqkv];
            let rest = [turn(at.q_norm, 0), turn(at.k_norm, 1), n, scale];
            Op::Kernel {
                name: class.names[1],
                grid: ((n_spans * config.n_heads) as u32, 1),
                block: class.threads() as u32,
                shared: class.shared(config) as u32,
                arguments: [&inputs[..2], &spans, &ends, &rest].concat(),
            }
        }));
        ops
    }

    /// The embedding, the learned table beside it and the sums of the gains.
    fn ends(&self, net: &Network, n: usize, accumulate: bool) -> Vec<Op> {
        let accumulate = Int(i32::from(accumulate));
        let embed = |ids: usize, order: usize, table: usize| {
            let arguments = vec![
                net.field(ids),
                net.field(order),
                Address(self.residual.address),
                Address(self.gradient(table)),
                Int(n as i32),
            ];
            Op::kernel("embed_bwd", n, 8 * 32, 256, arguments)
        };
        let mut ops = vec![embed(net.fields.tokens, net.fields.order, net.offsets.embedding)];
        // A position or a place is an id in a table of its own.
        let learned = net.fields.picks.zip(net.offsets.table);
        ops.extend(learned.map(|(picks, table)| embed(picks.rows, picks.order, table)));
        let reduce =
            |parts: &Buffer, offsets: &Buffer, n_parts: usize, width: usize, norms: usize| Op::Kernel {
                name: "gain_reduce",
                grid: ((width / 32) as u32, norms as u32),
                block: 1024,
                shared: 0,
                arguments: vec![
                    Address(parts.address),
                    Address(self.flat.address),
                    Address(offsets.address),
                    Int(n_parts as i32),
                    Int(width as i32),
                    accumulate,
                ],
            };
        let layers = net.config.n_layers;
        let width = net.config.norm_len();
        ops.push(reduce(&self.gain_parts, &self.gain_offsets, net.n_parts(), width, 2 * layers + 1));
        if net.config.qk_norm {
            let (parts, offsets) = (&self.head_gain_parts, &self.head_gain_offsets);
            ops.push(reduce(parts, offsets, GAIN_SLOTS, net.config.head_dim(), 2 * layers));
        }
        ops
    }
}
