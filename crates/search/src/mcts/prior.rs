//! The prior of equation 1, and noise on it.

use crate::random::Random;

/// The numbers of equation 1 at one ply.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PriorRule {
    /// Temperature of the softmax.
    pub tau: f32,
    /// How many of the best values share the greedy part; moves that equal the last of them share it too.
    pub k: usize,
    /// The part spread evenly over all moves.
    pub epsilon: f32,
}

impl PriorRule {
    /// Fills `priors` from win probabilities: (1 - ε) softmax over the top k at temperature τ, ε uniform.
    pub fn fill(self, win_probabilities: &[f32], priors: &mut Vec<f32>) {
        priors.clear();
        let Some(best) = win_probabilities.iter().copied().reduce(f32::max) else { return };
        let worst = win_probabilities.iter().copied().fold(best, f32::min);
        let uniform = self.epsilon / win_probabilities.len() as f32;
        // Where all are equal there is nothing to rank.
        if worst == best {
            let greedy = (1.0 - self.epsilon) / win_probabilities.len() as f32;
            return priors.resize(win_probabilities.len(), greedy + uniform);
        }
        let least = self.kth_best(win_probabilities);
        let mut sum = 0.0;
        priors.extend(win_probabilities.iter().map(|&value| {
            // Equal values are common (a mate, a solved game), and the exponential of 0 is known.
            let weight = if value < least {
                0.0
            } else if value == best {
                1.0
            } else {
                ((value - best) / self.tau).exp()
            };
            sum += weight;
            weight
        }));
        let greedy = (1.0 - self.epsilon) / sum;
        for prior in priors {
            *prior = *prior * greedy + uniform;
        }
    }

    /// The value of rank k, equal ones counted apart; the lowest there is when k is larger than the list.
    fn kth_best(self, values: &[f32]) -> f32 {
        const SMALL: usize = 16;
        if self.k >= values.len() {
            return f32::NEG_INFINITY;
        }
        if self.k > SMALL {
            let mut sorted = values.to_vec();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            return sorted[self.k - 1];
        }
        // The best k so far in falling order; one pass, no allocation.
        let mut top = [f32::NEG_INFINITY; SMALL];
        let top = &mut top[..self.k];
        for &value in values {
            if value <= top[self.k - 1] {
                continue;
            }
            let place = top.partition_point(|&known| known >= value);
            top[place..].rotate_right(1);
            top[place] = value;
        }
        top[self.k - 1]
    }
}

/// Mixes Dirichlet noise into priors: `(1 - part) prior + part noise`.
pub(crate) fn add_noise<'a>(
    priors: impl ExactSizeIterator<Item = &'a mut f32>,
    part: f32,
    alpha: f32,
    random: &mut Random,
) {
    let draws: Vec<f64> = (0..priors.len()).map(|_| random.gamma(f64::from(alpha))).collect();
    let sum: f64 = draws.iter().sum();
    if sum > 0.0 {
        for (prior, draw) in priors.zip(draws) {
            *prior = (1.0 - part) * *prior + part * (draw / sum) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: PriorRule, values: &[f32], expected: &[f32]) {
        let mut priors = Vec::new();
        rule.fill(values, &mut priors);
        assert_eq!(priors.len(), expected.len());
        for (prior, expected) in priors.iter().zip(expected) {
            assert!((prior - expected).abs() < 1e-6, "{priors:?}");
        }
        assert!((priors.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn equation_1_by_hand() {
        let e = |x: f32| x.exp();
        // Two of three share 0.9, all share 0.1.
        let rule = PriorRule { tau: 1.0, k: 2, epsilon: 0.1 };
        let sum = e(0.7) + e(0.5);
        check(
            rule,
            &[0.5, 0.7, 0.1],
            &[0.9 * e(0.5) / sum + 0.1 / 3.0, 0.9 * e(0.7) / sum + 0.1 / 3.0, 0.1 / 3.0],
        );
        // A cold softmax is greedy, k above the number of moves takes all.
        let cold = PriorRule { tau: 0.001, k: 9, epsilon: 0.0 };
        check(cold, &[0.2, 0.9, 0.8], &[0.0, 1.0, 0.0]);
    }

    #[test]
    fn equals_of_the_last_rank_share_its_place() {
        let rule = PriorRule { tau: 1.0, k: 1, epsilon: 0.0 };
        check(rule, &[0.5, 0.5, 0.4, 0.5], &[1.0 / 3.0, 1.0 / 3.0, 0.0, 1.0 / 3.0]);
        let wide = PriorRule { tau: 1.0, k: 20, epsilon: 0.0 };
        check(wide, &[0.25; 40], &[1.0 / 40.0; 40]);
    }

    #[test]
    fn noise_keeps_the_sum() {
        let mut priors = [0.7_f32, 0.2, 0.1];
        add_noise(priors.iter_mut(), 0.25, 0.3, &mut Random::seeded(1));
        assert!((priors.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert_ne!(priors, [0.7, 0.2, 0.1]);
    }
}
