//! Finite differences, for the tests of every kernel.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Numbers in (-1, 1) from a seed.
pub(crate) fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| random.random::<f32>() * 2.0 - 1.0).collect()
}

/// `sum(y * dy)`: a loss whose gradient with respect to `y` is `dy`.
pub(crate) fn weighted(y: &[f32], dy: &[f32]) -> f64 {
    assert_eq!(y.len(), dy.len());
    y.iter().zip(dy).map(|(y, dy)| f64::from(*y) * f64::from(*dy)).sum()
}

/// A comparison of a gradient with central differences.
pub(crate) struct Check {
    /// Step of the difference.
    pub(crate) step: f32,
    /// Allowed difference, relative to the larger of 1 and the slope.
    pub(crate) tolerance: f64,
}

impl Default for Check {
    fn default() -> Self {
        Self { step: 1e-2, tolerance: 2e-3 }
    }
}

impl Check {
    /// Compares every element (at most 64, evenly spread) and three random directions.
    pub(crate) fn gradient(&self, at: &[f32], gradient: &[f32], loss: impl Fn(&[f32]) -> f64) {
        assert_eq!(at.len(), gradient.len());
        let every = at.len().div_ceil(64);
        for i in (0..at.len()).step_by(every) {
            let mut direction = vec![0.0; at.len()];
            direction[i] = 1.0;
            self.direction(at, gradient, &direction, &loss, &format!("element {i}"));
        }
        for seed in 0..3 {
            let mut direction = numbers(at.len(), 900 + seed);
            let norm = direction.iter().map(|x| x * x).sum::<f32>().sqrt();
            direction.iter_mut().for_each(|x| *x /= norm);
            self.direction(at, gradient, &direction, &loss, &format!("direction {seed}"));
        }
    }

    fn direction(
        &self,
        at: &[f32],
        gradient: &[f32],
        direction: &[f32],
        loss: &impl Fn(&[f32]) -> f64,
        name: &str,
    ) {
        let moved = |step: f32| -> Vec<f32> { at.iter().zip(direction).map(|(x, d)| x + step * d).collect() };
        let slope = (loss(&moved(self.step)) - loss(&moved(-self.step))) / (2.0 * f64::from(self.step));
        let expected = weighted(gradient, direction);
        let difference = (slope - expected).abs();
        assert!(
            difference <= self.tolerance * slope.abs().max(1.0),
            "{name}: finite difference {slope}, gradient {expected}"
        );
    }
}
