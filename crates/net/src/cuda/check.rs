//! Checks of the kernels against plain code on the host, and times: what `examples/cuda_check.rs` prints where a GPU is.
//!
//! [`kernels`] runs a whole step of a network one operation at a time; before each it reads the operation's inputs off the device and
//! computes in f64 what should come out, then it compares. So each kernel is checked by itself, with the arguments it really gets.

mod batches;
mod conv;
mod decode;
mod reference;
mod shadow;
mod step;
mod stress;

use std::fmt;

use super::program::{Kernels, Program};
use crate::config::{NormKind, NormPlacement, TransformerConfig};
use crate::error::NetError;
use crate::layout::initial_parameters;

pub use batches::{N_PLACES, long_chains, predictor_batch, random_batch, tracked_batch};
pub use conv::{ConvBench, conv_against_cpu, conv_bench, conv_shapes};
pub use decode::{decoder_against_cpu, encoder_against_cpu};
pub use shadow::kernels;
pub use step::{learning, update_against_cpu};
#[cfg(test)]
pub(super) use stress::random_stars;
pub use stress::{Stress, stress};

/// Compiles the kernels for a shape and compute capability 9.0 and says which spill registers; needs NVRTC, but no GPU.
///
/// # Errors
/// When NVRTC is missing or refuses the kernels.
pub fn compile(config: &TransformerConfig) -> Result<String, NetError> {
    let program = Program::compile(&Kernels::transformer(config), (9, 0))?;
    Ok(format!("{} bytes, spills: {:?}", program.image.len(), program.spills()))
}

/// Compiles the kernels of small nets as [`compile`] does those of a transformer.
///
/// # Errors
/// When NVRTC is missing or refuses the kernels.
pub fn compile_conv() -> Result<String, NetError> {
    let program = Program::compile(&Kernels::conv(), (9, 0))?;
    Ok(format!("{} bytes, spills: {:?}", program.image.len(), program.spills()))
}

/// How far whole passes may be from the CPU's, which keep everything in f32: one and a half times what rounding to bf16 alone does. That was
/// found by a pass in f32 that rounds, and whose gradient rounds, exactly where the kernels store bf16, at the shapes and scales of the check.
/// It gives relative differences of 1.4e-2 (logits) and 1.6e-2 to 2.6e-2 (gradients) without query and key norms, 2.1e-2 to 2.2e-2 and 2.5e-2 to 5.6e-2
/// with them, and up to 8.6e-2 for their own gains, which are few numbers summed over all heads; an H200 gave the same sizes. Norms of
/// queries and keys differ because the check doubles their gains, so that scores, and errors of scores, are four times as large.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    logits: f64,
    gradient: f64,
    head_gain: f64,
}

impl Bounds {
    fn of(config: &TransformerConfig) -> Self {
        if config.variant.norm != NormKind::Rms || config.variant.placement != NormPlacement::Pre {
            // Normalized residual streams are rounded once more a half-block; not found by that pass.
            Self { logits: 4e-2, gradient: 1e-1, head_gain: 1e-1 }
        } else if config.qk_norm {
            Self { logits: 3.3e-2, gradient: 8.4e-2, head_gain: 1.3e-1 }
        } else {
            Self { logits: 2.1e-2, gradient: 4e-2, head_gain: 4e-2 }
        }
    }
}

/// Parameters to compare whole passes with, exact in bf16: twice the initial ones, so that attention has something to weigh. Those of post-norm
/// networks start large and stay as they are: doubled, their scores are so steep that rounding grows twentyfold (on the processor, passes in bf16 differ
/// from exact ones by 6e-2 instead of 3e-3) and nothing else would show beside it.
fn parameters(config: &TransformerConfig) -> Result<Vec<f32>, NetError> {
    let scale = if config.variant.placement == NormPlacement::Post { 1.0 } else { 2.0 };
    Ok(initial_parameters(config)?.iter().map(|x| half::bf16::from_f32(x * scale).to_f32()).collect())
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was compared.
    pub name: String,
    /// Norm of the difference over the norm of what was expected.
    pub relative: f64,
    /// Largest difference.
    pub largest: f64,
    /// First element that is off by more than ten tolerances of the root mean square: index, got, expected.
    pub first_bad: Option<(usize, f64, f64)>,
    /// Bound on `relative`.
    pub tolerance: f64,
    /// Elements.
    pub n: usize,
}

impl Comparison {
    /// Compares what came with what was expected.
    pub fn new(name: impl Into<String>, got: &[f32], expected: &[f64], tolerance: f64) -> Self {
        let square: f64 = expected.iter().map(|x| x * x).sum();
        let bound = 10.0 * tolerance * (square / expected.len().max(1) as f64).sqrt().max(1e-30);
        let (mut error, mut largest, mut first_bad) = (0.0, 0.0f64, None);
        for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
            let difference = f64::from(got) - expected;
            error += difference * difference;
            largest = if difference.is_nan() { f64::NAN } else { largest.max(difference.abs()) };
            let off = difference.is_nan() || difference.abs() > bound.max(tolerance * 4.0 * expected.abs());
            if off && first_bad.is_none() {
                first_bad = Some((i, f64::from(got), expected));
            }
        }
        let relative =
            if got.len() == expected.len() { (error / square.max(1e-300)).sqrt() } else { f64::NAN };
        let relative = if square == 0.0 && error == 0.0 { 0.0 } else { relative };
        Self { name: name.into(), relative, largest, first_bad, tolerance, n: expected.len() }
    }

    /// Whether the norms agree.
    pub fn is_ok(&self) -> bool {
        self.relative <= self.tolerance
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_ok() { "ok" } else { "BAD" };
        write!(
            f,
            "{:<34} relL2 {:9.2e} (<= {:7.1e})  max|diff| {:9.2e}  n {:>8}  {verdict}",
            self.name, self.relative, self.tolerance, self.largest, self.n
        )?;
        match self.first_bad {
            Some((i, got, expected)) if !self.is_ok() => {
                write!(f, "  first at {i}: got {got:.6e}, expected {expected:.6e}")
            }
            _ => Ok(()),
        }
    }
}
