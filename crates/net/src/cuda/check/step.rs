//! Whole steps beside those of the CPU.

use super::{Bounds, Comparison, parameters};
use crate::all_reduce::{AllReduce, AllReduceError};
use crate::batch::{Batch, LossRows};
use crate::config::TransformerConfig;
use crate::cpu::CpuTrainer;
use crate::cuda::trainer::{CudaOptions, CudaTrainer};
use crate::error::NetError;
use crate::layout::initial_parameters;
use crate::optimizer::OptimizerSettings;
use crate::trainer::{StepSettings, TrainState, Trainer, Weights};

/// One pass and two updates on both: loss, logits, gradient of every tensor (the worst of each kind), and after updates with the GPU's own
/// gradient the parameters, moments and averages.
///
/// # Errors
/// When the device fails.
pub fn update_against_cpu(
    config: &TransformerConfig,
    optimizer: &OptimizerSettings,
    batch: &Batch,
    rows: &LossRows,
) -> Result<Vec<Comparison>, NetError> {
    let state = TrainState::new(parameters(config)?);
    let options = CudaOptions::for_tokens(batch.len() + 100);
    let mut gpu = CudaTrainer::new(config.clone(), optimizer, &state, &options)?;
    let mut cpu = CpuTrainer::new(config.clone(), optimizer.clone(), state)?;
    let bounds = Bounds::of(config);
    let mut comparisons = Vec::new();
    let mut compare = |name: String, got: &[f32], expected: &[f32], tolerance: f64| {
        let expected: Vec<f64> = expected.iter().map(|x| f64::from(*x)).collect();
        comparisons.push(Comparison::new(name, got, &expected, tolerance));
    };
    let (ours, theirs) = (gpu.forward_backward(batch, rows)?, cpu.forward_backward(batch, rows)?);
    // A squared error is off by twice what its logit is off by, and rows are too few for that to average out.
    let has_numbers = (0..rows.len()).any(|row_idx| rows.number(row_idx).is_some());
    let of_loss = if has_numbers { 2.0 * bounds.logits } else { 2e-3 };
    compare("loss".into(), &[ours.loss], &[theirs.loss], of_loss);
    let tags = |tags: &[crate::trainer::TagLoss]| tags.iter().map(|tag| tag.loss).collect::<Vec<_>>();
    compare("loss by tag".into(), &tags(&ours.tags), &tags(&theirs.tags), of_loss);
    let wanted: Vec<u32> = rows.rows.iter().copied().take(200).collect();
    let (a, b) = (gpu.logits(batch, &wanted, Weights::Live)?, cpu.logits(batch, &wanted, Weights::Live)?);
    compare("logits".into(), &a.values, &b.values, bounds.logits);
    let (ours, theirs) = (gpu.gradient()?, cpu.gradient()?);
    for tensor in gpu.layout().clone().tensors() {
        let range = tensor.range();
        let of_heads = tensor.name.ends_with("q_norm.weight") || tensor.name.ends_with("k_norm.weight");
        compare(
            format!("d {}", tensor.name.trim_start_matches("model.")),
            &ours[range.clone()],
            &theirs[range],
            if of_heads { bounds.head_gain } else { bounds.gradient },
        );
    }
    // A second pass adds up.
    gpu.forward_backward(batch, rows)?;
    let twice: Vec<f32> = ours.iter().map(|x| 2.0 * x).collect();
    compare("gradient accumulates".into(), &gpu.gradient()?, &twice, 1e-4);
    for round in 0..2 {
        let gradient = Fixed(gpu.gradient()?);
        cpu.all_reduce(&gradient)?;
        let before = cpu.parameters(Weights::Live)?;
        let settings = StepSettings { learning_rate: 1e-2 };
        let (ours, theirs) = (gpu.update(&settings)?, cpu.update(&settings)?);
        compare(format!("update {round} norm"), &[ours.gradient_norm], &[theirs.gradient_norm], 1e-5);
        compare(format!("update {round} clip"), &[ours.clip_scale], &[theirs.clip_scale], 1e-5);
        let (ours, theirs) = (gpu.state()?, cpu.state()?);
        let moved =
            |now: &[f32]| now.iter().zip(&before).map(|(now, before)| now - before).collect::<Vec<_>>();
        let (by_gpu, by_cpu) = (moved(&ours.parameters), moved(&theirs.parameters));
        for (name, role) in [("matrices", true), ("other tensors", false)] {
            let pick = |values: &[f32]| {
                let tensors = gpu.net.layout.tensors().iter();
                let chosen =
                    tensors.filter(|tensor| (tensor.role == crate::layout::TensorRole::Matrix) == role);
                chosen.flat_map(|tensor| values[tensor.range()].to_vec()).collect::<Vec<_>>()
            };
            let tolerance =
                if role && optimizer.algorithm == crate::optimizer::Algorithm::Muon { 3e-2 } else { 1e-3 };
            compare(format!("update {round} of {name}"), &pick(&by_gpu), &pick(&by_cpu), tolerance);
        }
        compare(format!("update {round} first moment"), &ours.first_moment, &theirs.first_moment, 1e-5);
        compare(format!("update {round} second moment"), &ours.second_moment, &theirs.second_moment, 1e-5);
        compare(format!("update {round} average"), &ours.average, &theirs.average, 5e-3);
        compare(format!("update {round} step"), &[ours.step as f32], &[theirs.step as f32], 0.0);
        // Both continue from the same state, so that differences do not add up.
        cpu.set_state(ours)?;
        gpu.forward_backward(batch, rows)?;
    }
    Ok(comparisons)
}

/// Losses of some steps on a fixed batch, GPU then CPU, submitted as a training run would.
///
/// # Errors
/// When the device fails.
pub fn learning(
    config: &TransformerConfig,
    optimizer: &OptimizerSettings,
    (batch, rows): (&Batch, &LossRows),
    n_steps: usize,
) -> Result<Vec<(f32, f32)>, NetError> {
    let state = TrainState::new(initial_parameters(config)?);
    let mut gpu = CudaTrainer::new(config.clone(), optimizer, &state, &CudaOptions::for_tokens(batch.len()))?;
    let mut cpu = CpuTrainer::new(config.clone(), optimizer.clone(), state)?;
    let settings = StepSettings { learning_rate: 3e-3 };
    let mut losses = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..n_steps {
        gpu.submit(batch, rows, &settings)?;
        if ours.len() + 1 < losses.len() {
            ours.extend(gpu.collect()?.map(|report| report.loss.loss));
        }
        losses.push(cpu.train_step(batch, rows, &settings)?.loss.loss);
    }
    while let Some(report) = gpu.collect()? {
        ours.push(report.loss.loss);
    }
    Ok(ours.into_iter().zip(losses).collect())
}

/// Gives every rank the same gradient.
struct Fixed(Vec<f32>);

impl AllReduce for Fixed {
    fn rank(&self) -> usize {
        0
    }

    fn n_ranks(&self) -> usize {
        1
    }

    fn sum(&self, buffer: &mut [f32]) -> Result<(), AllReduceError> {
        if buffer.len() != self.0.len() {
            return Err(AllReduceError::Length { expected: self.0.len(), got: buffer.len() });
        }
        buffer.copy_from_slice(&self.0);
        Ok(())
    }
}
