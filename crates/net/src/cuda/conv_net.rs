//! A [`ConvNetConfig`] on CUDA, in f32, behind the same trait as the one on CPU.

use std::sync::Mutex;

use super::conv_pass::{ConvBuffers, ConvOps, MAX_VALUES};
use super::gpu::Gpu;
use super::memory::Buffer;
use super::op::Op;
use super::optimizer::{HYPER, Optimizer, Outcome};
use super::program::Kernels;
use crate::conv_net::{ConvNet, ConvNetConfig, ConvTargets};
use crate::error::NetError;
use crate::layout::Layout;
use crate::optimizer::{Algorithm, OptimizerSettings};
use crate::trainer::{StepSettings, TrainState, UpdateReport, Weights};

/// Boards that keep a GPU busy: the smallest nets have some 40 cells, and a block takes 128. Callers that wait in groups of a quarter of
/// this (`mavis-probs`) still fill it on a board of 11x11.
const BATCH_HINT: usize = 2048;
/// A pass takes as long for so many boards as for one, and more of them at once would widen a search.
const BOARDS_AS_ONE: usize = 16;

/// A small net with its optimizer on a GPU. Sums are f32 throughout, and the same from run to run.
///
/// Searches may share one net: calls take turns on the device.
pub struct CudaConvNet {
    config: ConvNetConfig,
    layout: Layout,
    n_outputs: usize,
    max_boards: usize,
    on_device: Mutex<OnDevice>,
}

/// What lives on the GPU.
struct OnDevice {
    device: Gpu,
    ops: ConvOps,
    buffers: ConvBuffers,
    optimizer: Optimizer,
    gradient: Buffer,
    /// Words the update reads its learning rate from; as the first words of a transformer's batch.
    head: Buffer,
    /// The gradient counts as zero, whatever the buffer holds.
    cleared: bool,
    step: u64,
}

impl CudaConvNet {
    /// A net on GPU `ordinal` that continues from a state.
    ///
    /// # Errors
    /// When a library or the GPU is missing, the layers or the state do not fit together, or the optimizer is Muon, which is not served
    /// for these nets on a GPU.
    pub fn new(
        config: ConvNetConfig,
        optimizer: &OptimizerSettings,
        state: &TrainState,
        ordinal: usize,
    ) -> Result<Self, NetError> {
        let (layout, layers) = config.place()?;
        state.validate(&layout)?;
        if optimizer.algorithm == Algorithm::Muon {
            return Err(NetError::Device("small nets on a GPU are trained with AdamW, not Muon".into()));
        }
        let n_outputs = config.n_outputs()?;
        let largest = layers.iter().flat_map(|layer| [layer.input, layer.output]);
        let largest = largest.map(|shape| shape.iter().product::<usize>()).max().unwrap_or(1);
        let max_boards = (MAX_VALUES / largest).clamp(64, 1 << 16);
        let device = Gpu::open(ordinal, &Kernels::conv())?;
        let mut optimizer = Optimizer::new(&device, &layout, optimizer)?;
        optimizer.set_state(&device, state)?;
        let on_device = OnDevice {
            ops: ConvOps::new(&device, &config, layers)?,
            buffers: ConvBuffers::default(),
            gradient: device.zeroed(layout.len() * 4)?,
            head: device.zeroed(64)?,
            optimizer,
            device,
            cleared: true,
            step: state.step,
        };
        Ok(Self { config, layout, n_outputs, max_boards, on_device: Mutex::new(on_device) })
    }

    /// Takes at most so many boards at once; larger batches go in pieces, with the same result but for the order of sums.
    pub fn with_max_boards(self, max_boards: usize) -> Self {
        Self { max_boards: max_boards.clamp(1, self.max_boards), ..self }
    }

    /// Where each tensor lies in the flat buffers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Computes the loss and adds its gradient to the gradient buffer, which [`update`](Self::update) clears.
    ///
    /// # Errors
    /// As [`CpuConvNet`](crate::cpu::CpuConvNet)'s, and when the device fails.
    pub fn forward_backward(&mut self, inputs: &[f32], targets: ConvTargets<'_>) -> Result<f32, NetError> {
        let n = self.config.n_boards(inputs)?;
        targets.validate(n, self.n_outputs)?;
        if n == 0 {
            return Ok(0.0);
        }
        let (size, n_outputs, chunk) = (self.config.n_inputs(), self.n_outputs, self.max_boards);
        let normalizer = targets.normalizer(n_outputs);
        let on = self.entered()?;
        let mut total = 0.0f64;
        for first in (0..n).step_by(chunk) {
            let end = n.min(first + chunk);
            let own = first * n_outputs..end * n_outputs;
            let part = targets.part(own);
            on.load(&inputs[first * size..end * size], end - first)?;
            total += on.gradient_of(part, end - first, 1.0 / normalizer as f32)?;
        }
        let loss = (total / normalizer) as f32;
        if loss.is_finite() {
            return Ok(loss);
        }
        on.cleared = true;
        Err(NetError::NotFinite { step: on.step, what: "the loss" })
    }

    /// Clips the gradient, updates parameters and average, and clears the gradient.
    ///
    /// # Errors
    /// [`NetError::NotFinite`] when the gradient norm or the learning rate is not finite: then nothing is changed but the gradient, which is
    /// cleared.
    pub fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError> {
        self.entered()?.update(settings)
    }

    /// The gradient as it is.
    ///
    /// # Errors
    /// When the device fails.
    pub fn gradient(&mut self) -> Result<Vec<f32>, NetError> {
        let len = self.layout.len();
        let on = self.entered()?;
        if on.cleared { Ok(vec![0.0; len]) } else { on.device.read(&on.gradient, len) }
    }

    /// The device, with its context bound to this thread.
    fn entered(&mut self) -> Result<&mut OnDevice, NetError> {
        let on = self.on_device.get_mut().map_err(|_| poisoned())?;
        on.device.bind()?;
        Ok(on)
    }
}

impl ConvNet for CudaConvNet {
    fn config(&self) -> &ConvNetConfig {
        &self.config
    }

    fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    fn batch_hint(&self) -> usize {
        BATCH_HINT
    }

    fn boards_as_one(&self) -> usize {
        BOARDS_AS_ONE
    }

    fn predict(&self, inputs: &[f32], weights: Weights) -> Result<Vec<f32>, NetError> {
        let (n, size) = (self.config.n_boards(inputs)?, self.config.n_inputs());
        let mut guard = self.on_device.lock().map_err(|_| poisoned())?;
        let on = &mut *guard;
        on.device.bind()?;
        let mut outputs = Vec::with_capacity(n * self.n_outputs);
        for boards in inputs.chunks(self.max_boards * size) {
            let n = boards.len() / size;
            on.load(boards, n)?;
            let parameters = on.optimizer.device_weights(&on.device, weights)?.full;
            let ops = on.ops.forward(&on.buffers, parameters, n);
            on.device.run_all(&ops)?;
            outputs.extend(on.device.read::<f32>(on.buffers.output(), n * self.n_outputs)?);
        }
        Ok(outputs)
    }

    fn train_step(
        &mut self,
        inputs: &[f32],
        targets: ConvTargets<'_>,
        settings: &StepSettings,
    ) -> Result<f32, NetError> {
        let loss = self.forward_backward(inputs, targets)?;
        self.update(settings)?;
        Ok(loss)
    }

    fn state(&self) -> Result<TrainState, NetError> {
        let on = self.on_device.lock().map_err(|_| poisoned())?;
        on.device.bind()?;
        on.optimizer.state(&on.device)
    }

    fn set_state(&mut self, state: TrainState) -> Result<(), NetError> {
        state.validate(&self.layout)?;
        let on = self.entered()?;
        on.optimizer.set_state(&on.device, &state)?;
        on.step = state.step;
        on.cleared = true;
        Ok(())
    }
}

impl OnDevice {
    /// Makes room for `n` boards and copies them to the device.
    fn load(&mut self, boards: &[f32], n: usize) -> Result<(), NetError> {
        self.buffers.reserve(&self.device, &self.ops, n)?;
        self.device.write(self.buffers.input(), boards)
    }

    /// A pass over the boards at hand: adds their gradient, returns the sum of their losses.
    fn gradient_of(&mut self, targets: ConvTargets<'_>, n: usize, factor: f32) -> Result<f64, NetError> {
        self.device.write(self.buffers.targets(), targets.values)?;
        self.device.write(self.buffers.weights(), targets.weights)?;
        let parameters = self.optimizer.live().full;
        let mut ops = self.ops.forward(&self.buffers, parameters, n);
        ops.push(self.ops.loss(&self.buffers, targets.loss, n, factor));
        let addresses = (parameters, self.gradient.address);
        ops.extend(self.ops.backward(&self.buffers, addresses, n, !self.cleared));
        self.device.run_all(&ops)?;
        self.cleared = false;
        let losses = self.device.read::<f32>(self.buffers.losses(), n)?;
        Ok(losses.iter().map(|loss| f64::from(*loss)).sum())
    }

    fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError> {
        let cleared = std::mem::replace(&mut self.cleared, true);
        if !settings.learning_rate.is_finite() {
            return Err(NetError::NotFinite { step: self.step, what: "the learning rate" });
        }
        if cleared {
            self.device.run(&Op::Clear { address: self.gradient.address, bytes: self.gradient.bytes })?;
        }
        // The fourth word, as `C_LR` in `prelude.cu` says.
        self.device.write_at(&self.head, 3, &[settings.learning_rate])?;
        let ops = self.optimizer.update(&mut self.device, self.head.address, self.gradient.address)?;
        self.device.run_all(&ops)?;
        self.optimizer.moved();
        let outcome = Outcome::read(&self.device.read::<u32>(&self.optimizer.hyper, HYPER)?);
        if !outcome.applied {
            return Err(NetError::NotFinite { step: self.step, what: "the gradient norm" });
        }
        self.step = outcome.step;
        Ok(UpdateReport { gradient_norm: outcome.norm, clip_scale: outcome.clip_scale })
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        // Kernels under way use the buffers that go next; a failure here means the context is gone.
        let _gone_with_context = self.device.bind().and_then(|()| self.device.synchronize());
    }
}

fn poisoned() -> NetError {
    NetError::Device("another thread panicked while it used the net".into())
}
