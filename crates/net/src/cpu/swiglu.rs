//! SwiGLU: `y = silu(gate) * up`, gate and up side by side in one row.

use rayon::prelude::*;

use super::scalar::sigmoid;

const ROWS: usize = 32;

/// `[n, 2 ff]` to `[n, ff]`.
pub(crate) fn forward(y: &mut [f32], gate_up: &[f32], ff: usize) {
    y.par_chunks_mut(ROWS * ff).zip(gate_up.par_chunks(ROWS * 2 * ff)).for_each(|(y, gate_up)| {
        for (y, gate_up) in y.chunks_exact_mut(ff).zip(gate_up.chunks_exact(2 * ff)) {
            row(y, gate_up);
        }
    });
}

/// One row.
#[inline]
pub(crate) fn row(y: &mut [f32], gate_up: &[f32]) {
    let (gate, up) = gate_up.split_at(y.len());
    for ((y, gate), up) in y.iter_mut().zip(gate).zip(up) {
        *y = gate * sigmoid(*gate) * up;
    }
}

/// Gradient of gate and up in place of their values.
pub(crate) fn backward(gate_up: &mut [f32], dy: &[f32], ff: usize) {
    gate_up.par_chunks_mut(ROWS * 2 * ff).zip(dy.par_chunks(ROWS * ff)).for_each(|(gate_up, dy)| {
        for (gate_up, dy) in gate_up.chunks_exact_mut(2 * ff).zip(dy.chunks_exact(ff)) {
            let (gate, up) = gate_up.split_at_mut(ff);
            for ((gate, up), dy) in gate.iter_mut().zip(up).zip(dy) {
                let s = sigmoid(*gate);
                let silu = *gate * s;
                *gate = dy * *up * (s + silu * (1.0 - s));
                *up = dy * silu;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers, weighted};

    #[test]
    fn gradient() {
        let (n, ff) = (35, 12);
        let gate_up: Vec<f32> = numbers(n * 2 * ff, 1).iter().map(|x| x * 4.0).collect();
        let dy = numbers(n * ff, 2);
        let mut gradient = gate_up.clone();
        backward(&mut gradient, &dy, ff);
        Check::default().gradient(&gate_up, &gradient, |gate_up| {
            let mut y = vec![0.0; n * ff];
            forward(&mut y, gate_up, ff);
            weighted(&y, &dy)
        });
    }
}
