//! The norms of rows: RMSNorm, `y = x / sqrt(mean(x^2) + eps) * gain`, and LayerNorm, the same of `x - mean(x)`, plus a bias.

use rayon::prelude::*;

use super::scalar::{dot, dot3, fma, sum};
use crate::config::{NormKind, TransformerConfig};

/// Rows a task; fixed, so that partial sums do not depend on the number of threads.
const ROWS: usize = 64;

/// A norm of the residual stream with its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Norm<'a> {
    pub(crate) kind: NormKind,
    /// Gains, `[d]`; in a LayerNorm the biases follow, `[d]`.
    pub(crate) parameters: &'a [f32],
    pub(crate) eps: f32,
}

impl<'a> Norm<'a> {
    /// The norm of a network whose parameters are these.
    pub(crate) fn new(config: &TransformerConfig, parameters: &'a [f32]) -> Self {
        Self { kind: config.variant.norm, parameters, eps: config.norm_eps }
    }

    fn width(&self) -> usize {
        match self.kind {
            NormKind::Rms => self.parameters.len(),
            NormKind::Layer => self.parameters.len() / 2,
        }
    }

    /// Forward over `[n, d]`; keeps the factor of each row for the backward pass.
    pub(crate) fn forward(&self, y: &mut [f32], scales: &mut [f32], x: &[f32]) {
        let d = self.width();
        y.par_chunks_mut(ROWS * d).zip(scales.par_chunks_mut(ROWS)).zip(x.par_chunks(ROWS * d)).for_each(
            |((y, scales), x)| {
                for ((y, scale), x) in y.chunks_exact_mut(d).zip(scales).zip(x.chunks_exact(d)) {
                    *scale = self.row(y, x);
                }
            },
        );
    }

    /// One row; returns its factor.
    #[inline]
    pub(crate) fn row(&self, y: &mut [f32], x: &[f32]) -> f32 {
        match self.kind {
            NormKind::Rms => row(y, x, self.parameters, self.eps),
            NormKind::Layer => {
                let (gain, bias) = self.parameters.split_at(self.width());
                layer_row(y, x, (gain, bias), self.eps)
            }
        }
    }

    /// Backward: `dx +=` and `dparameters +=`; `x` `[n, d]` and the factors `[n]` are those of the forward pass.
    pub(crate) fn backward(
        &self,
        dx: &mut [f32],
        dparameters: &mut [f32],
        dy: &[f32],
        (x, scales): (&[f32], &[f32]),
    ) {
        let d = self.width();
        let partial: Vec<Vec<f32>> = dx
            .par_chunks_mut(ROWS * d)
            .zip(dy.par_chunks(ROWS * d))
            .zip(x.par_chunks(ROWS * d))
            .zip(scales.par_chunks(ROWS))
            .map(|(((dx, dy), x), scales)| {
                let mut part = vec![0.0; self.parameters.len()];
                let rows = dx.chunks_exact_mut(d).zip(dy.chunks_exact(d)).zip(x.chunks_exact(d)).zip(scales);
                for (((dx, dy), x), scale) in rows {
                    let normed =
                        Normed { x, scales: std::slice::from_ref(scale), gain: &self.parameters[..d] };
                    match self.kind {
                        NormKind::Rms => row_backward(dx, &mut part, dy, normed),
                        NormKind::Layer => layer_row_backward(dx, &mut part, dy, normed),
                    }
                }
                part
            })
            .collect();
        for part in partial {
            dparameters.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
        }
    }
}

/// One row of RMSNorm; returns its factor.
#[inline]
pub(crate) fn row(y: &mut [f32], x: &[f32], gain: &[f32], eps: f32) -> f32 {
    let scale = factor(x, eps);
    for ((y, x), gain) in y.iter_mut().zip(x).zip(gain) {
        *y = x * scale * gain;
    }
    scale
}

/// `1 / sqrt(mean(x^2) + eps)`.
#[inline]
pub(crate) fn factor(x: &[f32], eps: f32) -> f32 {
    1.0 / (dot(x, x) / x.len() as f32 + eps).sqrt()
}

/// What the backward pass needs of the forward pass.
#[derive(Clone, Copy)]
pub(crate) struct Normed<'a> {
    /// Input, `[d]`.
    pub(crate) x: &'a [f32],
    /// Its factor.
    pub(crate) scales: &'a [f32],
    /// `[d]`.
    pub(crate) gain: &'a [f32],
}

/// One row of RMSNorm: `dx +=`, `dgain +=`.
#[inline]
pub(crate) fn row_backward(dx: &mut [f32], dgain: &mut [f32], dy: &[f32], normed: Normed<'_>) {
    let Normed { x, gain, scales } = normed;
    let scale = scales[0];
    for ((dy, x), dgain) in dy.iter().zip(x).zip(dgain.iter_mut()) {
        *dgain = fma(dy * x, scale, *dgain);
    }
    let radial = dot3(dy, gain, x) * scale * scale * scale / x.len() as f32;
    for (((dx, dy), x), gain) in dx.iter_mut().zip(dy).zip(x).zip(gain) {
        *dx += dy * gain * scale - x * radial;
    }
}

/// One row of LayerNorm; returns its factor. The variance is that of the shifted row, so that a large mean costs no digits.
#[inline]
fn layer_row(y: &mut [f32], x: &[f32], (gain, bias): (&[f32], &[f32]), eps: f32) -> f32 {
    let mean = sum(x) / x.len() as f32;
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x - mean);
    let scale = factor(y, eps);
    for ((y, gain), bias) in y.iter_mut().zip(gain).zip(bias) {
        *y = fma(*y * scale, *gain, *bias);
    }
    scale
}

/// One row of LayerNorm: `dx +=`; gains and then biases of `dparameters` `+=`.
#[inline]
fn layer_row_backward(dx: &mut [f32], dparameters: &mut [f32], dy: &[f32], normed: Normed<'_>) {
    let Normed { x, gain, scales } = normed;
    let (scale, share) = (scales[0], 1.0 / x.len() as f32);
    let mean = sum(x) * share;
    let (dgain, dbias) = dparameters.split_at_mut(x.len());
    for (((dgain, dbias), dy), x) in dgain.iter_mut().zip(dbias).zip(dy).zip(x) {
        *dgain = fma(dy * (x - mean), scale, *dgain);
        *dbias += dy;
    }
    let along = dot(dy, gain) * share;
    let radial = (dot3(dy, gain, x) - mean * dot(dy, gain)) * scale * scale * share;
    for (((dx, dy), x), gain) in dx.iter_mut().zip(dy).zip(x).zip(gain) {
        *dx += (dy * gain - along - (x - mean) * radial) * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers, weighted};

    #[test]
    fn gradients() {
        let (n, d) = (70, 24);
        for kind in [NormKind::Rms, NormKind::Layer] {
            let len = if kind == NormKind::Layer { 2 * d } else { d };
            let (x, parameters, dy) = (numbers(n * d, 1), numbers(len, 2), numbers(n * d, 3));
            let run = |x: &[f32], parameters: &[f32]| {
                let (mut y, mut scales) = (vec![0.0; n * d], vec![0.0; n]);
                Norm { kind, parameters, eps: 1e-5 }.forward(&mut y, &mut scales, x);
                (y, scales)
            };
            let (_, scales) = run(&x, &parameters);
            let (mut dx, mut dparameters) = (vec![0.0; n * d], vec![0.0; len]);
            let norm = Norm { kind, parameters: &parameters, eps: 1e-5 };
            norm.backward(&mut dx, &mut dparameters, &dy, (&x, &scales));
            Check::default().gradient(&x, &dx, |x| weighted(&run(x, &parameters).0, &dy));
            Check::default().gradient(&parameters, &dparameters, |p| weighted(&run(&x, p).0, &dy));
        }
    }

    #[test]
    fn a_layer_norm_has_mean_zero_and_deviation_one_before_gain_and_bias() {
        let x: Vec<f32> = numbers(64, 5).iter().map(|x| 1000.0 + x).collect();
        let parameters = [vec![2.0; 64], vec![0.5; 64]].concat();
        let mut y = vec![0.0; 64];
        Norm { kind: NormKind::Layer, parameters: &parameters, eps: 1e-8 }.row(&mut y, &x);
        let mean = y.iter().sum::<f32>() / 64.0;
        let variance = y.iter().map(|y| (y - mean) * (y - mean)).sum::<f32>() / 64.0;
        assert!((mean - 0.5).abs() < 1e-3 && (variance - 4.0).abs() < 1e-2, "{mean} {variance}");
    }
}
