//! The trait of training: one implementation on CPU, one on CUDA.

use crate::all_reduce::AllReduce;
use crate::batch::{Batch, LossRows};
use crate::config::TransformerConfig;
use crate::decoder::{Logits, Want};
use crate::error::NetError;
use crate::layout::Layout;

/// A transformer in training: parameters, gradient, optimizer state and average, wherever they live.
///
/// A step is [`forward_backward`](Trainer::forward_backward), one or more times, then [`update`](Trainer::update); an
/// [`all_reduce`](Trainer::all_reduce) may come between. [`submit`](Trainer::submit) is the whole step at once without waiting for its end, so that a
/// device stays busy while the host prepares the next batch; [`collect`](Trainer::collect) waits for the oldest submitted step.
pub trait Trainer: Send {
    /// The shape.
    fn config(&self) -> &TransformerConfig;

    /// Where each tensor lies in the flat buffers.
    fn layout(&self) -> &Layout;

    /// Updates done so far.
    fn step(&self) -> u64;

    /// Computes the loss and adds its gradient to the gradient buffer, which [`update`](Trainer::update) clears.
    ///
    /// # Errors
    /// A batch or rows that do not validate, a loss that is not finite, a device failure.
    fn forward_backward(&mut self, batch: &Batch, rows: &LossRows) -> Result<LossReport, NetError>;

    /// Sums the gradient over all ranks.
    ///
    /// # Errors
    /// When a rank left, or the device failed.
    fn all_reduce(&mut self, ranks: &dyn AllReduce) -> Result<(), NetError>;

    /// Clips the gradient, updates parameters and average, and clears the gradient.
    ///
    /// # Errors
    /// [`NetError::NotFinite`] when the gradient norm is not finite: nothing is changed but the gradient, which is cleared.
    fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError>;

    /// Starts a whole step; its report comes from [`collect`](Trainer::collect), in order. At most two steps are in flight:
    /// a third call waits.
    ///
    /// # Errors
    /// As [`forward_backward`](Trainer::forward_backward), as far as they can be seen before the step runs.
    fn submit(&mut self, batch: &Batch, rows: &LossRows, settings: &StepSettings) -> Result<(), NetError>;

    /// Waits for the oldest submitted step that was not collected; `None` when there is none.
    ///
    /// # Errors
    /// What went wrong in that step; see [`update`](Trainer::update).
    fn collect(&mut self) -> Result<Option<StepReport>, NetError>;

    /// One whole step, with its report. Steps submitted before must have been collected.
    ///
    /// # Errors
    /// As [`submit`](Trainer::submit) and [`collect`](Trainer::collect).
    fn train_step(
        &mut self,
        batch: &Batch,
        rows: &LossRows,
        settings: &StepSettings,
    ) -> Result<StepReport, NetError> {
        self.submit(batch, rows, settings)?;
        let mut last = None;
        while let Some(report) = self.collect()? {
            last = Some(report);
        }
        last.ok_or_else(|| NetError::Device("a submitted step gave no report".into()))
    }

    /// The loss without gradient.
    ///
    /// # Errors
    /// As [`forward_backward`](Trainer::forward_backward).
    fn evaluate(&mut self, batch: &Batch, rows: &LossRows, weights: Weights) -> Result<LossReport, NetError>;

    /// Logits for each of several wants, all from one pass: measuring needs whole rows of some tokens and a few columns of many.
    ///
    /// # Errors
    /// A batch, rows or columns that do not validate, a device failure.
    fn logits_of(&mut self, batch: &Batch, wants: &[Want], weights: Weights)
    -> Result<Vec<Logits>, NetError>;

    /// Logits of some rows of a batch.
    ///
    /// # Errors
    /// As [`logits_of`](Trainer::logits_of).
    fn logits(&mut self, batch: &Batch, rows: &[u32], weights: Weights) -> Result<Logits, NetError> {
        Ok(self.logits_of(batch, &[Want::rows(rows)], weights)?.pop().unwrap_or_default())
    }

    /// The gradient buffer as it is, `[layout.len()]`.
    ///
    /// # Errors
    /// A device failure.
    fn gradient(&mut self) -> Result<Vec<f32>, NetError>;

    /// Everything a run needs to go on elsewhere.
    ///
    /// # Errors
    /// A device failure.
    fn state(&mut self) -> Result<TrainState, NetError>;

    /// Continues from a saved state.
    ///
    /// # Errors
    /// When a buffer has another length than the layout; a device failure.
    fn set_state(&mut self, state: TrainState) -> Result<(), NetError>;

    /// One of the two parameter buffers, `[layout.len()]`.
    ///
    /// # Errors
    /// A device failure.
    fn parameters(&mut self, weights: Weights) -> Result<Vec<f32>, NetError>;
}

/// Which parameters to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Weights {
    /// Those the optimizer moves.
    #[default]
    Live,
    /// Their running average, which is what we evaluate and ship.
    Average,
}

/// What changes from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSettings {
    /// Learning rate after schedule and warm-up.
    pub learning_rate: f32,
}

/// Loss of one pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossReport {
    /// `sum(weight * loss of the row) / normalizer`; cross-entropies are in nats.
    pub loss: f32,
    /// The same by kind of row, in order of tag; kinds without rows are left out.
    pub tags: Vec<TagLoss>,
}

/// Loss of the rows of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagLoss {
    /// The kind.
    pub tag: u8,
    /// Number of rows.
    pub n_rows: u32,
    /// Sum of their weights.
    pub weight: f32,
    /// Weighted mean of their losses (plain mean when all weights are zero).
    pub loss: f32,
}

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UpdateReport {
    /// Norm of the whole gradient before clipping.
    pub gradient_norm: f32,
    /// Factor the gradient was multiplied with, 1 when not clipped.
    pub clip_scale: f32,
}

/// A whole step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Updates done, this one included.
    pub step: u64,
    /// The loss before the update.
    pub loss: LossReport,
    /// The update.
    pub update: UpdateReport,
}

/// Parameters, optimizer state and average; each buffer is `[layout.len()]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainState {
    /// Updates done.
    pub step: u64,
    /// The parameters.
    pub parameters: Vec<f32>,
    /// First moment of AdamW; for tensors under Muon the momentum.
    pub first_moment: Vec<f32>,
    /// Second moment of AdamW; zero for tensors under Muon.
    pub second_moment: Vec<f32>,
    /// Running average of the parameters.
    pub average: Vec<f32>,
}

impl TrainState {
    /// The state before the first step.
    pub fn new(parameters: Vec<f32>) -> Self {
        let n = parameters.len();
        Self {
            step: 0,
            average: parameters.clone(),
            parameters,
            first_moment: vec![0.0; n],
            second_moment: vec![0.0; n],
        }
    }

    /// Checks that every buffer fits a layout.
    ///
    /// # Errors
    /// The first buffer that does not.
    pub fn validate(&self, layout: &Layout) -> Result<(), NetError> {
        for (what, buffer) in [
            ("parameters", &self.parameters),
            ("first moment", &self.first_moment),
            ("second moment", &self.second_moment),
            ("average", &self.average),
        ] {
            if buffer.len() != layout.len() {
                return Err(NetError::Length { what, expected: layout.len(), got: buffer.len() });
            }
        }
        Ok(())
    }
}
