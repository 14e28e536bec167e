//! Times on a GPU, for `mavis bench`: a training step, whole and by part, and evaluations.

mod batches;

#[cfg(any(test, feature = "cuda-check"))]
pub(crate) use batches::ids;
pub use batches::{chain_batch, star_batch};

use std::time::Instant;

use crate::batch::{Batch, BatchToken, LossRows};
use crate::config::TransformerConfig;
use crate::cuda::decoder::{CudaDecoder, CudaDecoderOptions};
use crate::cuda::gpu::{Gpu, by_name};
use crate::cuda::op::Op;
use crate::cuda::program::Kernels;
use crate::cuda::trainer::{CudaOptions, CudaTrainer};
use crate::decoder::{Decoder, Want};
use crate::error::NetError;
use crate::layout::initial_parameters;
use crate::optimizer::OptimizerSettings;
use crate::trainer::{StepSettings, TrainState, Trainer};

/// What [`bench`] measured.
#[derive(Clone, Debug)]
pub struct BenchReport {
    /// Seconds to open the device, compile, and make the plans of the first step.
    pub start_seconds: f64,
    /// Milliseconds of a step over many, uploads and reports included.
    pub step_ms: f64,
    /// Real tokens of a batch.
    pub n_tokens: usize,
    /// Loss rows of a batch.
    pub n_rows: usize,
    /// Share of the time in which the host packed batches.
    pub pack_share: f64,
    /// Part, launches, milliseconds of a step: between events around each launch, in the order of the step.
    pub parts: Vec<(String, usize, f64)>,
    /// Operations of all matrix products of a step.
    pub flops: f64,
    /// First and last loss, to see that it learns.
    pub losses: (f32, f32),
}

/// Trains for `n_steps` on the batches in turn, then times each part.
///
/// # Errors
/// When the device fails.
pub fn bench(
    config: &TransformerConfig,
    optimizer: &OptimizerSettings,
    batches: &[(Batch, LossRows)],
    (max_tokens, n_steps): (usize, usize),
) -> Result<BenchReport, NetError> {
    let begin = Instant::now();
    let state = TrainState::new(initial_parameters(config)?);
    let mut trainer =
        CudaTrainer::new(config.clone(), optimizer, &state, &CudaOptions::for_tokens(max_tokens))?;
    let settings = StepSettings { learning_rate: 1e-3 };
    let mut first = f32::NAN;
    for (batch, rows) in batches {
        let report = trainer.train_step(batch, rows, &settings)?;
        first = if first.is_nan() { report.loss.loss } else { first };
    }
    for (batch, rows) in batches {
        trainer.train_step(batch, rows, &settings)?;
    }
    let start_seconds = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let (mut waited, mut last) = (0.0, f32::NAN);
    for i in 0..n_steps {
        let (batch, rows) = &batches[i % batches.len()];
        trainer.submit(batch, rows, &settings)?;
        if i > 0 {
            let wait = Instant::now();
            last = trainer.collect()?.map_or(last, |report| report.loss.loss);
            waited += wait.elapsed().as_secs_f64();
        }
    }
    while let Some(report) = trainer.collect()? {
        last = report.loss.loss;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let (batch, rows) = &batches[0];
    let (_, extent) = trainer.load(batch, rows, 1e-3)?;
    let mut ops = trainer.pass(extent, false)?;
    ops.extend(trainer.update_ops()?);
    let device = &trainer.net.device;
    let product = |op: &Op| match op {
        Op::Product { plan, .. } => device.blas.describe(*plan).map_or(0.0, |(shape, _)| shape.flops()),
        _ => 0.0,
    };
    let flops = ops.iter().map(product).sum();
    let times = device.times(ops.len(), |op| device.run(&ops[op]))?;
    let parts = by_name(&ops, &times);
    let parts = parts.into_iter().map(|(name, n, seconds)| (name, n, 1e3 * seconds)).collect();
    let n_tokens = batches.iter().map(|(batch, _)| batch.len()).sum::<usize>() / batches.len().max(1);
    Ok(BenchReport {
        start_seconds,
        step_ms: seconds * 1e3 / n_steps as f64,
        n_tokens,
        n_rows: rows.len(),
        pack_share: 1.0 - waited / seconds,
        parts,
        flops,
        losses: (first, last),
    })
}

/// Evaluations per second: passes over `n` star examples (prompt and all branches at once), values of 64 columns read back. Returns
/// evaluations and tokens per second.
///
/// # Errors
/// When the device fails.
pub fn evaluations(config: &TransformerConfig, n: usize, n_passes: usize) -> Result<(f64, f64), NetError> {
    let options = CudaDecoderOptions {
        max_tokens: 65_536,
        max_rows: 32_768,
        cache_tokens: 4096,
        ..CudaDecoderOptions::default()
    };
    let mut gpu = CudaDecoder::new(config, &initial_parameters(config)?, &options)?;
    let (all, _) = star_batch(65_536, config.vocab, 1);
    let n = n.min(all.n_sequences());
    let mut batch = Batch::default();
    let mut want = Want { rows: Vec::new(), columns: Some(64..128), brief: None };
    for range in (0..n).map(|sequence| all.sequence(sequence)) {
        batch.begin();
        for token in range {
            let (id, position) = (all.tokens[token], all.positions[token]);
            let (prefix_end, branch_start) = (all.prefix_end[token], all.branch_start[token]);
            if branch_start > 0 {
                want.rows.push(batch.len() as u32);
            }
            batch.push(BatchToken { id, position, prefix_end, branch_start });
        }
    }
    for _ in 0..3 {
        gpu.logits(&batch, &want)?;
    }
    let begin = Instant::now();
    for _ in 0..n_passes {
        gpu.logits(&batch, &want)?;
    }
    let seconds = begin.elapsed().as_secs_f64() / n_passes as f64;
    Ok((n as f64 / seconds, batch.len() as f64 / seconds))
}

/// Opens a GPU for a shape and describes it.
///
/// # Errors
/// When a library or the GPU is missing.
pub fn describe(config: &TransformerConfig) -> Result<String, NetError> {
    Ok(Gpu::open(0, &Kernels::transformer(config))?.description)
}
