//! The maximum of a multinomial likelihood under a hypothesis.

use super::{EloScale, NORMALIZED_UNIT, Pentanomial, SprtConfig, score_of};

/// Mean points per game of each kind of pair.
const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// `Σ n_i ln (p1_i / p0_i)` with each `p` the most likely one under its hypothesis.
pub(super) fn log_likelihood_ratio(pairs: &Pentanomial, config: &SprtConfig) -> f64 {
    let frequencies = pairs.frequencies();
    let at = |elo: f64| match config.scale {
        EloScale::Logistic => with_mean(&frequencies, score_of(elo)),
        // √2, since a pair's mean has half the variance of a game.
        EloScale::Normalized => with_ratio(&frequencies, std::f64::consts::SQRT_2 * elo / NORMALIZED_UNIT),
    };
    let (null, alternative) = (at(config.elo0), at(config.elo1));
    pairs.filled().iter().zip(null.iter().zip(alternative)).map(|(n, (p0, p1))| n * (p1 / p0).ln()).sum()
}

/// Mean and variance of the points per game over pairs.
pub(super) fn mean_and_variance(frequencies: &[f64; 5]) -> (f64, f64) {
    let mean: f64 = SCORES.iter().zip(frequencies).map(|(score, p)| score * p).sum();
    let variance = SCORES.iter().zip(frequencies).map(|(score, p)| (score - mean).powi(2) * p).sum();
    (mean, variance)
}

/// The likeliest frequencies with a given mean.
fn with_mean(frequencies: &[f64; 5], mean: f64) -> [f64; 5] {
    tilted(frequencies, &SCORES.map(|score| score - mean))
}

/// The likeliest frequencies with a given `(mean - ½) / deviation`.
///
/// Where the gradient of the constraint is taken at the solution itself, the problem has the form of [`tilted`]; so
/// mean and deviation are put in and improved until they stand still.
fn with_ratio(frequencies: &[f64; 5], ratio: f64) -> [f64; 5] {
    let mut current = *frequencies;
    for _ in 0..100 {
        let (mean, variance) = mean_and_variance(&current);
        let deviation = variance.sqrt();
        let offsets = SCORES.map(|score| {
            let away = (score - mean) / deviation;
            score - 0.5 - 0.5 * ratio * deviation * (1.0 + away * away)
        });
        let next = tilted(frequencies, &offsets);
        let moved = next.iter().zip(&current).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        current = next;
        if moved < 1e-12 {
            break;
        }
    }
    current
}

/// The likeliest `p` with `Σ p_i offset_i = 0`: `p_i = f_i / (1 + λ offset_i)`.
fn tilted(frequencies: &[f64; 5], offsets: &[f64; 5]) -> [f64; 5] {
    let top = offsets.iter().copied().fold(f64::MIN, f64::max);
    let bottom = offsets.iter().copied().fold(f64::MAX, f64::min);
    if top <= 0.0 || bottom >= 0.0 {
        // A hypothesis no result can satisfy, such as an expected score above 1.
        return *frequencies;
    }
    let excess = |lambda: f64| -> f64 {
        frequencies.iter().zip(offsets).map(|(f, offset)| f * offset / (1.0 + lambda * offset)).sum()
    };
    // Falls from plus to minus infinity between its poles; Newton inside a shrinking bracket.
    let (mut low, mut high) = (-1.0 / top, -1.0 / bottom);
    let mut lambda = 0.0;
    for _ in 0..200 {
        let value = excess(lambda);
        if value > 0.0 {
            low = lambda;
        } else {
            high = lambda;
        }
        let slope: f64 =
            frequencies.iter().zip(offsets).map(|(f, o)| -f * (o / (1.0 + lambda * o)).powi(2)).sum();
        let newton = lambda - value / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        let moved = (next - lambda).abs();
        lambda = next;
        if moved < 1e-14 * (1.0 + lambda.abs()) {
            break;
        }
    }
    [0, 1, 2, 3, 4].map(|k| frequencies[k] / (1.0 + lambda * offsets[k]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_likelihood(frequencies: &[f64; 5], p: &[f64; 5]) -> f64 {
        frequencies.iter().zip(p).map(|(f, p)| f * p.ln()).sum()
    }

    /// Checks that no small feasible change of `p` is likelier, trying all directions of a grid.
    fn check(frequencies: [f64; 5], p: [f64; 5], constraint: impl Fn(&[f64; 5]) -> f64) {
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(constraint(&p).abs() < 1e-9, "{}", constraint(&p));
        let best = log_likelihood(&frequencies, &p);
        for i in 0..5 {
            for j in 0..i {
                for step in [1e-4, -1e-4] {
                    // Move mass between two places, then restore the constraint by Newton along a third direction.
                    for (k, l) in [(0, 4), (1, 3), (0, 2), (2, 4), (1, 2)] {
                        let mut q = p;
                        q[i] += step;
                        q[j] -= step;
                        for _ in 0..50 {
                            let h = 1e-7;
                            let mut r = q;
                            r[k] += h;
                            r[l] -= h;
                            let slope = (constraint(&r) - constraint(&q)) / h;
                            let back = constraint(&q) / slope;
                            q[k] -= back;
                            q[l] += back;
                        }
                        if constraint(&q).abs() < 1e-11 && q.iter().all(|&x| x > 0.0) {
                            assert!(log_likelihood(&frequencies, &q) <= best + 1e-10);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn constrained_maxima_are_maxima() {
        for frequencies in [[0.1, 0.2, 0.35, 0.25, 0.1], [0.02, 0.08, 0.8, 0.09, 0.01]] {
            for mean in [0.45, 0.5, 0.52, 0.6] {
                check(frequencies, with_mean(&frequencies, mean), |p| mean_and_variance(p).0 - mean);
            }
            for ratio in [-0.1, 0.0, 0.05, 0.3] {
                let p = with_ratio(&frequencies, ratio);
                check(frequencies, p, |p| {
                    let (mean, variance) = mean_and_variance(p);
                    mean - 0.5 - ratio * variance.sqrt()
                });
            }
        }
    }

    #[test]
    fn ratio_is_close_to_the_normal_approximation() {
        // For many pairs the ratio tends to N (s1 - s0) (2 mean - s0 - s1) / (2 variance).
        let pairs = Pentanomial([310, 2100, 5200, 2150, 330]);
        let config = SprtConfig { elo0: 0.0, elo1: 3.0, ..SprtConfig::default() };
        let (mean, variance) = mean_and_variance(&pairs.frequencies());
        let (s0, s1) = (score_of(0.0), score_of(3.0));
        let expected = pairs.n_pairs() as f64 * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance);
        let got = log_likelihood_ratio(&pairs, &config);
        assert!((got - expected).abs() < 0.01 * expected.abs().max(1.0), "{got} and {expected}");
    }
}
