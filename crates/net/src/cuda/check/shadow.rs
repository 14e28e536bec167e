//! Each operation of a step beside a plain computation of the same.

mod attention;

use std::collections::BTreeMap;

use cudarc::driver::result;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Comparison;
use super::reference::{centered, layer_norm_gradient, norm_gradient_with, rotate, rstd};
use crate::batch::{Batch, LossRows};
use crate::config::{NormKind, NormPlacement, TransformerConfig};
use crate::cuda::gpu::{Gpu, failed};
use crate::cuda::network::Network;
use crate::cuda::op::{Argument, Op, Operands};
use crate::cuda::trainer::{CudaOptions, CudaTrainer};
use crate::error::NetError;
use crate::layout::{Layout, initial_parameters};
use crate::optimizer::{Algorithm, OptimizerSettings};
use crate::trainer::TrainState;

/// bf16 keeps 8 bits: a rounded result is off by about this much.
const HALF_TOLERANCE: f64 = 4e-3;

/// Checks every operation of one step of a network (with Muon, so that all kernels run) on a batch; the worst comparison of each
/// kernel comes back.
///
/// # Errors
/// When the device fails.
pub fn kernels(
    config: &TransformerConfig,
    batch: &Batch,
    rows: &LossRows,
) -> Result<Vec<Comparison>, NetError> {
    let mut parameters = initial_parameters(config)?;
    // Larger than at the start of a run, so that attention is not uniform and gains are not all one.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    parameters
        .iter_mut()
        .for_each(|x| *x = *x * 4.0 + if *x == 1.0 { random.random_range(-3.3..-2.7) } else { 0.0 });
    for bias in Layout::transformer(config)?.tensors().iter().filter(|tensor| tensor.name.ends_with(".bias"))
    {
        parameters[bias.range()].iter_mut().for_each(|x| *x = random.random_range(-0.5..0.5));
    }
    let optimizer = OptimizerSettings { algorithm: Algorithm::Muon, ..OptimizerSettings::default() };
    let options = CudaOptions::for_tokens(batch.len() + 100);
    let mut trainer = CudaTrainer::new(config.clone(), &optimizer, &TrainState::new(parameters), &options)?;
    let (_, extent) = trainer.load(batch, rows, 1e-3)?;
    let mut ops = trainer.pass(extent, false)?;
    ops.extend(trainer.update_ops()?);
    let mut worst: BTreeMap<String, Comparison> = BTreeMap::new();
    let mut order = Vec::new();
    for op in &ops {
        let shadow = Shadow { net: &trainer.net, random: &mut random };
        for comparison in shadow.check(op)? {
            let name = comparison.name.clone();
            match worst.get(&name) {
                // Written so that NaN replaces what is there.
                Some(known) if comparison.relative <= known.relative => {}
                known => {
                    if known.is_none() {
                        order.push(name.clone());
                    }
                    worst.insert(name, comparison);
                }
            }
        }
    }
    Ok(order.iter().filter_map(|name| worst.remove(name)).collect())
}

struct Shadow<'a> {
    net: &'a Network,
    random: &'a mut Xoshiro256PlusPlus,
}

impl Shadow<'_> {
    /// Runs an operation and compares what it left behind.
    fn check(mut self, op: &Op) -> Result<Vec<Comparison>, NetError> {
        match op {
            Op::Clear { .. } => self.net.device.run(op).map(|()| Vec::new()),
            Op::Product { name, plan, operands } => self.product(op, name, *plan, operands),
            Op::Kernel { name, grid, arguments, .. } => {
                let a = Arguments { net: self.net, list: arguments };
                match *name {
                    "embed_norm" | "embed_learned_norm" | "norm_rows" | "gather_norm" => {
                        self.norm(op, name, &a)
                    }
                    "norm_bwd" | "scatter_norm_bwd" => self.norm_bwd(op, name, &a, grid.0 as usize),
                    "gain_reduce" => self.gain_reduce(op, &a, *grid),
                    "embed_bwd" => self.embed_bwd(op, &a),
                    "swiglu_fwd" => self.swiglu_fwd(op, &a),
                    "swiglu_bwd" => self.swiglu_bwd(op, &a),
                    "rotate_qk" => self.rotate_qk(op, &a),
                    name if name.starts_with("attention_fwd") => self.attention_fwd(op, &a, grid.0 as usize),
                    name if name.starts_with("attention_bwd") => self.attention_bwd(op, &a, grid.0 as usize),
                    "cross_entropy" => self.cross_entropy(op, &a),
                    // The update is checked as a whole against the CPU's.
                    _ => self.net.device.run(op).map(|()| Vec::new()),
                }
            }
        }
    }

    fn d(&self) -> usize {
        self.net.config.d_model
    }

    fn product(
        &mut self,
        op: &Op,
        name: &str,
        plan: usize,
        operands: &Operands,
    ) -> Result<Vec<Comparison>, NetError> {
        let device = &self.net.device;
        let Some((s, _)) = device.blas.describe(plan) else { return Ok(Vec::new()) };
        let a = halves(self.net, operands.a, s.m * s.k * s.batch)?;
        let b = halves(self.net, operands.b, s.n * s.k * s.batch)?;
        let size = s.m * s.n * s.batch;
        let read = |address| {
            if s.f32_out {
                read_argument::<f32>(device, address, size)
            } else {
                halves(self.net, address, size).map(narrow)
            }
        };
        let c = read(operands.c)?;
        device.run(op)?;
        let d = read(operands.d)?;
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..512 {
            let (i, j, t) = (
                self.random.random_range(0..s.m),
                self.random.random_range(0..s.n),
                self.random.random_range(0..s.batch),
            );
            let mut sum = 0.0;
            for k in 0..s.k {
                let x = a[t * s.m * s.k + if s.ta { k + i * s.k } else { i + k * s.m }];
                let y = b[t * s.n * s.k + if s.tb { j + k * s.n } else { k + j * s.k }];
                sum += x * y;
            }
            let at = t * s.m * s.n + i + j * s.m;
            let added = if operands.beta == 0.0 { 0.0 } else { f64::from(operands.beta) * f64::from(c[at]) };
            expected.push(f64::from(operands.alpha) * sum + added);
            got.push(d[at]);
        }
        Ok(vec![Comparison::new(name, &got, &expected, if s.f32_out { 1e-3 } else { HALF_TOLERANCE })])
    }

    fn norm(&self, op: &Op, name: &str, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let d = self.d();
        let gather = name == "gather_norm";
        let is_layer = self.net.config.variant.norm == NormKind::Layer;
        // Where the gain stands, where the normalized rows, and where their number, which the epsilon follows or, at the gathered rows, ends the list.
        let (gain, out, count) = match name {
            "norm_rows" => (1, 2, 4),
            "gather_norm" => (2, 6, 7),
            _ => (2, 4, 6),
        };
        let (parameters, eps) = (a.full(gain, self.net.config.norm_len())?, a.float(count + 1));
        let n = if gather { a.counts()?[1] as usize } else { a.int(count) };
        let rows = |ids: &[i32], table: &[f64]| -> Vec<f64> {
            ids.iter().flat_map(|id| table[*id as usize * d..][..d].to_vec()).collect()
        };
        let sum: Vec<f64> = match name {
            "norm_rows" => a.half(0, n * d)?,
            "gather_norm" => {
                let n_in = self.net.fields.max_tokens;
                let (x, y) = (a.half(0, n_in * d)?, a.half(1, n_in * d)?);
                rows(&a.ints(3, n)?, &x.iter().zip(&y).map(|(x, y)| x + y).collect::<Vec<_>>())
            }
            _ => {
                let mut sum = rows(&a.ints(0, n)?, &a.half(1, self.net.config.vocab * d)?);
                if let Some((_, n_rows)) = self.net.config.variant.learned_table() {
                    let learned = rows(&a.ints(8, n)?, &a.half(9, n_rows * d)?);
                    sum.iter_mut().zip(&learned).for_each(|(sum, x)| *sum += x);
                }
                sum
            }
        };
        self.net.device.run(op)?;
        // A norm inside a block reads the sum that a product left; the others make it.
        let mut comparisons = Vec::new();
        let got = if name == "norm_rows" {
            sum
        } else {
            let got = a.half(out - 1, n * d)?;
            comparisons.push(Comparison::new(format!("{name} sum"), &narrow(got.clone()), &sum, 2e-3));
            got
        };
        let input: Vec<Vec<f64>> =
            got.chunks(d).map(|row| if is_layer { centered(row) } else { row.to_vec() }).collect();
        let scale: Vec<f64> = input.iter().map(|row| rstd(row, eps)).collect();
        let bias = |c: usize| if is_layer { parameters[d + c] } else { 0.0 };
        let normed: Vec<f64> = (input.iter().zip(&scale))
            .flat_map(|(row, r)| (0..d).map(|c| row[c] * r * parameters[c] + bias(c)).collect::<Vec<_>>())
            .collect();
        comparisons.push(Comparison::new(
            format!("{name} out"),
            &narrow(a.half(out, n * d)?),
            &normed,
            HALF_TOLERANCE,
        ));
        comparisons.push(Comparison::new(format!("{name} rstd"), &a.f32s(out + 1, n)?, &scale, 1e-5));
        Ok(comparisons)
    }

    fn norm_bwd(
        &self,
        op: &Op,
        name: &str,
        a: &Arguments<'_>,
        parts: usize,
    ) -> Result<Vec<Comparison>, NetError> {
        let d = self.d();
        let scatter = name == "scatter_norm_bwd";
        let (n, res) = if scatter { (a.int(8), 6) } else { (a.int(6), 4) };
        let n_rows = if scatter { a.counts()?[1] as usize } else { n };
        let (dy, x, gain, r) =
            (a.half(0, n_rows * d)?, a.half(1, n_rows * d)?, a.full(2, d)?, a.full(3, n_rows)?);
        let variant = &self.net.config.variant;
        let mut dres = if scatter { vec![0.0; n * d] } else { a.half(res, n * d)? };
        let width = self.net.config.norm_len();
        let mut dgain = vec![0.0; width];
        let mut dy = dy;
        if variant.placement == NormPlacement::Post && !scatter {
            dy.iter_mut().zip(&mut dres).for_each(|(dy, dres)| *dy += std::mem::take(dres));
        }
        let tokens: Vec<usize> = if scatter {
            let rows = self.net.field(self.net.fields.rows);
            let Argument::Address(rows) = rows else { return Ok(Vec::new()) };
            read_argument::<i32>(&self.net.device, rows, n_rows)?.iter().map(|t| *t as usize).collect()
        } else {
            (0..n).collect()
        };
        for (row, token) in tokens.into_iter().enumerate() {
            let range = row * d..(row + 1) * d;
            let (dx, dw) = match variant.norm {
                NormKind::Rms => norm_gradient_with(&dy[range.clone()], &x[range], &gain, r[row]),
                NormKind::Layer => layer_norm_gradient(&dy[range.clone()], &x[range], &gain, r[row]),
            };
            dres[token * d..][..d].iter_mut().zip(&dx).for_each(|(a, b)| *a += b);
            dgain.iter_mut().zip(&dw).for_each(|(a, b)| *a += b);
        }
        self.net.device.run(op)?;
        let part = a.full(res + 1, parts * width)?;
        let sums: Vec<f32> =
            (0..width).map(|c| part.iter().skip(c).step_by(width).sum::<f64>() as f32).collect();
        Ok(vec![
            Comparison::new(format!("{name} dx"), &narrow(a.half(res, n * d)?), &dres, HALF_TOLERANCE),
            Comparison::new(format!("{name} dgain"), &sums, &dgain, 1e-4),
        ])
    }

    fn gain_reduce(&self, op: &Op, a: &Arguments<'_>, grid: (u32, u32)) -> Result<Vec<Comparison>, NetError> {
        let (n_parts, width, norms) = (a.int(3), a.int(4), grid.1 as usize);
        let (part, offsets) = (a.full(0, norms * n_parts * width)?, a.ints(2, norms)?);
        self.net.device.run(op)?;
        let grads = a.f32s(1, self.net.layout.len())?;
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        for (norm, offset) in offsets.iter().enumerate() {
            for c in 0..width {
                let block = &part[norm * n_parts * width..(norm + 1) * n_parts * width];
                expected.push(block.iter().skip(c).step_by(width).sum());
                got.push(grads[*offset as usize + c]);
            }
        }
        Ok(vec![Comparison::new("gain_reduce", &got, &expected, 1e-5)])
    }

    fn embed_bwd(&self, op: &Op, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let (d, n) = (self.d(), a.int(4));
        // The same kernel sums the gradient of the learned table, which is shorter.
        let is_learned = self.net.fields.picks.is_some_and(
            |picks| matches!(self.net.field(picks.order), Argument::Address(address) if address == a.address(1)),
        );
        let config = &self.net.config;
        let learned = config.variant.learned_table().filter(|_| is_learned);
        let vocab = learned.map_or(config.vocab, |(_, n_rows)| n_rows);
        let (tokens, dx) = (a.ints(0, n)?, a.half(2, n * d)?);
        let mut table = a.full(3, vocab * d)?;
        for (token, row) in tokens.iter().zip(dx.chunks(d)) {
            table[*token as usize * d..][..d].iter_mut().zip(row).for_each(|(a, b)| *a += b);
        }
        self.net.device.run(op)?;
        Ok(vec![Comparison::new("embed_bwd", &a.f32s(3, vocab * d)?, &table, 1e-5)])
    }

    fn swiglu_fwd(&self, op: &Op, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let ff = self.net.config.d_ff;
        let n = a.int(2) * 8 / ff;
        let gu = a.half(0, n * 2 * ff)?;
        let expected: Vec<f64> = (gu.chunks(2 * ff))
            .flat_map(|row| {
                (0..ff).map(|c| row[c] / (1.0 + (-row[c]).exp()) * row[ff + c]).collect::<Vec<_>>()
            })
            .collect();
        self.net.device.run(op)?;
        Ok(vec![Comparison::new("swiglu_fwd", &narrow(a.half(1, n * ff)?), &expected, HALF_TOLERANCE)])
    }

    fn swiglu_bwd(&self, op: &Op, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let ff = self.net.config.d_ff;
        let n = a.int(3) * 8 / ff;
        let (gu, dout) = (a.half(0, n * 2 * ff)?, a.half(1, n * ff)?);
        let mut expected = vec![0.0; n * 2 * ff];
        for row in 0..n {
            for c in 0..ff {
                let (g, u, d) = (gu[row * 2 * ff + c], gu[row * 2 * ff + ff + c], dout[row * ff + c]);
                let s = 1.0 / (1.0 + (-g).exp());
                expected[row * 2 * ff + c] = d * u * (s + g * s * (1.0 - s));
                expected[row * 2 * ff + ff + c] = d * g * s;
            }
        }
        self.net.device.run(op)?;
        Ok(vec![Comparison::new("swiglu_bwd", &narrow(a.half(2, n * 2 * ff)?), &expected, HALF_TOLERANCE)])
    }

    fn rotate_qk(&self, op: &Op, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let (d, n, hd, eps) = (self.d(), a.int(6), self.net.config.head_dim(), a.float(7));
        let (qkv, positions) = (a.half(0, n * 3 * d)?, a.ints(2, n)?);
        let table = crate::cuda::network::rotation_table(&self.net.config);
        let gains = if self.net.config.qk_norm {
            [a.full(3, hd)?, a.full(4, hd)?]
        } else {
            [vec![1.0; hd], vec![1.0; hd]]
        };
        let mut expected = Vec::with_capacity(n * 2 * d);
        for token in 0..n {
            for column in (0..2 * d).step_by(hd) {
                let x = &qkv[token * 3 * d + column..][..hd];
                let r = if self.net.config.qk_norm { rstd(x, eps) } else { 1.0 };
                let x: Vec<f64> = x.iter().zip(&gains[column / d]).map(|(x, w)| x * r * w).collect();
                expected.extend(rotate(&x, &table[positions[token] as usize * hd / 2..], false));
            }
        }
        self.net.device.run(op)?;
        Ok(vec![Comparison::new("rotate_qk", &narrow(a.half(5, n * 2 * d)?), &expected, HALF_TOLERANCE)])
    }

    fn cross_entropy(&self, op: &Op, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let (vocab, n) = (self.net.config.n_outputs(), a.int(6));
        let counts = a.counts()?;
        let (n_rows, scale) = (counts[1] as usize, f64::from(f32::from_bits(counts[4] as u32)));
        let mut logits = a.half(0, n * vocab)?;
        let (weights, starts) = (a.full(2, n_rows)?, a.ints(3, n_rows + 1)?);
        let targets = a.ints(4, 2 * starts[n_rows] as usize)?;
        self.net.device.run(op)?;
        let mut losses = Vec::new();
        for (row, logits) in logits.chunks_mut(vocab).enumerate() {
            if row >= n_rows {
                logits.fill(0.0);
                continue;
            }
            let first = targets.get(2 * starts[row] as usize..).unwrap_or_default();
            if let [-1, number, ..] = first {
                let error = logits[0] - f64::from(f32::from_bits(*number as u32));
                losses.push(error * error);
                logits.fill(0.0);
                logits[0] = 2.0 * error * weights[row] * scale;
                continue;
            }
            let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logits.iter().map(|z| (z - max).exp()).sum();
            let (mut loss, mut mass) = (0.0, 0.0);
            let entries: Vec<(usize, f64)> =
                (targets[2 * starts[row] as usize..2 * starts[row + 1] as usize].chunks(2))
                    .map(|e| (e[0] as usize, f64::from(f32::from_bits(e[1] as u32))))
                    .collect();
            for (id, p) in &entries {
                loss += p * (max + sum.ln() - logits[*id]);
                mass += p;
            }
            losses.push(loss);
            let weight = weights[row] * scale;
            logits.iter_mut().for_each(|z| *z = (*z - max).exp() / sum * weight * mass);
            for (id, p) in entries {
                logits[id] -= weight * p;
            }
        }
        Ok(vec![
            Comparison::new("cross_entropy loss", &a.f32s(5, n_rows)?, &losses, 1e-5),
            Comparison::new("cross_entropy dlogits", &narrow(a.half(0, n * vocab)?), &logits, HALF_TOLERANCE),
        ])
    }
}

/// A kernel's arguments and what they point at.
struct Arguments<'a> {
    net: &'a Network,
    list: &'a [Argument],
}

impl Arguments<'_> {
    fn address(&self, i: usize) -> u64 {
        match self.list[i] {
            Argument::Address(address) => address,
            _ => 0,
        }
    }

    fn int(&self, i: usize) -> usize {
        match self.list[i] {
            Argument::Int(value) => value as usize,
            _ => 0,
        }
    }

    fn float(&self, i: usize) -> f64 {
        match self.list[i] {
            Argument::Float(value) => f64::from(value),
            _ => f64::NAN,
        }
    }

    fn half(&self, i: usize, n: usize) -> Result<Vec<f64>, NetError> {
        halves(self.net, self.address(i), n)
    }

    fn f32s(&self, i: usize, n: usize) -> Result<Vec<f32>, NetError> {
        read_argument(&self.net.device, self.address(i), n)
    }

    fn full(&self, i: usize, n: usize) -> Result<Vec<f64>, NetError> {
        Ok(widen(&self.f32s(i, n)?))
    }

    fn ints(&self, i: usize, n: usize) -> Result<Vec<i32>, NetError> {
        read_argument(&self.net.device, self.address(i), n)
    }

    fn counts(&self) -> Result<Vec<i32>, NetError> {
        self.net.device.read(&self.net.block, 16)
    }
}

/// Waits for the main stream and reads what an argument of an operation points to. Only the check does: operations hold
/// addresses, everything else copies whole buffers.
fn read_argument<T: Copy + Default>(device: &Gpu, address: u64, len: usize) -> Result<Vec<T>, NetError> {
    device.synchronize()?;
    let mut values = vec![T::default(); len];
    if len == 0 {
        return Ok(values);
    }
    // SAFETY: arguments of an operation point into buffers that its owner keeps alive, and its sizes say how much they hold.
    unsafe { result::memcpy_dtoh_sync(&mut values, address) }.map_err(failed("copy from the device"))?;
    Ok(values)
}

fn halves(net: &Network, address: u64, n: usize) -> Result<Vec<f64>, NetError> {
    let bits = read_argument::<u16>(&net.device, address, n)?;
    Ok(bits.into_iter().map(|bits| f64::from(f32::from_bits(u32::from(bits) << 16))).collect())
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

fn narrow(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|x| x as f32).collect()
}
