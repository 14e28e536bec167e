//! The traces of a batch.

use super::{BatchSettings, writer::TARGETS_PER_TOKEN};
use crate::{
    deck::Deck,
    pack::{PackedBatch, Packer},
};
use mavis_data::TraceTable;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a batch holds beside examples of single positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MixSettings {
    /// Share of the tokens of a batch that are traces, where there are any.
    pub traces: f32,
}

impl Default for MixSettings {
    /// As in paper 001.
    fn default() -> Self {
        Self { traces: 0.4 }
    }
}

/// Traces whose length is looked at to know the mean.
const SAMPLE: usize = 1_000;

/// Traces by the batch: a pure function of seed and number, like examples.
#[derive(Clone)]
pub(super) struct Traces {
    sets: Vec<Arc<TraceTable>>,
    deck: Deck,
}

impl Traces {
    /// Sets by weight; `None` without a trace.
    pub(super) fn new(
        sets: Vec<(Arc<TraceTable>, f32)>,
        packer: &Packer,
        batch: &BatchSettings,
        share: f32,
        seed: u64,
    ) -> Option<Self> {
        let sets: Vec<_> =
            sets.into_iter().filter(|(set, weight)| !set.is_empty() && *weight > 0.0).collect();
        let total: f32 = sets.iter().map(|(_, weight)| *weight).sum();
        // Traces come in random order, so the first ones tell how many tokens one takes.
        let mean = |set: &TraceTable| {
            let first = (0..set.len().min(SAMPLE)).filter_map(|record| set.get(record));
            let lens: Vec<usize> =
                first.map(|trace| packer.text_len(trace.tokens, trace.loss_start)).collect();
            lens.iter().sum::<usize>() as f32 / lens.len().max(1) as f32
        };
        let mean: f32 = sets.iter().map(|(set, weight)| mean(set) * weight / total).sum();
        let n_records = (share * batch.tokens as f32 / mean.max(1.0)).round().max(1.0) as usize;
        let sizes: Vec<(usize, f32)> = sets.iter().map(|(set, weight)| (set.len(), *weight)).collect();
        let deck = Deck::new(&sizes, n_records, seed)?;
        Some(Self { sets: sets.into_iter().map(|(set, _)| set).collect(), deck })
    }

    /// Traces of a batch when all fit.
    pub(super) fn n_records(&self) -> usize {
        self.deck.n_records()
    }

    /// Appends the traces of a batch, those that fit.
    pub(super) fn push(&self, number: u64, packer: &Packer, batch: &BatchSettings, packed: &mut PackedBatch) {
        for (set, record) in self.deck.batch(number) {
            let Some(trace) = self.sets[set].get(record) else { continue };
            let len = packer.text_len(trace.tokens, trace.loss_start);
            let n_targets = packed.rows.target_ids.len() + Packer::trace_targets(trace);
            if len <= batch.sequence
                && packed.batch.len() + len <= batch.tokens
                && n_targets <= TARGETS_PER_TOKEN * batch.tokens
            {
                packer.push_trace(packed, trace);
            }
        }
    }
}
