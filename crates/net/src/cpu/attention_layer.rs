//! The attention of a block between its two matrix products: split into heads, normalize, rotate, attend, join; and back.

use rayon::prelude::*;

use super::attention::{self, Head, Mask};
use super::attention_backward::{self, Gradients, Saved, Scratch};
use super::norm::{self, Normed};
use super::pieces::Pieces;
use super::rotary::Rotary;
use crate::batch::Batch;
use crate::config::TransformerConfig;

/// What every piece of the work reads.
#[derive(Clone, Copy)]
pub(crate) struct AttentionLayer<'a> {
    pub(crate) config: &'a TransformerConfig,
    pub(crate) batch: &'a Batch,
    pub(crate) rotary: &'a Rotary,
    /// Gains of the query and key norms, with `qk_norm`.
    pub(crate) gains: Option<(&'a [f32], &'a [f32])>,
}

/// Buffers of the forward pass that the backward pass reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttentionSaved {
    /// Rotated queries and keys, and values, by piece: `[3, t, head_dim]`.
    pub(crate) heads: Vec<f32>,
    /// Outputs by piece: `[t, head_dim]`.
    pub(crate) outs: Vec<f32>,
    /// Logarithms of the softmax denominators by piece: `[t]`.
    pub(crate) log_sums: Vec<f32>,
}

impl AttentionLayer<'_> {
    /// From the raw `[n, 3 d]` product to the joined `[n, d]` output.
    pub(crate) fn forward(&self, out: &mut [f32], saved: &mut AttentionSaved, qkv: &[f32]) {
        let (n, d, h) = (self.batch.len(), self.config.d_model, self.config.n_heads);
        saved.heads.resize(n * 3 * d, 0.0);
        saved.outs.resize(n * d, 0.0);
        saved.log_sums.resize(n * h, 0.0);
        let head_dim = self.config.head_dim();
        let heads = self.pieces().cut(&mut saved.heads, 3 * head_dim);
        let outs = self.pieces().cut(&mut saved.outs, head_dim);
        let log_sums = self.pieces().cut(&mut saved.log_sums, 1);
        heads.into_par_iter().zip(outs).zip(log_sums).enumerate().for_each_init(
            Vec::new,
            |scores, (piece, ((heads, out), log_sums))| {
                self.split(piece, heads, qkv);
                attention::forward(self.head(piece, heads), out, Some(log_sums), scores);
            },
        );
        self.pieces().join(out, &saved.outs, 1);
    }

    /// From the gradient of the output `[n, d]` to that of the raw product `[n, 3 d]`; returns the gradients of the two gains.
    pub(crate) fn backward(
        &self,
        d_qkv: &mut [f32],
        d_out: &[f32],
        saved: &AttentionSaved,
        qkv: &[f32],
    ) -> (Vec<f32>, Vec<f32>) {
        let head_dim = self.config.head_dim();
        let mut d_heads = vec![0.0; saved.heads.len()];
        let (mut d_q_gain, mut d_k_gain) = (vec![0.0; head_dim], vec![0.0; head_dim]);
        let gain_parts: Vec<[Vec<f32>; 2]> = self
            .pieces()
            .cut(&mut d_heads, 3 * head_dim)
            .into_par_iter()
            .enumerate()
            .map_init(<(Scratch, Vec<f32>)>::default, |(scratch, d_out_head), (piece, d_heads)| {
                self.piece_of(piece, d_out_head, d_out);
                let (range, h) = self.place(piece);
                let start = range.start * self.config.n_heads + h * range.len();
                let at = |width: usize| start * width..(start + range.len()) * width;
                let (d_queries, rest) = d_heads.split_at_mut(range.len() * head_dim);
                let (d_keys, d_values) = rest.split_at_mut(range.len() * head_dim);
                let gradients = Gradients { queries: d_queries, keys: d_keys, values: d_values };
                let reads = Saved {
                    out: &saved.outs[at(head_dim)],
                    d_out: d_out_head,
                    log_sums: &saved.log_sums[at(1)],
                };
                let head = self.head(piece, &saved.heads[at(3 * head_dim)]);
                attention_backward::backward(head, reads, gradients, scratch);
                self.split_backward(piece, d_heads, qkv)
            })
            .collect();
        // Summed in order of piece, whoever computed it.
        for [q, k] in gain_parts {
            d_q_gain.iter_mut().zip(&q).for_each(|(sum, x)| *sum += x);
            d_k_gain.iter_mut().zip(&k).for_each(|(sum, x)| *sum += x);
        }
        self.pieces().join(d_qkv, &d_heads, 3);
        (d_q_gain, d_k_gain)
    }

    /// How the work is cut.
    fn pieces(&self) -> Pieces<'_> {
        Pieces { batch: self.batch, n_heads: self.config.n_heads, head_dim: self.config.head_dim() }
    }

    fn place(&self, piece: usize) -> (std::ops::Range<usize>, usize) {
        self.pieces().place(piece)
    }

    /// The view attention takes of a piece.
    fn head<'b>(&'b self, piece: usize, heads: &'b [f32]) -> Head<'b> {
        let (range, _) = self.place(piece);
        let head_dim = self.config.head_dim();
        let size = range.len() * head_dim;
        let mask = Mask {
            prefix_end: &self.batch.prefix_end[range.clone()],
            branch_start: &self.batch.branch_start[range],
            first: 0,
        };
        Head {
            queries: &heads[..size],
            keys: &heads[size..2 * size],
            values: &heads[2 * size..],
            head_dim,
            mask,
        }
    }

    /// Copies one piece out of `[n, 3 d]`, normalized and rotated.
    fn split(&self, piece: usize, heads: &mut [f32], qkv: &[f32]) {
        let (range, h) = self.place(piece);
        let (d, head_dim) = (self.config.d_model, self.config.head_dim());
        let size = range.len() * head_dim;
        for (part, heads) in heads.chunks_exact_mut(size.max(1)).enumerate() {
            for (token_idx, row) in range.clone().zip(heads.chunks_exact_mut(head_dim)) {
                let raw = &qkv[token_idx * 3 * d + part * d + h * head_dim..][..head_dim];
                match (self.gains, part) {
                    (Some((gain, _)), 0) | (Some((_, gain)), 1) => {
                        norm::row(row, raw, gain, self.config.norm_eps);
                    }
                    _ => row.copy_from_slice(raw),
                }
                if part < 2 {
                    self.rotary.turn(row, self.batch.positions[token_idx]);
                }
            }
        }
    }

    /// Gradient of [`split`](Self::split), in place; returns the gradients of the gains.
    fn split_backward(&self, piece: usize, d_heads: &mut [f32], qkv: &[f32]) -> [Vec<f32>; 2] {
        let (range, h) = self.place(piece);
        let (d, head_dim) = (self.config.d_model, self.config.head_dim());
        let mut d_gains = [vec![0.0; head_dim], vec![0.0; head_dim]];
        let mut d_raw = vec![0.0; head_dim];
        let size = range.len() * head_dim;
        for (part, d_heads) in d_heads.chunks_exact_mut(size.max(1)).take(2).enumerate() {
            for (token_idx, row) in range.clone().zip(d_heads.chunks_exact_mut(head_dim)) {
                self.rotary.turn_back(row, self.batch.positions[token_idx]);
                if let Some(gains) = self.gains {
                    let gain = if part == 0 { gains.0 } else { gains.1 };
                    let raw = &qkv[token_idx * 3 * d + part * d + h * head_dim..][..head_dim];
                    let scales = &[norm::factor(raw, self.config.norm_eps)];
                    d_raw.fill(0.0);
                    let normed = Normed { x: raw, scales, gain };
                    norm::row_backward(&mut d_raw, &mut d_gains[part], row, normed);
                    row.copy_from_slice(&d_raw);
                }
            }
        }
        d_gains
    }

    /// One piece of a joined `[n, d]` buffer.
    fn piece_of(&self, piece: usize, rows: &mut Vec<f32>, joined: &[f32]) {
        let (range, h) = self.place(piece);
        let (d, head_dim) = (self.config.d_model, self.config.head_dim());
        rows.clear();
        for token_idx in range {
            rows.extend_from_slice(&joined[token_idx * d + h * head_dim..][..head_dim]);
        }
    }
}
