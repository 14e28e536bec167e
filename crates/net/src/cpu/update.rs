//! The optimizer step on flat buffers: clipping, AdamW or Muon, the running average.

use std::ops::Range;

use rayon::prelude::*;

use super::muon::{Muon, MuonTensor};
use super::scalar::fma;
use crate::error::NetError;
use crate::layout::Layout;
use crate::optimizer::OptimizerSettings;
use crate::trainer::{StepSettings, TrainState, UpdateReport};

/// Elements a task; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 16 * 1024;

/// Applies one update to `state` and clears the gradient.
///
/// # Errors
/// [`NetError::NotFinite`] when the gradient's norm or the learning rate is not finite; then only the gradient is changed.
pub(crate) fn update(
    state: &mut TrainState,
    gradient: &mut [f32],
    layout: &Layout,
    optimizer: &OptimizerSettings,
    settings: &StepSettings,
) -> Result<UpdateReport, NetError> {
    let norm = norm(gradient);
    for (what, value) in [("the gradient norm", norm), ("the learning rate", settings.learning_rate)] {
        if !value.is_finite() {
            gradient.fill(0.0);
            return Err(NetError::NotFinite { step: state.step, what });
        }
    }
    let clip_scale = match optimizer.clip_norm {
        Some(limit) if norm > limit => limit / norm,
        _ => 1.0,
    };
    let mut muon = Muon::default();
    for tensor in layout.tensors() {
        let range = tensor.range();
        let gradient = &gradient[range.clone()];
        if optimizer.uses_muon(tensor.role) {
            let tensor = MuonTensor {
                parameters: &mut state.parameters[range.clone()],
                momentum: &mut state.first_moment[range],
                gradient,
                shape: tensor.rows_and_columns(),
            };
            muon.update(tensor, optimizer, settings, clip_scale);
        } else {
            let rule = AdamW::new(optimizer, settings, clip_scale, state.step, tensor.role.decays());
            adamw(state, gradient, range, rule);
        }
    }
    let keep = optimizer.average_decay_at(state.step);
    state.average.par_chunks_mut(CHUNK).zip(state.parameters.par_chunks(CHUNK)).for_each(|(average, now)| {
        for (average, now) in average.iter_mut().zip(now) {
            *average = fma(1.0 - keep, *now - *average, *average);
        }
    });
    gradient.par_chunks_mut(CHUNK).for_each(|chunk| chunk.fill(0.0));
    state.step += 1;
    Ok(UpdateReport { gradient_norm: norm, clip_scale })
}

/// Euclidean norm, summed in f64 in fixed chunks.
fn norm(gradient: &[f32]) -> f32 {
    let square = |x: &[f32]| x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>();
    let parts: Vec<f64> = gradient.par_chunks(CHUNK).map(square).collect();
    parts.iter().sum::<f64>().sqrt() as f32
}

/// Corrections of AdamW at one step.
#[derive(Clone, Copy)]
struct AdamW {
    beta1: f32,
    beta2: f32,
    eps: f32,
    /// Learning rate over the first moment's bias correction.
    rate: f32,
    /// One over the root of the second moment's bias correction.
    root: f32,
    /// Factor on the parameter: one minus learning rate times decay.
    shrink: f32,
    clip_scale: f32,
}

fn adamw(state: &mut TrainState, gradient: &[f32], range: Range<usize>, rule: AdamW) {
    state.parameters[range.clone()]
        .par_chunks_mut(CHUNK)
        .zip(state.first_moment[range.clone()].par_chunks_mut(CHUNK))
        .zip(state.second_moment[range].par_chunks_mut(CHUNK))
        .zip(gradient.par_chunks(CHUNK))
        .for_each(|(((p, m), v), g)| rule.chunk(p, m, v, g));
}

impl AdamW {
    fn new(
        optimizer: &OptimizerSettings,
        settings: &StepSettings,
        clip_scale: f32,
        step: u64,
        decays: bool,
    ) -> Self {
        let t = (step + 1) as f64;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(t);
        let decay = if decays { optimizer.weight_decay } else { 0.0 };
        Self {
            beta1: optimizer.beta1,
            beta2: optimizer.beta2,
            eps: optimizer.eps,
            rate: (f64::from(settings.learning_rate) / correction(optimizer.beta1)) as f32,
            root: (1.0 / correction(optimizer.beta2).sqrt()) as f32,
            shrink: 1.0 - settings.learning_rate * decay,
            clip_scale,
        }
    }

    fn chunk(self, parameters: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32]) {
        for (((p, m), v), g) in parameters.iter_mut().zip(first).zip(second).zip(gradient) {
            let g = g * self.clip_scale;
            *m = self.beta1 * *m + (1.0 - self.beta1) * g;
            *v = self.beta2 * *v + (1.0 - self.beta2) * g * g;
            *p = *p * self.shrink - self.rate * *m / (v.sqrt() * self.root + self.eps);
        }
    }
}
