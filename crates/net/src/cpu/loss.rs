//! Softmax cross-entropy with soft targets, and squared errors.

use rayon::prelude::*;

use super::scalar::{exp, max, sum};
use crate::batch::LossRows;
use crate::trainer::{LossReport, TagLoss};

/// Losses of rows `first..` from their logits `[n, vocab]`: cross-entropies in nats, or squared errors of column 0; with `normalizer` the logits are replaced
/// by their gradient.
pub(crate) fn cross_entropy(
    logits: &mut [f32],
    losses: &mut [f32],
    rows: &LossRows,
    first: usize,
    normalizer: Option<f32>,
) {
    let vocab = logits.len() / losses.len().max(1);
    logits.par_chunks_mut(vocab.max(1)).zip(losses).enumerate().for_each(|(i, (logits, loss))| {
        let row_idx = first + i;
        if let Some(number) = rows.number(row_idx) {
            let error = logits[0] - number;
            *loss = error * error;
            if let Some(normalizer) = normalizer {
                logits.fill(0.0);
                logits[0] = 2.0 * error * rows.weights[row_idx] / normalizer;
            }
            return;
        }
        let (ids, probs) = rows.targets(row_idx);
        let max = max(logits);
        let picked: f32 = ids.iter().zip(probs).map(|(id, prob)| prob * (logits[*id as usize] - max)).sum();
        let mass: f32 = probs.iter().sum();
        logits.iter_mut().for_each(|x| *x = exp(*x - max));
        let total = sum(logits);
        *loss = mass * total.ln() - picked;
        if let Some(normalizer) = normalizer {
            let weight = rows.weights[row_idx] / normalizer;
            let factor = weight * mass / total;
            logits.iter_mut().for_each(|x| *x *= factor);
            for (id, prob) in ids.iter().zip(probs) {
                logits[*id as usize] -= weight * prob;
            }
        }
    });
}

/// The report over all rows, from their losses.
pub(crate) fn report(losses: &[f32], rows: &LossRows) -> LossReport {
    let mut total = 0.0f64;
    let mut sums = vec![(0u32, 0.0f64, 0.0f64, 0.0f64); 256];
    for ((loss, weight), tag) in losses.iter().zip(&rows.weights).zip(&rows.tags) {
        let (loss, weight) = (f64::from(*loss), f64::from(*weight));
        total += weight * loss;
        let sums = &mut sums[usize::from(*tag)];
        *sums = (sums.0 + 1, sums.1 + weight, sums.2 + weight * loss, sums.3 + loss);
    }
    let tags = sums.iter().enumerate().filter(|(_, sums)| sums.0 > 0).map(|(tag, sums)| {
        let loss = if sums.1 > 0.0 { sums.2 / sums.1 } else { sums.3 / f64::from(sums.0) };
        TagLoss { tag: tag as u8, n_rows: sums.0, weight: sums.1 as f32, loss: loss as f32 }
    });
    let loss = if rows.is_empty() { 0.0 } else { total / f64::from(rows.normalizer()) };
    LossReport { loss: loss as f32, tags: tags.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers};

    fn rows() -> LossRows {
        let mut rows = LossRows::default();
        rows.push_hard(0, 1.0, 0, 3);
        rows.push_soft(1, 0.5, 2, &[(0, 0.25), (4, 0.5), (7, 0.25)]);
        rows.push_hard(2, 2.0, 2, 0);
        rows
    }

    #[test]
    fn gradient() {
        let rows = rows();
        let logits: Vec<f32> = numbers(24, 1).iter().map(|x| x * 5.0).collect();
        let mut gradient = logits.clone();
        cross_entropy(&mut gradient, &mut [0.0; 3], &rows, 0, Some(rows.normalizer()));
        Check { step: 1e-2, tolerance: 1e-3 }.gradient(&logits, &gradient, |logits| {
            let mut losses = [0.0; 3];
            cross_entropy(&mut logits.to_vec(), &mut losses, &rows, 0, None);
            f64::from(report(&losses, &rows).loss)
        });
    }

    #[test]
    fn gradient_of_numbers() {
        let mut rows = rows();
        rows.push_number(3, 0.5, 1, 0.75);
        rows.push_number(4, 1.5, 1, -2.0);
        let logits: Vec<f32> = numbers(40, 2).iter().map(|x| x * 5.0).collect();
        let (mut gradient, mut losses) = (logits.clone(), [0.0; 5]);
        cross_entropy(&mut gradient, &mut losses, &rows, 0, Some(rows.normalizer()));
        assert_eq!(losses[3], (logits[24] - 0.75).powi(2));
        let is_zero = |row: usize| gradient[8 * row + 1..8 * (row + 1)].iter().all(|x| *x == 0.0);
        assert!(is_zero(3) && is_zero(4) && !is_zero(2), "a number concerns column 0 only");
        Check { step: 1e-2, tolerance: 1e-3 }.gradient(&logits, &gradient, |logits| {
            let mut losses = [0.0; 5];
            cross_entropy(&mut logits.to_vec(), &mut losses, &rows, 0, None);
            f64::from(report(&losses, &rows).loss)
        });
    }

    #[test]
    fn uniform_logits_lose_the_log_of_the_vocabulary() {
        let rows = rows();
        let mut losses = [0.0; 3];
        cross_entropy(&mut [1.5; 24], &mut losses, &rows, 0, None);
        let report = report(&losses, &rows);
        assert!((report.loss - 8f32.ln()).abs() < 1e-6);
        assert_eq!(report.tags.iter().map(|tag| (tag.tag, tag.n_rows)).collect::<Vec<_>>(), [(0, 1), (2, 2)]);
        assert_eq!(report.tags[1].weight, 2.5);
    }

    #[test]
    fn not_a_number_is_not_hidden() {
        let mut logits = [0.0; 24];
        logits[1] = f32::NAN;
        let mut losses = [0.0; 3];
        cross_entropy(&mut logits, &mut losses, &rows(), 0, None);
        assert!(losses[0].is_nan() && !losses[1].is_nan());
    }
}
