//! Samples as batches.

use super::{PredictorLoss, PredictorSpec, PredictorTarget, Sample, Samples, input};
use crate::{deck::Deck, loader::Batches, pack::PackedBatch};
use mavis_data::RecordError;
use std::sync::Arc;

/// The one kind of row a predictor's loss has.
pub(super) const KINDS: [&str; 1] = ["answer"];

/// The training data of a predictor as numbered batches; a [`Deck`] says which samples each holds.
#[derive(Clone)]
pub struct PredictorBatches {
    sets: Vec<Arc<dyn Samples>>,
    deck: Deck,
    spec: PredictorSpec,
}

impl PredictorBatches {
    /// Batches of `n_samples` out of sets by weight; `None` when there is nothing to learn from.
    #[must_use]
    pub fn new(
        sets: Vec<(Arc<dyn Samples>, f32)>,
        n_samples: usize,
        spec: PredictorSpec,
        seed: u64,
    ) -> Option<Self> {
        let sets: Vec<_> =
            sets.into_iter().filter(|(set, weight)| !set.is_empty() && *weight > 0.0).collect();
        let sizes: Vec<(usize, f32)> = sets.iter().map(|(set, weight)| (set.len(), *weight)).collect();
        let deck = Deck::new(&sizes, n_samples, seed)?;
        Some(Self { sets: sets.into_iter().map(|(set, _)| set).collect(), deck, spec })
    }

    /// Samples of a batch.
    #[must_use]
    pub fn samples_per_batch(&self) -> usize {
        self.deck.n_records()
    }

    /// The most samples a batch may have, for which a device needs room.
    #[must_use]
    pub fn most_samples_per_batch(&self) -> usize {
        self.deck.most_records()
    }

    /// Samples of all sets.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.deck.n_total()
    }
}

impl Batches for PredictorBatches {
    fn fill(&self, number: u64, packed: &mut PackedBatch) -> Result<(), RecordError> {
        packed.clear();
        for (set, record) in self.deck.batch(number) {
            if let Some(sample) = self.sets[set].get(record)? {
                push(packed, &sample, self.spec);
            }
        }
        packed.finish();
        Ok(())
    }
}

/// Appends a sample with its answer as the one right class, or as a number.
fn push(packed: &mut PackedBatch, sample: &Sample, spec: PredictorSpec) {
    input(&mut packed.batch, &sample.characters, sample.action);
    let row = packed.batch.len() as u32 - 1;
    match (sample.target, spec.loss) {
        (PredictorTarget::Value(value), PredictorLoss::Log) => {
            packed.rows.push_hard(row, 1.0, 0, spec.bins.bin(value));
        }
        (PredictorTarget::Value(value), PredictorLoss::SquaredError) => {
            packed.rows.push_number(row, 1.0, 0, value);
        }
        (PredictorTarget::Action(action), _) => packed.rows.push_hard(row, 1.0, 0, u32::from(action)),
    }
    packed.n_examples += 1;
}
