//! Settings of the optimizers; the update itself is on the CPU and behind the feature `cuda`.

use serde::{Deserialize, Serialize};

use crate::layout::TensorRole;

/// AdamW or Muon, clipping and the average.
///
/// AdamW, at step `t` counted from 1: `p -= lr * (m' / (sqrt(v') + eps) + decay * p)` with bias-corrected moments, decay only on tensors
/// that [decay](TensorRole::decays).
///
/// Muon moves every [`TensorRole::Matrix`] instead: `b = momentum * b + g`, `u = g + momentum * b` (Nesterov), `o` = five Newton-Schulz rounds of `u / |u|`
/// with the quintic (3.4445, -4.7750, 2.0315), `p -= lr * (0.2 * sqrt(max(rows, columns)) * o + decay * p)`. The factor gives `o` the
/// root mean square of an AdamW update, so both share one learning rate (Liu et al. 2025, "Muon is scalable for LLM training").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizerSettings {
    /// Which rule moves the matrices; everything else is always AdamW.
    pub algorithm: Algorithm,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Added to the root of the second moment.
    pub eps: f32,
    /// Decoupled weight decay, a share of the learning rate.
    pub weight_decay: f32,
    /// The gradient is scaled down to this norm; `None` means never.
    pub clip_norm: Option<f32>,
    /// Momentum of Muon.
    pub muon_momentum: f32,
    /// Factor on the learning rate of tensors under Muon.
    pub muon_scale: f32,
    /// Decay of the average; in the first steps `(k + 1) / (k + 20)` is smaller and counts instead, see [`OptimizerSettings::average_decay_at`].
    pub average_decay: f32,
}

/// The rule that moves matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Adam with decoupled decay.
    #[default]
    AdamW,
    /// Orthogonalized momentum.
    Muon,
}

impl Default for OptimizerSettings {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::AdamW,
            beta1: 0.9,
            beta2: 0.95,
            eps: 1e-8,
            weight_decay: 0.1,
            clip_norm: Some(1.0),
            muon_momentum: 0.95,
            muon_scale: 1.0,
            average_decay: 0.999,
        }
    }
}

impl OptimizerSettings {
    /// Decay of the average in the update that follows `step` finished ones: `min(average_decay, (step + 1) / (step + 20))`.
    pub fn average_decay_at(&self, step: u64) -> f32 {
        self.average_decay.min((step + 1) as f32 / (step + 20) as f32)
    }

    /// Whether a tensor is moved by Muon.
    pub fn uses_muon(&self, role: TensorRole) -> bool {
        self.algorithm == Algorithm::Muon && role == TensorRole::Matrix
    }
}

/// Coefficients of the quintic Newton-Schulz round of Muon (Jordan 2024).
pub const NEWTON_SCHULZ: (f32, f32, f32) = (3.4445, -4.7750, 2.0315);

/// Rounds of it.
pub const NEWTON_SCHULZ_ROUNDS: usize = 5;

/// Factor on the orthogonalized update of a matrix, see [`OptimizerSettings`].
pub fn muon_factor(rows: usize, columns: usize) -> f32 {
    0.2 * (rows.max(columns) as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_warms_up() {
        let settings = OptimizerSettings::default();
        assert_eq!(settings.average_decay_at(0), 0.05);
        assert!((settings.average_decay_at(180) - 181.0 / 200.0).abs() < 1e-7);
        assert_eq!(settings.average_decay_at(1_000_000), 0.999);
    }
}
