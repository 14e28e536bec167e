//! A trainer that shares every batch with the other ranks of a group.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::all_reduce::AllReduce;
use crate::batch::{Batch, LossRows, share};
use crate::config::TransformerConfig;
use crate::decoder::{Logits, Want};
use crate::error::NetError;
use crate::layout::Layout;
use crate::trainer::{
    LossReport, StepReport, StepSettings, TagLoss, TrainState, Trainer, UpdateReport, Weights,
};

/// A trainer as one of several ranks: each computes its share of the batch that all of them are given, gradients and losses
/// are summed, and every rank makes the same update.
///
/// All ranks start from the same state and get the same batches in the same order; then their parameters stay bit for
/// bit the same, and are those of a single rank up to the order of additions.
pub struct RankedTrainer {
    inner: Box<dyn Trainer>,
    ranks: Arc<dyn AllReduce>,
    reports: VecDeque<StepReport>,
}

impl RankedTrainer {
    /// A rank over a trainer of its own.
    pub fn new(inner: Box<dyn Trainer>, ranks: Arc<dyn AllReduce>) -> Self {
        Self { inner, ranks, reports: VecDeque::new() }
    }

    /// The sum of the losses of all shares. A loss that is not finite on one rank is an error on each.
    fn summed(&self, own: Result<LossReport, NetError>) -> Result<LossReport, NetError> {
        let own = match own {
            Err(NetError::NotFinite { .. }) => LossReport { loss: f32::NAN, tags: Vec::new() },
            own => own?,
        };
        let mut sums = vec![0.0; 1 + N_TAGS * TagSums::LEN];
        sums[0] = own.loss;
        for tag in &own.tags {
            let at = 1 + usize::from(tag.tag) * TagSums::LEN;
            sums[at..at + TagSums::LEN].copy_from_slice(&TagSums::of(tag).0);
        }
        self.ranks.sum(&mut sums)?;
        let loss = sums[0];
        if !loss.is_finite() {
            return Err(NetError::NotFinite { step: self.inner.step(), what: "the loss" });
        }
        let tags = sums[1..].as_chunks().0.iter().zip(0..=u8::MAX);
        let tags = tags.filter_map(|(sums, tag)| TagSums(*sums).loss(tag)).collect();
        Ok(LossReport { loss, tags })
    }
}

/// Kinds of rows there may be: a tag is a byte.
const N_TAGS: usize = 256;

/// What the ranks add up of the rows of one kind: their number, their weight, the loss by weight and the loss by number.
struct TagSums([f32; Self::LEN]);

impl TagSums {
    const LEN: usize = 4;

    fn of(tag: &TagLoss) -> Self {
        let n_rows = tag.n_rows as f32;
        Self([n_rows, tag.weight, tag.weight * tag.loss, n_rows * tag.loss])
    }

    /// The loss of all ranks together; `None` without rows.
    fn loss(self, tag: u8) -> Option<TagLoss> {
        let Self([n_rows, weight, by_weight, by_number]) = self;
        let loss = if weight > 0.0 { by_weight / weight } else { by_number / n_rows };
        (n_rows > 0.0).then_some(TagLoss { tag, n_rows: n_rows as u32, weight, loss })
    }
}

impl Trainer for RankedTrainer {
    fn config(&self) -> &TransformerConfig {
        self.inner.config()
    }

    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn step(&self) -> u64 {
        self.inner.step()
    }

    /// The loss of the whole batch; the gradient is that of this rank's share until [`all_reduce`](Trainer::all_reduce).
    fn forward_backward(&mut self, batch: &Batch, rows: &LossRows) -> Result<LossReport, NetError> {
        // Before it is divided: a bad row is the same error on every rank, none of which then waits for another.
        batch.validate_for(self.inner.config(), |_| 0)?;
        rows.validate(batch.len(), self.inner.config().n_outputs())?;
        let (batch, rows) = share(batch, rows, self.ranks.rank(), self.ranks.n_ranks());
        let own = self.inner.forward_backward(&batch, &rows);
        self.summed(own)
    }

    fn all_reduce(&mut self, ranks: &dyn AllReduce) -> Result<(), NetError> {
        self.inner.all_reduce(ranks)
    }

    fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError> {
        self.inner.update(settings)
    }

    fn submit(&mut self, batch: &Batch, rows: &LossRows, settings: &StepSettings) -> Result<(), NetError> {
        let loss = self.forward_backward(batch, rows)?;
        self.inner.all_reduce(&*self.ranks)?;
        let update = self.inner.update(settings)?;
        self.reports.push_back(StepReport { step: self.inner.step(), loss, update });
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<StepReport>, NetError> {
        Ok(self.reports.pop_front())
    }

    fn evaluate(&mut self, batch: &Batch, rows: &LossRows, weights: Weights) -> Result<LossReport, NetError> {
        self.inner.evaluate(batch, rows, weights)
    }

    fn logits_of(
        &mut self,
        batch: &Batch,
        wants: &[Want],
        weights: Weights,
    ) -> Result<Vec<Logits>, NetError> {
        self.inner.logits_of(batch, wants, weights)
    }

    fn gradient(&mut self) -> Result<Vec<f32>, NetError> {
        self.inner.gradient()
    }

    fn state(&mut self) -> Result<TrainState, NetError> {
        self.inner.state()
    }

    fn set_state(&mut self, state: TrainState) -> Result<(), NetError> {
        self.inner.set_state(state)
    }

    fn parameters(&mut self, weights: Weights) -> Result<Vec<f32>, NetError> {
        self.inner.parameters(weights)
    }
}
