//! Parameters, moments and average on the device, and the update as a list of operations.

use std::collections::BTreeMap;

use super::blas::Shape;
use super::gpu::Gpu;
use super::memory::Buffer;
use super::network::{DeviceWeights, FULL, HALF};
use super::op::Argument::{Address, Float, Int};
use super::op::{Op, Operands};
use crate::error::NetError;
use crate::layout::{ALIGN, Layout};
use crate::optimizer::{NEWTON_SCHULZ, NEWTON_SCHULZ_ROUNDS, OptimizerSettings, muon_factor};
use crate::trainer::{TrainState, Weights};

/// Words of the settings and state; the order is that of `H_*` in `prelude.cu`.
pub(super) const HYPER: usize = 16;
const STEP: usize = 8;
const NORM: usize = 9;
const CLIP_SCALE: usize = 10;
const OK: usize = 11;

/// Blocks of the norm of the gradient, and of each matrix under Muon.
const NORM_PARTS: usize = 528;
const MUON_PARTS: usize = 8;

/// The optimizer's buffers; flat ones are `[layout.len()]`.
pub(super) struct Optimizer {
    settings: OptimizerSettings,
    len: usize,
    master: Buffer,
    /// bf16 copy of the parameters, which matrix products read.
    working: Buffer,
    first: Buffer,
    second: Buffer,
    average: Buffer,
    /// bf16 copy of the average, made when it is asked for.
    average_working: Buffer,
    average_is_stale: bool,
    /// Settings and state of the update.
    pub(super) hyper: Buffer,
    /// What each group of [`ALIGN`] elements is to the optimizer; `CODE_*` in `optimizer.cu`.
    codes: Buffer,
    norm_parts: Buffer,
    groups: Vec<MuonGroup>,
}

/// Matrices of one shape, orthogonalized together.
struct MuonGroup {
    rows: usize,
    columns: usize,
    n: usize,
    offsets: Buffer,
    /// The update before and after a round, `[n, rows, columns]`.
    x: [Buffer; 2],
    /// Its Gram matrices and their polynomial, `[n, short, short]`.
    gram: Buffer,
    poly: Buffer,
    parts: Buffer,
}

impl Optimizer {
    pub(super) fn new(device: &Gpu, layout: &Layout, settings: &OptimizerSettings) -> Result<Self, NetError> {
        let len = layout.len();
        let mut codes = vec![0u8; len / ALIGN];
        let mut shapes: BTreeMap<(usize, usize), Vec<i32>> = BTreeMap::new();
        for tensor in layout.tensors() {
            let muon = settings.uses_muon(tensor.role);
            let code = u8::from(tensor.role.decays()) | u8::from(muon) << 1;
            codes[tensor.offset / ALIGN..tensor.range().end.div_ceil(ALIGN)].fill(code);
            if muon {
                shapes.entry(tensor.rows_and_columns()).or_default().push(tensor.offset as i32);
            }
        }
        let groups = shapes
            .into_iter()
            .map(|((rows, columns), offsets)| MuonGroup::new(device, (rows, columns), &offsets))
            .collect::<Result<_, _>>()?;
        let flat = || device.zeroed(len * FULL);
        Ok(Self {
            settings: settings.clone(),
            len,
            master: flat()?,
            working: device.zeroed(len * HALF)?,
            first: flat()?,
            second: flat()?,
            average: flat()?,
            average_working: device.zeroed(len * HALF)?,
            average_is_stale: true,
            hyper: device.zeroed(HYPER * 4)?,
            codes: device.upload(&codes)?,
            norm_parts: device.zeroed(NORM_PARTS * 4)?,
            groups,
        })
    }

    /// Copies a state to the device.
    pub(super) fn set_state(&mut self, device: &Gpu, state: &TrainState) -> Result<(), NetError> {
        let s = &self.settings;
        let mut hyper = [0f32; HYPER];
        // A limit nothing reaches stands for no clipping; infinity would turn zero gradients into NaN.
        hyper[..8].copy_from_slice(&[
            s.beta1,
            s.beta2,
            s.eps,
            s.weight_decay,
            s.clip_norm.unwrap_or(f32::MAX),
            s.muon_momentum,
            s.muon_scale,
            s.average_decay,
        ]);
        hyper[STEP] = state.step as f32;
        device.write(&self.hyper, &hyper)?;
        for (buffer, values) in [
            (&self.master, &state.parameters),
            (&self.first, &state.first_moment),
            (&self.second, &state.second_moment),
            (&self.average, &state.average),
        ] {
            device.write(buffer, values)?;
        }
        self.average_is_stale = true;
        device.run(&self.to_bf16(&self.master, &self.working))?;
        device.synchronize()
    }

    /// Copies the state from the device.
    pub(super) fn state(&self, device: &Gpu) -> Result<TrainState, NetError> {
        let read = |buffer: &Buffer| device.read::<f32>(buffer, self.len);
        Ok(TrainState {
            step: device.read::<f32>(&self.hyper, HYPER)?[STEP] as u64,
            parameters: read(&self.master)?,
            first_moment: read(&self.first)?,
            second_moment: read(&self.second)?,
            average: read(&self.average)?,
        })
    }

    /// One of the two parameter buffers.
    pub(super) fn parameters(&self, device: &Gpu, weights: Weights) -> Result<Vec<f32>, NetError> {
        let buffer = match weights {
            Weights::Live => &self.master,
            Weights::Average => &self.average,
        };
        device.read(buffer, self.len)
    }

    /// Addresses of the parameters the optimizer moves.
    pub(super) fn live(&self) -> DeviceWeights {
        DeviceWeights { full: self.master.address, half: self.working.address }
    }

    /// Addresses of the parameters asked for; the average's bf16 copy is recreated when an update came between.
    pub(super) fn device_weights(
        &mut self,
        device: &Gpu,
        weights: Weights,
    ) -> Result<DeviceWeights, NetError> {
        if weights == Weights::Live {
            return Ok(self.live());
        }
        if self.average_is_stale {
            device.run(&self.to_bf16(&self.average, &self.average_working))?;
            self.average_is_stale = false;
        }
        Ok(DeviceWeights { full: self.average.address, half: self.average_working.address })
    }

    /// Says that an update was started.
    pub(super) fn moved(&mut self) {
        self.average_is_stale = true;
    }

    fn to_bf16(&self, from: &Buffer, to: &Buffer) -> Op {
        let groups = self.len / 4;
        Op::kernel(
            "to_bf16",
            groups,
            256,
            256,
            vec![Address(from.address), Address(to.address), Int(groups as i32)],
        )
    }

    /// The update. `head` is where the counts and settings of the batch lie, `gradient` the flat gradient.
    pub(super) fn update(&self, device: &mut Gpu, head: u64, gradient: u64) -> Result<Vec<Op>, NetError> {
        let (groups, hyper) = (Int((self.len / 4) as i32), Address(self.hyper.address));
        let mut ops = vec![
            Op::kernel(
                "square_sum",
                NORM_PARTS,
                1,
                256,
                vec![Address(gradient), Address(self.norm_parts.address), groups],
            ),
            Op::kernel(
                "tick",
                1,
                1,
                512,
                vec![hyper, Address(head), Address(self.norm_parts.address), Int(NORM_PARTS as i32)],
            ),
            Op::kernel(
                "adamw",
                self.len / 4,
                256,
                256,
                vec![
                    Address(self.master.address),
                    Address(self.first.address),
                    Address(self.second.address),
                    Address(gradient),
                    Address(self.average.address),
                    Address(self.working.address),
                    Address(self.codes.address),
                    hyper,
                    groups,
                ],
            ),
        ];
        for group in &self.groups {
            ops.extend(group.update(device, self, gradient)?);
        }
        Ok(ops)
    }
}

impl MuonGroup {
    fn new(device: &Gpu, (rows, columns): (usize, usize), offsets: &[i32]) -> Result<Self, NetError> {
        let (n, short) = (offsets.len(), rows.min(columns));
        let x = || device.zeroed(n * rows * columns * HALF);
        let square = || device.zeroed(n * short * short * HALF);
        Ok(Self {
            rows,
            columns,
            n,
            offsets: device.upload(offsets)?,
            x: [x()?, x()?],
            gram: square()?,
            poly: square()?,
            parts: device.zeroed(n * MUON_PARTS * 4)?,
        })
    }

    /// Momentum, five rounds, and the step. cuBLAS is column-major: it sees each row-major matrix transposed, `[columns, rows]`.
    fn update(&self, device: &mut Gpu, optimizer: &Optimizer, gradient: u64) -> Result<Vec<Op>, NetError> {
        let (rows, columns, batch) = (self.rows, self.columns, self.n);
        let (len, hyper) = (Int((rows * columns) as i32), Address(optimizer.hyper.address));
        let kernel = |name, arguments| Op::Kernel {
            name,
            grid: (MUON_PARTS as u32, batch as u32),
            block: 512,
            shared: 0,
            arguments,
        };
        let (offsets, parts) = (Address(self.offsets.address), Address(self.parts.address));
        let [mut x, mut next] = [self.x[0].address, self.x[1].address];
        let first = Address(optimizer.first.address);
        let mut ops = vec![
            kernel("muon_momentum", vec![first, Address(gradient), offsets, Address(x), parts, hyper, len]),
            kernel("muon_normalize", vec![Address(x), parts, hyper, len]),
        ];
        let (a, b, c) = NEWTON_SCHULZ;
        let (tall, short) = (rows > columns, rows.min(columns));
        let square = Shape { m: short, n: short, k: short, ta: false, tb: false, f32_out: false, batch };
        let gram = Shape { k: rows.max(columns), ta: !tall, tb: tall, ..square };
        let step = Shape { m: columns, n: rows, ..square };
        let (g, p) = (self.gram.address, self.poly.address);
        for _ in 0..NEWTON_SCHULZ_ROUNDS {
            ops.push(device.product("muon.gram", gram, Operands::plain(x, x, g))?);
            ops.push(device.product(
                "muon.poly",
                square,
                Operands { a: g, b: g, c: g, d: p, alpha: c, beta: b },
            )?);
            let (left, right) = if tall { (p, x) } else { (x, p) };
            let operands = Operands { a: left, b: right, c: x, d: next, alpha: 1.0, beta: a };
            ops.push(device.product("muon.step", step, operands)?);
            std::mem::swap(&mut x, &mut next);
        }
        let (master, average) = (Address(optimizer.master.address), Address(optimizer.average.address));
        let working = Address(optimizer.working.address);
        let factor = Float(muon_factor(rows, columns));
        ops.push(kernel(
            "muon_apply",
            vec![master, average, working, offsets, Address(x), hyper, len, factor],
        ));
        Ok(ops)
    }
}

/// What the device says after an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) step: u64,
    pub(super) norm: f32,
    pub(super) clip_scale: f32,
    pub(super) applied: bool,
}

impl Outcome {
    /// Reads it off the settings and state.
    pub(super) fn read(hyper: &[u32]) -> Self {
        let value = |at: usize| hyper.get(at).map_or(f32::NAN, |bits| f32::from_bits(*bits));
        Self {
            step: value(STEP) as u64,
            norm: value(NORM),
            clip_scale: value(CLIP_SCALE),
            applied: value(OK) != 0.0,
        }
    }
}
