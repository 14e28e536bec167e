//! The likelihood and its maximum.

use super::{DrawModel, ELO_PER_LOGIT};
use crate::numeric::{Cholesky, Matrix};
use crate::results::Results;
use mavis_game::{Outcome, Side};
use std::collections::BTreeMap;

/// The index of each parameter: every θ, then γ, then ln ν if draws are modeled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) n_players: usize,
    /// Whether ln ν is a parameter; without a single draw its maximum is at minus infinity, so it is left out.
    pub(super) draws: bool,
}

impl Layout {
    pub(super) fn of(results: &Results, model: DrawModel) -> Self {
        let any_draw = results.games.iter().any(|game| game.outcome == Outcome::Draw);
        Self { n_players: results.players.len(), draws: any_draw && model == DrawModel::Davidson }
    }

    pub(super) fn dim(self) -> usize {
        self.n_players + 1 + usize::from(self.draws)
    }

    pub(super) fn gamma(self) -> usize {
        self.n_players
    }

    pub(super) fn delta(self) -> usize {
        self.n_players + 1
    }

    /// `ν / (2 + ν)`, the draw rate of equals, if draws are modeled.
    pub(super) fn draw_rate(self, params: &[f64]) -> Option<f64> {
        self.draws.then(|| 1.0 / (1.0 + 2.0 * (-params[self.delta()]).exp()))
    }
}

/// All games of one pairing with fixed sides: wins, draws and losses of the first side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cell {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) counts: [f64; 3],
}

pub(super) fn cells(results: &Results) -> Vec<Cell> {
    let mut table: BTreeMap<(usize, usize), [f64; 3]> = BTreeMap::new();
    for game in &results.games {
        table.entry((game.first, game.second)).or_default()[column(game.outcome)] += 1.0;
    }
    table.into_iter().map(|((first, second), counts)| Cell { first, second, counts }).collect()
}

/// 0 for a win of the first side, 1 for a draw, 2 for a loss.
pub(super) fn column(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Win(Side::First) => 0,
        Outcome::Draw => 1,
        Outcome::Win(Side::Second) => 2,
    }
}

/// Probabilities of one pairing and what follows from them for a single game.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chances {
    /// Of a win, a draw and a loss of the first side.
    pub(super) log_probability: [f64; 3],
    /// Derivative of each of them in `x`.
    pub(super) slope: [f64; 3],
    /// Derivative of each of them in ln ν at fixed `x`.
    pub(super) draw_slope: [f64; 3],
    /// Fisher information of `x`.
    pub(super) information: f64,
    /// Fisher information of ln ν; the two do not mix.
    pub(super) draw_information: f64,
}

impl Chances {
    pub(super) fn of(layout: Layout, params: &[f64], first: usize, second: usize) -> Self {
        let x = params[first] - params[second] + params[layout.gamma()];
        if layout.draws { Self::with_draws(x, params[layout.delta()]) } else { Self::half_wins(x) }
    }

    fn half_wins(x: f64) -> Self {
        let (expected, rest) = (sigmoid(x), sigmoid(-x));
        let (win, loss) = (-(-x.abs()).exp().ln_1p() + x.min(0.0), -(-x.abs()).exp().ln_1p() - x.max(0.0));
        Self {
            // A draw's likelihood is the geometric mean of a win's and a loss's.
            log_probability: [win, 0.5 * (win + loss), loss],
            slope: [rest, 0.5 - expected, -expected],
            draw_slope: [0.0; 3],
            information: expected * rest,
            draw_information: 0.0,
        }
    }

    fn with_draws(x: f64, delta: f64) -> Self {
        // With the better side first nothing cancels; the other case is its mirror image.
        if x < 0.0 {
            let mut mirror = Self::with_draws(-x, delta);
            mirror.log_probability.reverse();
            mirror.slope.reverse();
            mirror.draw_slope.reverse();
            mirror.slope = mirror.slope.map(|slope| -slope);
            return mirror;
        }
        let (expected, rest) = (sigmoid(x), sigmoid(-x));
        let nu = delta.exp();
        // u = e^(y/2) solves u^2 rest - u ν (expected - 1/2) - expected = 0.
        let lean = nu * 0.5 * (0.5 * x).tanh();
        let u = (lean + (lean * lean + 4.0 * expected * rest).sqrt()) / (2.0 * rest);
        let sum = u + 1.0 / u + nu;
        let [win, draw, loss] = [u / sum, nu / sum, 1.0 / (u * sum)];
        // Variance of the points, their covariance with the draw, variance of the draw.
        let variance = win * loss + 0.25 * draw * (win + loss);
        let covariance = draw * (0.5 - expected);
        let draw_variance = draw * (win + loss);
        let weight = expected * rest / variance;
        let surplus = [rest, 0.5 - expected, -expected];
        let draw_surplus = [-draw, win + loss, -draw];
        let mixing = covariance / variance;
        let draw_slope = [0, 1, 2].map(|k| draw_surplus[k] - mixing * surplus[k]);
        Self {
            log_probability: [win.ln(), draw.ln(), loss.ln()],
            slope: surplus.map(|points| points * weight),
            draw_slope,
            information: expected * rest * weight,
            draw_information: draw_variance - mixing * covariance,
        }
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A maximum of the penalized likelihood.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) layout: Layout,
    pub(super) params: Vec<f64>,
    /// Fisher information, prior included.
    pub(super) information: Matrix,
    /// Precision of each parameter's prior.
    pub(super) prior: Vec<f64>,
    pub(super) log_likelihood: f64,
}

impl Fit {
    /// The inverse of the information.
    pub(super) fn covariance(&self) -> Matrix {
        Cholesky::of(&self.information)
            .map_or_else(|| Matrix::zero(self.layout.dim()), |factor| factor.inverse())
    }
}

/// Maximizes by Fisher scoring with step halving.
pub(super) fn fit(cells: &[Cell], layout: Layout, prior_sd: f64, start: Option<&[f64]>) -> Option<Fit> {
    let mut prior = vec![(ELO_PER_LOGIT / prior_sd).powi(2); layout.dim()];
    if layout.draws {
        prior[layout.delta()] = (200.0 / prior_sd).powi(2);
    }
    let mut params = start.map_or_else(|| vec![0.0; layout.dim()], <[f64]>::to_vec);
    let mut value = objective(cells, layout, &prior, &params);
    for _ in 0..1000 {
        let (gradient, information) = derivatives(cells, layout, &prior, &params);
        let step = Cholesky::of(&information)?.solve(&gradient);
        // The gain a full step promises.
        let promise: f64 = step.iter().zip(&gradient).map(|(a, b)| a * b).sum();
        let done = promise < 1e-16 || {
            let (next, next_value) = climb(cells, layout, &prior, (&params, value), &step);
            // Rounding of the objective hides gains this small, and the step is then below 0.001 Elo.
            let stuck = next_value <= value && promise < 1e-10;
            (params, value) = (next, next_value);
            stuck
        };
        if done {
            let penalty: f64 = params.iter().zip(&prior).map(|(p, w)| 0.5 * w * p * p).sum();
            return Some(Fit { layout, params, information, prior, log_likelihood: value + penalty });
        }
    }
    None
}

/// The longest of ever halved steps that does not lose, and the value there; the start where none is left.
fn climb(
    cells: &[Cell],
    layout: Layout,
    prior: &[f64],
    (params, value): (&[f64], f64),
    step: &[f64],
) -> (Vec<f64>, f64) {
    let mut length = 1.0;
    while length > 1e-10 {
        let next: Vec<f64> = params.iter().zip(step).map(|(p, s)| p + length * s).collect();
        let next_value = objective(cells, layout, prior, &next);
        if next_value >= value {
            return (next, next_value);
        }
        length *= 0.5;
    }
    (params.to_vec(), value)
}

fn objective(cells: &[Cell], layout: Layout, prior: &[f64], params: &[f64]) -> f64 {
    let penalty: f64 = params.iter().zip(prior).map(|(p, w)| 0.5 * w * p * p).sum();
    let likelihood: f64 = cells
        .iter()
        .map(|cell| {
            let chances = Chances::of(layout, params, cell.first, cell.second);
            (0..3)
                .filter(|&k| cell.counts[k] > 0.0)
                .map(|k| cell.counts[k] * chances.log_probability[k])
                .sum::<f64>()
        })
        .sum();
    likelihood - penalty
}

fn derivatives(cells: &[Cell], layout: Layout, prior: &[f64], params: &[f64]) -> (Vec<f64>, Matrix) {
    let mut gradient: Vec<f64> = params.iter().zip(prior).map(|(p, w)| -w * p).collect();
    let mut information = Matrix::zero(layout.dim());
    for (i, &precision) in prior.iter().enumerate() {
        information[(i, i)] = precision;
    }
    for cell in cells {
        let chances = Chances::of(layout, params, cell.first, cell.second);
        let n: f64 = cell.counts.iter().sum();
        let slope: f64 = cell.counts.iter().zip(chances.slope).map(|(count, slope)| count * slope).sum();
        let signs = [(cell.first, 1.0), (cell.second, -1.0), (layout.gamma(), 1.0)];
        for (i, sign) in signs {
            gradient[i] += sign * slope;
            for (j, other) in signs {
                information[(i, j)] += sign * other * n * chances.information;
            }
        }
        if layout.draws {
            let d = layout.delta();
            gradient[d] +=
                cell.counts.iter().zip(chances.draw_slope).map(|(count, slope)| count * slope).sum::<f64>();
            information[(d, d)] += n * chances.draw_information;
        }
    }
    (gradient, information)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_have_the_logistic_mean_and_right_slopes() {
        for x in [-9.0, -2.0, -0.3, 0.0, 0.7, 3.0, 8.0] {
            for delta in [-4.0, -0.5, 1.0, 4.0] {
                let at = |x: f64, delta: f64| Chances::with_draws(x, delta);
                let chances = at(x, delta);
                let [win, draw, loss] = chances.log_probability.map(f64::exp);
                assert!((win + draw + loss - 1.0).abs() < 1e-12);
                assert!((win + 0.5 * draw - sigmoid(x)).abs() < 1e-12, "{x} {delta}");
                let nu = delta.exp();
                assert!((draw / (win * loss).sqrt() / nu - 1.0).abs() < 1e-6);
                let h = 1e-5;
                for k in 0..3 {
                    let slope = (at(x + h, delta).log_probability[k] - at(x - h, delta).log_probability[k])
                        / (2.0 * h);
                    assert!((slope - chances.slope[k]).abs() < 1e-6, "{x} {delta} {k}");
                    let slope = (at(x, delta + h).log_probability[k] - at(x, delta - h).log_probability[k])
                        / (2.0 * h);
                    assert!((slope - chances.draw_slope[k]).abs() < 1e-6, "{x} {delta} {k}");
                }
                let mean = |values: [f64; 3]| win * values[0] + draw * values[1] + loss * values[2];
                let product = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|k| a[k] * b[k]);
                assert!((mean(product(chances.slope, chances.slope)) - chances.information).abs() < 1e-9);
                assert!(mean(product(chances.slope, chances.draw_slope)).abs() < 1e-9, "orthogonal");
                let draw_information = mean(product(chances.draw_slope, chances.draw_slope));
                assert!((draw_information - chances.draw_information).abs() < 1e-9);
            }
        }
    }
}
