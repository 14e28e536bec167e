//! The KV cache of one sequence.

use super::tile512::WIDE;
use crate::config::TransformerConfig;

/// For each layer and head the keys, `[capacity / 16][head_dim][16]`, then the values, `[capacity][head_dim in whole vectors of 16]`: what a tile
/// reads of either lies side by side ([`in_order`](super::attention::in_order)).
#[derive(Clone, Debug)]
pub(crate) struct KvCache {
    shape: CacheShape,
    data: Vec<f32>,
    /// Tokens in use.
    len: usize,
    /// Tokens there is room for, in whole panels of keys.
    capacity: usize,
}

/// What the size of a cache depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheShape {
    n_layers: usize,
    n_heads: usize,
    head_dim: usize,
}

impl CacheShape {
    /// The shape of a transformer's cache.
    pub(crate) fn new(config: &TransformerConfig) -> Self {
        Self { n_layers: config.n_layers, n_heads: config.n_heads, head_dim: config.head_dim() }
    }

    /// Floats of the key and of the value of a token in one head.
    fn widths(&self) -> (usize, usize) {
        (self.head_dim, self.head_dim.next_multiple_of(WIDE))
    }
}

impl KvCache {
    /// An empty cache.
    pub(crate) fn new(shape: CacheShape) -> Self {
        Self { shape, data: Vec::new(), len: 0, capacity: 0 }
    }

    /// Tokens in use.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Sets the number of tokens in use, up to the capacity.
    pub(crate) fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity, "a cache cannot be longer than its memory");
        self.len = len;
    }

    /// Makes room for `len` tokens and keeps those in use.
    pub(crate) fn reserve(&mut self, len: usize) {
        // Even an empty cache has memory, so that every layer has its pieces.
        let len = len.max(1);
        if len <= self.capacity {
            return;
        }
        // A first extension is usually a prompt that a few tokens follow; later ones double.
        let capacity = len.max(2 * self.capacity).next_multiple_of(32);
        *self = self.copy(self.len, capacity);
    }

    /// The first `len` tokens as a cache of its own.
    pub(crate) fn fork(&self, len: usize) -> Self {
        self.copy(len, len.max(1).next_multiple_of(32))
    }

    fn copy(&self, len: usize, capacity: usize) -> Self {
        let (key, value) = self.shape.widths();
        let mut data = vec![0.0; self.shape.n_layers * self.shape.n_heads * capacity * (key + value)];
        if len > 0 {
            let from = self.data.chunks_exact(self.capacity * (key + value));
            for (to, from) in data.chunks_exact_mut(capacity * (key + value)).zip(from) {
                // The last panel of keys goes as a whole.
                let n_keys = len.next_multiple_of(WIDE) * key;
                to[..n_keys].copy_from_slice(&from[..n_keys]);
                to[capacity * key..][..len * value]
                    .copy_from_slice(&from[self.capacity * key..][..len * value]);
            }
        }
        Self { shape: self.shape, data, len, capacity }
    }

    /// Keys and values of the heads of one layer.
    pub(crate) fn layer(&mut self, layer_idx: usize) -> impl Iterator<Item = HeadCache<'_>> {
        let (key, value) = self.shape.widths();
        let (keys_len, piece) = (self.capacity * key, self.capacity * (key + value));
        let size = self.shape.n_heads * piece;
        let pieces = self.data[layer_idx * size..(layer_idx + 1) * size].chunks_exact_mut(piece.max(1));
        let (head_dim, width) = (key, value);
        pieces.map(move |piece| {
            let (keys, values) = piece.split_at_mut(keys_len);
            HeadCache { keys, values, head_dim, width }
        })
    }
}

/// The part of one head of one layer.
pub(crate) struct HeadCache<'a> {
    /// `[panel][head_dim][16]`.
    pub(crate) keys: &'a mut [f32],
    /// `[key][width]`.
    pub(crate) values: &'a mut [f32],
    head_dim: usize,
    width: usize,
}

impl HeadCache<'_> {
    /// Writes the key and the value of a token.
    #[inline]
    pub(crate) fn write(&mut self, at: usize, key: &[f32], value: &[f32]) {
        let panel = &mut self.keys[at / WIDE * WIDE * self.head_dim..][..WIDE * self.head_dim];
        for (lanes, x) in panel.chunks_exact_mut(WIDE).zip(key) {
            lanes[at % WIDE] = *x;
        }
        self.values[at * self.width..][..value.len()].copy_from_slice(value);
    }
}
