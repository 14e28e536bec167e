//! Attention of a few queries, one by one, where a matrix product would not pay.

use super::{Head, soften};
use crate::cpu::scalar::{dot, dot_fixed, fma};

/// As [`forward`](super::forward).
pub(super) fn forward(head: Head<'_>, out: &mut [f32], log_sums: Option<&mut [f32]>, scores: &mut Vec<f32>) {
    // With a width known to the compiler a key is a handful of registers.
    match head.head_dim {
        16 => fixed::<16>(head, out, log_sums, scores),
        32 => fixed::<32>(head, out, log_sums, scores),
        64 => fixed::<64>(head, out, log_sums, scores),
        128 => fixed::<128>(head, out, log_sums, scores),
        _ => any(head, out, log_sums, scores),
    }
}

fn fixed<const D: usize>(
    head: Head<'_>,
    out: &mut [f32],
    mut log_sums: Option<&mut [f32]>,
    scores: &mut Vec<f32>,
) {
    let scale = 1.0 / (D as f32).sqrt();
    let (queries, _) = head.queries.as_chunks::<D>();
    let (keys, _) = head.keys.as_chunks::<D>();
    let (values, _) = head.values.as_chunks::<D>();
    let (outs, _) = out.as_chunks_mut::<D>();
    for (i, (query, out)) in queries.iter().zip(outs).enumerate() {
        let visible = head.mask.visible(i);
        scores.clear();
        for (first, count) in visible.ranges() {
            scores.extend(keys[first..first + count].iter().map(|key| dot_fixed(query, key)));
        }
        let (max, total) = soften(scores, [0..0, 0..visible.len()], scale);
        if let Some(log_sums) = log_sums.as_deref_mut() {
            log_sums[i] = max * scale + total.ln();
        }
        let mut sums = [0.0f32; D];
        let mut column = 0;
        for (first, count) in visible.ranges() {
            for (weight, value) in scores[column..column + count].iter().zip(&values[first..first + count]) {
                for c in 0..D {
                    sums[c] = fma(*weight, value[c], sums[c]);
                }
            }
            column += count;
        }
        let inverse = 1.0 / total;
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * inverse);
    }
}

fn any(head: Head<'_>, out: &mut [f32], mut log_sums: Option<&mut [f32]>, scores: &mut Vec<f32>) {
    let d = head.head_dim;
    let scale = 1.0 / (d as f32).sqrt();
    for (i, out) in out.chunks_exact_mut(d).enumerate() {
        let visible = head.mask.visible(i);
        let query = &head.queries[i * d..(i + 1) * d];
        scores.clear();
        for (first, count) in visible.ranges() {
            let keys = head.keys[first * d..(first + count) * d].chunks_exact(d);
            scores.extend(keys.map(|key| dot(query, key)));
        }
        let (max, total) = soften(scores, [0..0, 0..visible.len()], scale);
        if let Some(log_sums) = log_sums.as_deref_mut() {
            log_sums[i] = max * scale + total.ln();
        }
        out.fill(0.0);
        let mut weights = scores.iter();
        for (first, count) in visible.ranges() {
            let values = head.values[first * d..(first + count) * d].chunks_exact(d);
            for (value, weight) in values.zip(weights.by_ref().take(count)) {
                out.iter_mut().zip(value).for_each(|(out, value)| *out = fma(*weight, *value, *out));
            }
        }
        out.iter_mut().for_each(|x| *x /= total);
    }
}
