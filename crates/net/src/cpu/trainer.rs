//! [`Trainer`] on CPU.

use std::collections::VecDeque;

use super::backward::Backward;
use super::forward::{self, Activations, Model, Pass, pick, trunk};
use super::matmul::{Linear, Store};
use super::rotary::Rotary;
use super::update::update;
use crate::all_reduce::AllReduce;
use crate::batch::{Batch, LossRows};
use crate::config::TransformerConfig;
use crate::decoder::{Logits, Want};
use crate::error::NetError;
use crate::layout::{Layout, TransformerOffsets};
use crate::optimizer::OptimizerSettings;
use crate::trainer::{LossReport, StepReport, StepSettings, TrainState, Trainer, UpdateReport, Weights};

/// A transformer in training on CPU.
pub struct CpuTrainer {
    config: TransformerConfig,
    layout: Layout,
    offsets: TransformerOffsets,
    optimizer: OptimizerSettings,
    state: TrainState,
    gradient: Vec<f32>,
    rotary: Rotary,
    /// Activations and their gradients keep their memory from step to step.
    saved: Activations,
    backward: Backward,
    /// Reports of submitted steps, which here are done at once.
    reports: VecDeque<Result<StepReport, NetError>>,
}

impl CpuTrainer {
    /// A trainer that continues from a state; [`TrainState::new`] makes one of initial parameters.
    ///
    /// # Errors
    /// When the shape is refused or the state does not fit it.
    pub fn new(
        config: TransformerConfig,
        optimizer: OptimizerSettings,
        state: TrainState,
    ) -> Result<Self, NetError> {
        let layout = Layout::transformer(&config)?;
        state.validate(&layout)?;
        Ok(Self {
            offsets: TransformerOffsets::new(&config, &layout)?,
            gradient: vec![0.0; layout.len()],
            rotary: Rotary::new(&config),
            saved: Activations::default(),
            backward: Backward::default(),
            reports: VecDeque::new(),
            config,
            layout,
            optimizer,
            state,
        })
    }

    /// Runs the blocks over a batch that was validated.
    fn trunk(&mut self, batch: &Batch, weights: Weights) {
        self.rotary.reserve(&batch.positions);
        let parameters = weights_of(&self.state, weights);
        let model = Model { config: &self.config, offsets: &self.offsets, parameters };
        trunk(Pass { model, batch, rotary: &self.rotary }, &mut self.saved);
    }

    fn check(&self, report: LossReport) -> Result<LossReport, NetError> {
        if report.loss.is_finite() {
            Ok(report)
        } else {
            Err(NetError::NotFinite { step: self.state.step, what: "the loss" })
        }
    }
}

impl Trainer for CpuTrainer {
    fn config(&self) -> &TransformerConfig {
        &self.config
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn step(&self) -> u64 {
        self.state.step
    }

    fn forward_backward(&mut self, batch: &Batch, rows: &LossRows) -> Result<LossReport, NetError> {
        batch.validate_for(&self.config, |_| 0)?;
        rows.validate(batch.len(), self.config.n_outputs())?;
        if rows.is_empty() {
            return Ok(LossReport::default());
        }
        self.trunk(batch, Weights::Live);
        let model =
            Model { config: &self.config, offsets: &self.offsets, parameters: &self.state.parameters };
        let report = self.backward.head(model, rows, &mut self.saved, &mut self.gradient);
        if !report.loss.is_finite() {
            self.gradient.fill(0.0);
            return self.check(report);
        }
        let pass = Pass { model, batch, rotary: &self.rotary };
        self.backward.trunk(pass, &mut self.saved, &mut self.gradient);
        Ok(report)
    }

    fn all_reduce(&mut self, ranks: &dyn AllReduce) -> Result<(), NetError> {
        Ok(ranks.sum(&mut self.gradient)?)
    }

    fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError> {
        update(&mut self.state, &mut self.gradient, &self.layout, &self.optimizer, settings)
    }

    fn submit(&mut self, batch: &Batch, rows: &LossRows, settings: &StepSettings) -> Result<(), NetError> {
        let loss = match self.forward_backward(batch, rows) {
            Ok(loss) => loss,
            // What only the step itself can find out comes with its report, as on a device.
            Err(error @ NetError::NotFinite { .. }) => {
                self.reports.push_back(Err(error));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let report = self.update(settings).map(|update| StepReport { step: self.state.step, loss, update });
        self.reports.push_back(report);
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<StepReport>, NetError> {
        self.reports.pop_front().transpose()
    }

    fn evaluate(&mut self, batch: &Batch, rows: &LossRows, weights: Weights) -> Result<LossReport, NetError> {
        batch.validate_for(&self.config, |_| 0)?;
        rows.validate(batch.len(), self.config.n_outputs())?;
        self.trunk(batch, weights);
        let parameters = weights_of(&self.state, weights);
        let model = Model { config: &self.config, offsets: &self.offsets, parameters };
        let report = forward::loss(model, rows, &mut self.saved);
        self.check(report)
    }

    fn logits_of(
        &mut self,
        batch: &Batch,
        wants: &[Want],
        weights: Weights,
    ) -> Result<Vec<Logits>, NetError> {
        batch.validate_for(&self.config, |_| 0)?;
        let (vocab, d) = (self.config.n_outputs(), self.config.d_model);
        let columns =
            wants.iter().map(|want| want.validate(batch.len(), vocab)).collect::<Result<Vec<_>, _>>()?;
        self.trunk(batch, weights);
        let parameters = weights_of(&self.state, weights);
        let model = Model { config: &self.config, offsets: &self.offsets, parameters };
        let head = model.at(self.offsets.head, vocab * d);
        let mut all = Vec::with_capacity(wants.len());
        for (want, columns) in wants.iter().zip(columns) {
            pick(model, &want.rows, &mut self.saved);
            let mut values = vec![0.0; want.rows.len() * columns.len()];
            let head = &head[columns.start * d..columns.end * d];
            Linear::new(d, columns.len()).forward(&mut values, &self.saved.picked_normed, head, Store::Set);
            all.push(Logits::whole(values, columns.len()));
        }
        Ok(all)
    }

    fn gradient(&mut self) -> Result<Vec<f32>, NetError> {
        Ok(self.gradient.clone())
    }

    fn state(&mut self) -> Result<TrainState, NetError> {
        Ok(self.state.clone())
    }

    fn set_state(&mut self, state: TrainState) -> Result<(), NetError> {
        state.validate(&self.layout)?;
        self.state = state;
        self.gradient.fill(0.0);
        Ok(())
    }

    fn parameters(&mut self, weights: Weights) -> Result<Vec<f32>, NetError> {
        Ok(weights_of(&self.state, weights).to_vec())
    }
}

fn weights_of(state: &TrainState, weights: Weights) -> &[f32] {
    match weights {
        Weights::Live => &state.parameters,
        Weights::Average => &state.average,
    }
}
