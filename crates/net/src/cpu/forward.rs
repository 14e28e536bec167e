//! The training pass forward, with everything kept that the way back needs.

use super::attention_layer::{AttentionLayer, AttentionSaved};
use super::loss::{cross_entropy, report};
use super::matmul::{Linear, Store};
use super::norm::Norm;
use super::rotary::Rotary;
use super::swiglu;
use crate::batch::{Batch, LossRows};
use crate::config::{NormPlacement, TransformerConfig};
use crate::layout::{LayerOffsets, TransformerOffsets};
use crate::trainer::LossReport;

/// Rows of logits held at once; a batch may have many more rows than memory for their logits.
pub(crate) const LOGIT_ROWS: usize = 1024;

/// A shape with its offsets, and a parameter buffer.
#[derive(Clone, Copy)]
pub(crate) struct Model<'a> {
    pub(crate) config: &'a TransformerConfig,
    pub(crate) offsets: &'a TransformerOffsets,
    pub(crate) parameters: &'a [f32],
}

impl<'a> Model<'a> {
    /// A tensor of the buffer by offset and length.
    pub(crate) fn at(&self, offset: usize, len: usize) -> &'a [f32] {
        &self.parameters[offset..offset + len]
    }

    /// Gains of the query and key norms of a block.
    pub(crate) fn qk_gains(&self, layer: &LayerOffsets) -> Option<(&'a [f32], &'a [f32])> {
        let head_dim = self.config.head_dim();
        Some((self.at(layer.q_norm?, head_dim), self.at(layer.k_norm?, head_dim)))
    }

    /// The linear layers of a block: query-key-value, output, gate-up, down.
    pub(crate) fn linears(&self) -> [Linear; 4] {
        let (d, ff) = (self.config.d_model, self.config.d_ff);
        [Linear::new(d, 3 * d), Linear::new(d, d), Linear::new(d, 2 * ff), Linear::new(ff, d)]
    }

    /// The head.
    pub(crate) fn head(&self) -> Linear {
        Linear::new(self.config.d_model, self.config.n_outputs())
    }

    /// A norm of the residual stream.
    pub(crate) fn norm(&self, offset: usize) -> Norm<'a> {
        Norm::new(self.config, self.at(offset, self.config.norm_len()))
    }

    /// Whether the residual stream continues from normalized rows.
    pub(crate) fn is_post_norm(&self) -> bool {
        self.config.variant.placement == NormPlacement::Post
    }
}

/// One pass: a model, a batch, and the rotations of its positions.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) model: Model<'a>,
    pub(crate) batch: &'a Batch,
    pub(crate) rotary: &'a Rotary,
}

impl<'a> Pass<'a> {
    /// Attention of a block.
    pub(crate) fn attention(&self, layer: &LayerOffsets) -> AttentionLayer<'a> {
        let gains = self.model.qk_gains(layer);
        AttentionLayer { config: self.model.config, batch: self.batch, rotary: self.rotary, gains }
    }
}

/// Activations of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockSaved {
    /// Residual stream before the block, `[n, d]`.
    pub(crate) input: Vec<f32>,
    /// After the first norm, `[n, d]`, and its factors, `[n]`.
    pub(crate) attention_normed: Vec<f32>,
    pub(crate) attention_scales: Vec<f32>,
    /// Queries, keys and values before norm and rotation, `[n, 3 d]`.
    pub(crate) qkv: Vec<f32>,
    pub(crate) attention: AttentionSaved,
    /// Joined output of attention, `[n, d]`.
    pub(crate) attended: Vec<f32>,
    /// Residual stream between attention and feed-forward, `[n, d]`.
    pub(crate) middle: Vec<f32>,
    /// After the second norm, `[n, d]`, and its factors, `[n]`.
    pub(crate) mlp_normed: Vec<f32>,
    pub(crate) mlp_scales: Vec<f32>,
    /// Gate and up, `[n, 2 ff]`.
    pub(crate) gate_up: Vec<f32>,
    /// Their SwiGLU, `[n, ff]`.
    pub(crate) hidden: Vec<f32>,
}

/// Activations of a whole pass. Kept from step to step, so that memory is touched once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activations {
    pub(crate) blocks: Vec<BlockSaved>,
    /// Residual stream after the last block, `[n, d]`.
    pub(crate) output: Vec<f32>,
    /// The rows with loss before and after the last norm, `[r, d]`, and their factors.
    pub(crate) picked: Vec<f32>,
    pub(crate) picked_normed: Vec<f32>,
    pub(crate) picked_scales: Vec<f32>,
    /// A piece of the logits, then of their gradient.
    pub(crate) logits: Vec<f32>,
    /// Loss by row.
    pub(crate) losses: Vec<f32>,
}

/// Residual stream after the last block.
pub(crate) fn trunk(pass: Pass<'_>, saved: &mut Activations) {
    let Pass { model, batch, .. } = pass;
    let (n, d) = (batch.len(), model.config.d_model);
    saved.blocks.resize_with(model.config.n_layers, BlockSaved::default);
    saved.output.resize(n * d, 0.0);
    embed(&mut saved.output, model.at(model.offsets.embedding, model.config.vocab * d), &batch.tokens);
    if let Some((offset, (by, rows))) = model.offsets.table.zip(model.config.variant.learned_table()) {
        add_rows(&mut saved.output, model.at(offset, rows * d), batch.picks(by));
    }
    for (layer, block) in model.offsets.layers.iter().zip(&mut saved.blocks) {
        block.input.clone_from(&saved.output);
        run_block(pass, layer, block, &mut saved.output);
    }
}

/// Rows of the embedding.
pub(crate) fn embed(out: &mut [f32], embedding: &[f32], tokens: &[u32]) {
    if tokens.is_empty() {
        return;
    }
    let d = out.len() / tokens.len();
    for (out, id) in out.chunks_exact_mut(d).zip(tokens) {
        out.copy_from_slice(&embedding[*id as usize * d..(*id as usize + 1) * d]);
    }
}

/// Adds rows of a learned table.
pub(crate) fn add_rows(out: &mut [f32], table: &[f32], rows: &[u32]) {
    if rows.is_empty() {
        return;
    }
    let d = out.len() / rows.len();
    for (out, row) in out.chunks_exact_mut(d).zip(rows) {
        let row = &table[*row as usize * d..(*row as usize + 1) * d];
        out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
    }
}

fn run_block(pass: Pass<'_>, layer: &LayerOffsets, saved: &mut BlockSaved, output: &mut [f32]) {
    let Pass { model, batch, .. } = pass;
    let (n, d, ff) = (batch.len(), model.config.d_model, model.config.d_ff);
    let [qkv, out, gate_up, down] = model.linears();
    saved.attention_normed.resize(n * d, 0.0);
    saved.attention_scales.resize(n, 0.0);
    saved.qkv.resize(n * 3 * d, 0.0);
    saved.attended.resize(n * d, 0.0);
    let norm = model.norm(layer.attention_norm);
    norm.forward(&mut saved.attention_normed, &mut saved.attention_scales, &saved.input);
    if model.is_post_norm() {
        output.copy_from_slice(&saved.attention_normed);
    }
    qkv.forward(&mut saved.qkv, &saved.attention_normed, model.at(layer.qkv, 3 * d * d), Store::Set);
    pass.attention(layer).forward(&mut saved.attended, &mut saved.attention, &saved.qkv);
    out.forward(output, &saved.attended, model.at(layer.output, d * d), Store::Add);
    saved.middle.clear();
    saved.middle.extend_from_slice(output);
    saved.mlp_normed.resize(n * d, 0.0);
    saved.mlp_scales.resize(n, 0.0);
    saved.gate_up.resize(n * 2 * ff, 0.0);
    saved.hidden.resize(n * ff, 0.0);
    model.norm(layer.mlp_norm).forward(&mut saved.mlp_normed, &mut saved.mlp_scales, &saved.middle);
    if model.is_post_norm() {
        output.copy_from_slice(&saved.mlp_normed);
    }
    gate_up.forward(&mut saved.gate_up, &saved.mlp_normed, model.at(layer.gate_up, 2 * ff * d), Store::Set);
    swiglu::forward(&mut saved.hidden, &saved.gate_up, ff);
    down.forward(output, &saved.hidden, model.at(layer.down, d * ff), Store::Add);
}

/// Gathers rows of the residual stream and passes them through the last norm.
pub(crate) fn pick(model: Model<'_>, rows: &[u32], saved: &mut Activations) {
    let d = model.config.d_model;
    saved.picked.clear();
    for row in rows {
        saved.picked.extend_from_slice(&saved.output[*row as usize * d..(*row as usize + 1) * d]);
    }
    saved.picked_normed.resize(rows.len() * d, 0.0);
    saved.picked_scales.resize(rows.len(), 0.0);
    let norm = model.norm(model.offsets.norm);
    norm.forward(&mut saved.picked_normed, &mut saved.picked_scales, &saved.picked);
}

/// Losses of all rows, without gradient. [`trunk`] ran before.
pub(crate) fn loss(model: Model<'_>, rows: &LossRows, saved: &mut Activations) -> LossReport {
    let (d, vocab) = (model.config.d_model, model.config.n_outputs());
    pick(model, &rows.rows, saved);
    saved.losses.resize(rows.len(), 0.0);
    let head = model.at(model.offsets.head, vocab * d);
    for (i, losses) in saved.losses.chunks_mut(LOGIT_ROWS).enumerate() {
        let first = i * LOGIT_ROWS;
        saved.logits.resize(losses.len() * vocab, 0.0);
        let normed = &saved.picked_normed[first * d..(first + losses.len()) * d];
        model.head().forward(&mut saved.logits, normed, head, Store::Set);
        cross_entropy(&mut saved.logits, losses, rows, first, None);
    }
    report(&saved.losses, rows)
}
