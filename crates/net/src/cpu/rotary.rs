//! Rotary positions in the half-split form: dimension `i` of a head turns with `i + head_dim / 2`.

use crate::config::TransformerConfig;

/// Cosines and sines by position, grown as longer sequences come.
#[derive(Clone, Debug)]
pub(crate) struct Rotary {
    frequencies: Vec<f32>,
    /// `[n_positions, head_dim / 2]`.
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Rotary {
    /// An empty table for a shape.
    pub(crate) fn new(config: &TransformerConfig) -> Self {
        Self { frequencies: config.rotary_frequencies(), cos: Vec::new(), sin: Vec::new() }
    }

    /// Makes sure that all of these positions are in the table.
    pub(crate) fn reserve(&mut self, positions: &[u32]) {
        let needed = positions.iter().max().map_or(0, |max| *max as usize + 1);
        let have = self.cos.len() / self.frequencies.len();
        for position in have..needed {
            for frequency in &self.frequencies {
                let (sin, cos) = (position as f32 * frequency).sin_cos();
                self.sin.push(sin);
                self.cos.push(cos);
            }
        }
    }

    /// Turns one head's vector to a position.
    #[inline]
    pub(crate) fn turn(&self, x: &mut [f32], position: u32) {
        self.turn_by(x, position, 1.0);
    }

    /// Turns back, which is also the backward pass.
    #[inline]
    pub(crate) fn turn_back(&self, x: &mut [f32], position: u32) {
        self.turn_by(x, position, -1.0);
    }

    /// Cosines and sines of a position, `[head_dim / 2]` each.
    #[inline]
    pub(crate) fn at(&self, position: u32) -> (&[f32], &[f32]) {
        let half = self.frequencies.len();
        let at = position as usize * half..(position as usize + 1) * half;
        (&self.cos[at.clone()], &self.sin[at])
    }

    #[inline]
    fn turn_by(&self, x: &mut [f32], position: u32, sign: f32) {
        let half = self.frequencies.len();
        let (cos, sin) = self.at(position);
        let (low, high) = x.split_at_mut(half);
        for (((low, high), cos), sin) in low.iter_mut().zip(high).zip(cos).zip(sin) {
            let (a, b, sin) = (*low, *high, sign * sin);
            *low = a * cos - b * sin;
            *high = b * cos + a * sin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers, weighted};

    #[test]
    fn turning_back_undoes_and_is_the_gradient() {
        let config = TransformerConfig {
            vocab: 8,
            d_model: 16,
            n_layers: 1,
            n_heads: 2,
            d_ff: 8,
            rope_theta: 10_000.0,
            norm_eps: 1e-5,
            qk_norm: false,
            tied: true,
            init_seed: 0,
            variant: Default::default(),
        };
        let mut rotary = Rotary::new(&config);
        rotary.reserve(&[3, 11]);
        let (x, dy) = (numbers(8, 1), numbers(8, 2));
        let mut turned = x.clone();
        rotary.turn(&mut turned, 11);
        assert!((weighted(&turned, &turned) - weighted(&x, &x)).abs() < 1e-5);
        rotary.turn_back(&mut turned, 11);
        turned.iter().zip(&x).for_each(|(a, b)| assert!((a - b).abs() < 1e-6));
        let mut dx = dy.clone();
        rotary.turn_back(&mut dx, 11);
        Check::default().gradient(&x, &dx, |x| {
            let mut y = x.to_vec();
            rotary.turn(&mut y, 11);
            weighted(&y, &dy)
        });
    }
}
