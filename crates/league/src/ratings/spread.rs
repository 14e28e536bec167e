//! From parameters to ratings and their intervals.

use super::davidson::{Fit, Layout};
use super::{ELO_PER_LOGIT, groups, sandwich, with_tallies};
use crate::numeric::{Estimate, Matrix, cumulative_normal, student_quantile};
use crate::results::Results;

/// The resolved zero.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    Mean(f64),
    Player(usize, f64),
}

/// Ratings as linear functions of the parameters.
#[derive(Clone, Debug)]
pub(super) struct Contrasts {
    pub(super) zero: Origin,
    pub(super) layout: Layout,
}

impl Contrasts {
    pub(super) fn elos(&self, params: &[f64]) -> Vec<f64> {
        let n = self.layout.n_players;
        let thetas = &params[..n];
        let (origin, rating) = match self.zero {
            Origin::Mean(rating) => (thetas.iter().sum::<f64>() / n.max(1) as f64, rating),
            Origin::Player(idx, rating) => (thetas[idx], rating),
        };
        thetas.iter().map(|theta| rating + ELO_PER_LOGIT * (theta - origin)).collect()
    }

    pub(super) fn first_advantage(&self, params: &[f64]) -> f64 {
        ELO_PER_LOGIT * params[self.layout.gamma()]
    }

    /// Gradient of player `i`'s rating.
    fn rating_gradient(&self, i: usize) -> Vec<f64> {
        let n = self.layout.n_players;
        let mut weights = vec![0.0; self.layout.dim()];
        weights[i] += ELO_PER_LOGIT;
        match self.zero {
            Origin::Mean(_) => {
                weights[..n].iter_mut().for_each(|weight| *weight -= ELO_PER_LOGIT / n as f64);
            }
            Origin::Player(idx, _) => weights[idx] -= ELO_PER_LOGIT,
        }
        weights
    }

    /// Gradient of the difference of two ratings.
    fn difference_gradient(&self, i: usize, j: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.layout.dim()];
        weights[i] += ELO_PER_LOGIT;
        weights[j] -= ELO_PER_LOGIT;
        weights
    }

    fn first_advantage_gradient(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.layout.dim()];
        weights[self.layout.gamma()] = ELO_PER_LOGIT;
        weights
    }
}

/// Both covariances and the rule that picks between them.
pub(super) struct Spread<'a> {
    fit: &'a Fit,
    contrasts: Contrasts,
    sandwich: Matrix,
    information: Matrix,
    components: &'a groups::Components,
    n_pairs: Vec<usize>,
    freedom: f64,
}

/// Below this many opening pairs a player's cluster scores say too little about their own spread.
const FEW_PAIRS: usize = 10;

impl<'a> Spread<'a> {
    pub(super) fn of(
        results: &Results,
        fit: &'a Fit,
        contrasts: Contrasts,
        components: &'a groups::Components,
    ) -> Self {
        let information = fit.covariance();
        let (sandwich, n_clusters) = sandwich::covariance(results, fit, &information);
        let n_pairs = with_tallies(results, &fit.params).iter().map(|rating| rating.n_pairs).collect();
        let freedom = n_clusters as f64 - contrasts.layout.dim() as f64;
        Self { fit, contrasts, sandwich, information, components, n_pairs, freedom }
    }

    fn variance(&self, gradient: &[f64], blind: bool) -> f64 {
        let robust = self.sandwich.form(gradient, gradient);
        if blind { robust.max(self.information.form(gradient, gradient)) } else { robust }
    }

    pub(super) fn interval(&self, i: usize, elo: f64) -> Estimate {
        let blind = self.n_pairs[i] < FEW_PAIRS
            || match self.contrasts.zero {
                Origin::Mean(_) => !self.components.all_strong(),
                Origin::Player(idx, _) => self.components.separated(i, idx) || self.n_pairs[idx] < FEW_PAIRS,
            };
        let gradient = self.contrasts.rating_gradient(i);
        self.estimate(elo, self.variance(&gradient, blind))
    }

    pub(super) fn superiority(&self, i: usize, j: usize, elos: &[f64]) -> f64 {
        if i == j {
            return 0.5;
        }
        let blind = self.components.separated(i, j) || self.n_pairs[i].min(self.n_pairs[j]) < FEW_PAIRS;
        let gradient = self.contrasts.difference_gradient(i, j);
        let deviation = self.variance(&gradient, blind).sqrt();
        if deviation > 0.0 { cumulative_normal((elos[i] - elos[j]) / deviation) } else { 0.5 }
    }

    pub(super) fn first_advantage(&self) -> Estimate {
        let value = self.contrasts.first_advantage(&self.fit.params);
        let gradient = self.contrasts.first_advantage_gradient();
        let blind = self.n_pairs.iter().any(|&n| n < FEW_PAIRS);
        self.estimate(value, self.variance(&gradient, blind))
    }

    fn estimate(&self, value: f64, variance: f64) -> Estimate {
        Estimate::symmetric(value, student_quantile(0.975, self.freedom) * variance.max(0.0).sqrt())
    }
}
