//! Masked attention of one head of one sequence, in blocks of queries: that of training. Decoders have [`in_order`].
//!
//! A block needs the keys `[0, a)` and `[b, c)` only (see [`Keys`]): with star branches most of a long sequence is never touched, and with a causal mask
//! half of it.

use super::matmul::{Mat, MatMut, Store, Threads, matmul};
use super::scalar::{exp, max, sum};

mod few;
pub(crate) mod in_order;

/// Queries a block: enough for the products to be efficient, few enough for the scores to stay in the cache.
const BLOCK: usize = 64;

/// Up to so many queries are served one by one.
const FEW: usize = 4;

/// Queries, keys and values of one head, and who sees whom. All are `[_, head_dim]`.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    /// `[n_queries, head_dim]`.
    pub(crate) queries: &'a [f32],
    /// `[n_keys, head_dim]`.
    pub(crate) keys: &'a [f32],
    /// `[n_keys, head_dim]`.
    pub(crate) values: &'a [f32],
    /// Width of the head.
    pub(crate) head_dim: usize,
    /// The mask of the queries.
    pub(crate) mask: Mask<'a>,
}

/// The mask of [`Batch`](crate::Batch) for the queries of one sequence.
#[derive(Clone, Copy)]
pub(crate) struct Mask<'a> {
    /// `[n_queries]`.
    pub(crate) prefix_end: &'a [u32],
    /// `[n_queries]`.
    pub(crate) branch_start: &'a [u32],
    /// Index of the first query in its sequence: the number of cached keys.
    pub(crate) first: usize,
}

impl Mask<'_> {
    /// Number of queries.
    pub(crate) fn len(&self) -> usize {
        self.prefix_end.len()
    }

    /// What query `i` sees: `[0, prefix)` and `[start, end)`, disjoint; one range has `prefix` 0.
    #[inline]
    pub(crate) fn visible(&self, i: usize) -> Keys {
        let (prefix, start) = (self.prefix_end[i] as usize, self.branch_start[i] as usize);
        let end = self.first + i + 1;
        if prefix >= start {
            Keys { prefix: 0, start: 0, end: prefix.max(end) }
        } else {
            Keys { prefix, start, end }
        }
    }

    /// What any query of a block sees.
    pub(crate) fn block(&self, queries: std::ops::Range<usize>) -> Keys {
        let mut all = Keys { prefix: 0, start: usize::MAX, end: 0 };
        for i in queries {
            let keys = self.visible(i);
            all.prefix = all.prefix.max(keys.prefix);
            all.start = all.start.min(keys.start);
            all.end = all.end.max(keys.end);
        }
        if all.prefix >= all.start { Keys { prefix: 0, start: 0, end: all.end.max(all.prefix) } } else { all }
    }
}

/// The keys `[0, prefix)` and `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) prefix: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Keys {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.prefix + self.end - self.start
    }

    /// The two ranges as `(first key, number)`.
    pub(crate) fn ranges(&self) -> [(usize, usize); 2] {
        [(0, self.prefix), (self.start, self.end - self.start)]
    }

    /// The columns of one query's keys in a row of scores over the block's. A query whose keys are one range from zero makes its
    /// block's one range too, so its start is never before ours.
    #[inline]
    pub(crate) fn columns(&self, keys: Keys) -> [std::ops::Range<usize>; 2] {
        let shift = self.start - self.prefix;
        [0..keys.prefix, keys.start - shift..keys.end - shift]
    }
}

/// Blocks of queries.
pub(crate) fn blocks(n_queries: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..n_queries).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(n_queries))
}

/// Attention of one head: `out` `[n_queries, head_dim]`; with `log_sums`, the logarithm of each row's softmax denominator for
/// the backward pass.
pub(crate) fn forward(
    head: Head<'_>,
    out: &mut [f32],
    mut log_sums: Option<&mut [f32]>,
    scores: &mut Vec<f32>,
) {
    let d = head.head_dim;
    let scale = 1.0 / (d as f32).sqrt();
    if head.mask.len() <= FEW {
        return few::forward(head, out, log_sums, scores);
    }
    for queries in blocks(head.mask.len()) {
        let keys = head.mask.block(queries.clone());
        let (n, width) = (queries.len(), keys.len());
        scores.resize(n * width, 0.0);
        block_scores(scores, head, queries.clone(), keys);
        let mut inverse = [0.0; BLOCK];
        for (i, row) in scores.chunks_exact_mut(width).enumerate() {
            let visible = keys.columns(head.mask.visible(queries.start + i));
            let (max, total) = soften(row, visible, scale);
            inverse[i] = 1.0 / total;
            if let Some(log_sums) = log_sums.as_deref_mut() {
                log_sums[queries.start + i] = max * scale + total.ln();
            }
        }
        let out = &mut out[queries.start * d..queries.end * d];
        weigh(out, scores, head, keys);
        for (out, inverse) in out.chunks_exact_mut(d).zip(inverse) {
            out.iter_mut().for_each(|x| *x *= inverse);
        }
    }
}

/// Sums the values of a block's keys by its weights `[n, keys.len()]`.
fn weigh(out: &mut [f32], weights: &[f32], head: Head<'_>, keys: Keys) {
    let d = head.head_dim;
    let (n, width) = (out.len() / d, keys.len());
    let mut store = Store::Set;
    let mut column = 0;
    for (first, count) in keys.ranges().into_iter().filter(|(_, count)| *count > 0) {
        let part = Mat::strided(&weights[column..], n, count, width);
        let values = Mat::new(&head.values[first * d..], count, d);
        matmul(MatMut::new(out, n, d), part, values, store, Threads::One);
        column += count;
        store = Store::Add;
    }
}

/// Products of a block of queries with its keys, not yet scaled: `[n, keys.len()]`.
pub(crate) fn block_scores(scores: &mut [f32], head: Head<'_>, queries: std::ops::Range<usize>, keys: Keys) {
    let d = head.head_dim;
    let (n, width) = (queries.len(), keys.len());
    let rows = Mat::new(&head.queries[queries.start * d..], n, d);
    let mut column = 0;
    for (first, count) in keys.ranges().into_iter().filter(|(_, count)| *count > 0) {
        let part = MatMut::strided(&mut scores[column..], n, count, width);
        matmul(part, rows, Mat::new(&head.keys[first * d..], count, d).t(), Store::Set, Threads::One);
        column += count;
    }
}

/// Replaces scores by `exp((score - max) * scale)` where visible and zero elsewhere; returns the maximum and the sum.
#[inline]
pub(crate) fn soften(row: &mut [f32], visible: [std::ops::Range<usize>; 2], scale: f32) -> (f32, f32) {
    let [first, second] = visible;
    let (first_max, second_max) = (max(&row[first.clone()]), max(&row[second.clone()]));
    let max = if first_max > second_max { first_max } else { second_max };
    let mut total = 0.0;
    for range in [first.clone(), second.clone()] {
        let part = &mut row[range];
        part.iter_mut().for_each(|x| *x = exp((*x - max) * scale));
        total += sum(part);
    }
    clear_hidden(row, first, second);
    (max, total)
}

/// Zero outside the two ranges; the first begins at zero, the second has at least the token itself.
#[inline]
pub(crate) fn clear_hidden(row: &mut [f32], first: std::ops::Range<usize>, second: std::ops::Range<usize>) {
    row[first.end..second.start].fill(0.0);
    row[second.end..].fill(0.0);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::check::numbers;

    /// Masks of 150 tokens: causal, full over a prompt, a star with 30 branches, and a star over a cached prompt.
    pub(crate) fn masks() -> Vec<(Vec<u32>, Vec<u32>, usize)> {
        let n = 150u32;
        let causal = (vec![0; n as usize], vec![0; n as usize], 0);
        let prompted = ((0..n).map(|i| if i < 70 { 70 } else { 0 }).collect(), vec![0; n as usize], 0);
        let branch = |i: u32, prompt: u32| if i < prompt { 0 } else { prompt + (i - prompt) / 3 * 3 };
        let star = (vec![60; n as usize], (0..n).map(|i| branch(i, 60)).collect(), 0);
        let causal_star = (
            (0..n).map(|i| if i < 60 { 0 } else { 60 }).collect(),
            (0..n).map(|i| branch(i, 60)).collect(),
            0,
        );
        let cached = (vec![40; n as usize], (0..n).map(|i| 40 + i / 2 * 2).collect(), 40);
        vec![causal, prompted, star, causal_star, cached]
    }

    pub(crate) fn naive(head: Head<'_>) -> Vec<f64> {
        let d = head.head_dim;
        let n_keys = head.keys.len() / d;
        let mut out = vec![0.0f64; head.queries.len()];
        for i in 0..head.mask.len() {
            let own = head.mask.first + i;
            let sees = |j: usize| {
                j < head.mask.prefix_end[i] as usize || (head.mask.branch_start[i] as usize <= j && j <= own)
            };
            let score = |j: usize| {
                (0..d)
                    .map(|c| f64::from(head.queries[i * d + c]) * f64::from(head.keys[j * d + c]))
                    .sum::<f64>()
                    / (d as f64).sqrt()
            };
            let weights: Vec<f64> = (0..n_keys).map(|j| if sees(j) { score(j).exp() } else { 0.0 }).collect();
            let total: f64 = weights.iter().sum();
            for c in 0..d {
                out[i * d + c] =
                    (0..n_keys).map(|j| weights[j] / total * f64::from(head.values[j * d + c])).sum::<f64>();
            }
        }
        out
    }

    #[test]
    fn every_mask_agrees_with_the_definition() {
        for (case, (prefix_end, branch_start, first)) in masks().into_iter().enumerate() {
            let d = if case % 2 == 0 { 32 } else { 16 };
            let n = prefix_end.len();
            let queries: Vec<f32> = numbers(n * d, 1).iter().map(|x| x * 3.0).collect();
            let (keys, values) = (numbers((first + n) * d, 2), numbers((first + n) * d, 3));
            let mask = Mask { prefix_end: &prefix_end, branch_start: &branch_start, first };
            let head = Head { queries: &queries, keys: &keys, values: &values, head_dim: d, mask };
            let mut out = vec![0.0; n * d];
            forward(head, &mut out, None, &mut Vec::new());
            let mut by_one = vec![0.0; n * d];
            few::forward(head, &mut by_one, None, &mut Vec::new());
            out.iter().zip(&by_one).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "mask {case}"));
            for (i, (got, expected)) in out.iter().zip(naive(head)).enumerate() {
                assert!(
                    (f64::from(*got) - expected).abs() < 1e-5,
                    "mask {case}, element {i}: {got} {expected}"
                );
            }
        }
    }
}
