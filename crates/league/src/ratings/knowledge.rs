//! How well ratings are known, and what a further pair of games would add.

use super::davidson::{Layout, cells, fit};
use super::{DrawModel, RatingConfig};
use crate::numeric::Matrix;
use crate::results::Results;

/// The covariance of the ratings, updated as pairs are planned.
pub(crate) struct Knowledge {
    /// In logits, over all parameters.
    covariance: Matrix,
    thetas: Vec<f64>,
}

/// What follows from the results; `None` where they cannot be rated.
pub(crate) fn knowledge(results: &Results) -> Option<Knowledge> {
    let layout = Layout::of(results, DrawModel::HalfWin);
    let fit = fit(&cells(results), layout, RatingConfig::default().prior_sd, None)?;
    let covariance = fit.covariance();
    Some(Knowledge { covariance, thetas: fit.params[..layout.n_players].to_vec() })
}

impl Knowledge {
    /// How much two games of this pairing are expected to lower the summed variance of the ratings about their mean.
    pub(crate) fn gain(&self, one: usize, two: usize) -> f64 {
        let (moved, information) = self.update(one, two);
        let n = self.thetas.len();
        let mean = moved[..n].iter().sum::<f64>() / n as f64;
        information * moved[..n].iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    }

    /// Counts the pair as played.
    pub(crate) fn learn(&mut self, one: usize, two: usize) {
        let (moved, information) = self.update(one, two);
        for (i, a) in moved.iter().enumerate() {
            for (j, b) in moved.iter().enumerate() {
                self.covariance[(i, j)] -= information * a * b;
            }
        }
    }

    /// `V c` and `w / (1 + w c' V c)` for the difference `c` and the information `w` of two games.
    fn update(&self, one: usize, two: usize) -> (Vec<f64>, f64) {
        let n = self.thetas.len();
        let moved: Vec<f64> =
            (0..=n).map(|i| self.covariance[(i, one)] - self.covariance[(i, two)]).collect();
        let expected = 1.0 / (1.0 + (self.thetas[two] - self.thetas[one]).exp());
        let information = 2.0 * expected * (1.0 - expected);
        let variance = moved[one] - moved[two];
        (moved, information / (1.0 + information * variance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_pairs_lower_the_variance_as_promised() {
        let results = Results { players: (0..4).map(|i| format!("p{i}")).collect(), games: Vec::new() };
        let mut knowledge = knowledge(&results).expect("prior only");
        let total = |k: &Knowledge| {
            let n = 4;
            let mean = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
            let trace: f64 = (0..n).map(|i| k.covariance[(i, i)]).sum();
            trace - n as f64 * mean(&|i| mean(&|j| k.covariance[(i, j)]))
        };
        for (one, two) in [(0, 1), (2, 3), (0, 2), (0, 1)] {
            let (before, promised) = (total(&knowledge), knowledge.gain(one, two));
            knowledge.learn(one, two);
            assert!((before - total(&knowledge) - promised).abs() < 1e-9);
        }
        // The pairing played twice now promises less than one never played.
        assert!(knowledge.gain(0, 1) < knowledge.gain(1, 3));
    }
}
