//! The KV cache of one sequence.

use crate::config::TransformerConfig;

/// Keys and values, `[layer][head][2][capacity][head_dim]`.
#[derive(Clone, Debug)]
pub(crate) struct KvCache {
    shape: CacheShape,
    data: Vec<f32>,
    /// Tokens in use.
    len: usize,
    /// Tokens there is room for.
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
        let d = self.shape.head_dim;
        let mut data = vec![0.0; self.shape.n_layers * self.shape.n_heads * 2 * capacity * d];
        if len > 0 {
            let from = self.data.chunks_exact(self.capacity * d);
            for (to, from) in data.chunks_exact_mut(capacity * d).zip(from) {
                to[..len * d].copy_from_slice(&from[..len * d]);
            }
        }
        Self { shape: self.shape, data, len, capacity }
    }

    /// Keys and values of the heads of one layer, each piece `[2][capacity][head_dim]`.
    pub(crate) fn layer(&mut self, layer_idx: usize) -> impl Iterator<Item = &mut [f32]> {
        let piece = 2 * self.capacity * self.shape.head_dim;
        let size = self.shape.n_heads * piece;
        self.data[layer_idx * size..(layer_idx + 1) * size].chunks_exact_mut(piece.max(1))
    }
}
