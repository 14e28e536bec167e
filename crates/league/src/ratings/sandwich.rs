//! The covariance clustered by opening pair.

use super::davidson::{Chances, Fit, column};
use crate::numeric::{Matrix, solve};
use crate::results::{GameResult, Results};
use std::collections::BTreeMap;

/// `H⁻¹ (Σ s_c s_c' + prior) H⁻¹` with each cluster's score adjusted for its own pull on the fit, and the number of
/// clusters.
///
/// The adjusted score is `(I - H_c H⁻¹)⁻¹ s_c`, which is what leaving the cluster out would show to first order. The
/// prior counts as an observation with the variance it claims.
pub(super) fn covariance(results: &Results, fit: &Fit, bread: &Matrix) -> (Matrix, usize) {
    let layout = fit.layout;
    let mut clusters: BTreeMap<(usize, usize, u64), Vec<&GameResult>> = BTreeMap::new();
    for game in &results.games {
        let (low, high) = (game.first.min(game.second), game.first.max(game.second));
        clusters.entry((low, high, game.pair)).or_default().push(game);
    }
    let mut meat = Matrix::zero(layout.dim());
    for (i, &precision) in fit.prior.iter().enumerate() {
        meat[(i, i)] += precision;
    }
    for (&(low, high, _), games) in &clusters {
        // A cluster touches two players, γ and maybe ln ν: the adjustment is a system of three or four.
        let mut touched = vec![low, high, layout.gamma()];
        if layout.draws {
            touched.push(layout.delta());
        }
        let score = adjusted_score(games, fit, bread, &touched);
        for (a, &i) in touched.iter().enumerate() {
            for (b, &j) in touched.iter().enumerate() {
                meat[(i, j)] += score[a] * score[b];
            }
        }
    }
    (bread.times(&meat).times(bread), clusters.len())
}

fn adjusted_score(games: &[&GameResult], fit: &Fit, bread: &Matrix, touched: &[usize]) -> Vec<f64> {
    let k = touched.len();
    let mut score = vec![0.0; k];
    let mut information = Matrix::zero(k);
    for game in games {
        add_game(game, fit, touched, &mut score, &mut information);
    }
    let mut system = Matrix::zero(k);
    for a in 0..k {
        for b in 0..k {
            let pull: f64 = (0..k).map(|c| information[(a, c)] * bread[(touched[c], touched[b])]).sum();
            system[(a, b)] = f64::from(u8::from(a == b)) - pull;
        }
    }
    // Singular only where the cluster alone determines a parameter: then its raw score is all there is.
    solve(system, score.clone()).unwrap_or(score)
}

fn add_game(game: &GameResult, fit: &Fit, touched: &[usize], score: &mut [f64], information: &mut Matrix) {
    let chances = Chances::of(fit.layout, &fit.params, game.first, game.second);
    let column = column(game.outcome);
    let sign = |a: usize| if touched[a] == game.second { -1.0 } else { 1.0 };
    for a in 0..3 {
        score[a] += sign(a) * chances.slope[column];
        for b in 0..3 {
            information[(a, b)] += sign(a) * sign(b) * chances.information;
        }
    }
    if fit.layout.draws {
        score[3] += chances.draw_slope[column];
        information[(3, 3)] += chances.draw_information;
    }
}
