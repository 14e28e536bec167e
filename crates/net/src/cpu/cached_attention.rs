//! Attention of new tokens over cached keys and values.

use rayon::prelude::*;

use super::attention::Mask;
use super::attention::in_order::{self, CachedHead, InOrderMemory};
use super::kv_cache::{HeadCache, KvCache};
use super::norm;
use super::pieces::Pieces;
use super::rotary::Rotary;
use super::scalar::dot_fixed;
use super::tile512::F32Products;
use crate::batch::Batch;
use crate::config::TransformerConfig;

/// Pairs of a token and a key from which the pieces are shared among threads.
const PARALLEL_FROM: usize = 1_024;
/// Passes of so few tokens stay on one thread.
const FEW_TOKENS: usize = 6;

/// What every piece of the work reads.
#[derive(Clone, Copy)]
pub(crate) struct CachedAttention<'a> {
    pub(crate) config: &'a TransformerConfig,
    pub(crate) batch: &'a Batch,
    pub(crate) rotary: &'a Rotary,
    /// Gains of the query and key norms, with `qk_norm`.
    pub(crate) gains: Option<(&'a [f32], &'a [f32])>,
    /// The instructions for scores and sums.
    pub(crate) products: F32Products,
}

/// The new tokens of one cache, and one head.
struct Piece<'a> {
    /// Token range in the batch.
    range: std::ops::Range<usize>,
    head_idx: usize,
    /// Tokens the cache had before.
    cached: usize,
    /// Keys and values of this head.
    cache: HeadCache<'a>,
    /// `[t, head_dim]`.
    out: &'a mut [f32],
}

/// Memory of one thread.
#[derive(Default)]
struct Scratch {
    queries: Vec<f32>,
    key: Vec<f32>,
    attention: InOrderMemory,
}

impl CachedAttention<'_> {
    /// Writes the new keys and values of a layer into the caches and attends: `qkv` `[n, 3 d]` to `out`, cut in [`Pieces`].
    pub(crate) fn forward(&self, out: &mut Vec<f32>, caches: &mut [KvCache], layer_idx: usize, qkv: &[f32]) {
        let (n_heads, head_dim) = (self.config.n_heads, self.config.head_dim());
        let cut = Pieces { batch: self.batch, n_heads, head_dim };
        out.resize(self.batch.len() * self.config.d_model, 0.0);
        let lengths: Vec<usize> = caches.iter().map(KvCache::len).collect();
        let layers = caches.iter_mut().flat_map(|cache| cache.layer(layer_idx));
        let pieces: Vec<Piece<'_>> = layers
            .zip(cut.cut(out, head_dim))
            .enumerate()
            .map(|(piece, (cache, out))| {
                let (range, head_idx) = cut.place(piece);
                Piece { range, head_idx, cached: lengths[piece / n_heads], cache, out }
            })
            .collect();
        let pairs = |(sequence_idx, cached): (usize, &usize)| {
            let n = self.batch.sequence(sequence_idx).len();
            n * (cached + n)
        };
        let n_pairs: usize = lengths.iter().enumerate().map(pairs).sum();
        if self.batch.len() <= FEW_TOKENS || n_pairs < PARALLEL_FROM {
            let mut scratch = Scratch::default();
            pieces.into_iter().for_each(|piece| self.piece(piece, qkv, &mut scratch));
        } else {
            pieces
                .into_par_iter()
                .for_each_init(Scratch::default, |scratch, piece| self.piece(piece, qkv, scratch));
        }
    }

    fn piece(&self, piece: Piece<'_>, qkv: &[f32], scratch: &mut Scratch) {
        let Piece { range, head_idx, cached, mut cache, out } = piece;
        let (d, head_dim) = (self.config.d_model, self.config.head_dim());
        let Scratch { queries, key, attention } = scratch;
        queries.resize(range.len() * head_dim, 0.0);
        key.resize(head_dim, 0.0);
        for (i, token_idx) in range.clone().enumerate() {
            let raw = |part: usize| &qkv[token_idx * 3 * d + part * d + head_idx * head_dim..][..head_dim];
            let query = &mut queries[i * head_dim..(i + 1) * head_dim];
            self.turned(query, raw(0), self.gains.map(|gains| gains.0), token_idx);
            self.turned(key, raw(1), self.gains.map(|gains| gains.1), token_idx);
            cache.write(cached + i, key, raw(2));
        }
        let mask = Mask {
            prefix_end: &self.batch.prefix_end[range.clone()],
            branch_start: &self.batch.branch_start[range],
            first: cached,
        };
        let head = CachedHead { queries, keys: cache.keys, values: cache.values, head_dim, mask };
        in_order::forward(head, out, self.products, attention);
    }

    /// A query or key, normalized if there is a gain, and rotated to its position.
    #[inline]
    fn turned(&self, out: &mut [f32], raw: &[f32], gain: Option<&[f32]>, token_idx: usize) {
        let position = self.batch.positions[token_idx];
        // With a width known to the compiler a head is a handful of registers.
        match (gain, raw.len()) {
            (Some(gain), 32) => self.normed_and_turned::<32>(out, raw, gain, position),
            (Some(gain), 64) => self.normed_and_turned::<64>(out, raw, gain, position),
            (Some(gain), _) => {
                norm::row(out, raw, gain, self.config.norm_eps);
                self.rotary.turn(out, position);
            }
            (None, _) => {
                out.copy_from_slice(raw);
                self.rotary.turn(out, position);
            }
        }
    }

    #[inline(always)]
    fn normed_and_turned<const D: usize>(&self, out: &mut [f32], raw: &[f32], gain: &[f32], position: u32) {
        let (Ok(raw), Ok(gain)) = (<&[f32; D]>::try_from(raw), <&[f32; D]>::try_from(gain)) else { return };
        let factor = 1.0 / (dot_fixed(raw, raw) / D as f32 + self.config.norm_eps).sqrt();
        let normed: [f32; D] = std::array::from_fn(|c| raw[c] * factor * gain[c]);
        let (cos, sin) = self.rotary.at(position);
        let (cos, sin, out) = (&cos[..D / 2], &sin[..D / 2], &mut out[..D]);
        for c in 0..D / 2 {
            let (a, b) = (normed[c], normed[c + D / 2]);
            out[c] = a * cos[c] - b * sin[c];
            out[c + D / 2] = b * cos[c] + a * sin[c];
        }
    }
}
