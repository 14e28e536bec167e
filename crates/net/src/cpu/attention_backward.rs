//! Backward pass of attention: the weights are computed again from the saved logarithms of their sums.

use super::attention::{Head, block_scores, blocks, clear_hidden};
use super::matmul::{Mat, MatMut, Store, Threads, matmul};
use super::scalar::{dot, exp};

/// What the backward pass reads beside the head itself.
#[derive(Clone, Copy)]
pub(crate) struct Saved<'a> {
    /// Output of the forward pass, `[n, head_dim]`.
    pub(crate) out: &'a [f32],
    /// Its gradient, `[n, head_dim]`.
    pub(crate) d_out: &'a [f32],
    /// Logarithms of the softmax denominators, `[n]`.
    pub(crate) log_sums: &'a [f32],
}

/// Gradients to write, each `[n, head_dim]`.
pub(crate) struct Gradients<'a> {
    pub(crate) queries: &'a mut [f32],
    pub(crate) keys: &'a mut [f32],
    pub(crate) values: &'a mut [f32],
}

/// Memory for a block of weights and their gradients.
#[derive(Default)]
pub(crate) struct Scratch {
    weights: Vec<f32>,
    d_weights: Vec<f32>,
}

/// Sets the gradients of queries, keys and values.
pub(crate) fn backward(head: Head<'_>, saved: Saved<'_>, gradients: Gradients<'_>, scratch: &mut Scratch) {
    let d = head.head_dim;
    let scale = 1.0 / (d as f32).sqrt();
    gradients.queries.fill(0.0);
    gradients.keys.fill(0.0);
    gradients.values.fill(0.0);
    for queries in blocks(head.mask.len()) {
        let keys = head.mask.block(queries.clone());
        let (n, width) = (queries.len(), keys.len());
        let own = queries.start * d..queries.end * d;
        scratch.weights.resize(n * width, 0.0);
        scratch.d_weights.resize(n * width, 0.0);
        let (weights, d_weights) = (&mut scratch.weights[..n * width], &mut scratch.d_weights[..n * width]);
        block_scores(weights, head, queries.clone(), keys);
        // Gradient of the weights is the product of the output's gradient with the values: the same shape of product.
        let as_queries = Head { queries: saved.d_out, keys: head.values, ..head };
        block_scores(d_weights, as_queries, queries.clone(), keys);
        for i in 0..n {
            let row = queries.start + i;
            let [first, second] = keys.columns(head.mask.visible(row));
            let at = row * d..(row + 1) * d;
            let delta = dot(&saved.out[at.clone()], &saved.d_out[at]);
            let (weights, d_weights) =
                (&mut weights[i * width..(i + 1) * width], &mut d_weights[i * width..(i + 1) * width]);
            for range in [first.clone(), second.clone()] {
                for (weight, d_weight) in weights[range.clone()].iter_mut().zip(&mut d_weights[range]) {
                    *weight = exp(*weight * scale - saved.log_sums[row]);
                    *d_weight = *weight * (*d_weight - delta) * scale;
                }
            }
            clear_hidden(weights, first.clone(), second.clone());
            clear_hidden(d_weights, first, second);
        }
        let mut column = 0;
        for (first, count) in keys.ranges().into_iter().filter(|(_, count)| *count > 0) {
            let at = first * d..(first + count) * d;
            let weights = Mat::strided(&weights[column..], n, count, width);
            let d_weights = Mat::strided(&d_weights[column..], n, count, width);
            let one = Threads::One;
            let d_queries = MatMut::new(&mut gradients.queries[own.clone()], n, d);
            matmul(d_queries, d_weights, Mat::new(&head.keys[at.clone()], count, d), Store::Add, one);
            let d_keys = MatMut::new(&mut gradients.keys[at.clone()], count, d);
            matmul(d_keys, d_weights.t(), Mat::new(&head.queries[own.clone()], n, d), Store::Add, one);
            let d_values = MatMut::new(&mut gradients.values[at], count, d);
            matmul(d_values, weights.t(), Mat::new(&saved.d_out[own.clone()], n, d), Store::Add, one);
            column += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::attention::{Mask, forward, tests::masks};
    use super::*;
    use crate::check::{Check, numbers, weighted};

    #[test]
    fn gradients_under_every_mask() {
        let d = 8;
        for (prefix_end, branch_start, first) in masks() {
            if first > 0 {
                continue; // Training has no cached keys.
            }
            let n = prefix_end.len();
            let (q, k, v) = (numbers(n * d, 1), numbers(n * d, 2), numbers(n * d, 3));
            let d_out = numbers(n * d, 4);
            let mask = Mask { prefix_end: &prefix_end, branch_start: &branch_start, first };
            let run = |q: &[f32], k: &[f32], v: &[f32]| {
                let head = Head { queries: q, keys: k, values: v, head_dim: d, mask };
                let (mut out, mut log_sums) = (vec![0.0; n * d], vec![0.0; n]);
                forward(head, &mut out, Some(&mut log_sums), &mut Vec::new());
                (out, log_sums)
            };
            let (out, log_sums) = run(&q, &k, &v);
            let (mut dq, mut dk, mut dv) = (vec![9.0; n * d], vec![9.0; n * d], vec![9.0; n * d]);
            let head = Head { queries: &q, keys: &k, values: &v, head_dim: d, mask };
            let saved = Saved { out: &out, d_out: &d_out, log_sums: &log_sums };
            let gradients = Gradients { queries: &mut dq, keys: &mut dk, values: &mut dv };
            backward(head, saved, gradients, &mut Scratch::default());
            let check = Check { step: 2e-2, tolerance: 2e-3 };
            check.gradient(&q, &dq, |q| weighted(&run(q, &k, &v).0, &d_out));
            check.gradient(&k, &dk, |k| weighted(&run(&q, k, &v).0, &d_out));
            check.gradient(&v, &dv, |v| weighted(&run(&q, &k, v).0, &d_out));
        }
    }
}
