//! The training pass backward.

use super::forward::{Activations, BlockSaved, LOGIT_ROWS, Model, Pass, pick};
use super::loss::{cross_entropy, report};
use super::matmul::Store;
use super::swiglu;
use crate::batch::LossRows;
use crate::layout::LayerOffsets;
use crate::trainer::LossReport;

/// Buffers of gradients of activations, kept from step to step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backward {
    /// Of the residual stream, `[n, d]`.
    stream: Vec<f32>,
    /// Of a normed or attended row, `[n, d]`.
    narrow: Vec<f32>,
    /// Of the raw queries, keys and values, `[n, 3 d]`.
    qkv: Vec<f32>,
    /// Of the hidden layer, `[n, ff]`.
    hidden: Vec<f32>,
    /// Of the rows with loss, `[r, d]`.
    picked: Vec<f32>,
}

impl Backward {
    /// Head and loss, forward and backward: after [`trunk`](super::forward::trunk), adds the gradients of head and last norm and leaves the gradient of the
    /// residual stream behind.
    pub(crate) fn head(
        &mut self,
        model: Model<'_>,
        rows: &LossRows,
        saved: &mut Activations,
        gradient: &mut [f32],
    ) -> LossReport {
        let (d, vocab) = (model.config.d_model, model.config.n_outputs());
        let normalizer = rows.normalizer();
        pick(model, &rows.rows, saved);
        saved.losses.resize(rows.len(), 0.0);
        self.picked.resize(rows.len() * d, 0.0);
        let head = model.at(model.offsets.head, vocab * d);
        for (i, losses) in saved.losses.chunks_mut(LOGIT_ROWS).enumerate() {
            let first = i * LOGIT_ROWS;
            let own = first * d..(first + losses.len()) * d;
            let normed = &saved.picked_normed[own.clone()];
            saved.logits.resize(losses.len() * vocab, 0.0);
            model.head().forward(&mut saved.logits, normed, head, Store::Set);
            cross_entropy(&mut saved.logits, losses, rows, first, Some(normalizer));
            model.head().backward_input(&mut self.picked[own], &saved.logits, head, Store::Set);
            let d_head = &mut gradient[model.offsets.head..][..vocab * d];
            model.head().backward_weight(d_head, &saved.logits, normed);
        }
        let report = report(&saved.losses, rows);
        self.stream.clear();
        self.stream.resize(saved.output.len(), 0.0);
        let mut d_rows = vec![0.0; self.picked.len()];
        let d_norm = &mut gradient[model.offsets.norm..][..model.config.norm_len()];
        let normed = (saved.picked.as_slice(), saved.picked_scales.as_slice());
        model.norm(model.offsets.norm).backward(&mut d_rows, d_norm, &self.picked, normed);
        // A row may be asked for twice, so its gradients add.
        for (row, d_row) in rows.rows.iter().zip(d_rows.chunks_exact(d)) {
            let stream = &mut self.stream[*row as usize * d..][..d];
            stream.iter_mut().zip(d_row).for_each(|(sum, x)| *sum += x);
        }
        report
    }

    /// All blocks and the embedding, after [`head`](Self::head).
    pub(crate) fn trunk(&mut self, pass: Pass<'_>, saved: &mut Activations, gradient: &mut [f32]) {
        let Pass { model, batch, .. } = pass;
        let d = model.config.d_model;
        for (layer, block) in model.offsets.layers.iter().zip(&mut saved.blocks).rev() {
            self.mlp(model, layer, block, gradient);
            self.attention(pass, layer, block, gradient);
        }
        if let Some((offset, (by, _))) = model.offsets.table.zip(model.config.variant.learned_table()) {
            for (row, d_row) in batch.picks(by).iter().zip(self.stream.chunks_exact(d)) {
                let row = &mut gradient[offset + *row as usize * d..][..d];
                row.iter_mut().zip(d_row).for_each(|(sum, x)| *sum += x);
            }
        }
        let d_embedding = &mut gradient[model.offsets.embedding..][..model.config.vocab * d];
        for (id, d_row) in batch.tokens.iter().zip(self.stream.chunks_exact(d)) {
            let row = &mut d_embedding[*id as usize * d..][..d];
            row.iter_mut().zip(d_row).for_each(|(sum, x)| *sum += x);
        }
    }

    fn mlp(&mut self, model: Model<'_>, layer: &LayerOffsets, saved: &mut BlockSaved, gradient: &mut [f32]) {
        let (d, ff) = (model.config.d_model, model.config.d_ff);
        let [_, _, gate_up, down] = model.linears();
        self.hidden.resize(saved.hidden.len(), 0.0);
        self.narrow.resize(self.stream.len(), 0.0);
        down.backward_weight(&mut gradient[layer.down..][..d * ff], &self.stream, &saved.hidden);
        down.backward_input(&mut self.hidden, &self.stream, model.at(layer.down, d * ff), Store::Set);
        swiglu::backward(&mut saved.gate_up, &self.hidden, ff);
        gate_up.backward_weight(
            &mut gradient[layer.gate_up..][..2 * ff * d],
            &saved.gate_up,
            &saved.mlp_normed,
        );
        let weights = model.at(layer.gate_up, 2 * ff * d);
        gate_up.backward_input(&mut self.narrow, &saved.gate_up, weights, Store::Set);
        self.norm(model, layer.mlp_norm, gradient, (&saved.middle, &saved.mlp_scales));
    }

    /// Through a norm inside a block: `narrow` is the gradient of its output on the way to the branch, `stream` that of the residual
    /// stream and afterwards of the norm's input.
    fn norm(&mut self, model: Model<'_>, offset: usize, gradient: &mut [f32], normed: (&[f32], &[f32])) {
        if model.is_post_norm() {
            // The stream went on from the output, so both gradients meet there.
            self.narrow.iter_mut().zip(&self.stream).for_each(|(sum, x)| *sum += x);
            self.stream.fill(0.0);
        }
        let d_norm = &mut gradient[offset..][..model.config.norm_len()];
        model.norm(offset).backward(&mut self.stream, d_norm, &self.narrow, normed);
    }

    fn attention(&mut self, pass: Pass<'_>, layer: &LayerOffsets, saved: &BlockSaved, gradient: &mut [f32]) {
        let model = pass.model;
        let d = model.config.d_model;
        let [qkv, out, _, _] = model.linears();
        self.qkv.resize(saved.qkv.len(), 0.0);
        out.backward_weight(&mut gradient[layer.output..][..d * d], &self.stream, &saved.attended);
        out.backward_input(&mut self.narrow, &self.stream, model.at(layer.output, d * d), Store::Set);
        let (d_q_gain, d_k_gain) =
            pass.attention(layer).backward(&mut self.qkv, &self.narrow, &saved.attention, &saved.qkv);
        for (offset, part) in [(layer.q_norm, d_q_gain), (layer.k_norm, d_k_gain)] {
            if let Some(offset) = offset {
                gradient[offset..].iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
            }
        }
        qkv.backward_weight(&mut gradient[layer.qkv..][..3 * d * d], &self.qkv, &saved.attention_normed);
        qkv.backward_input(&mut self.narrow, &self.qkv, model.at(layer.qkv, 3 * d * d), Store::Set);
        self.norm(model, layer.attention_norm, gradient, (&saved.input, &saved.attention_scales));
    }
}
