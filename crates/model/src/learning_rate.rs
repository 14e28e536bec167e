//! The learning-rate schedule of a run.

use serde::{Deserialize, Serialize};

/// The shape of the learning rate between warm-up and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Half a cosine from the peak to the end.
    Cosine,
    /// The peak, then a straight line to the end over the last `decay` of the run.
    Trapezoid,
}

/// The learning-rate schedule of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LearningRateSchedule {
    /// The highest learning rate.
    pub peak: f32,
    /// Steps of linear warm-up.
    pub warmup: u64,
    /// What comes after it.
    pub shape: Shape,
    /// Share of the run that a trapezoid falls over.
    pub decay: f32,
    /// Share of the peak that is left at the end.
    pub end: f32,
}

impl Default for LearningRateSchedule {
    fn default() -> Self {
        Self { peak: 1.5e-3, warmup: 400, shape: Shape::Cosine, decay: 0.4, end: 0.03 }
    }
}

impl LearningRateSchedule {
    /// The rate at a step, `progress` (0 to 1) of the way through the run.
    #[must_use]
    pub fn rate(&self, step: u64, progress: f32) -> f32 {
        let warm = ((step + 1) as f32 / self.warmup.max(1) as f32).min(1.0);
        let progress = progress.clamp(0.0, 1.0);
        let high = match self.shape {
            Shape::Cosine => 0.5 * (1.0 + (std::f32::consts::PI * progress).cos()),
            Shape::Trapezoid => ((1.0 - progress) / self.decay.max(1e-6)).min(1.0),
        };
        self.peak * warm * (self.end + (1.0 - self.end) * high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_warm_up_hold_and_fall() {
        let cosine =
            LearningRateSchedule { peak: 1.0, warmup: 10, end: 0.1, ..LearningRateSchedule::default() };
        assert!((cosine.rate(0, 0.0) - 0.1).abs() < 1e-6);
        assert!((cosine.rate(100, 0.5) - 0.55).abs() < 1e-6);
        assert!((cosine.rate(100, 1.0) - 0.1).abs() < 1e-6);
        let trapezoid = LearningRateSchedule { shape: Shape::Trapezoid, decay: 0.5, ..cosine };
        assert_eq!(trapezoid.rate(100, 0.4), 1.0);
        assert!((trapezoid.rate(100, 0.75) - 0.55).abs() < 1e-6);
    }
}
