//! [`Trainer`] on CUDA.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use cudarc::driver::CudaEvent;

use super::backward::Gradients;
use super::blas::Shape;
use super::gpu::{Graph, failed};
use super::memory::{Buffer, Pinned, recording, turn};
use super::network::{DeviceWeights, Extent, FULL, HALF, MAX_POSITIONS, Network};
use super::op::{Op, Operands};
use super::optimizer::{HYPER, Optimizer, Outcome};
use super::pack::{Fields, Job, PackedSizes};
use crate::all_reduce::{AllReduce, DeviceBuffer};
use crate::batch::{Batch, LossRows};
use crate::config::TransformerConfig;
use crate::cpu::loss::report;
use crate::decoder::{Logits, Want};
use crate::error::NetError;
use crate::layout::Layout;
use crate::optimizer::OptimizerSettings;
use crate::trainer::{LossReport, StepReport, StepSettings, TrainState, Trainer, UpdateReport, Weights};

/// Room and place of a trainer on a GPU. Memory is allocated once for these sizes, and steps run at them (rounded down in eighths where
/// a batch is small), so a batch should come close to `max_tokens`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaOptions {
    /// Which GPU, from zero.
    pub device: usize,
    /// Most tokens of a batch; rounded up to a multiple of 512.
    pub max_tokens: usize,
    /// Most loss rows of a batch.
    pub max_rows: usize,
    /// Most target entries of a batch.
    pub max_targets: usize,
}

impl CudaOptions {
    /// Room for so many tokens, any of which may carry loss, and 16 target entries a token.
    pub fn for_tokens(max_tokens: usize) -> Self {
        Self { device: 0, max_tokens, max_rows: max_tokens, max_targets: 16 * max_tokens }
    }
}

/// A transformer in training on a GPU.
pub struct CudaTrainer {
    pub(super) net: Network,
    pub(super) gradients: Gradients,
    pub(super) optimizer: Optimizer,
    /// Two batches under way: one runs while the next is uploaded.
    slots: [Slot; 2],
    next_slot: usize,
    passes: HashMap<(Extent, bool), Graph>,
    update: Option<Graph>,
    in_flight: VecDeque<InFlight>,
    reports: VecDeque<Result<StepReport, NetError>>,
    /// Updates done, those under way not counted.
    step: u64,
    /// The gradient counts as zero, whatever the buffer holds.
    cleared: bool,
}

/// Host and device memory of a batch on its way, and of its report on the way back.
struct Slot {
    words: Pinned,
    staging: Buffer,
    results: Pinned,
    uploaded: CudaEvent,
    /// The staging memory was read, so that the next batch may be uploaded.
    copied: CudaEvent,
    done: CudaEvent,
}

struct InFlight {
    slot: usize,
    /// The rows without their targets, for the report.
    rows: LossRows,
}

impl CudaTrainer {
    /// A trainer that continues from a state.
    ///
    /// # Errors
    /// When a library or the GPU is missing, the shape is not served on the GPU, or memory runs out.
    pub fn new(
        config: TransformerConfig,
        optimizer: &OptimizerSettings,
        state: &TrainState,
        options: &CudaOptions,
    ) -> Result<Self, NetError> {
        let layout = Layout::transformer(&config)?;
        state.validate(&layout)?;
        let fields = Fields::new(
            options.max_tokens.next_multiple_of(512),
            options.max_rows,
            options.max_targets,
            config.variant.learned_table().map(|(by, _)| by),
        );
        let net = Network::new(options.device, &config, fields, true)?;
        let gradients = Gradients::new(&net)?;
        let mut optimizer = Optimizer::new(&net.device, &layout, optimizer)?;
        optimizer.set_state(&net.device, state)?;
        let slot = || -> Result<Slot, NetError> {
            Ok(Slot {
                words: net.device.pinned(net.fields.words)?,
                staging: net.device.zeroed(net.fields.words * 4)?,
                results: net.device.pinned(HYPER + net.fields.max_rows)?,
                uploaded: net.device.event(false)?,
                copied: net.device.event(false)?,
                done: net.device.event(false)?,
            })
        };
        Ok(Self {
            slots: [slot()?, slot()?],
            net,
            gradients,
            optimizer,
            next_slot: 0,
            passes: HashMap::new(),
            update: None,
            in_flight: VecDeque::new(),
            reports: VecDeque::new(),
            step: state.step,
            cleared: true,
        })
    }

    /// The GPU, its libraries and what the compiler said, for people.
    pub fn description(&self) -> &str {
        &self.net.device.description
    }

    /// Sizes to run a batch at.
    pub(super) fn extent(&self, n_tokens: usize, packed: Option<PackedSizes>) -> Extent {
        let fields = &self.net.fields;
        let eighth = fields.max_tokens / 8;
        let rows_step = (fields.max_rows / 16).max(256);
        let (n_rows, n_tiles, n_walked, n_spans) = packed.map_or(Default::default(), |packed| {
            (packed.n_rows, packed.n_tiles, packed.n_walked, packed.n_spans)
        });
        Extent {
            n_tokens: n_tokens.div_ceil(eighth).max(1) * eighth,
            n_rows: (n_rows.max(1).next_multiple_of(rows_step)).min(fields.max_rows),
            n_tiles: n_tiles.max(1).next_multiple_of(256).min(fields.max_tiles),
            n_walked: n_walked.next_multiple_of(256).min(fields.max_tiles),
            n_spans,
        }
    }

    /// Logits of the last pass's rows `rows` over the `n_columns` ids whose part of the head begins at `head`.
    fn head(&mut self, head: u64, rows: Range<usize>, n_columns: usize) -> Result<Logits, NetError> {
        let (d, max_rows) = (self.net.config.d_model, self.net.fields.max_rows);
        // The buffer has room for bf16 logits of all rows at training time; here they are f32.
        let most = (self.net.logits.bytes / FULL / n_columns.max(1)).max(1);
        // Each new shape costs a search for its algorithm, so sizes are rounded up as those of a step are.
        let step = (max_rows / 16).max(256);
        let mut values = Vec::with_capacity(rows.len() * n_columns);
        for begin in rows.clone().step_by(most) {
            let n = most.min(rows.end - begin);
            let padded = n.next_multiple_of(step).min(most).min(max_rows - begin);
            let shape = Shape { f32_out: true, ..Shape::forward(padded, d, n_columns) };
            let operands =
                Operands::plain(head, self.net.last[1].at(begin * d, HALF), self.net.logits.address);
            let op = self.net.device.product("head.logits", shape, operands)?;
            self.net.device.run(&op)?;
            values.extend(self.net.device.read::<f32>(&self.net.logits, n * n_columns)?);
        }
        Ok(Logits::whole(values, n_columns))
    }

    /// Packs a batch, uploads it beside what runs, and makes it the batch at hand once that is done.
    pub(super) fn load(
        &mut self,
        batch: &Batch,
        rows: &LossRows,
        learning_rate: f32,
    ) -> Result<(usize, Extent), NetError> {
        let slot_idx = self.next_slot;
        let n_tokens = self.extent(batch.len(), None).n_tokens;
        let slot = &mut self.slots[slot_idx];
        // Steps wait for their reports, which come later; passes that nobody waits for do not.
        slot.uploaded.synchronize().map_err(failed("waiting for an upload"))?;
        let classes = &self.net.classes;
        let job = Job { n_tokens, learning_rate, max_positions: MAX_POSITIONS, gradient: true, classes };
        let packed = self.net.fields.pack(slot.words.words_mut(), batch, rows, &job)?;
        let device = &self.net.device;
        device.uploads.wait(&slot.copied).map_err(failed("waiting for a copy"))?;
        device.upload_async(&device.uploads, &slot.staging, &slot.words, packed.words)?;
        slot.uploaded.record(&device.uploads).map_err(failed("upload event"))?;
        device.stream.wait(&slot.uploaded).map_err(failed("upload wait"))?;
        device.copy((&self.net.block, 0), (&slot.staging, 0), packed.words * 4)?;
        slot.copied.record(&device.stream).map_err(failed("copy event"))?;
        self.next_slot ^= 1;
        Ok((slot_idx, self.extent(batch.len(), Some(packed))))
    }

    /// All operations of a forward and backward pass.
    pub(super) fn pass(&mut self, extent: Extent, accumulate: bool) -> Result<Vec<Op>, NetError> {
        let parameters = self.optimizer.live();
        let mut ops = self.forward(parameters, extent, true)?;
        ops.extend(self.gradients.backward(&mut self.net, parameters, extent, accumulate)?);
        Ok(ops)
    }

    /// Forward pass, head and cross-entropy.
    fn forward(
        &mut self,
        parameters: DeviceWeights,
        extent: Extent,
        gradient: bool,
    ) -> Result<Vec<Op>, NetError> {
        let mut ops =
            self.net.forward(parameters, extent, &|net, layer| net.flat_attention(layer, extent))?;
        ops.push(self.net.last_norm(parameters, extent));
        let (d, vocab) = (self.net.config.d_model, self.net.config.n_outputs());
        let operands = Operands::plain(
            parameters.matrix(self.net.offsets.head),
            self.net.last[1].address,
            self.net.logits.address,
        );
        ops.push(self.net.device.product("head.fwd", Shape::forward(extent.n_rows, d, vocab), operands)?);
        ops.push(self.net.cross_entropy(extent, gradient));
        Ok(ops)
    }

    /// All operations of an update.
    pub(super) fn update_ops(&mut self) -> Result<Vec<Op>, NetError> {
        self.optimizer.update(&mut self.net.device, self.net.block.address, self.gradients.flat.address)
    }

    /// Starts a forward and backward pass over the batch at hand: from a graph, or the first time at an extent one by one.
    fn start_pass(&mut self, extent: Extent) -> Result<(), NetError> {
        let key = (extent, !self.cleared);
        self.cleared = false;
        if let Some(graph) = self.passes.get(&key) {
            return graph.launch();
        }
        let _recording = recording();
        let ops = self.pass(extent, key.1)?;
        self.net.device.run_all(&ops)?;
        let graph = self.net.device.capture(&ops)?;
        self.passes.insert(key, graph);
        Ok(())
    }

    /// Starts an update.
    fn start_update(&mut self) -> Result<(), NetError> {
        self.cleared = true;
        self.optimizer.moved();
        if let Some(graph) = &self.update {
            return graph.launch();
        }
        let _recording = recording();
        let ops = self.update_ops()?;
        self.net.device.run_all(&ops)?;
        self.update = Some(self.net.device.capture(&ops)?);
        Ok(())
    }

    /// Waits for the oldest step under way and files its report.
    fn finish_one(&mut self) -> Result<(), NetError> {
        let Some(InFlight { slot, rows }) = self.in_flight.pop_front() else { return Ok(()) };
        let slot = &self.slots[slot];
        slot.done.synchronize().map_err(|error| {
            let products = self.net.device.blas.explain_plans(|_| true);
            NetError::Device(format!("waiting for a step: {error:?} [products: {products}]"))
        })?;
        let words = slot.results.words();
        let outcome = Outcome::read(&words[..HYPER]);
        let losses: Vec<f32> =
            words[HYPER..HYPER + rows.len()].iter().map(|bits| f32::from_bits(*bits)).collect();
        let loss = report(&losses, &rows);
        let before = self.step;
        self.step = outcome.step;
        let what = if loss.loss.is_finite() { "the gradient norm" } else { "the loss" };
        self.reports.push_back(if outcome.applied {
            let update = UpdateReport { gradient_norm: outcome.norm, clip_scale: outcome.clip_scale };
            Ok(StepReport { step: outcome.step, loss, update })
        } else {
            Err(NetError::NotFinite { step: before, what })
        });
        Ok(())
    }

    /// Waits for every step under way.
    fn drain(&mut self) -> Result<(), NetError> {
        while !self.in_flight.is_empty() {
            self.finish_one()?;
        }
        Ok(())
    }

    fn losses(&self, rows: &LossRows) -> Result<LossReport, NetError> {
        let losses: Vec<f32> = self.net.device.read(&self.net.losses, rows.len())?;
        let report = report(&losses, rows);
        if report.loss.is_finite() {
            Ok(report)
        } else {
            Err(NetError::NotFinite { step: self.step, what: "the loss" })
        }
    }

    fn check(&self, batch: &Batch, rows: &LossRows) -> Result<(), NetError> {
        batch.validate_for(&self.net.config, |_| 0)?;
        rows.validate(batch.len(), self.net.config.n_outputs())?;
        self.net.device.bind()
    }
}

impl Trainer for CudaTrainer {
    fn config(&self) -> &TransformerConfig {
        &self.net.config
    }

    fn layout(&self) -> &Layout {
        &self.net.layout
    }

    fn step(&self) -> u64 {
        self.step + self.in_flight.len() as u64
    }

    fn forward_backward(&mut self, batch: &Batch, rows: &LossRows) -> Result<LossReport, NetError> {
        self.check(batch, rows)?;
        self.drain()?;
        if rows.is_empty() {
            return Ok(LossReport::default());
        }
        let (_, extent) = self.load(batch, rows, 0.0)?;
        self.start_pass(extent)?;
        let report = self.losses(rows);
        // What a bad loss left in the gradient must not reach an update.
        self.cleared |= report.is_err();
        report
    }

    fn all_reduce(&mut self, ranks: &dyn AllReduce) -> Result<(), NetError> {
        self.net.device.bind()?;
        self.drain()?;
        let flat = &self.gradients.flat;
        if self.cleared {
            // A rank without rows adds zeros.
            self.net.device.run(&Op::Clear { address: flat.address, bytes: flat.bytes })?;
            self.cleared = false;
        }
        let (address, stream) = (flat.address, self.net.device.stream.cu_stream() as u64);
        if ranks.sum_on_device(DeviceBuffer { address, len: self.net.layout.len(), stream })? {
            return Ok(());
        }
        let mut gradient = self.gradient()?;
        ranks.sum(&mut gradient)?;
        self.net.device.write(&self.gradients.flat, &gradient)
    }

    fn update(&mut self, settings: &StepSettings) -> Result<UpdateReport, NetError> {
        self.net.device.bind()?;
        self.drain()?;
        if !settings.learning_rate.is_finite() {
            self.cleared = true;
            return Err(NetError::NotFinite { step: self.step, what: "the learning rate" });
        }
        if self.cleared {
            self.net
                .device
                .run(&Op::Clear { address: self.gradients.flat.address, bytes: self.gradients.flat.bytes })?;
        }
        self.net.device.write_at(&self.net.block, 3, &[settings.learning_rate])?;
        self.start_update()?;
        let outcome = Outcome::read(&self.net.device.read::<u32>(&self.optimizer.hyper, HYPER)?);
        if !outcome.applied {
            return Err(NetError::NotFinite { step: self.step, what: "the gradient norm" });
        }
        self.step = outcome.step;
        Ok(UpdateReport { gradient_norm: outcome.norm, clip_scale: outcome.clip_scale })
    }

    fn submit(&mut self, batch: &Batch, rows: &LossRows, settings: &StepSettings) -> Result<(), NetError> {
        self.check(batch, rows)?;
        if !settings.learning_rate.is_finite() {
            return Err(NetError::NotFinite { step: self.step(), what: "the learning rate" });
        }
        while self.in_flight.len() >= 2 {
            self.finish_one()?;
        }
        let (slot_idx, extent) = self.load(batch, rows, settings.learning_rate)?;
        self.start_pass(extent)?;
        self.start_update()?;
        let slot = &mut self.slots[slot_idx];
        let device = &self.net.device;
        device.download_async(&mut slot.results, 0, &self.optimizer.hyper, HYPER)?;
        if !rows.is_empty() {
            device.download_async(&mut slot.results, HYPER, &self.net.losses, rows.len())?;
        }
        slot.done.record(&device.stream).map_err(failed("step event"))?;
        let rows = LossRows {
            rows: rows.rows.clone(),
            weights: rows.weights.clone(),
            tags: rows.tags.clone(),
            normalizer: Some(rows.normalizer()),
            ..LossRows::default()
        };
        self.in_flight.push_back(InFlight { slot: slot_idx, rows });
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<StepReport>, NetError> {
        if self.reports.is_empty() {
            self.net.device.bind()?;
            self.finish_one()?;
        }
        self.reports.pop_front().transpose()
    }

    fn evaluate(&mut self, batch: &Batch, rows: &LossRows, weights: Weights) -> Result<LossReport, NetError> {
        self.check(batch, rows)?;
        self.drain()?;
        let (_, extent) = self.load(batch, rows, 0.0)?;
        let parameters = self.optimizer.device_weights(&self.net.device, weights)?;
        let ops = self.forward(parameters, extent, false)?;
        self.net.device.run_all(&ops)?;
        self.losses(rows)
    }

    fn logits_of(
        &mut self,
        batch: &Batch,
        wants: &[Want],
        weights: Weights,
    ) -> Result<Vec<Logits>, NetError> {
        let rows: Vec<u32> = wants.iter().flat_map(|want| want.rows.iter().copied()).collect();
        let (d, vocab) = (self.net.config.d_model, self.net.config.n_outputs());
        batch.validate_for(&self.net.config, |_| 0)?;
        let columns =
            wants.iter().map(|want| want.validate(batch.len(), vocab)).collect::<Result<Vec<_>, _>>()?;
        let wanted = LossRows {
            weights: vec![0.0; rows.len()],
            target_starts: vec![0; rows.len() + 1],
            rows,
            normalizer: Some(1.0),
            ..LossRows::default()
        };
        self.net.device.bind()?;
        self.drain()?;
        let (_, extent) = self.load(batch, &wanted, 0.0)?;
        let parameters = self.optimizer.device_weights(&self.net.device, weights)?;
        let mut ops =
            self.net.forward(parameters, extent, &|net, layer| net.flat_attention(layer, extent))?;
        ops.push(self.net.last_norm(parameters, extent));
        self.net.device.run_all(&ops)?;
        let (mut all, mut first) = (Vec::with_capacity(wants.len()), 0);
        for (want, columns) in wants.iter().zip(columns) {
            let head = parameters.matrix(self.net.offsets.head) + (columns.start * d * HALF) as u64;
            let n_rows = want.rows.len();
            all.push(self.head(head, first..first + n_rows, columns.len())?);
            first += n_rows;
        }
        Ok(all)
    }

    fn gradient(&mut self) -> Result<Vec<f32>, NetError> {
        self.net.device.bind()?;
        self.drain()?;
        let len = self.net.layout.len();
        if self.cleared { Ok(vec![0.0; len]) } else { self.net.device.read(&self.gradients.flat, len) }
    }

    fn state(&mut self) -> Result<TrainState, NetError> {
        self.net.device.bind()?;
        self.drain()?;
        self.optimizer.state(&self.net.device)
    }

    fn set_state(&mut self, state: TrainState) -> Result<(), NetError> {
        state.validate(&self.net.layout)?;
        self.net.device.bind()?;
        self.drain()?;
        self.optimizer.set_state(&self.net.device, &state)?;
        self.step = state.step;
        self.cleared = true;
        Ok(())
    }

    fn parameters(&mut self, weights: Weights) -> Result<Vec<f32>, NetError> {
        self.net.device.bind()?;
        self.drain()?;
        self.optimizer.parameters(&self.net.device, weights)
    }
}

impl Drop for CudaTrainer {
    fn drop(&mut self) {
        // Kernels and copies under way use the buffers that go next; a failure here means the context is gone.
        let _gone_with_context = self.net.device.bind().and_then(|()| self.net.device.synchronize());
        // Graphs go before the kernels and the memory that they name, and while no other thread records one.
        let _turn = turn();
        self.passes.clear();
        self.update = None;
    }
}
