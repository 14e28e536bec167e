//! Muon: momentum, orthogonalized by five rounds of a quintic Newton-Schulz iteration.

use super::matmul::{Mat, MatMut, Store, Threads, matmul};
use super::scalar::{dot, fma};
use crate::optimizer::{NEWTON_SCHULZ, NEWTON_SCHULZ_ROUNDS, OptimizerSettings, muon_factor};
use crate::trainer::StepSettings;

/// Buffers, kept from tensor to tensor.
#[derive(Default)]
pub(crate) struct Muon {
    /// The update, `[short, long]`: transposed when the tensor has more rows than columns.
    x: Vec<f32>,
    next: Vec<f32>,
    /// `x x^T` and its polynomial, `[short, short]`.
    gram: Vec<f32>,
    poly: Vec<f32>,
}

/// A tensor under Muon.
pub(crate) struct MuonTensor<'a> {
    pub(crate) parameters: &'a mut [f32],
    pub(crate) momentum: &'a mut [f32],
    pub(crate) gradient: &'a [f32],
    pub(crate) shape: (usize, usize),
}

impl Muon {
    /// One update of one matrix.
    pub(crate) fn update(
        &mut self,
        tensor: MuonTensor<'_>,
        optimizer: &OptimizerSettings,
        settings: &StepSettings,
        clip_scale: f32,
    ) {
        let (rows, columns) = tensor.shape;
        let momentum = optimizer.muon_momentum;
        self.x.resize(rows * columns, 0.0);
        for ((b, g), x) in tensor.momentum.iter_mut().zip(tensor.gradient).zip(&mut self.x) {
            let g = g * clip_scale;
            *b = fma(momentum, *b, g);
            *x = fma(momentum, *b, g);
        }
        let tall = rows > columns;
        if tall {
            transpose(&mut self.next, &self.x, rows, columns);
            std::mem::swap(&mut self.x, &mut self.next);
        }
        self.orthogonalize(rows.min(columns), rows.max(columns));
        if tall {
            transpose(&mut self.next, &self.x, columns, rows);
            std::mem::swap(&mut self.x, &mut self.next);
        }
        let rate = settings.learning_rate * optimizer.muon_scale;
        let shrink = 1.0 - rate * optimizer.weight_decay;
        let factor = rate * muon_factor(rows, columns);
        for (p, x) in tensor.parameters.iter_mut().zip(&self.x) {
            *p = *p * shrink - factor * x;
        }
    }

    /// Brings the singular values of `x`, `[short, long]`, near one.
    fn orthogonalize(&mut self, short: usize, long: usize) {
        let (a, b, c) = NEWTON_SCHULZ;
        let norm = dot(&self.x, &self.x).sqrt() + 1e-7;
        self.x.iter_mut().for_each(|x| *x /= norm);
        self.gram.resize(short * short, 0.0);
        self.poly.resize(short * short, 0.0);
        self.next.resize(short * long, 0.0);
        for _ in 0..NEWTON_SCHULZ_ROUNDS {
            let x = Mat::new(&self.x, short, long);
            matmul(MatMut::new(&mut self.gram, short, short), x, x.t(), Store::Set, Threads::All);
            let gram = Mat::new(&self.gram, short, short);
            matmul(MatMut::new(&mut self.poly, short, short), gram, gram, Store::Set, Threads::All);
            for (poly, gram) in self.poly.iter_mut().zip(&self.gram) {
                *poly = fma(c, *poly, b * gram);
            }
            (0..short).for_each(|i| self.poly[i * short + i] += a);
            let poly = Mat::new(&self.poly, short, short);
            matmul(MatMut::new(&mut self.next, short, long), poly, x, Store::Set, Threads::All);
            std::mem::swap(&mut self.x, &mut self.next);
        }
    }
}

fn transpose(out: &mut Vec<f32>, x: &[f32], rows: usize, columns: usize) {
    out.resize(rows * columns, 0.0);
    for (i, row) in x.chunks_exact(columns).enumerate() {
        for (j, value) in row.iter().enumerate() {
            out[j * rows + i] = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::numbers;

    /// Largest distance of `x x^T` from a multiple of the identity near one.
    fn check_orthogonal(x: &[f32], short: usize, long: usize) {
        let mut gram = vec![0.0; short * short];
        let x = Mat::new(x, short, long);
        matmul(MatMut::new(&mut gram, short, short), x, x.t(), Store::Set, Threads::One);
        for i in 0..short {
            // The iteration is tuned for speed: singular values end between 0.7 and 1.2.
            assert!((0.4..1.6).contains(&gram[i * short + i]), "{}", gram[i * short + i]);
            let off: f32 = (0..short).filter(|j| *j != i).map(|j| gram[i * short + j].powi(2)).sum();
            assert!(off.sqrt() < 0.5, "{off}");
        }
    }

    #[test]
    fn updates_are_nearly_orthogonal_and_scaled() {
        for (rows, columns) in [(8, 24), (24, 8), (16, 16)] {
            let gradient = numbers(rows * columns, 5);
            let mut parameters = vec![0.0; rows * columns];
            let mut momentum = vec![0.0; rows * columns];
            let optimizer = OptimizerSettings { weight_decay: 0.0, ..OptimizerSettings::default() };
            let tensor = MuonTensor {
                parameters: &mut parameters,
                momentum: &mut momentum,
                gradient: &gradient,
                shape: (rows, columns),
            };
            Muon::default().update(tensor, &optimizer, &StepSettings { learning_rate: 0.1 }, 1.0);
            assert_eq!(momentum, gradient);
            let factor = -0.1 * muon_factor(rows, columns);
            let mut update: Vec<f32> = parameters.iter().map(|p| p / factor).collect();
            if rows > columns {
                let mut transposed = Vec::new();
                transpose(&mut transposed, &update, rows, columns);
                update = transposed;
            }
            check_orthogonal(&update, rows.min(columns), rows.max(columns));
        }
    }
}
