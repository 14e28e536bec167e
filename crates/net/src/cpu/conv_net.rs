//! A [`ConvNetConfig`] on CPU, for playing and for training.

use std::cell::RefCell;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::conv_board::{self, BoardMemory, PackedNet};
use super::conv_lanes::{self, LANES, LaneMemory};
use super::conv_pass::{ConvMemory, ConvPass, loss_only};
use super::update::update;
use crate::conv_net::{ConvNet, ConvNetConfig, ConvTargets, PlacedLayer};
use crate::error::NetError;
use crate::layout::Layout;
use crate::optimizer::OptimizerSettings;
use crate::trainer::{StepSettings, TrainState, UpdateReport, Weights};

/// Boards that pass through the whole net together on one thread; fixed, so that sums do not depend on the number of threads.
const BOARDS: usize = 32;
/// Groups of boards whose gradients are held at once.
const WAVE: usize = 64;

/// A small net with its optimizer. [`predict`](CpuConvNet::predict) takes `&self`, so many searches may share one net.
pub struct CpuConvNet {
    config: ConvNetConfig,
    layout: Layout,
    layers: Vec<PlacedLayer>,
    n_outputs: usize,
    optimizer: OptimizerSettings,
    state: TrainState,
    gradient: Vec<f32>,
    /// Live and averaged weights packed for single boards, made when they are first wanted; an update forgets them.
    packed: [OnceLock<PackedNet>; 2],
    /// What packing costs in outputs that are missing.
    padding: f64,
}

thread_local! {
    static MEMORY: RefCell<ConvMemory> = RefCell::default();
    static LANE_MEMORY: RefCell<LaneMemory> = RefCell::default();
    static BOARD_MEMORY: RefCell<BoardMemory> = RefCell::default();
}

impl CpuConvNet {
    /// A net that continues from a state; [`ConvNetConfig::initial_parameters`] and [`TrainState::new`] make a first one.
    ///
    /// # Errors
    /// When the layers do not fit together or the state does not fit them.
    pub fn new(
        config: ConvNetConfig,
        optimizer: OptimizerSettings,
        state: TrainState,
    ) -> Result<Self, NetError> {
        let (layout, layers) = config.place()?;
        state.validate(&layout)?;
        let n_outputs = config.n_outputs()?;
        let gradient = vec![0.0; layout.len()];
        let padding = conv_board::padding(&layers);
        let packed = Default::default();
        Ok(Self { config, layout, layers, n_outputs, optimizer, state, gradient, packed, padding })
    }

    /// The shape.
    pub fn config(&self) -> &ConvNetConfig {
        &self.config
    }

    /// Where each tensor lies in the flat buffers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Values of an output.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Parameters, moments, average and step.
    pub fn state(&self) -> &TrainState {
        &self.state
    }

    /// Continues from a saved state.
    ///
    /// # Errors
    /// When a buffer has another length than the layout.
    pub fn set_state(&mut self, state: TrainState) -> Result<(), NetError> {
        state.validate(&self.layout)?;
        self.state = state;
        self.packed = Default::default();
        self.gradient.fill(0.0);
        Ok(())
    }

    /// The gradient buffer as it is, for an all-reduce.
    pub fn gradient_mut(&mut self) -> &mut [f32] {
        &mut self.gradient
    }

    /// Outputs `[n, outputs]` of boards `[n, height, width, channels]`.
    ///
    /// # Errors
    /// When the inputs are not a whole number of boards.
    pub fn predict(&self, inputs: &[f32], weights: Weights) -> Result<Vec<f32>, NetError> {
        let n = self.config.n_boards(inputs)?;
        let size = self.config.n_inputs();
        let parameters = self.parameters(weights);
        let mut out = vec![0.0; n * self.n_outputs];
        let run = |(out, inputs): (&mut [f32], &[f32])| {
            if conv_board::is_faster(inputs.len() / size, self.padding) {
                let mut memory = BOARD_MEMORY.take();
                self.packed(weights).predict(&self.layers, inputs, out, &mut memory);
                BOARD_MEMORY.set(memory);
                return;
            }
            let mut memory = LANE_MEMORY.take();
            conv_lanes::predict(&self.layers, parameters, inputs, out, &mut memory);
            LANE_MEMORY.set(memory);
        };
        let outs = out.par_chunks_mut(LANES * self.n_outputs);
        outs.zip(inputs.par_chunks(LANES * size)).for_each(run);
        Ok(out)
    }

    /// The loss without gradient.
    ///
    /// # Errors
    /// When inputs or targets have the wrong length or no weight.
    pub fn evaluate(
        &self,
        inputs: &[f32],
        targets: ConvTargets<'_>,
        weights: Weights,
    ) -> Result<f32, NetError> {
        let outputs = self.predict(inputs, weights)?;
        targets.validate(self.config.n_boards(inputs)?, self.n_outputs)?;
        let total = loss_only(&outputs, targets, self.n_outputs);
        Ok((total / targets.normalizer(self.n_outputs).max(f64::MIN_POSITIVE)) as f32)
    }

    /// Computes the loss and adds its gradient to the gradient buffer, which [`update`](Self::update) clears.
    ///
    /// # Errors
    /// When inputs or targets have the wrong length or no weight, or the loss is not finite: then the gradient is cleared.
    pub fn forward_backward(&mut self, inputs: &[f32], targets: ConvTargets<'_>) -> Result<f32, NetError> {
        let n = self.config.n_boards(inputs)?;
        targets.validate(n, self.n_outputs)?;
        if n == 0 {
            return Ok(0.0);
        }
        let normalizer = targets.normalizer(self.n_outputs);
        let (size, n_outputs) = (self.config.n_inputs(), self.n_outputs);
        let pass = ConvPass { layers: &self.layers, parameters: &self.state.parameters };
        let mut total = 0.0;
        for first in (0..n).step_by(BOARDS * WAVE) {
            let groups: Vec<usize> = (first..n.min(first + BOARDS * WAVE)).step_by(BOARDS).collect();
            let parts: Vec<(f64, Vec<f32>)> = groups
                .into_par_iter()
                .map(|start| {
                    let end = n.min(start + BOARDS);
                    let own = start * n_outputs..end * n_outputs;
                    let targets = targets.part(own);
                    let mut gradient = vec![0.0; self.gradient.len()];
                    let mut total = 0.0;
                    with_memory(|memory| {
                        pass.forward(&inputs[start * size..end * size], memory);
                        total = pass.backward(targets, n_outputs, normalizer, memory, &mut gradient);
                    });
                    (total, gradient)
                })
                .collect();
            // Summed in order of group, whoever computed it.
            for (part, gradient) in parts {
                total += part;
                self.gradient.iter_mut().zip(&gradient).for_each(|(sum, x)| *sum += x);
            }
        }
        let loss = (total / normalizer) as f32;
        if loss.is_finite() {
            return Ok(loss);
        }
        self.gradient.fill(0.0);
        Err(NetError::NotFinite { step: self.state.step, what: "the loss" })
    }

    /// Clips the gradient, updates parameters and average, and clears the gradient.
    ///
    /// # Errors
    /// [`NetError::NotFinite`] when the gradient norm is not finite: nothing is changed but the gradient, which is cleared.
    pub fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError> {
        self.packed = Default::default();
        update(&mut self.state, &mut self.gradient, &self.layout, &self.optimizer, settings)
    }

    /// One whole step; returns the loss before it.
    ///
    /// # Errors
    /// As [`forward_backward`](Self::forward_backward) and [`update`](Self::update).
    pub fn train_step(
        &mut self,
        inputs: &[f32],
        targets: ConvTargets<'_>,
        settings: &StepSettings,
    ) -> Result<f32, NetError> {
        let loss = self.forward_backward(inputs, targets)?;
        self.update(settings)?;
        Ok(loss)
    }

    fn packed(&self, weights: Weights) -> &PackedNet {
        let packed = &self.packed[usize::from(weights == Weights::Average)];
        packed.get_or_init(|| PackedNet::new(&self.layers, self.parameters(weights)))
    }

    fn parameters(&self, weights: Weights) -> &[f32] {
        match weights {
            Weights::Live => &self.state.parameters,
            Weights::Average => &self.state.average,
        }
    }
}

impl ConvNet for CpuConvNet {
    fn config(&self) -> &ConvNetConfig {
        self.config()
    }

    fn n_outputs(&self) -> usize {
        self.n_outputs()
    }

    fn batch_hint(&self) -> usize {
        BOARDS
    }

    fn boards_as_one(&self) -> usize {
        // Where a full pass gains less than half, a search is better off without leaves that it has to guess.
        if conv_board::is_faster(LANES / 2, self.padding) { 1 } else { LANES }
    }

    fn predict(&self, inputs: &[f32], weights: Weights) -> Result<Vec<f32>, NetError> {
        self.predict(inputs, weights)
    }

    fn train_step(
        &mut self,
        inputs: &[f32],
        targets: ConvTargets<'_>,
        settings: &StepSettings,
    ) -> Result<f32, NetError> {
        self.train_step(inputs, targets, settings)
    }

    fn state(&self) -> Result<TrainState, NetError> {
        Ok(self.state().clone())
    }

    fn set_state(&mut self, state: TrainState) -> Result<(), NetError> {
        self.set_state(state)
    }
}

/// The memory of this thread. It is taken out while in use: a thread that waits for others may start another group.
fn with_memory(run: impl FnOnce(&mut ConvMemory)) {
    let mut memory = MEMORY.take();
    run(&mut memory);
    MEMORY.set(memory);
}
