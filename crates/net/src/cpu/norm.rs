//! RMSNorm: `y = x / sqrt(mean(x^2) + eps) * gain`.

use rayon::prelude::*;

use super::scalar::{dot, dot3, fma};

/// Rows a task; fixed, so that partial sums do not depend on the number of threads.
const ROWS: usize = 64;

/// Forward over `[n, d]`; keeps the factor of each row for the backward pass.
pub(crate) fn forward(y: &mut [f32], scales: &mut [f32], x: &[f32], gain: &[f32], eps: f32) {
    let d = gain.len();
    y.par_chunks_mut(ROWS * d).zip(scales.par_chunks_mut(ROWS)).zip(x.par_chunks(ROWS * d)).for_each(
        |((y, scales), x)| {
            for ((y, scale), x) in y.chunks_exact_mut(d).zip(scales).zip(x.chunks_exact(d)) {
                *scale = row(y, x, gain, eps);
            }
        },
    );
}

/// One row; returns its factor.
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
    /// Input, `[n, d]`.
    pub(crate) x: &'a [f32],
    /// Factor of each row, `[n]`.
    pub(crate) scales: &'a [f32],
    /// `[d]`.
    pub(crate) gain: &'a [f32],
}

/// Backward: `dx +=` and `dgain +=`.
pub(crate) fn backward(dx: &mut [f32], dgain: &mut [f32], dy: &[f32], normed: Normed<'_>) {
    let Normed { x, scales, gain } = normed;
    let d = gain.len();
    let partial: Vec<Vec<f32>> = dx
        .par_chunks_mut(ROWS * d)
        .zip(dy.par_chunks(ROWS * d))
        .zip(x.par_chunks(ROWS * d))
        .zip(scales.par_chunks(ROWS))
        .map(|(((dx, dy), x), scales)| {
            let mut dgain = vec![0.0; d];
            let rows = dx.chunks_exact_mut(d).zip(dy.chunks_exact(d)).zip(x.chunks_exact(d)).zip(scales);
            for (((dx, dy), x), scale) in rows {
                let scales = std::slice::from_ref(scale);
                row_backward(dx, &mut dgain, dy, Normed { x, scales, gain });
            }
            dgain
        })
        .collect();
    for part in partial {
        dgain.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
    }
}

/// One row: `dx +=`, `dgain +=`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers, weighted};

    #[test]
    fn gradients() {
        let (n, d) = (70, 24);
        let (x, gain, dy) = (numbers(n * d, 1), numbers(d, 2), numbers(n * d, 3));
        let loss = |x: &[f32], gain: &[f32]| {
            let (mut y, mut scales) = (vec![0.0; n * d], vec![0.0; n]);
            forward(&mut y, &mut scales, x, gain, 1e-5);
            weighted(&y, &dy)
        };
        let (mut y, mut scales) = (vec![0.0; n * d], vec![0.0; n]);
        forward(&mut y, &mut scales, &x, &gain, 1e-5);
        let (mut dx, mut dgain) = (vec![0.0; n * d], vec![0.0; d]);
        backward(&mut dx, &mut dgain, &dy, Normed { x: &x, scales: &scales, gain: &gain });
        Check::default().gradient(&x, &dx, |x| loss(x, &gain));
        Check::default().gradient(&gain, &dgain, |gain| loss(&x, gain));
    }
}
