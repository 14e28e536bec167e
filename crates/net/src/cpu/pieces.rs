//! Buffers cut by sequence and head.
//!
//! Each piece owns one contiguous region: for the sequence that starts at token `b` with `t` tokens, head `h` of a buffer with
//! `w` values a token and head lies at `(b * n_heads + h * t) * w`. So pieces can be worked on in parallel.

use rayon::prelude::*;

use crate::batch::Batch;

/// How a batch is cut.
#[derive(Clone, Copy)]
pub(crate) struct Pieces<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) n_heads: usize,
    pub(crate) head_dim: usize,
}

/// Where a row lies in a buffer of pieces.
#[derive(Clone, Copy)]
pub(crate) struct PiecePlace {
    /// Its first head.
    first: usize,
    /// From one head to the next.
    stride: usize,
}

impl Pieces<'_> {
    /// Token range and head of a piece.
    pub(crate) fn place(&self, piece: usize) -> (std::ops::Range<usize>, usize) {
        (self.batch.sequence(piece / self.n_heads), piece % self.n_heads)
    }

    /// Where the rows of a sequence lie in a buffer with `head_dim` values a token and head.
    pub(crate) fn places(&self, sequence_idx: usize) -> impl Iterator<Item = PiecePlace> {
        let range = self.batch.sequence(sequence_idx);
        let (stride, n_heads, head_dim) = (range.len() * self.head_dim, self.n_heads, self.head_dim);
        let start = range.start * n_heads;
        (0..range.len()).map(move |i| PiecePlace { first: (start + i) * head_dim, stride })
    }

    /// Some rows of such a buffer, heads side by side: `[places, n_heads, head_dim]`.
    pub(crate) fn rows(&self, places: &[PiecePlace], pieces: &[f32], out: &mut Vec<f32>) {
        out.clear();
        for place in places {
            for h in 0..self.n_heads {
                out.extend_from_slice(&pieces[place.first + h * place.stride..][..self.head_dim]);
            }
        }
    }

    /// Cuts a buffer with `width` values a token and head.
    pub(crate) fn cut<'b>(&self, buffer: &'b mut [f32], width: usize) -> Vec<&'b mut [f32]> {
        let mut rest = buffer;
        let mut pieces = Vec::with_capacity(self.batch.n_sequences() * self.n_heads);
        for sequence_idx in 0..self.batch.n_sequences() {
            for _ in 0..self.n_heads {
                let (piece, after) = rest.split_at_mut(self.batch.sequence(sequence_idx).len() * width);
                pieces.push(piece);
                rest = after;
            }
        }
        pieces
    }

    /// Joins pieces of `[parts, t, head_dim]` to rows of `[parts, n_heads, head_dim]`.
    pub(crate) fn join(&self, joined: &mut [f32], pieces: &[f32], parts: usize) {
        let width = parts * self.n_heads * self.head_dim;
        let mut rest = joined;
        let mut sequences = Vec::with_capacity(self.batch.n_sequences());
        for sequence_idx in 0..self.batch.n_sequences() {
            let (rows, after) = rest.split_at_mut(self.batch.sequence(sequence_idx).len() * width);
            sequences.push(rows);
            rest = after;
        }
        let join_one = |(sequence_idx, rows): (usize, &mut [f32])| {
            let range = self.batch.sequence(sequence_idx);
            let t = range.len();
            for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                for (slot, out) in row.chunks_exact_mut(self.head_dim).enumerate() {
                    let (part, h) = (slot / self.n_heads, slot % self.n_heads);
                    let piece = (range.start * self.n_heads + h * t) * parts * self.head_dim;
                    out.copy_from_slice(&pieces[piece + (part * t + i) * self.head_dim..][..self.head_dim]);
                }
            }
        };
        if self.batch.len() < 64 {
            sequences.into_iter().enumerate().for_each(join_one);
        } else {
            sequences.into_par_iter().enumerate().for_each(join_one);
        }
    }
}
