//! The pass of a decoder: rearranged weights, and blocks of rows that go through a whole half-block on one thread.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::cached_attention::CachedAttention;
use super::forward::{add_rows, embed};
use super::kv_cache::KvCache;
use super::norm::Norm;
use super::packed::{Out, PackedMatrix, PackedScratch};
use super::pieces::{PiecePlace, Pieces};
use super::rotary::Rotary;
use super::swiglu;
use super::tile512::{Bf16Products, F32Products};
use crate::batch::Batch;
use crate::config::{NormPlacement, PickedBy, TransformerConfig};
use crate::decoder::{Logits, Precision};
use crate::error::NetError;
use crate::layout::{Layout, TransformerOffsets};

/// Most rows of a block whose products are in f32: panels are widened once a block, so that large ones pay.
const BLOCK_ROWS: usize = 192;
/// Most rows of a block of narrow numbers: activations and a panel of weights stay in the second-level cache. With 48 and 192 instead of 96 for both,
/// passes of 16 x 112 tokens took 3 % and 5 % less time on a Zen 4.
const NARROW_BLOCK_ROWS: usize = 48;

/// Fixed parameters, rearranged.
pub(crate) struct Inference {
    config: TransformerConfig,
    /// `[vocab, d]`.
    embedding: Vec<f32>,
    /// The learned table that is added to the embedding, and what picks a row.
    table: Option<(PickedBy, Vec<f32>)>,
    layers: Vec<InferenceLayer>,
    norm: Vec<f32>,
    head: PackedMatrix,
    /// The instructions for attention, which is f32 in any precision.
    products: F32Products,
    /// Whether rows are rounded and multiplied as narrow numbers.
    is_narrow: bool,
}

struct InferenceLayer {
    attention_norm: Vec<f32>,
    qkv: PackedMatrix,
    qk_gains: Option<(Vec<f32>, Vec<f32>)>,
    output: PackedMatrix,
    mlp_norm: Vec<f32>,
    gate_up: PackedMatrix,
    down: PackedMatrix,
}

/// Activations of a pass, kept from call to call.
#[derive(Default)]
pub(crate) struct Memory {
    /// Residual stream, `[n, d]`.
    stream: Vec<f32>,
    /// `[n, 3 d]`.
    qkv: Vec<f32>,
    /// What attention makes of the rows, by sequence and head.
    pieces: Vec<f32>,
    /// Where each row lies in the pieces, `[n]`.
    places: Vec<PiecePlace>,
    /// The stream of the wanted rows after the last block, `[n_wanted, d]`.
    picked: Vec<f32>,
}

/// Memory of one thread for a block of rows.
#[derive(Default)]
struct RowMemory {
    normed: Vec<f32>,
    gate_up: Vec<f32>,
    hidden: Vec<f32>,
    packed: PackedScratch,
}

thread_local! {
    static ROW_MEMORY: RefCell<RowMemory> = RefCell::default();
}

impl Inference {
    /// Rearranges a flat buffer.
    pub(crate) fn new(
        config: TransformerConfig,
        parameters: &[f32],
        precision: Precision,
    ) -> Result<Self, NetError> {
        let layout = Layout::transformer(&config)?;
        if parameters.len() != layout.len() {
            let (expected, got) = (layout.len(), parameters.len());
            return Err(NetError::Length { what: "parameters", expected, got });
        }
        let offsets = TransformerOffsets::new(&config, &layout)?;
        let (d, ff, vocab, norm) = (config.d_model, config.d_ff, config.vocab, config.norm_len());
        let vector = |offset: usize, len: usize| parameters[offset..offset + len].to_vec();
        let packed = |offset: usize, outputs: usize, inputs: usize, precision: Precision| {
            PackedMatrix::new(&parameters[offset..offset + outputs * inputs], inputs, outputs, precision)
        };
        let matrix = |offset: usize, outputs, inputs| packed(offset, outputs, inputs, precision);
        // Nothing comes after the head to even out its errors, and few rows pass through it: 8 bits would save little there and cost most.
        let head_precision = if precision == Precision::Int8 { Precision::Bf16 } else { precision };
        let layers = offsets.layers.iter().map(|layer| InferenceLayer {
            attention_norm: vector(layer.attention_norm, norm),
            qkv: matrix(layer.qkv, 3 * d, d),
            qk_gains: layer.q_norm.zip(layer.k_norm).map(|(q, k)| {
                let head_dim = config.head_dim();
                (vector(q, head_dim), vector(k, head_dim))
            }),
            output: matrix(layer.output, d, d),
            mlp_norm: vector(layer.mlp_norm, norm),
            gate_up: matrix(layer.gate_up, 2 * ff, d),
            down: matrix(layer.down, d, ff),
        });
        Ok(Self {
            layers: layers.collect(),
            embedding: vector(offsets.embedding, vocab * d),
            table: offsets
                .table
                .zip(config.variant.learned_table())
                .map(|(offset, (by, rows))| (by, vector(offset, rows * d))),
            norm: vector(offsets.norm, norm),
            products: F32Products::detect(),
            is_narrow: precision != Precision::Exact && Bf16Products::detect().is_some(),
            head: packed(offsets.head, config.n_outputs(), d, head_precision),
            config,
        })
    }

    /// The shape.
    pub(crate) fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Bytes of all matrices.
    pub(crate) fn n_bytes(&self) -> usize {
        let layer = |layer: &InferenceLayer| {
            [&layer.qkv, &layer.output, &layer.gate_up, &layer.down]
                .iter()
                .map(|m| m.n_bytes())
                .sum::<usize>()
        };
        self.layers.iter().map(layer).sum::<usize>() + self.head.n_bytes()
    }

    /// Runs all blocks; keys and values go to the caches, and what the last block makes of the wanted rows stays in `memory`.
    ///
    /// Of the last block only keys and values are needed for all rows: what follows its attention is computed for the wanted ones.
    pub(crate) fn trunk(
        &self,
        batch: &Batch,
        wanted: &[u32],
        rotary: &Rotary,
        caches: &mut [KvCache],
        memory: &mut Memory,
    ) {
        let (n, d) = (batch.len(), self.config.d_model);
        let Memory { stream, qkv, pieces, picked, places } = memory;
        stream.resize(n * d, 0.0);
        qkv.resize(n * 3 * d, 0.0);
        picked.clear();
        embed(stream, &self.embedding, &batch.tokens);
        if let Some((by, table)) = &self.table {
            add_rows(stream, table, batch.picks(*by));
        }
        let cut = Pieces { batch, n_heads: self.config.n_heads, head_dim: self.config.head_dim() };
        places.clear();
        places.extend((0..batch.n_sequences()).flat_map(|sequence_idx| cut.places(sequence_idx)));
        let rows = self.block_rows(n);
        for (layer_idx, layer) in self.layers.iter().enumerate() {
            if layer_idx == 0 {
                let blocks = qkv.par_chunks_mut(rows * 3 * d).zip(stream.par_chunks_mut(rows * d));
                each(n, blocks, |(qkv, stream)| self.project(layer, qkv, stream));
            }
            let gains = layer.qk_gains.as_ref().map(|(q, k)| (q.as_slice(), k.as_slice()));
            let attention =
                CachedAttention { config: &self.config, batch, rotary, gains, products: self.products };
            attention.forward(pieces, caches, layer_idx, qkv);
            let attended = |rows: &[PiecePlace], out: &mut Vec<f32>| cut.rows(rows, pieces, out);
            if let Some(next) = self.layers.get(layer_idx + 1) {
                let blocks = qkv.par_chunks_mut(rows * 3 * d).zip(stream.par_chunks_mut(rows * d));
                each(n, blocks.zip(places.par_chunks(rows)), |((qkv, stream), places)| {
                    self.advance(layer, stream, |out| attended(places, out));
                    self.project(next, qkv, stream);
                });
            } else {
                for row in wanted {
                    picked.extend_from_slice(&stream[*row as usize * d..][..d]);
                }
                let rows = self.block_rows(wanted.len());
                let blocks = picked.par_chunks_mut(rows * d).zip(wanted.par_chunks(rows));
                each(wanted.len(), blocks, |(stream, wanted)| {
                    let places: Vec<PiecePlace> = wanted.iter().map(|row| places[*row as usize]).collect();
                    self.advance(layer, stream, |out| attended(&places, out));
                });
            }
        }
    }

    /// Logits of the wanted rows that [`trunk`](Self::trunk) left.
    pub(crate) fn head(&self, columns: Range<usize>, memory: &mut Memory) -> Logits {
        let d = self.config.d_model;
        let n = memory.picked.len() / d;
        if n == 0 || columns.is_empty() {
            return Logits::whole(Vec::new(), columns.len());
        }
        // Panels begin at multiples of 16; what lies before the range is cut off again.
        let first = columns.start / 16 * 16;
        let width = columns.end - first;
        let mut values = vec![0.0; n * width];
        let block = self.block_rows(n);
        let blocks = values.par_chunks_mut(block * width).zip(memory.picked.par_chunks_mut(block * d));
        each(n, blocks, |(data, picked)| {
            with_memory(|own| {
                self.normed(&mut own.normed, picked, &self.norm);
                self.head.forward(&own.normed, Out { data, first, width, add: false }, &mut own.packed);
            });
        });
        if width > columns.len() {
            let skip = columns.start - first;
            values = values.chunks_exact(width).flat_map(|row| &row[skip..]).copied().collect();
        }
        Logits::whole(values, columns.len())
    }

    /// First norm and the query-key-value product of a block of rows.
    fn project(&self, layer: &InferenceLayer, qkv: &mut [f32], stream: &mut [f32]) {
        with_memory(|own| {
            self.normed(&mut own.normed, stream, &layer.attention_norm);
            let out = Out { data: qkv, first: 0, width: layer.qkv.outputs(), add: false };
            layer.qkv.forward(&own.normed, out, &mut own.packed);
        });
    }

    /// Everything after attention of a block of rows; `attended` fetches what attention made of them.
    fn advance(&self, layer: &InferenceLayer, stream: &mut [f32], attended: impl FnOnce(&mut Vec<f32>)) {
        let (d, ff) = (self.config.d_model, self.config.d_ff);
        let n = stream.len() / d;
        with_memory(|own| {
            attended(&mut own.normed);
            let out = Out { data: stream, first: 0, width: d, add: true };
            layer.output.forward(&own.normed, out, &mut own.packed);
            self.normed(&mut own.normed, stream, &layer.mlp_norm);
            own.gate_up.resize(n * 2 * ff, 0.0);
            own.hidden.resize(n * ff, 0.0);
            let out = Out { data: &mut own.gate_up, first: 0, width: 2 * ff, add: false };
            layer.gate_up.forward(&own.normed, out, &mut own.packed);
            for (hidden, gate_up) in own.hidden.chunks_exact_mut(ff).zip(own.gate_up.chunks_exact(2 * ff)) {
                swiglu::row(hidden, gate_up);
            }
            let out = Out { data: stream, first: 0, width: d, add: true };
            layer.down.forward(&own.hidden, out, &mut own.packed);
        });
    }

    /// Normalizes rows of the stream, which continues from them where the placement says so.
    fn normed(&self, normed: &mut Vec<f32>, stream: &mut [f32], parameters: &[f32]) {
        let (d, norm) = (self.config.d_model, Norm::new(&self.config, parameters));
        normed.resize(stream.len(), 0.0);
        for (normed, row) in normed.chunks_exact_mut(d).zip(stream.chunks_exact(d)) {
            norm.row(normed, row);
        }
        if self.config.variant.placement == NormPlacement::Post {
            stream.copy_from_slice(normed);
        }
    }

    /// Rows of a block: as many blocks as keep every thread equally busy, none larger than it may be.
    fn block_rows(&self, n: usize) -> usize {
        let most = if self.is_narrow { NARROW_BLOCK_ROWS } else { BLOCK_ROWS };
        // A batch may be empty, and then there is one block of nothing.
        let blocks = n.div_ceil(most).max(1).next_multiple_of(rayon::current_num_threads());
        // Tiles have six rows, so smaller blocks than that would only read the weights more often.
        n.div_ceil(blocks).next_multiple_of(6).max(6)
    }
}

/// Runs blocks in parallel, or here when there is but one.
fn each<T: Send>(n: usize, blocks: impl IndexedParallelIterator<Item = T>, run: impl Fn(T) + Send + Sync) {
    if n <= 6 {
        // A single block: handing it to another thread would only cost time.
        blocks.with_min_len(usize::MAX).for_each(run);
    } else {
        blocks.for_each(run);
    }
}

/// The memory of this thread. It is taken out while in use: a thread that waits for others may start another block.
fn with_memory(run: impl FnOnce(&mut RowMemory)) {
    let mut own = ROW_MEMORY.take();
    run(&mut own);
    ROW_MEMORY.set(own);
}
